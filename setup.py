"""Package metadata and the build of the compiled core, for pip and colcon alike.

colcon runs this file dry and reads what it prints, so nothing here may print or compile on import.
"""

import os
from glob import glob
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

NAME = "featherstone_ros"
CORE = "cython_core"
DEBUG = os.environ.get("FEATHERSTONE_DEBUG", "0") not in ("", "0")

# The one place for compiler directives. FEATHERSTONE_DEBUG=1 checks every index, which is slow.
DIRECTIVES = {
    "language_level": 3,
    "binding": True,
    "boundscheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
    "initializedcheck": DEBUG,
    "wraparound": False,
}
# -fno-wrapv undoes the -fwrapv of CPython's own flags, which keeps loops from being vectorised.
# Never -ffast-math: NaN must stay NaN, and the same input must give the same bits.
FLAGS = ["-O3", "-fno-wrapv"]


class BuildCore(build_ext):
    """Compiles the core again whenever anything that shapes it has changed."""

    def finalize_options(self):
        """Add the headers of the numpy that is there at build time."""
        super().finalize_options()
        import numpy

        self.include_dirs.append(numpy.get_include())

    def build_extension(self, ext):
        """Build one module; time stamps cover its sources, a note in the build folder the rest."""
        import Cython
        import numpy

        recipe = f"{DIRECTIVES} {FLAGS} Cython {Cython.__version__} numpy {numpy.__version__}\n"
        note = Path(self.build_temp, f"{ext.name}.recipe")
        self.force = self.force or not note.exists() or note.read_text() != recipe
        super().build_extension(ext)
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(recipe)


def link_core_sources():
    """Make the core's sources visible to `colcon build --symlink-install`.

    It runs this file through a link in its build folder, where it links only the Python packages.
    """
    sources = Path(__file__).resolve().parent / CORE
    if sources.is_dir() and not Path(CORE).exists():
        Path(CORE).symlink_to(sources, target_is_directory=True)


link_core_sources()

core = Extension(
    f"{NAME}._core",
    [f"{CORE}/core.pyx"],
    include_dirs=[CORE],
    depends=sorted(glob(f"{CORE}/*.p*")),
    define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
    extra_compile_args=FLAGS,
)
core.cython_directives = DIRECTIVES
core.cython_c_in_temp = True  # generated C stays out of the source folder

TEST = ["hypothesis", "pytest>=7", "pytest-timeout", "xacro"]
DEMO = ["matplotlib"]
# Reference implementations: tests compare with them, benchmarks race them, where they are there.
PEERS = ["example-robot-data", "pin", "scipy"]


def ros_wheels(rclpy, messages):
    """ROS 2 from the Python package index, for machines without one; never install both kinds."""
    names = ("diagnostic", "geometry", "sensor", "std", "trajectory")
    return [
        f"ros-rclpy[fastrtps]=={rclpy}",
        *(f"ros-{name}-msgs=={messages}" for name in names),
        f"ros-std-srvs=={messages}",
    ]


setup(
    name=NAME,
    version="0.1.0",
    description="Model-based torque control and digital twins in ROS 2, from the robot's URDF",
    long_description="Featherstone's rigid body algorithms in a compiled core, a feedforward "
    "torque controller and a digital twin as ROS 2 lifecycle nodes.",
    author="featherstone_ros maintainers",
    maintainer="featherstone_ros maintainers",
    maintainer_email="maintainers@users.noreply.a-seed-91ffa660.example",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    ext_modules=[core],
    cmdclass={"build_ext": BuildCore},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/launch", sorted(glob("launch/*.launch.py"))),
        (f"share/{NAME}/config", sorted(glob("config/*.urdf") + glob("config/*.yaml"))),
    ],
    zip_safe=False,
    install_requires=["defusedxml", "numpy>=1.21", "pyyaml", "rich"],
    extras_require={
        "demo": DEMO,
        # colcon test looks for pytest in the extra of this name.
        "test": TEST,
        "peers": PEERS,
        "lint": ["ruff"],
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
            "featherstone-ros = featherstone_ros.commands.cli:main",
        ],
    },
)
