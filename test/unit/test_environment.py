"""What `make` sets up says how far it is, and leaves what is in use (.ci/environment.py)."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "environment.py"
BASE = getattr(sys, "_base_executable", sys.executable)
HERE = f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r}); import environment\n"


def python(code: str, executable: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """Run Python code beside the set-up's, into a pipe."""
    return subprocess.run([executable, "-c", HERE + code], capture_output=True, text=True)


def installed(executable: str, venv: Path, extras: str = "demo") -> str:
    """Bring an environment up to date; return the commands that this takes."""
    code = f"""
environment.run = lambda title, *command, **variables: print(title, *command)
environment.os.chdir(environment.PROJECT)
environment.install({str(venv)!r}, set({extras!r}.split(",")))
"""
    done = python(code, executable)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_environment_in_use_stays_and_gets_what_it_lacks(tmp_path):
    """Neither its own Python, once it is activated, nor another setup.py makes it anew."""
    assert f"{os.path.realpath(BASE)} -m venv {tmp_path}\n" in installed(sys.executable, tmp_path)
    assert installed(BASE, tmp_path) == installed(sys.executable, tmp_path) == ""
    more = installed(sys.executable, tmp_path, "lint")
    assert ".[demo,lint]" in more and "--clear" not in more
    assert installed(BASE, tmp_path) == installed(BASE, tmp_path, "lint") == ""
    os.utime(tmp_path / "installed.txt", (0.0, 0.0))  # as if setup.py had been changed since
    assert ".[demo,lint]" in installed(BASE, tmp_path, "lint")


def test_what_the_machine_lacks_is_said_with_what_to_do(tmp_path):
    environment = {**os.environ, "CC": "no-such-compiler"}
    command = [sys.executable, SCRIPT, tmp_path / "venv", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert "no C compiler 'no-such-compiler'" in done.stderr and "apt install gcc" in done.stderr
    assert not (tmp_path / "venv").exists()
