"""Packages list what they export, and load it when it is asked for."""

import subprocess
import sys

import pytest

import featherstone_ros
from featherstone_ros import control, model


@pytest.mark.parametrize("package", [featherstone_ros, control, model], ids=lambda p: p.__name__)
def test_what_a_package_lists_is_there(package):
    assert {*package.__all__} <= {*dir(package)}
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no .*'torqe'"):
        _ = package.torqe


MODULES = "fr.errors, fr.identification, fr.model.urdf, fr.control.settings, fr.control.retiming"
NUMPY = """
import sys; assert 'numpy' not in sys.modules
assert fr.Model.__module__ == 'featherstone_ros.model.model' and 'numpy' in sys.modules"""


@pytest.mark.parametrize("asked", [MODULES, NUMPY], ids=["modules", "nothing slow before"])
def test_what_is_asked_for_is_there_and_no_sooner(tmp_path, asked):
    program = f"import featherstone_ros as fr\n{asked}"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
