"""How test/conftest.py and pyproject.toml have tests run: chosen by marks, ended, or skipped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture
def run(tmp_path):
    """Return what runs pytest on the files in a folder, with as few plugins as will do."""

    def run(*arguments):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        environment["PYTHONPATH"] = f"{tmp_path}:{TESTS}:{TESTS.parent}"
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # starts in half the time
        command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider"]
        command += ["-c", TESTS.parent / "pyproject.toml", "--rootdir", tmp_path]
        return subprocess.run(
            [*command, *arguments, tmp_path],
            env=environment, cwd=tmp_path, capture_output=True, text=True,
        )  # fmt: skip

    return run


HANGS = """
def test_hangs_in_c():
    import ctypes

    library, lock = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
    library.pthread_mutex_lock(lock)
    library.pthread_mutex_lock(lock)

def test_another():
    pass
"""


def test_test_that_hangs_in_c_is_named_with_its_stack_and_the_others_run(run, tmp_path):
    pytest.importorskip("xdist")
    pytest.importorskip("pytest_timeout")
    (tmp_path / "test_it.py").write_text(HANGS)
    plugins = ("-p", "xdist", "-p", "pytest_timeout")
    ended = run(*plugins, "--numprocesses=1", "--dist=worksteal", "--timeout=2")
    assert ended.returncode == 1, ended.stdout
    assert "crashed while running 'test_it.py::test_hangs_in_c'" in ended.stdout
    assert "in test_hangs_in_c" in ended.stderr, "its stack"
    assert "1 failed, 1 passed" in ended.stdout


MARKED = """
import pytest

def test_contract():
    pass

@pytest.mark.alone
def test_at_the_right_time():
    pass

@pytest.mark.study
@pytest.mark.parametrize("seed", range(10))
def test_once_more(seed):
    pass
"""


def test_what_is_left_out_is_in_one_part_of_the_rest_each(run, tmp_path):
    (tmp_path / "test_it.py").write_text(MARKED)

    def chosen(*arguments):
        said = run("--collect-only", "-q", *arguments).stdout.splitlines()
        return {line for line in said if "::" in line}

    contracts, all_tests = chosen(), chosen("-m", "")
    assert contracts == {"test_it.py::test_contract"} and len(all_tests) == 12
    parts = [chosen("-m", "", f"--rest={k}/2") for k in (6, 7)]
    assert all(parts) and not parts[0] & parts[1]
    assert parts[0] | parts[1] == all_tests - contracts


IMPORTS = "def test_that_imports_it():\n    import {0}\n"
WITHOUT = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == "mpmath" else find(name, *rest)
"""


def test_a_library_that_is_missing_is_named_by_the_skip_and_an_error_stays_one(run, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    (tmp_path / "test_file.py").write_text("import mpmath\n" + IMPORTS.format("mpmath"))
    (tmp_path / "test_within.py").write_text(IMPORTS.format("mpmath"))
    (tmp_path / "test_wrong.py").write_text(IMPORTS.format("no_such_library"))
    done = run("-rs")
    assert "1 failed, 2 skipped" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count(": mpmath is not installed") == 2
