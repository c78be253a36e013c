"""Makes the virtual environment that `make demo`, `make test` and `make bench` work in.

Usage: python3 environment.py FOLDER EXTRAS [native], e.g. `.venv demo,jazzy native`: the extras of
setup.py that are needed, and whether a core for this machine's instruction set is enough.

Does nothing when FOLDER has all that, up to date with what it depends on; otherwise says what it
does, and how far it is, with a bar on a terminal and every few seconds in a pipe. Needs only a bare
Python; even one that is too old must be able to parse this file.
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
import threading
import time
from concurrent.futures import ThreadPoolExecutor

OLDEST = (3, 10)
PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROS_DISTRO = os.environ.get("ROS_DISTRO", "")  # set by a sourced ROS 2, which then is the one used
COMPILER = (os.environ.get("CC") or "cc").split()[0]
TERMINAL = sys.stdout.isatty()
PERIOD = 0.2 if TERMINAL else 4.0  # [s], from one word about how far it is to the next
BAR = 20  # characters
# What pip and setup.py say that tells how far they are.
PROGRESS = re.compile(
    r" *((Collecting|Downloading) [\w.]+(-[\d.]+)?|Installing collected packages"
    r"|compiling \d+ of \d+)"
)
running = {}  # how far each command is that runs now


def say(text, end="\n"):
    """Print at once, into a pipe as well; on a terminal in place of how far it was."""
    print("\r\033[K" * TERMINAL + f"featherstone_ros: {text}", end=end, flush=True)


def say_how_far(start, finished):
    """Say it until all is finished."""
    while not finished.wait(PERIOD):
        far = "; ".join(list(running.values()))
        if TERMINAL and far:
            for done, steps in re.findall(r"(\d+) of (\d+)", far):
                far = f"[{'#' * (BAR * int(done) // int(steps)):{BAR}}] {far}"
            far = far[: shutil.get_terminal_size().columns - 30]  # a longer one could not be undone
        if far:
            say(f"{time.monotonic() - start:.0f} s: {far}", end="" if TERMINAL else "\n")


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


def read_note(note):
    """Return what has been noted; empty: nothing."""
    if not os.path.isfile(note):
        return ""
    with open(note) as file:
        return file.read()


def write_note(note, text):
    """Note what has been done; the last thing to do, so that what was interrupted is done again."""
    with open(note, "w") as file:
        file.write(text)


def run(title, *command, **variables):
    """Run a command of the set-up; its output is shown if it fails: compilers warn by the page."""
    running[title] = title
    output = []
    with subprocess.Popen(
        command, env={**os.environ, "PYTHONUNBUFFERED": "1", **variables}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
    ) as process:  # fmt: skip
        for line in process.stdout:
            output.append(line)
            far = PROGRESS.match(line)
            if far:
                running[title] = far.group(1)
    del running[title]
    if process.returncode:
        say("".join([title, "\n", *output]), end="")
        sys.exit(
            f"featherstone_ros: this failed with status {process.returncode}: {' '.join(command)}"
        )


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


def interpreter():
    """Return the Python of the machine, also where an environment made from it is activated."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def install(folder, extras, is_native):
    """Make the environment, anew where it is of another Python or ROS; or install what it lacks.

    It may be in use. The package is installed editable: changed Python code counts at once. The
    core is compiled meanwhile; no extra asks for another NumPy than the build.
    """
    note = os.path.join(folder, "installed.txt")
    base = f"{sys.version}\n{interpreter()}\n{PROJECT}\n{ROS_DISTRO}\n"
    kind = base + digest("setup.py", "setup.cfg", "pyproject.toml") + "\n"
    noted = read_note(note)
    there = set(noted.rpartition("\n")[2].split(",")) if noted.startswith(base) else set()
    if extras <= there and noted.startswith(kind):
        return compile_core(folder, is_native)
    if os.path.exists(note):
        os.remove(note)
    # Without bytecode, half of pip's work: Python makes that of what it imports.
    pip = [os.path.join(folder, "bin", "python"), "-m", "pip", "install", "--no-compile"]
    pip += ["--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    if not there:
        say(f"setting up {folder} with Python {sys.version.split()[0]} (once; a few minutes)")
        access = ["--system-site-packages"] if ROS_DISTRO else []
        run("making the environment", interpreter(), "-m", "venv", "--clear", *access, folder)
        pip += constraints(folder)
        run("installing what the build needs", *pip, *build_requirements())
    else:
        pip += constraints(folder)
    names = ",".join(sorted(extras | there))
    say(f"installing the package with its extras {names}")
    command = [*pip, "--no-build-isolation", "--editable", f".[{names}]"]
    with ThreadPoolExecutor() as beside:
        core = beside.submit(compile_core, folder, is_native)
        if not there:
            # The pip of Python 3.10 searches for minutes what a current one resolves in seconds.
            run("installing pip", *pip, "--upgrade", "pip")
        run("installing packages", *command, FEATHERSTONE_BUILD_FOR="none")  # compile_core does it
        core.result()
        if "test" in extras:
            prepare_tests(beside, pip[0])
    write_note(note, kind + names)


def prepare_tests(beside, python):
    """Have done once, at once, what each process of pytest-xdist would do first, by turns."""
    parts = "import sys; sys.path.insert(0, 'test'); import compiled; compiled.build()"
    building = beside.submit(run, "compiling parts for the tests", python, "-c", parts)
    # Reading them makes their bytecode; what is wrong in one is for the run of tests to say.
    reading = "import pytest; pytest.main(['--collect-only', '-q', '-m', ''])"
    run("reading the tests", python, "-c", reading, PYTHONDONTWRITEBYTECODE="")
    building.result()


def compile_core(folder, is_native):
    """Compile the core in place if its sources or the compiler's switches have changed."""
    note = os.path.join(folder, "compiled.txt")
    sources = digest("setup.py", *sorted(glob.glob("cython_core/**/*.[hp]*", recursive=True)))
    sources += os.environ.get("FEATHERSTONE_DEBUG", "") + "\n"
    asked = os.environ.get("FEATHERSTONE_BUILD_FOR", "")
    wanted = asked or ("native" if is_native else "")
    noted = read_note(note)
    # Where nobody asked for more, any core that was compiled here is enough.
    is_enough = noted.startswith(sources) if is_native and not asked else noted == sources + wanted
    if compiled() and is_enough:
        return
    say("compiling the core" + (" for this machine" if wanted == "native" else ""))
    remove_compiled()
    command = [os.path.join(folder, "bin", "python"), "setup.py", "build_ext", "--inplace"]
    run("compiling", *command, FEATHERSTONE_BUILD_FOR=wanted)
    write_note(note, sources + wanted)


def main():
    """Bring the environment up to date, one make at a time."""
    folder, extras, *native = sys.argv[1:]
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
    finished = threading.Event()
    teller = threading.Thread(target=say_how_far, args=(start, finished))
    teller.start()
    try:
        install(folder, set(extras.split(",")), is_native=bool(native))
    finally:
        finished.set()
        teller.join()
        print("\r\033[K" * TERMINAL, end="", flush=True)
    if time.monotonic() - start > 1:
        say(f"{folder} is ready after {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("featherstone_ros: interrupted; the next make starts the set-up again")
