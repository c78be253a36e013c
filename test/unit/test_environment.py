"""What `make` sets up says how far it is, in a pipe as well (.ci/environment.py)."""

import subprocess
import sys
from pathlib import Path

BASE = getattr(sys, "_base_executable", sys.executable)
ENVIRONMENT = Path(__file__).resolve().parents[2] / ".ci"
SET_UP = """
import sys, threading, time
sys.path.insert(0, {folder!r})
import environment
environment.PERIOD = 0.02
finished = threading.Event()
teller = threading.Thread(target=environment.say_how_far, args=(time.monotonic(), finished))
teller.start()
try:
    environment.run("doing it", sys.executable, "-c", {command!r})
finally:
    finished.set()
    teller.join()
"""


def set_up(command: str) -> subprocess.CompletedProcess[str]:
    """Run Python code as a command of the set-up, into a pipe."""
    code = SET_UP.format(folder=str(ENVIRONMENT), command=command)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_it_says_what_runs_and_then_how_far_it_is():
    lines = "'gcc -O2', 'compiling 7 of 14', 'a warning', '  Downloading numpy-2.4.6-cp311.whl (1)'"
    done = set_up(f"import time\nfor line in {lines}: time.sleep(.2); print(line)\ntime.sleep(.2)")
    said = [line.partition(" s: ")[2] for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert list(dict.fromkeys(said)) == ["doing it", "compiling 7 of 14", "Downloading numpy-2.4.6"]


def test_command_that_fails_ends_it_and_shows_its_output():
    done = set_up("import sys; print('an error of the compiler'); sys.exit(3)")
    assert done.returncode == 1
    assert "doing it\nan error of the compiler\n" in done.stdout
    assert "failed with status 3" in done.stderr


INSTALL = """
import sys
sys.path.insert(0, {folder!r})
import environment
environment.compile_core = lambda *_: None
environment.run = lambda title, *command, **variables: print(title, *command)
environment.digest = lambda *names: {digest!r}
environment.install({venv!r}, {{"demo"}}, True)
"""


def installed(python: str, venv: Path, digest: str = "as it was") -> str:
    """Bring an environment up to date; return the commands that this takes."""
    code = INSTALL.format(folder=str(ENVIRONMENT), venv=str(venv), digest=digest)
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout


def test_an_environment_in_use_stays(tmp_path):
    """Neither its own Python, once it is activated, nor another setup.py makes it anew."""
    assert "--clear" in installed(BASE, tmp_path)
    assert installed(BASE, tmp_path) == installed(sys.executable, tmp_path) == ""
    assert sys.prefix == sys.base_prefix or sys.executable != BASE
    more = installed(sys.executable, tmp_path, "other requirements")
    assert "installing packages" in more and "--clear" not in more
    assert installed(BASE, tmp_path, "other requirements") == ""
