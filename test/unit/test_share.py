"""The files that come with the package are found, wherever it is installed."""

import shutil
import subprocess
import sys
from pathlib import Path

import featherstone_ros.model.share as share


def location_from(package: Path) -> str:
    """Ask a copy of the module at another place, in a process of its own."""
    code = "from share import share_directory; print(share_directory())"
    run = subprocess.run([sys.executable, "-c", code], cwd=package, capture_output=True, text=True)
    return run.stdout.strip() or run.stderr


def copy_module(prefix: Path) -> Path:
    package = prefix / "lib" / "python3.12" / "site-packages" / "featherstone_ros" / "model"
    package.mkdir(parents=True)
    shutil.copy(share.__file__, package)
    return package


def test_share_directory_holds_package_xml():
    assert (share.share_directory() / "package.xml").is_file()


def test_share_directory_is_under_the_prefix_of_an_installation(tmp_path):
    package = copy_module(tmp_path)
    folder = tmp_path / "share" / "featherstone_ros"
    folder.mkdir(parents=True)
    (folder / "package.xml").touch()
    assert location_from(package) == str(folder)


def test_share_directory_is_the_source_tree_above_the_package(tmp_path):
    package = copy_module(tmp_path)
    source = package.parents[1]
    (source / "package.xml").touch()
    assert location_from(package) == str(source)


def test_share_directory_raises_if_the_files_were_not_installed(tmp_path):
    package = copy_module(tmp_path)
    assert "no share/featherstone_ros in any folder above" in location_from(package)


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
