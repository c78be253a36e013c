"""What robot_description may hold."""

import pytest
from refusals import refusals

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


test_what_is_no_description_is_named = refusals(
    (
        ModelError,
        "'/no/arm.urdf'.*No such file.*expected URDF text",
        lambda: description_text("/no/arm.urdf"),
    ),
    (ModelError, "'no_such_package'", lambda: description_text("package://no_such_package/a.urdf")),
    (ModelError, "begins with 'joints:", lambda: description_text("joints:\n  - elbow\n")),
    (ModelError, "expected URDF text", lambda: description_text(str(share_directory()))),
)
