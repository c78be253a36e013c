"""Makes the virtual environment that `make demo`, `make test` and `make bench` work in.

Usage: python3 environment.py FOLDER EXTRAS [native], e.g. `.venv demo,jazzy native`: the extras of
setup.py that are needed, and whether a core for this machine's instruction set is enough.

pip installs what FOLDER lacks, and setup.py compiles what has changed; of what takes longer than a
second it is said how far it is. Nothing is ever removed from FOLDER: it may be in use. Needs only a
bare Python; even one that is too old must be able to parse this file.
"""

import fcntl
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from threading import Timer

OLDEST = (3, 10)
PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROS_DISTRO = os.environ.get("ROS_DISTRO", "")  # set by a sourced ROS 2, which then is the one used
COMPILER = (os.environ.get("CC") or "cc").split()[0]
SHOWN = re.compile(r" *(Collecting|Downloading|Installing collected|compiling \d)")


def say(text):
    """Print at once, into a pipe as well."""
    print("featherstone_ros: " + text, flush=True)


def complaint(folder):
    """Return what the machine or the environment lacks and how to get it, or None."""
    if sys.version_info < OLDEST:
        return (
            f"Python {OLDEST[0]}.{OLDEST[1]} or newer is needed; {sys.executable} is "
            f"{sys.version.split()[0]}. Name another one: make PYTHON=python3.12 ..."
        )
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        return "Python's venv module is missing (Debian, Ubuntu: apt install python3-venv)."
    if not shutil.which(COMPILER):
        return f"there is no C compiler {COMPILER!r} (Debian, Ubuntu: apt install gcc)."
    if not os.path.isfile(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
        return "the header Python.h is missing (Debian, Ubuntu: apt install python3-dev)."
    if ROS_DISTRO and not importlib.util.find_spec("rclpy"):
        return (
            f"ROS_DISTRO is {ROS_DISTRO!r}, but {sys.executable} finds no rclpy: source its setup "
            "file, name the Python that it uses (make PYTHON=/usr/bin/python3 ...), or unset "
            "ROS_DISTRO to have ROS 2 installed from wheels."
        )
    made = os.path.join(folder, "pyvenv.cfg")
    if os.path.exists(made):
        with open(made) as file:
            its = re.search(r"^version\w* *= *(.*)$", file.read(), re.M).group(1)
        if its.split(".")[:2] != sys.version.split(".")[:2]:
            return (
                f"{folder} has Python {its}, and {sys.executable} is {sys.version.split()[0]}. "
                f"Remove {folder} when nothing uses it, or name its Python: make PYTHON=..."
            )
    return None


def run(title, *command, **variables):
    """Run a command; if it takes its time say how far it is, and if it fails all that it said."""
    output = []
    is_slow = Timer(1.0, say, [title])
    is_slow.start()
    with subprocess.Popen(
        command, env={**os.environ, "PYTHONUNBUFFERED": "1", **variables}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
    ) as process:  # fmt: skip
        for line in process.stdout:
            output.append(line)
            if SHOWN.match(line) and is_slow.finished.is_set():
                print(line.rstrip()[:100], flush=True)
    is_slow.cancel()
    if process.returncode:
        print("".join(output), end="", flush=True)
        status = f"{title} failed with status {process.returncode}"
        sys.exit(f"featherstone_ros: {status}, see above: {' '.join(command)}")


def interpreter():
    """Return the Python of the machine, also where an environment made from it is activated."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def build_requirements():
    """Return the build requirements that pyproject.toml lists (tomllib is too new to rely on)."""
    with open("pyproject.toml") as file:
        return re.findall(r'"([^"]+)"', re.search(r"^requires = (.*)$", file.read(), re.M).group(1))


def is_newer(one, other):
    """Whether a file is as new as another, or newer."""
    return os.path.getmtime(one) >= os.path.getmtime(other)


def noted(note, *sources):
    """Return what a note says that is newer than all sources; else, or without one, None."""
    if not os.path.exists(note) or any(is_newer(source, note) for source in sources):
        return None
    with open(note) as file:
        return file.read()


def install(folder, extras):
    """Have pip install the package, editable, with the extras that are not there yet.

    With a ROS 2 of the machine, its packages are there, too, and numpy stays what they need.
    """
    note = os.path.join(folder, "installed.txt")
    there = set((noted(note) or "").split("\n")[-1].split(",")) - {""}
    if extras <= there and noted(note, "pyproject.toml", "setup.cfg", "setup.py"):
        return
    say(f"setting up {folder} with Python {sys.version.split()[0]}; at first, this takes minutes")
    access = ["--system-site-packages"] if ROS_DISTRO else []
    run("making the environment", interpreter(), "-m", "venv", *access, folder)
    pip = [os.path.join(folder, "bin", "python"), "-m", "pip", "install", "--no-input"]
    pip += ["--no-compile", "--disable-pip-version-check", "--progress-bar", "off"]
    kept = []
    if ROS_DISTRO and importlib.util.find_spec("numpy"):
        import numpy

        kept = [f"numpy=={numpy.__version__}"]
    run("installing pip", *pip, "--upgrade", "pip")  # that of Python 3.10 resolves for minutes
    run("installing what the build needs", *pip, *build_requirements(), *kept)
    names = ",".join(sorted(extras | there))
    package = ["--no-build-isolation", "--editable", f".[{names}]"]
    run("installing packages", *pip, *package, *kept, FEATHERSTONE_BUILD_FOR="none")
    with open(note, "w") as file:
        file.write(names)


def compile_core(folder, native):
    """Have setup.py compile what has changed: sources, or what the environment asks of it."""
    target = os.environ.get("FEATHERSTONE_BUILD_FOR") or ("native" if native else "")
    settings = {k: v for k, v in os.environ.items() if k.startswith("FEATHERSTONE_")}
    settings = repr(sorted({**settings, "FEATHERSTONE_BUILD_FOR": target}.items()))
    note = os.path.join(folder, "compiled.txt")
    sources = glob.glob("cython_core/**/*.[hp]*", recursive=True)
    is_there = glob.glob("featherstone_ros/_control" + sysconfig.get_config_var("EXT_SUFFIX"))
    if not is_there or noted(note, "setup.py", *sources) != settings:
        command = [os.path.join(folder, "bin", "python"), "setup.py", "build_ext", "--inplace"]
        run("compiling the core", *command, FEATHERSTONE_BUILD_FOR=target)
        with open(note, "w") as file:
            file.write(settings)


def main():
    """Bring the environment up to date, one make at a time."""
    folder, extras, *native = sys.argv[1:]
    os.chdir(PROJECT)
    problem = complaint(folder)
    if problem:
        sys.exit(f"featherstone_ros: {problem}")
    lock = os.open(PROJECT, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        say("waiting for another make that is setting up")
        fcntl.flock(lock, fcntl.LOCK_EX)
    install(folder, set(extras.split(",")))
    compile_core(folder, native)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("featherstone_ros: interrupted; the next make goes on with the set-up")
