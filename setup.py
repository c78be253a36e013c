"""Package metadata and the build of the compiled core, for pip and colcon alike.

colcon runs this file dry and reads what it prints, so nothing here may print or compile on import.
"""

import logging
import multiprocessing
import os
import runpy
import shutil
import sysconfig
from glob import glob
from pathlib import Path

import setuptools
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.editable_wheel import editable_wheel

NAME = "featherstone_ros"
CORE = "cython_core"
DYNAMICS = f"{CORE}/dynamics"
# The sources in the order in which they are compiled, those that take longest first, and how much
# each is optimised. A module but for the core computes little between its calls of the core.
SOURCES = {
    f"{DYNAMICS}/core.pyx": "-O3",  # at -O2 an rnea takes 28 % longer, and batches 49 %
    f"{CORE}/control/control.pyx": "-O2",  # at -O1 a control cycle takes 5.5 % longer
    f"{CORE}/simulation/twin.pyx": "-O1",
    f"{CORE}/observer/shadow.pyx": "-O1",
    f"{CORE}/task_space/task_space.pyx": "-O1",
    f"{CORE}/ros/loop.pyx": "-O1",
    f"{CORE}/control/path_timing.pyx": "-O2",
    f"{CORE}/control/enumerations.pyx": "-O1",
}


def is_set(variable):
    """Whether the environment asks for something."""
    return os.environ.get(variable, "0") not in ("", "0")


# The one place for compiler directives. FEATHERSTONE_DEBUG=1 checks every index, which is slow.
# FEATHERSTONE_WERROR=1, as CI has it: a warning of Cython's ends the build.
# Negative indices count from the end wherever Python objects are indexed, as in Python; kernels
# index C arrays, in which they have no such meaning.
DEBUG = is_set("FEATHERSTONE_DEBUG")
DIRECTIVES = {
    "language_level": 3,
    "binding": True,
    "boundscheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
    "emit_code_comments": DEBUG,  # two fifths of the C
    "infer_types": True,  # locals by what they are assigned; declared where that is ambiguous
    "initializedcheck": DEBUG,
}
# -fno-wrapv undoes the -fwrapv of CPython's own flags, which keeps loops from being vectorised.
# The next two: vectorising within one state costs more shuffles than it saves; a call of memset or
# memcpy costs more than copying the recursions' few numbers.
# -g0: the debug information that CPython's own flags ask for takes a third of the time to compile.
# -Wno-...: what a .pxd defines is inline in C, also where inlining is forbidden, and GCC overlooks
# that arrays are filled in either branch; colcon takes a warning for an error. The last two have
# Clang take what only GCC knows.
# Never -ffast-math: NaN must stay NaN, and the sine would be wrong (lanes.h).
FLAGS = [
    "-fno-wrapv",
    "-fno-tree-slp-vectorize",
    "-fno-tree-loop-distribute-patterns",
    "-g0",
    "-Wno-attributes",
    "-Wno-maybe-uninitialized",
    "-Wno-unknown-warning-option",
    "-Wno-ignored-optimization-argument",
]
THREADS = ["-pthread"]
# FEATHERSTONE_SANITIZE=1: memory errors and undefined behaviour end the process (.ci/sanitized.py).
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
if not is_set("FEATHERSTONE_SANITIZE"):
    SANITIZERS = []
else:
    FLAGS += ["-O1", "-g1", "-fno-omit-frame-pointer", *SANITIZERS]
# The last word; -O0 compiles in a tenth of the time (.ci/oldest.py).
FLAGS += os.environ.get("FEATHERSTONE_CFLAGS", "").split()

# The core is compiled once for each of these, and the best one for the CPU picked on import
# (featherstone_ros/_core.py). FEATHERSTONE_BUILD_FOR names those to build: some of them, all, or
# native, the best for this machine; none: no module at all is compiled.
X86_64 = {
    "x86_64": ["-march=x86-64"],
    "x86_64_v3": ["-march=x86-64-v3"],
    "x86_64_v4": ["-march=x86-64-v4"],
    # Eight lanes in AVX2's registers: to test the widest core where there is no AVX-512. -O1 makes
    # it in half the time.
    "x86_64_v3_8": ["-march=x86-64-v3", "-DLANES=8", "-O1"],
}
# What is compiled for, which need not be what compiles: of linux-x86_64, linux-aarch64, ...
TARGET = sysconfig.get_platform().rpartition("-")[2]
INSTRUCTION_SETS = X86_64 if TARGET in ("x86_64", "amd64") else {"generic": []}


