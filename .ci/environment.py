"""Makes the virtual environment that `make demo`, `make test` and `make bench` work in.

Usage: python3 environment.py FOLDER EXTRAS [native], e.g. `.venv demo,jazzy native`: the extras of
setup.py that are needed, and whether a core for this machine's instruction set is enough.

pip installs what FOLDER lacks, and setup.py compiles what has changed; meanwhile it is said how far
they are. Nothing is ever removed from FOLDER: it may be in use. Needs only a bare Python; even one
that is too old must be able to parse this file.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

OLDEST = (3, 10)
PROJECT = Path(__file__).resolve().parents[1]
ROS_DISTRO = os.environ.get("ROS_DISTRO", "")  # set by a sourced ROS 2, which then is the one used
COMPILER = (os.environ.get("CC") or "cc").split()[0]
VERSION = sys.version.split()[0]
SHOWN = re.compile(r" *(Collecting|Downloading|Installing collected|compiling \d)")


def complaints(folder):
    """Yield what the machine or the environment lacks and how to get it."""
    me = f"{sys.executable} is {VERSION}"
    if sys.version_info < OLDEST:
        yield f"Python 3.10 or newer is needed; {me}. Name another one: make PYTHON=python3.12 ..."
    if not (find_spec("venv") and find_spec("ensurepip")):
        yield "Python's venv module is missing (Debian, Ubuntu: apt install python3-venv)."
    if not shutil.which(COMPILER):
        yield f"there is no C compiler {COMPILER!r} (Debian, Ubuntu: apt install gcc)."
    if not Path(sysconfig.get_paths()["include"], "Python.h").exists():
        yield "the header Python.h is missing (Debian, Ubuntu: apt install python3-dev)."
    if ROS_DISTRO and not find_spec("rclpy"):
        yield (
            f"ROS_DISTRO is {ROS_DISTRO!r}, but {sys.executable} finds no rclpy: source its setup "
            "file, name the Python that it uses (make PYTHON=/usr/bin/python3 ...), or unset "
            "ROS_DISTRO to have ROS 2 installed from wheels."
        )
    its = re.search(r"^version\w* *= *((\d+\.\d+\.).*)$", text_of(folder / "pyvenv.cfg"), re.M)
    if its and not VERSION.startswith(its.group(2)):
        yield (
            f"{folder} has Python {its.group(1)}, and {me}. Remove {folder} when nothing uses it, "
            "or name its Python: make PYTHON=..."
        )


def text_of(file):
    """Return what a file has, nothing if it is not there."""
    return file.read_text() if file.exists() else ""


def is_done(note, text, *sources):
    """Whether a note says so and is newer than all sources."""
    return text_of(note) == text and os.path.getmtime(note) > max(map(os.path.getmtime, sources))


def run(title, *command, **variables):
    """Run a command; say how far it is, and if it fails all that it said."""
    print(f"featherstone_ros: {title}", flush=True)  # at once, into a pipe as well
    output = []
    with subprocess.Popen(
        command, env={**os.environ, "PYTHONUNBUFFERED": "1", **variables}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
    ) as process:  # fmt: skip
        for line in process.stdout:
            output.append(line)
            if SHOWN.match(line):
                print(line.rstrip()[:100], flush=True)
    if process.returncode:
        status = f"failed with status {process.returncode}: {' '.join(command)}"
        sys.exit(f"{''.join(output)}featherstone_ros: {title} {status}")


def install(folder, extras):
    """Have pip install the package, editable, with the extras that are not there yet.

    With a ROS 2 of the machine, its packages are there, too, and numpy stays what they need.
    """
    note = folder / "installed.txt"
    there = text_of(note).rpartition("\n")[2].split(",")
    extras = ",".join(sorted({*extras.split(","), *there} - {""}))
    if is_done(note, extras, "pyproject.toml", "setup.cfg", "setup.py"):
        return
    from importlib.metadata import version

    access = ["--system-site-packages"] if ROS_DISTRO else []
    kept = [f"numpy=={version('numpy')}"] if ROS_DISTRO else []
    title = f"setting up {folder} with Python {VERSION}; at first, this takes minutes"
    base = os.path.realpath(sys._base_executable)  # also where the environment is activated
    run(title, base, "-m", "venv", *access, str(folder))
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--no-input"]
    pip += ["--no-compile", "--disable-pip-version-check", "--progress-bar", "off"]
    requires = re.search("^requires = (.*)", text_of(Path("pyproject.toml")), re.M).group(1)
    build = ["pip>=25", *re.findall('"([^"]+)"', requires)]  # older ones resolve for minutes
    run("installing what the build needs", *pip, *build, *kept)
    package = ["--no-build-isolation", "--editable", f".[{extras}]"]
    run("installing packages", *pip, *package, *kept, FEATHERSTONE_BUILD_FOR="none")
    note.write_text(extras)


def compile_core(folder, target):
    """Have setup.py compile what has changed: sources, or what the environment asks of it."""
    asked = {k: v for k, v in os.environ.items() if k.startswith("FEATHERSTONE_") and v}
    settings = {"FEATHERSTONE_BUILD_FOR": target, **asked}
    note, text = folder / "compiled.txt", repr(sorted(settings.items()))
    core = Path("featherstone_ros/_control" + sysconfig.get_config_var("EXT_SUFFIX"))
    sources = Path("cython_core").rglob("*.[hp]*")
    if not core.exists() or not is_done(note, text, "setup.py", *sources):
        python = str(folder / "bin" / "python")
        run("compiling the core", python, "setup.py", "build_ext", "--inplace", **settings)
        note.write_text(text)


def main(folder, extras, target=""):
    """Bring the environment up to date, one make at a time."""
    os.chdir(PROJECT)
    for complaint in complaints(Path(folder)):
        sys.exit(f"featherstone_ros: {complaint}")
    lock = os.open(PROJECT, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print("featherstone_ros: waiting for another make that is setting up", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    install(Path(folder), extras)
    compile_core(Path(folder), target)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("featherstone_ros: interrupted; the next make goes on with the set-up")
