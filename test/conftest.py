"""Makes every test see the package that was built, and knows where the test files are."""

from __future__ import annotations  # pytest.TerminalReporter came with pytest 8

import faulthandler
import fcntl
import importlib.util
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# For matrices as small as here, threads cost NumPy more than they save; it reads this on import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Threads that wait for work leave the processor to others.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A shell's background jobs ignore Ctrl-C, and so would the processes that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Likewise with SIGHUP under nohup. Unlike an ignored signal, a handler is not inherited.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# An example may take any time on a busy machine, or under sanitizers. Each run has the same ones: a
# suite that fails by chance says nothing. --hypothesis-profile=exploring looks for others.
if importlib.util.find_spec("hypothesis") and not os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
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
    """Prefer the installed package to the folder that pytest is started in.

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
sys.path.append(str(SOURCE))  # for benchmarks/; behind what was chosen

# What a machine may lack: ROS, and the libraries of setup.py's extras. A test that imports one that
# is not there is skipped, and the reason names it.
ROS = """ament_index_python builtin_interfaces diagnostic_msgs geometry_msgs launch launch_ros
    lifecycle_msgs nav_msgs rcl_interfaces rclpy rosgraph_msgs sensor_msgs std_msgs std_srvs
    tf2_msgs trajectory_msgs visualization_msgs"""
LIBRARIES = """clarabel cvxpy dask distributed hypothesis matplotlib mpmath mujoco pinocchio rosbags
    scipy threadpoolctl trimesh viser xacro"""
MISSING = {name for name in (ROS + LIBRARIES).split() if importlib.util.find_spec(name) is None}
NOT_FOUND = re.compile(r"ModuleNotFoundError: No module named '(\w+)")


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Skip a file that imports what is missing."""
    skip_where_missing((yield).get_result(), collector.path)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Skip a test that imports what is missing."""
    skip_where_missing((yield).get_result(), item.path)


def skip_where_missing(report: pytest.CollectReport | pytest.TestReport, path: Path) -> None:
    """Make a failure that comes of a missing module a skip."""
    found = NOT_FOUND.findall(str(report.longrepr)) if report.failed else []
    if found and found[-1] in MISSING:
        report.outcome = "skipped"
        report.longrepr = (str(path), None, f"Skipped: {found[-1]} is not installed")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name files without their folder and suffix, and no values (NotSet) as pytest does."""
    return val.stem if isinstance(val, Path) else None


# pytest-timeout's signal waits until Python goes on. What hangs in C (in DDS, say) ends with its
# process a while later, with all its stacks; pytest-xdist then names the test and goes on without.
BEYOND = 1.2  # times a test's time-out
ENDING = 60.0  # [s] for the end of a process that has run its tests
running: dict[str, None] = {}
stderr = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Know the settings of pytest-timeout where it is not installed: what follows goes by them."""
    if not pluginmanager.hasplugin("timeout"):
        for name in ("timeout", "timeout_method"):
            parser.addini(name, "as for pytest-timeout")


def pytest_configure(config: pytest.Config) -> None:
    """Keep a way to the real stderr, which is captured during tests."""
    config.stash[stderr] = os.dup(2)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End the process with a test that hangs."""
    mark = item.get_closest_marker("timeout")
    timeout = item.config.getoption("timeout", None) or item.config.getini("timeout")
    timeout = BEYOND * float(mark.args[0] if mark else timeout or 0.0)
    if timeout:
        faulthandler.dump_traceback_later(timeout, exit=True, file=item.config.stash[stderr])
    yield
    faulthandler.cancel_dump_traceback_later()


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the process even if something that tests have left in it hangs."""
    faulthandler.dump_traceback_later(ENDING, exit=True, file=config.stash[stderr])


@pytest.hookimpl(hookwrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Let pytest-xdist's workers collect after the first of them.

    That one compiles all that is imported, with pytest's rewritten asserts, which takes three
    times as long as the rest; the others read what it has cached.
    """
    if not hasattr(session.config, "workerinput"):
        yield
        return
    first = Path(session.config.args[0].partition("::")[0])
    lock = os.open(first if first.exists() else session.config.rootpath, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fcntl.flock(lock, fcntl.LOCK_SH)
    yield
    os.close(lock)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse tests of nodes where .ci/tests.py does not look for them."""
    for item in items:
        if item.path.is_relative_to(TESTS / "unit") or item.path.is_relative_to(TESTS / "fuzz"):
            if any(item.iter_markers("ros")) or any(item.iter_markers("alone")):
                raise pytest.UsageError(f"{item.nodeid} is marked as one of nodes: into test/ros")


def pytest_runtest_logstart(nodeid: str) -> None:
    """Note which tests run, here or in a worker."""
    running[nodeid] = None


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Note which tests have ended."""
    running.pop(nodeid, None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Name the tests that were interrupted."""
    if exitstatus == pytest.ExitCode.INTERRUPTED:
        for nodeid in running:
            terminalreporter.write_line(f"interrupted in {nodeid}")


@pytest.fixture(scope="session")
def robots() -> Path:
    """The folder of small URDFs written for the tests."""
    return TESTS / "robots"
