"""Makes every test see the package that was built, and knows where the test files are."""

import importlib.machinery
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent


def has_compiled_core(package: Path) -> bool:
    """Tell whether the core was built in place for this Python."""
    suffixes = importlib.machinery.EXTENSION_SUFFIXES
    return any((package / f"_core{suffix}").is_file() for suffix in suffixes)


# Python puts the folder it is started in first on its path. In a source tree without a compiled
# core (after `pip install .` or `colcon build`) the installed package must win.
if not has_compiled_core(SOURCE / "featherstone_ros"):
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != SOURCE]


@pytest.fixture(scope="session")
def robots() -> Path:
    """The folder of small URDFs written for the tests."""
    return TESTS / "robots"
