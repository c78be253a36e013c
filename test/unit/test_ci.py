"""How test/conftest.py and pyproject.toml have tests run: chosen by marks, ended, or skipped."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from each import each

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
    names = ("test_cdr", "test_speed_of_cdr", "test_laws", "test_model_and_more")
    for name in names:
        (tmp_path / f"{name}.py").write_text(MARKED)
    for name in ("cdr_and_xml.pxd", "notes.md"):
        (tmp_path / name).write_text("as it was")

    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def chosen():
        done = run("--collect-only", "-q", "-m", "", "--touched=HEAD")
        assert done.returncode == 0, done.stdout + done.stderr
        said = [line.split("::") for line in done.stdout.splitlines() if "::" in line]
        assert all("contract" not in test for _, test in said)
        return Counter(file.removesuffix(".py") for file, _ in said)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "all")
    (tmp_path / "notes.md").write_text("changed")
    assert not chosen()
    (tmp_path / "cdr_and_xml.pxd").write_text("changed")
    (tmp_path / "test_laws.py").write_text(MARKED + "\n")
    assert chosen() == dict.fromkeys(names[:3], 11)


IMPORTS = "def test_that_imports_it():\n    import {0}\n"
TOLD = """
def test_that_asks_the_package_for_it():
    from featherstone_ros.errors import needed

    needed("trimesh")
"""
WITHOUT = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == "trimesh" else find(name, *rest)
"""


def test_a_library_that_is_missing_is_named_by_the_skip_and_an_error_stays_one(run, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    (tmp_path / "test_file.py").write_text("import trimesh\n" + IMPORTS.format("trimesh"))
    (tmp_path / "test_within.py").write_text(IMPORTS.format("trimesh"))
    (tmp_path / "test_told.py").write_text(TOLD)
    (tmp_path / "test_wrong.py").write_text(IMPORTS.format("no_such_library"))
    done = run("-rs")
    assert "1 failed, 3 skipped" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count(": trimesh is not installed") == 3


# What make sets up says how far it is, and leaves what is in use (.ci/environment.py).


SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "environment.py"


def test_what_the_machine_lacks_is_said_with_what_to_do(tmp_path):
    environment = {**os.environ, "CC": "no-such-compiler"}
    command = [sys.executable, SCRIPT, tmp_path / "venv", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert "no C compiler 'no-such-compiler'" in done.stderr and "apt install gcc" in done.stderr
    assert not (tmp_path / "venv").exists()


# One item for many values (each.py).


def test_every_value_is_tested_and_a_failure_names_its_own():
    seen = []

    @each("value", [1, 2, 3])
    def check(value):
        seen.append(value)
        assert value < 3

    with pytest.raises(AssertionError, match="with value 3: "):
        check()
    assert seen == [1, 2, 3]
