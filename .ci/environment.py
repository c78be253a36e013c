"""Makes the virtual environment that `make demo`, `make test` and `make bench` work in.

Usage: python3 environment.py FOLDER EXTRAS, e.g. `.venv test,jazzy` (the extras of setup.py).

Does nothing when FOLDER is up to date with all that its content depends on; otherwise says what it
does. Needs only a bare Python; even one that is too old must be able to parse this file.
"""

import fcntl
import glob
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time

OLDEST = (3, 10)
PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROS_DISTRO = os.environ.get("ROS_DISTRO", "")  # set by a sourced ROS 2, which then is the one used
COMPILER = (os.environ.get("CC") or "cc").split()[0]


def say(text):
    """Print at once, into a pipe as well."""
    print(f"featherstone_ros: {text}", flush=True)


def complaint():
    """Return what the machine lacks and how to get it, or None."""
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
    return None


def digest(*names):
    """Return a text that changes with the content of the files."""
    total = hashlib.sha256()
    for name in names:
        with open(name, "rb") as file:
            total.update(name.encode() + b"\0" + file.read())
    return total.hexdigest()


def is_noted(note, text):
    """Tell whether the note has exactly this text."""
    if not os.path.isfile(note):
        return False
    with open(note) as file:
        return file.read() == text


def write_note(note, text):
    """Note what has been done; the last thing to do, so that what was interrupted is done again."""
    with open(note, "w") as file:
        file.write(text)


def run(*command):
    """Run a command of the set-up; its output is shown, the stack trace of this file is not."""
    status = subprocess.call(command)
    if status:
        sys.exit(f"featherstone_ros: this failed with status {status}: {' '.join(command)}")


def build_requirements():
    """Return the build requirements that pyproject.toml lists (tomllib is too new to rely on)."""
    with open("pyproject.toml") as file:
        return re.findall(r'"([^"]+)"', re.search(r"^requires = (.*)$", file.read(), re.M).group(1))


def constraints(folder):
    """Return pip's arguments that keep the numpy ROS was compiled for, if there is a ROS."""
    if not ROS_DISTRO or not importlib.util.find_spec("numpy"):
        return []
    import numpy

    path = os.path.join(folder, "constraints.txt")
    with open(path, "w") as file:
        file.write(f"numpy=={numpy.__version__}\n")
    return ["--constraint", path]


def compiled():
    """Return the modules that have been compiled for this Python."""
    return glob.glob("featherstone_ros/_*" + sysconfig.get_config_var("EXT_SUFFIX"))


def remove_compiled():
    """Remove them: those that are no longer built would stay as they are."""
    for module in compiled():
        os.remove(module)


def install(folder, extras):
    """Make the environment anew unless it is as wanted; return whether it was made.

    The package is installed editable: changed Python code counts at once.
    """
    note = os.path.join(folder, "installed.txt")
    wanted = f"{sys.version}\n{sys.executable}\n{PROJECT}\n{extras}\n{ROS_DISTRO}\n"
    wanted += digest("setup.py", "setup.cfg", "pyproject.toml")
    if is_noted(note, wanted):
        return False
    say(f"setting up {folder} with Python {sys.version.split()[0]} (once; a few minutes)")
    if os.path.exists(note):
        os.remove(note)
    access = ["--system-site-packages"] if ROS_DISTRO else []
    run(sys.executable, "-m", "venv", "--clear", *access, folder)
    pip = [os.path.join(folder, "bin", "python"), "-m", "pip", "install", "-qq", "--no-input"]
    pip += ["--disable-pip-version-check", *constraints(folder)]
    say("installing what the build needs")
    # The pip of Python 3.10 searches for minutes what a current one resolves in seconds.
    run(*pip, "--upgrade", "pip", *build_requirements())
    say(f"compiling the core and installing the package with its extras {extras}")
    remove_compiled()
    run(*pip, "--no-build-isolation", "--editable", f".[{extras}]")
    write_note(note, wanted)
    return True


def compile_core(folder, is_compiled):
    """Compile the core in place if its sources or the compiler's switches have changed."""
    note = os.path.join(folder, "compiled.txt")
    wanted = digest("setup.py", *sorted(glob.glob("cython_core/**/*.[hp]*", recursive=True)))
    wanted += os.environ.get("FEATHERSTONE_DEBUG", "")
    wanted += os.environ.get("FEATHERSTONE_BUILD_FOR", "")
    if compiled() and is_noted(note, wanted):
        return
    if not is_compiled:
        say("compiling the core")
        remove_compiled()
        run(os.path.join(folder, "bin", "python"), "setup.py", "-q", "build_ext", "--inplace")
    write_note(note, wanted)


def main():
    """Bring the environment up to date, one make at a time."""
    folder, extras = sys.argv[1:]
    os.chdir(PROJECT)
    lock = os.open(PROJECT, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        say("waiting for another make that is setting up")
        fcntl.flock(lock, fcntl.LOCK_EX)
    start = time.monotonic()
    problem = complaint()
    if problem:
        sys.exit(f"featherstone_ros: {problem}")
    is_compiled = install(folder, extras)
    compile_core(folder, is_compiled)
    if time.monotonic() - start > 1:
        say(f"{folder} is ready after {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("featherstone_ros: interrupted; the next make starts the set-up again")
