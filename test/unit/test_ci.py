"""How test/conftest.py and pyproject.toml have tests run: chosen by marks, ended, or skipped."""

import os
import subprocess
import sys
from collections import Counter
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


def test_what_is_left_out_is_chosen_by_what_a_change_is_named_like(run, tmp_path):
    names = ("test_governor", "test_speed_governor", "test_laws", "test_model")
    for name in names:
        (tmp_path / f"{name}.py").write_text(MARKED)
    for name in ("governor.pxd", "notes.md"):
        (tmp_path / name).write_text("as it was")

    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def chosen(*arguments):
        done = run("--collect-only", "-q", "-m", "", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        said = [line.split("::") for line in done.stdout.splitlines() if "::" in line]
        assert all("contract" not in test for _, test in said) or not arguments
        return Counter(file.removesuffix(".py") for file, _ in said)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "all")
    assert chosen() == dict.fromkeys(names, 12)
    (tmp_path / "notes.md").write_text("changed")
    assert not chosen("--touched=HEAD")
    (tmp_path / "governor.pxd").write_text("changed")
    assert chosen("--touched=HEAD") == dict.fromkeys(names[:2], 11)
    (tmp_path / "test_laws.py").write_text(MARKED + "\n")
    assert chosen("--touched=HEAD") == dict.fromkeys(names[:3], 11)


IMPORTS = "def test_that_imports_it():\n    import {0}\n"
WITHOUT = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == "trimesh" else find(name, *rest)
"""


def test_a_library_that_is_missing_is_named_by_the_skip_and_an_error_stays_one(run, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    (tmp_path / "test_file.py").write_text("import trimesh\n" + IMPORTS.format("trimesh"))
    (tmp_path / "test_within.py").write_text(IMPORTS.format("trimesh"))
    (tmp_path / "test_wrong.py").write_text(IMPORTS.format("no_such_library"))
    done = run("-rs")
    assert "1 failed, 2 skipped" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count(": trimesh is not installed") == 2
