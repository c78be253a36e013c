"""The package's metadata for pip, colcon and rosdep is true and consistent."""

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from functools import cache
from pathlib import Path

import pytest

import featherstone_ros.model.robots as share
from featherstone_ros.tools.doctor.checks import LIBRARIES

SOURCE = Path(__file__).resolve().parents[2]
MANIFEST = ElementTree.parse(SOURCE / "package.xml").getroot()
# rosdep's name for what a module is imported from, where it is not the module's own name
ROSDEP_KEYS = {
    "PIL": "python3-pil",
    "defusedxml": "python3-defusedxml",
    "matplotlib": "python3-matplotlib",
    "numpy": "python3-numpy",
    "rich": "python3-rich",
    "scipy": "python3-scipy",
    "yaml": "python3-yaml",
}
# What uses one says how to get it where it is missing, or does without (threadpoolctl); rosdep has
# no Debian package of rosbags.
OPTIONAL = {"mujoco", "pinocchio", "rosbags", "threadpoolctl"}


@pytest.fixture(scope="module")
def installed() -> importlib.metadata.Distribution:
    """What is known of the installed package."""
    try:
        return importlib.metadata.distribution("featherstone_ros")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is used from its source folder without being installed")


def imported_modules() -> set[str]:
    """Return the top-level modules that the package's files import from elsewhere."""
    names = set()
    for path in [*SOURCE.glob("featherstone_ros/**/*.py"), *SOURCE.glob("launch/*.py")]:
        found = re.findall(r"^ *(?:import (\w+)|from (\w+)[\w.]* import )", path.read_text(), re.M)
        names |= {name for pair in found for name in pair if name}
    return names - set(sys.stdlib_module_names) - {"featherstone_ros"}