def wanted_sets():
    """Return the keys of INSTRUCTION_SETS to build for; x86-64-v3 is x86_64_v3, as on import."""
    wanted = os.environ.get("FEATHERSTONE_BUILD_FOR", "").replace("-", "_").split()
    if wanted == ["all"]:
        return list(INSTRUCTION_SETS)
    if wanted == ["native"]:
        return [native_set()]
    if wanted == ["none"]:
        return []
    unknown = [name for name in wanted if name not in INSTRUCTION_SETS]
    if unknown:
        valid = ", ".join(name.replace("_", "-") for name in INSTRUCTION_SETS)
        raise SystemExit(
            f"FEATHERSTONE_BUILD_FOR has {unknown[0]!r}, which is none of {TARGET}'s; "
            f"expected all, native, none, or some of {valid}"
        )
    return wanted or list(INSTRUCTION_SETS)[:3]


def native_set():
    """Return the key of the best of them that this machine's CPU has."""
    rules = runpy.run_path(Path(__file__).resolve().parent / NAME / "instruction_sets.py")
    usable = (name for name in rules["NEEDS"] if not rules["lacking"](name))  # best first
    keys = (name.replace("-", "_") for name in usable)
    return next(key for key in keys if key in INSTRUCTION_SETS)


def processes():
    """Return how many may run side by side: parallel=N of DEB_BUILD_OPTIONS, or all processors."""
    options = os.environ.get("DEB_BUILD_OPTIONS", "").split()
    asked = [option.partition("=")[2] for option in options if option.startswith("parallel=")]
    return int(asked[-1]) if asked else len(os.sched_getaffinity(0))


