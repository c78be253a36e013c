"""What robot_description may hold."""

import pytest

from featherstone_ros.errors import ModelError
from featherstone_ros.model.description_parameter import description_text
from featherstone_ros.model.robots import robot_file
from featherstone_ros.model.share import share_directory

FILE = robot_file("ur5e")
TEXT = FILE.read_text()


def test_text_is_returned_as_it_is():
    assert description_text(TEXT) is TEXT
    assert description_text("\n  " + TEXT) == "\n  " + TEXT
    assert description_text("") == ""


@pytest.mark.parametrize(
    "place",
    [str(FILE), f" {FILE}\n", f"file://{FILE}", "package://featherstone_ros/config/ur5e.urdf"],
)
def test_a_file_is_read(place):
    assert description_text(place) == TEXT


def test_a_path_with_spaces_may_be_quoted(tmp_path):
    (tmp_path / "my arm.urdf").write_text(TEXT)
    assert description_text(f"file://{tmp_path}/my%20arm.urdf") == TEXT
    assert description_text(f"{tmp_path}/my arm.urdf") == TEXT


def test_a_file_that_is_not_there_is_named_with_what_was_expected():
    with pytest.raises(ModelError, match=r"'/no/arm.urdf'.*No such file.*expected URDF text"):
        description_text("/no/arm.urdf")


def test_a_package_that_is_not_there_is_named():
    with pytest.raises(ModelError, match="'no_such_package'"):
        description_text("package://no_such_package/arm.urdf")


def test_text_of_something_else_is_shown():
    with pytest.raises(ModelError, match="begins with 'joints:"):
        description_text("joints:\n  - elbow\n")


def test_a_folder_is_no_file():
    with pytest.raises(ModelError, match="expected URDF text"):
        description_text(str(share_directory()))