def test_package_xml_agrees_with_setup_py(installed):
    assert MANIFEST.get("format") == "3"
    assert MANIFEST.findtext("export/build_type") == "ament_python"
    metadata = installed.metadata
    assert MANIFEST.findtext("name") == metadata["Name"].replace("-", "_")
    assert MANIFEST.findtext("version") == metadata["Version"]
    licences = metadata.get("License"), metadata.get("License-Expression")
    assert MANIFEST.findtext("license") in licences


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """What is built without compiling: the package, an sdist, and an editable installation."""
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("built")
    egg = SOURCE / "featherstone_ros.egg-info"
    was_there = egg.exists()
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", folder / "lib"]
    command += ["sdist", "--formats=tar", "-d", folder, "editable_wheel", "-d", folder]
    environment = {**os.environ, "FEATHERSTONE_BUILD_FOR": "none"}
    done = subprocess.run(command, env=environment, cwd=SOURCE, capture_output=True, text=True)
    if not was_there:
        shutil.rmtree(egg, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_marker_of_type_hints_is_packaged(built):
    assert (built / "lib" / "featherstone_ros" / "py.typed").exists()


def test_package_xml_names_every_module_that_the_package_imports():
    declared = {dependency.text for dependency in MANIFEST.findall("exec_depend")}
    needed = {ROSDEP_KEYS.get(module, module) for module in imported_modules() - OPTIONAL}
    assert needed - declared == set()


@pytest.mark.parametrize("name", ["feedforward_controller", "digital_twin", "featherstone-ros"])
def test_entry_point_leads_to_a_function(installed, name):
    (script,) = (point for point in installed.entry_points if point.name == name)
    assert callable(script.load())


def tracked(*patterns: str) -> set[str]:
    """Return the files that git tracks, as they are now."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    command = ["git", "-C", str(SOURCE), "ls-files", *patterns]
    listing = subprocess.run(command, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip(f"not a git checkout: {listing.stderr.strip()}")
    return {name for name in listing.stdout.splitlines() if (SOURCE / name).exists()}


FIND = """
import importlib.util, site, sys
site.addsitedir(sys.argv[1])
print(importlib.util.find_spec("featherstone_ros").origin)
"""


def test_python_in_the_folder_above_a_clone_finds_an_editable_installation(built, tmp_path):
    (tmp_path / "featherstone_ros").symlink_to(SOURCE)  # the clone
    (wheel,) = built.glob("*.whl")
    shutil.unpack_archive(wheel, tmp_path / "site", "zip")
    command = [sys.executable, "-S", "-c", FIND, str(tmp_path / "site")]
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.check_output(command, env=bare, cwd=tmp_path, text=True)
    assert Path(found.strip()) == SOURCE / "featherstone_ros" / "__init__.py"


RECIPE = """
import json, os, runpy, setuptools
told = {}
setuptools.setup = lambda **metadata: told.update(metadata)
recipe = runpy.run_path("setup.py")
flags = {e.sources[0]: e.extra_compile_args for e in recipe["cores"] + recipe["others"]}
modules = [module.name for module in told["ext_modules"]]
about = {"modules": modules, "extras": told["extras_require"], "processes": {}}
for options in ("nocheck parallel=3", "nocheck"):
    os.environ["DEB_BUILD_OPTIONS"] = options
    about["processes"][options] = recipe["processes"]()
os.environ["FEATHERSTONE_BUILD_FOR"] = "x86-64-v9"
try:
    runpy.run_path("setup.py")
except SystemExit as refusal:
    about["refusal"] = str(refusal)
print(json.dumps(about | {"sources": recipe["SOURCES"], "flags": flags}))
"""


@cache
def recipe() -> dict:
    """Return what setup.py would build, how, how many at a time, and its extras."""
    pytest.importorskip("setuptools")
    own = {"BUILD_FOR": "native", "SANITIZE": "", "CFLAGS": ""}
    environment = {**os.environ, **{f"FEATHERSTONE_{name}": own[name] for name in own}}
    printed = subprocess.check_output([sys.executable, "-c", RECIPE], env=environment, cwd=SOURCE)
    return json.loads(printed)


def test_the_environment_of_the_readme_has_the_libraries_of_its_pages():
    extras = recipe()["extras"]
    asked = re.findall(r"'\.\[([\w,]+)\]'", (SOURCE / "README.md").read_text())
    assert asked
    for names in asked:
        needed = [name for extra in names.split(",") for name in extras[extra]]
        assert {re.split("[>=<]", name)[0] for name in needed} >= LIBRARIES.keys()


def test_unknown_instruction_set_to_build_for_is_refused_with_the_valid_ones():
    assert recipe()["refusal"].startswith("FEATHERSTONE_BUILD_FOR has 'x86_64_v9', which")


def test_every_source_is_compiled_and_as_its_line_in_the_table_says():
    sources, flags = recipe()["sources"], recipe()["flags"]
    there = {str(path.relative_to(SOURCE)) for path in SOURCE.glob("cython_core/*/*.pyx")}
    assert set(sources) == set(flags) == there
    for source, optimised in sources.items():
        assert [flag for flag in flags[source] if flag.startswith("-O")] == [optimised]


def test_source_distribution_holds_all_that_git_tracks(built):
    (archive,) = built.glob("*.tar")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert tracked() - names == {".gitignore"}


# The files that come with the package are found, wherever it is installed.


@pytest.mark.parametrize("where", ["share/featherstone_ros", "lib/python3.12/site-packages", ""])
def test_share_directory_is_that_of_an_installation_or_of_the_source_tree(tmp_path, where):
    """Asked of a copy of the module at another place."""
    package = tmp_path / "lib/python3.12/site-packages/featherstone_ros/model"
    package.mkdir(parents=True)
    spec = importlib.util.spec_from_file_location("copied", shutil.copy(share.__file__, package))
    copied = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copied)
    if where:
        (tmp_path / where).mkdir(parents=True, exist_ok=True)
        (tmp_path / where / "package.xml").touch()
        assert copied.share_directory() == tmp_path / where
    else:
        with pytest.raises(FileNotFoundError, match="no share/featherstone_ros in any folder"):
            copied.share_directory()
    assert (share.share_directory() / "package.xml").is_file()


def test_packages_of_one_repository_lie_beside_each_other(tmp_path):
    """An xacro file of a description names files of the package that brings the robot up."""
    file = tmp_path / "arm_description" / "urdf" / "arm.urdf.xacro"
    for package in ("arm_description", "arm_bringup"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "package.xml").write_text(
            f"<package><name>{package}</name></package>"
        )
    (tmp_path / "arm_tools").mkdir()
    assert share.package_around(file, "arm_description") == tmp_path / "arm_description"
    assert share.package_around(file, "arm_bringup") == tmp_path / "arm_bringup"
    assert share.package_around(file, "arm_tools") is None