class BuildCore(build_ext):
    """Makes C of each source once, and compiles it for each of its extensions, side by side."""

    def finalize_options(self):
        """Add the headers of the numpy that is installed at build time."""
        super().finalize_options()
        import numpy

        self.include_dirs.append(numpy.get_include())
        self.parallel = self.parallel or processes()

    def build_extensions(self):
        """Make C, anew when anything that shapes it has changed; time stamps tell for sources."""
        import Cython
        import numpy
        from Cython.Build import cythonize
        from Cython.Compiler import Options

        Options.warning_errors = is_set("FEATHERSTONE_WERROR")
        tools = f"Cython {Cython.__version__} numpy {numpy.__version__}"
        recipe = f"{DIRECTIVES} {SOURCES} {FLAGS + THREADS} {tools}\n"
        note = Path(self.build_temp, "recipe.txt")
        self.force = self.force or not note.exists() or note.read_text() != recipe
        self.todo = sorted(extension.name for extension in self.extensions)
        multiprocessing.set_start_method("fork", force=True)  # others would run this file anew
        logging.info("compiling 0 of %d", len(self.todo))
        sources = dict.fromkeys(extension.sources[0] for extension in self.extensions)
        made = cythonize(
            [Extension(f"{NAME}._{Path(source).stem}", [source]) for source in sources],
            nthreads=self.parallel,
            compiler_directives=DIRECTIVES,
            include_path=[CORE],
            build_dir=self.build_temp,
            force=self.force,
            quiet=True,
        )
        c_of = dict(zip(sources, (module.sources[0] for module in made), strict=True))
        for extension in self.extensions:  # each has its own object file beside its own copy
            c = c_of[extension.sources[0]]
            copy = Path(self.build_temp, extension.name, Path(c).name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(c, copy)
            extension.sources = [str(copy)]
        super().build_extensions()
        note.write_text(recipe)

    def build_extension(self, extension):
        """Tell whoever waits (.ci/environment.py) about each that is compiled."""
        super().build_extension(extension)
        self.todo.remove(extension.name)
        done = len(self.extensions) - len(self.todo)
        logging.info("compiling %d of %d", done, len(self.extensions))


class EditableByPath(editable_wheel):
    """Has an editable installation put this folder on the path.

    By the finder that setuptools would make, Python in the folder above a clone of this name takes
    the clone itself for the package, an empty one.
    """

    def finalize_options(self):
        """Say where the packages are; not in setup(), where colcon would link this whole folder."""
        super().finalize_options()
        self.package_dir = {"": "."}


def link_core_sources():
    """Make the core's sources visible to `colcon build --symlink-install`.

    It runs this file through a link in its build folder, where it links only the Python packages.
    """
    sources = Path(__file__).resolve().parent / CORE
    if sources.is_dir() and not Path(CORE).exists():
        Path(CORE).symlink_to(sources, target_is_directory=True)


link_core_sources()

NUMPY = ("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")
# For what else a module includes or cimports, Cython makes C anew, and C that is new is compiled.
HEADERS = glob(f"{CORE}/**/*.h", recursive=True)

core, *rest = SOURCES
cores = [
    Extension(
        f"{NAME}._core_{name}",
        [core],
        include_dirs=[CORE, DYNAMICS],
        depends=HEADERS,
        # one source, several modules
        define_macros=[NUMPY, ("PyInit__core", f"PyInit__core_{name}")],
        extra_compile_args=[SOURCES[core], *FLAGS, *THREADS, *INSTRUCTION_SETS[name]],
        extra_link_args=THREADS + SANITIZERS,
    )
    for name in wanted_sets()
]
others = [
    Extension(
        f"{NAME}._{Path(source).stem}",
        [source],
        include_dirs=[CORE],
        depends=HEADERS,
        define_macros=[NUMPY],
        libraries=["dl", "pthread"],  # parts of the C library since glibc 2.34
        extra_compile_args=[SOURCES[source], *FLAGS],
        extra_link_args=SANITIZERS,
    )
    for source in rest
]

# Lower bounds are what Ubuntu Noble has, and `make oldest` tries.
BAGS = ["rosbags>=0.11"]
SCIPY = ["scipy>=1.11.4"]
TEST = [
    *BAGS,
    *SCIPY,
    "clarabel",
    "cython>=3.0.8",
    "hypothesis",
    "matplotlib",
    "pytest>=7.4",
    "pytest-benchmark",
    "pytest-timeout",
    "pytest-xdist>=3.2",
    "setuptools>=68",
    "xacro",
]
DOCS = ["furo", "myst-parser", "sphinx", "sphinx-mathjax-offline"]
DEMO = [*BAGS, "matplotlib", "xacro"]
EVALUATE = [*BAGS, *SCIPY, "matplotlib", "threadpoolctl"]
EXAMPLES = ["dask", "distributed", "matplotlib", "viser"]
# Reference implementations: tests and benchmarks compare with those that are installed.
PEERS = [*SCIPY, "example-robot-data", "mujoco", "pin", "toppra", "trimesh"]


def ros_wheels(rclpy, messages):
    """ROS 2 from the Python package index, for machines without one; never install both kinds."""
    names = ("diagnostic", "geometry", "nav", "sensor", "std", "trajectory", "visualization")
    return [
        f"ros-rclpy[fastrtps]=={rclpy}",
        *(f"ros-{name}-msgs=={messages}" for name in names),
        f"ros-std-srvs=={messages}",
    ]


# Ubuntu Noble has setuptools 68, which knows only the old name.
LICENSE = "license_expression" if int(setuptools.__version__.split(".")[0]) >= 77 else "license"

setup(
    name=NAME,
    version="0.1.0",  # catkin_prepare_release writes it, here and in package.xml
    description="Model-based torque control and digital twins in ROS 2, from the robot's URDF",
    long_description=Path(__file__).resolve().with_name("README.md").read_text(),
    long_description_content_type="text/markdown",
    author="featherstone_ros maintainers",
    author_email="maintainers@featherstone-ros.invalid",
    keywords="robotics ROS URDF rigid-body-dynamics torque-control digital-twin",
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Cython",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)),
        "Topic :: Scientific/Engineering :: Physics",
    ],
    python_requires=">=3.10",
    **{LICENSE: "Apache-2.0"},
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={NAME: ["py.typed", "*.pyi"]},
    ext_modules=[*cores, *others] if cores else [],
    cmdclass={"build_ext": BuildCore, "editable_wheel": EditableByPath},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/launch", sorted(glob("launch/*.launch.py"))),
        (f"share/{NAME}/config", sorted(glob("config/*.*"))),
        (f"share/{NAME}/examples", ["examples/torque_markers.py"]),
    ],
    zip_safe=False,
    install_requires=["defusedxml", "numpy>=1.26", "pyyaml", "rich"],
    extras_require={
        "bags": BAGS,
        "docs": DOCS,
        "demo": DEMO,
        "evaluate": EVALUATE,
        "examples": EXAMPLES,
        # colcon test looks for pytest in the extra of this name.
        "test": TEST,
        "peers": PEERS,
        "lint": ["mypy>=1.18", "ruff"],
        "jazzy": ros_wheels("7.1.6", "5.3.6"),
        "kilted": ros_wheels("9.1.2", "5.5.1"),
    },
    # pip puts these into the environment's bin folder, on the PATH. colcon puts them into
    # lib/featherstone_ros (setup.cfg), which is not: `ros2 run featherstone_ros digital_twin`,
    # `ros2 run featherstone_ros featherstone-ros demo`.
    entry_points={
        "console_scripts": [
            "feedforward_controller = featherstone_ros.feedforward_controller:main",
            "digital_twin = featherstone_ros.digital_twin:main",
            "featherstone-ros = featherstone_ros.tools.cli:main",
        ],
    },
)
