"""Runs of .ci/tests.py end with the reason, and nothing outlives them, whatever a test does."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PROGRAM = TESTS.parent / ".ci" / "tests.py"
LEAVES = """
import subprocess, sys
import pytest

@pytest.mark.ros
def test_leaves_a_process():
    command = [sys.executable, "-c", "import time; time.sleep(600)  # {name}"]
    subprocess.Popen(command, start_new_session=True, stdout={stdout})

@pytest.mark.ros
@pytest.mark.alone
def test_alone():
    pass
"""
HANGS = """
def test_hangs_in_c():
    import ctypes

    library, lock = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
    library.pthread_mutex_lock(lock)
    library.pthread_mutex_lock(lock)
"""
LASTS = """
@pytest.mark.ros
def test_lasts():
    import time

    time.sleep(600)
"""


pytestmark = pytest.mark.timeout(1800)  # each starts Python a dozen times


@pytest.fixture(params=[True], ids=["isolated if permitted"])
def run(request, tmp_path):
    """Return what runs the program on a test file, and what it has left behind."""
    pytest.importorskip("xdist")
    pytest.importorskip("pytest_timeout")

    def run(text, *arguments, workers=0, **variables):
        fifo, file = tmp_path / "fifo", tmp_path / "test_it.py"
        file.write_text(LEAVES.format(name=tmp_path, stdout=f"open({str(fifo)!r}, 'w')") + text)
        environment = {**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}", **variables}
        for name in [n for n in environment if n.startswith(("PYTEST_", "FEATHERSTONE_TEST_RUN"))]:
            del environment[name]
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # starts in half the time
        if not request.param:
            environment["PATH"] = str(tmp_path)  # there is no unshare
        fifo.unlink(missing_ok=True)
        os.mkfifo(fifo)
        command = [sys.executable, str(PROGRAM), "--rootdir", tmp_path, "-c", os.devnull, file]
        command += ["-p", "xdist", "-p", "pytest_timeout", "-p", "conftest"]
        command += ["--numprocesses", str(workers)]  # each process takes a while to start
        with open(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb") as held:
            ended = subprocess.run(
                [*command, *arguments],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=500,
            )
            for _ in range(300):  # what was killed takes a moment to die
                if held.read() == b"":
                    return ended
                time.sleep(0.1)
        raise AssertionError("the process that a test has left still holds its pipe")

    return run


@pytest.mark.parametrize("run", [False], indirect=True, ids=["not isolated"])
def test_test_that_hangs_in_c_is_named_with_its_stack_and_the_others_run(run):
    ended = run(HANGS, "--timeout=5", workers=1)  # the others take less, on a busy machine, too
    assert ended.returncode == 1, ended.stdout
    assert "crashed while running 'test_it.py::test_hangs_in_c'" in ended.stdout
    assert "in test_hangs_in_c" in ended.stdout, "its stack"
    assert ended.stdout.count("1 passed") == 2, ended.stdout


def test_run_that_takes_too_long_is_ended_and_says_what_ran(run):
    for limit in (10, 50, 250):  # [s] until a busy machine has come to the test
        ended = run(LASTS, workers=1, FEATHERSTONE_TEST_LIMIT=str(limit))
        if "interrupted in" in ended.stdout:
            break
    assert ended.returncode == 1, ended.stdout
    assert "the tests marked 'ros and not alone' took too long" in ended.stdout
    assert "interrupted in test_it.py::test_lasts" in ended.stdout


FAILS_ONCE = """
def test_fails_once():
    from pathlib import Path

    seen = Path("seen")
    failed_before = seen.exists()
    seen.touch()
    assert failed_before
"""
FAILS = """
def test_fails():
    assert False
"""


def test_what_fails_runs_once_more_and_is_named_either_way(run):
    ended = run(FAILS_ONCE)
    assert ended.returncode == 0, ended.stdout
    assert "failed at first, then passed: test_it.py::test_fails_once" in ended.stdout


def test_what_fails_twice_has_failed(run):
    ended = run(FAILS_ONCE + FAILS)
    assert ended.returncode == 1, ended.stdout
    assert "failed at first, then again: " in ended.stdout
    assert "1 failed, 1 passed" in ended.stdout, "both ran again, one failed again"


def test_file_that_cannot_be_imported_has_failed_at_once(run):
    ended = run("import a_module_that_nobody_has", workers=1)
    assert ended.returncode == 1, ended.stdout
    assert "No module named 'a_module_that_nobody_has'" in ended.stdout
    assert "once more" not in ended.stdout


IMPORTS = "def test_that_imports_it():\n    import {0}\n"
WITHOUT = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == "mpmath" else find(name, *rest)
"""


def test_a_library_that_is_missing_is_named_by_the_skip_and_an_error_stays_one(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    (tmp_path / "test_file.py").write_text("import mpmath\n" + IMPORTS.format("mpmath"))
    (tmp_path / "test_within.py").write_text(IMPORTS.format("mpmath"))
    (tmp_path / "test_wrong.py").write_text(IMPORTS.format("no_such_library"))
    settings = {"PYTHONPATH": f"{tmp_path}:{TESTS}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", os.devnull, "-rs", "-p", "conftest", tmp_path],
        env={**os.environ, **settings}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 failed, 2 skipped" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count(": mpmath is not installed") == 2
