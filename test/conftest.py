"""Makes every test see the package that was built, and knows where the test files are."""

from __future__ import annotations  # pytest.TerminalReporter came with pytest 8

import faulthandler
import gc
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain, groupby, islice
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
LIBRARIES = """PIL clarabel dask distributed hypothesis matplotlib mujoco pinocchio rosbags
    scipy threadpoolctl toppra trimesh viser xacro"""
MISSING = {name for name in f"{ROS} {LIBRARIES}".split() if importlib.util.find_spec(name) is None}
NOT_FOUND = re.compile(r"No module named '(\w+)")  # also as the package's own errors say it


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Skip a file that imports what is missing."""
    skip_where_missing((yield).get_result(), collector.path)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Skip a test that imports what is missing; note what it did again over DDS."""
    report = (yield).get_result()
    skip_where_missing(report, item.path)
    repeats = getattr(sys.modules.get("support"), "REPEATS", {})
    report.user_properties += [(REPEATED, what) for what in repeats for _ in range(repeats[what])]
    repeats.clear()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how often something was done again, in which tests."""
    reports = chain.from_iterable(terminalreporter.stats.values())
    repeats = Counter(
        f"{what}: {report.nodeid}"
        for report in reports
        for name, what in getattr(report, "user_properties", ())
        if name == REPEATED
    )
    if repeats:
        terminalreporter.section(f"done again over DDS: {repeats.total()}")
        for what, count in repeats.most_common():
            terminalreporter.line(f"{count} x {what}")


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
REPEATED = "done again over DDS"
LEFT_OUT = ("study", "alone")  # by pyproject.toml's choice of marks
WITHOUT_MEANING = {"test", "and", "for", "not", "out"}  # words of file names
stderr = pytest.StashKey[int]()
watchdog = pytest.StashKey[tuple[float, float]]()  # time-out that it is set for [s], and since when


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add --touched; know pytest-timeout's settings where it is not there: they are needed here."""
    text = "of what `make test` leaves out, take what the changes since a commit are named like"
    parser.addoption("--touched", metavar="COMMIT", help=text)
    if not pluginmanager.hasplugin("timeout"):
        for name in ("timeout", "timeout_method"):
            parser.addini(name, "as for pytest-timeout")


def pytest_configure(config: pytest.Config) -> None:
    """Keep a way to the real stderr, which is captured during tests."""
    config.stash[stderr] = os.dup(2)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """End the process with a test that hangs.

    That it is armed is enough for the next tests as well, for a while: to disarm it takes longer
    than most tests do, since a thread has to end.
    """
    mark = item.get_closest_marker("timeout")
    timeout = item.config.getoption("timeout", None) or item.config.getini("timeout")
    timeout = float(mark.args[0] if mark else timeout or 0.0)
    armed_for, since = item.config.stash.get(watchdog, (0.0, 0.0))
    now = time.monotonic()
    if timeout == armed_for and now - since < (BEYOND - 1.0) / 2 * timeout:
        return
    if timeout:
        faulthandler.dump_traceback_later(
            BEYOND * timeout, exit=True, file=item.config.stash[stderr]
        )
    else:
        faulthandler.cancel_dump_traceback_later()
    item.config.stash[watchdog] = timeout, now


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the process even if something that tests have left in it hangs, and no later for gc."""
    gc.freeze()
    faulthandler.dump_traceback_later(ENDING, exit=True, file=config.stash[stderr])


def words_of(path: Path) -> set[str]:
    """Return the words of a file's name that say what it is about, also those as cdr and arm."""
    return {word for word in path.stem.split("_") if len(word) > 2} - WITHOUT_MEANING


@pytest.hookimpl(trylast=True)  # after what -m and -k leave out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --touched keep some of what `make test` leaves out; order files for pytest-xdist."""
    if since := config.getoption("touched"):
        git = ["git", "diff", "--name-only", "--relative", since, "--", "*.py", "*.p[xy]*", "*.h"]
        said = subprocess.run(
            git, cwd=config.rootpath, stdout=subprocess.PIPE, text=True, check=True
        )
        changed = [config.rootpath / name for name in said.stdout.splitlines()]
        words = set().union(*map(words_of, changed))

        def is_kept(item: pytest.Item) -> bool:
            is_left_out = any(item.get_closest_marker(name) for name in LEFT_OUT)
            return is_left_out and (item.path in changed or bool(words & words_of(item.path)))

        config.hook.pytest_deselected(items=[item for item in items if not is_kept(item)])
        items[:] = filter(is_kept, items)
    if hasattr(config, "workerinput"):
        items[:] = dealt(items, config.workerinput["workercount"])


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Nothing may be touched."""
    if session.config.getoption("touched") and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """Search for no garbage among thousands of tests while they are collected, nor afterwards.

    And seldom for that of the tests themselves, which is little: it took 5 to 15 % of their time.
    """
    gc.disable()
    yield
    gc.enable()
    gc.freeze()
    gc.set_threshold(50_000)


# What begins late others wait for, or take in parts, each of which makes its module's fixtures.
LONG = (
    *("test_two_controllers", "test_shared_process", "test_feedforward_controller"),
    *("test_teach_and_replay", "test_replay", "test_run_command", "test_digital_twin"),
    *("test_demo", "test_shadow_mode", "test_identify_command", "test_evaluate_command"),
    *("test_examples", "test_excite_command"),
)


def dealt(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return files of nodes, which wait, among others, which compute, for one worker after another.

    Each has its share of both at any time, so that processors neither wait nor are waited for.
    pytest-xdist's worksteal gives each as many tests, and later those at the end of another's.
    """
    files = [list(tests) for _, tests in groupby(items, lambda item: item.path)]
    rank = {name: k for k, name in enumerate(LONG)}
    files.sort(key=lambda tests: rank.get(tests[0].path.stem, len(LONG)))
    nodes = [tests for tests in files if tests[0].get_closest_marker("ros")]
    others = chain.from_iterable(tests for tests in files if tests not in nodes)
    order: list[pytest.Item] = []
    for k in range(workers):
        mine = nodes[k::workers]
        if k % 2:  # its long ones come while others have their short ones
            mine = mine[len(mine) // 2 :] + mine[: len(mine) // 2]
        room = (len(items) - len(order)) // (workers - k) - sum(map(len, mine))
        more = list(islice(others, max(room, 0)))
        for j, tests in enumerate(mine):
            beside = more[j * len(more) // len(mine) : (j + 1) * len(more) // len(mine)]
            order += tests + beside
        order += more if not mine else []
    return order + list(others)
