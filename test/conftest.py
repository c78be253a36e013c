"""Makes every test see the package that was built, and knows where the test files are."""

import importlib.util
import os
import signal
import sys
from pathlib import Path

import pytest

# Of matrices as small as here, threads cost NumPy more than they save; it reads this on import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell's background jobs ignore Ctrl-C, and so would the processes that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# An example may take any time on a busy machine, or under sanitizers. Each run has the same ones: a
# suite that fails by chance says nothing. --hypothesis-profile=exploring looks for others.
if importlib.util.find_spec("hypothesis"):
    from hypothesis import HealthCheck, settings

    patient = settings(
        deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, database=None
    )
    settings.register_profile("patient", patient)
    settings.register_profile("exploring", patient, derandomize=False, max_examples=5000)
    settings.load_profile("patient")

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent


def choose_package() -> None:
    """Prefer the installed package to the folder that pytest happens to be started in.

    That folder is often the source tree, which Python then puts first on its path and where the
    core may never have been compiled, or long ago. An editable installation leads back to it.
    Whoever names the source tree in PYTHONPATH means it.
    """
    if str(SOURCE) in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        return
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != SOURCE]
    if importlib.util.find_spec("featherstone_ros") is None:
        sys.path.insert(0, str(SOURCE))


choose_package()


@pytest.fixture(scope="session")
def robots() -> Path:
    """The folder of small URDFs written for the tests."""
    return TESTS / "robots"
