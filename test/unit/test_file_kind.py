"""What a command says of a file that is of another kind than it asks for."""

import pytest

from featherstone_ros.errors import BagError, FeatherstoneError, ModelError
from featherstone_ros.identification.bags import read_joint_states
from featherstone_ros.model import read_description
from featherstone_ros.model.file_kind import kind_of
from featherstone_ros.model.parameter_files import ParameterFileError, read_parameters
from featherstone_ros.model.robots import robot_file, robot_parameters
from featherstone_ros.tools import cli
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


def test_record_takes_no_word_for_a_topic(capsys):
    with pytest.raises(SystemExit):
        cli.main(["record", "swing"])
    assert "--output swing" in capsys.readouterr().err
