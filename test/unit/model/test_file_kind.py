"""What a command says of a file that is of another kind than it asks for."""

import pytest
from refusals import refusals

from featherstone_ros.errors import BagError, FeatherstoneError, ModelError
from featherstone_ros.identification.bags import read_joint_states
from featherstone_ros.model import read_description
from featherstone_ros.model.parameter_files import ParameterFileError, read_parameters
from featherstone_ros.model.robots import (
    description_text,
    kind_of,
    robot_file,
    robot_parameters,
    share_directory,
)
from featherstone_ros.tools.trajectory_files import read

READERS = {
    "a robot description": (read_description, ModelError),
    "a parameter file": (read_parameters, ParameterFileError),
    "a trajectory": (lambda path: read(str(path)), FeatherstoneError),
    "a recording": (lambda path: list(read_joint_states(path)), BagError),
}


@pytest.fixture
def files(tmp_path):
    contents = {
        "a trajectory": "# of ros__parameters\njoint_names: [a]\npoints: []\n",
        "a recording": "",
        "empty": " \n",
        "": "<!-- no robot -->",
    }
    names = ("plan.yaml", "swing.mcap", "nothing.yaml", "page.xml")
    for name, text in zip(names, contents.values(), strict=True):
        (tmp_path / name).write_text(text)
    made = dict(zip(contents, map(tmp_path.joinpath, names), strict=True))
    own = {"a robot description": robot_file("ur5e"), "a parameter file": robot_parameters("ur5e")}
    return made | own


def test_a_file_is_told_by_what_it_holds(files):
    assert {kind: kind_of(path) for kind, path in files.items()} == {kind: kind for kind in files}


@pytest.mark.parametrize("expected", READERS)
@pytest.mark.parametrize("given", [*READERS, "empty"])
def test_what_is_given_in_place_of_another_is_named(files, expected, given):
    if given == expected or (given, expected) == ("a recording", "a trajectory"):
        return  # a recording has trajectories
    reader, error = READERS[expected]
    with pytest.raises(error, match=rf"{files[given].name} is {given}, expected {expected}"):
        reader(files[given])


def test_record_takes_no_word_for_a_topic(tool):
    assert "--output swing" in tool("record", "swing", status=2)


# What robot_description may hold.


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
    ("'/no/arm.urdf'.*No such file.*expected URDF text", "/no/arm.urdf"),
    ("'no_such_package'", "package://no_such_package/a.urdf"),
    ("begins with 'joints:", "joints:\n  - elbow\n"),
    ("expected URDF text", str(share_directory())),
    error=ModelError, of=lambda given=TEXT: description_text(given),
)  # fmt: skip
