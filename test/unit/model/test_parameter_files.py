"""Parameter files for both nodes: what is in them, and what a wrong one is told."""

import os
from pathlib import Path

import numpy as np
import pytest
import yaml
from refusals import refusals, refused_commands

from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model import bounded_yaml, parameter_files
from featherstone_ros.model.bounded_yaml import YamlError, parse_yaml, read_yaml
from featherstone_ros.model.parameter_files import (
    ParameterFileError,
    check_names,
    of_joint,
    read_parameters,
)
from featherstone_ros.model.robots import robot_names, robot_parameters
from featherstone_ros.tools.robot_setup import described, load
from featherstone_ros.tools.trajectory_files import parse, read

JOINTS = ("a", "b")
BOTH = "/**: {{ros__parameters: {{{}}}}}".format
LIST = r"gravity .*does not read: expected a list of numbers, of names"
WRONG = [
    ("", "is empty"),
    ("[1]", r"the file is \[1\]"),
    ("arm", "the file is 'arm'"),
    ("a: 1", "has no ros__parameters"),
    ("/**: {ros__parameters: [1, 2]}", r"ros__parameters of /\*\* is \[1, 2\]"),
    ("/**/digital_twin: {ros__parameters: fast}", "parameters of /../digital_twin is 'fast'"),
    ("/**: {ros__parameters: {a: 1", "expected"),
    (BOTH("gain: {a: {p: 3.0}}"), r"no parameter gain.a.p \(nearest: gains.a.p\)"),
    (BOTH("frction: {a: {coulomb: 3.0}}"), r"\(nearest: friction.a.coulomb\)"),
    (BOTH("armature: {c: 3.0}"), r"no parameter armature.c \(nearest: armature."),
    (BOTH("efort_scale: 1.0, joint: [a]"), r"effort_scale\); no parameter joint \("),
    ("/**/digital_twin: {ros__parameters: {path_tolerance: 0.1}}", "no parameter path_tolerance"),
    ("/**/feedforward_controler: {ros__parameters: {}}", r"expected /\*\*/feedforward_controller"),
    (b"\xff\xfe\x00", "no UTF-8 text"),
    # What ROS does not read, and a list that it reads for minutes.
    (BOTH("gravity: [0, 0, -9.81]"), r"whole numbers beside .*expected \[0\.0, 0\.0, -9\.81\]"),
    (BOTH("gravity: [1e3, 1]"), r"gravity .*expected \[1000\.0, 1\.0\]"),
    (BOTH("gravity: [a, 1]"), LIST),
    (BOTH("gravity: [[1.0], [2.0]]"), LIST),
    (BOTH("gravity: "), "gravity .*has no value"),
    (BOTH("gravity: {}"), "gravity .*has no value"),
    (BOTH(f"gravity: [{10_001 * '0,'}]"), "gravity has 10001 values, expected at most"),
]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "arm.yaml"


def controller(file, text):
    file.write_text(f"/**: {{ros__parameters: {{{text}}}}}")
    return read_parameters(file)["feedforward_controller"]


def test_what_is_said_of_a_node_overrides_what_is_said_of_both(file):
    file.write_text(
        "/**: {ros__parameters: {joints: [a], rate: 1.0}}\n"
        "/**/digital_twin: {ros__parameters: {rate: 2.0, drive: {a: {p: 3.0}}}}"
    )
    twin = {"joints": ["a"], "rate": 2.0, "drive.a.p": 3.0}
    both = {"joints": ["a"], "rate": 1.0}
    assert read_parameters(file) == {"digital_twin": twin, "feedforward_controller": both}


def test_of_several_files_a_later_one_overrides_also_what_is_said_of_a_node(tmp_path):
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text(
        "/**: {ros__parameters: {stop_time: 0.3, decay_time: 0.4}}\n"
        "/**/feedforward_controller: {ros__parameters: {stop_time: 0.5, effort_scale: 0.9}}"
    )
    other.write_text("/**: {ros__parameters: {stop_time: 7e-1, effort_scale: 8e-1}}")
    files = one, other
    read = read_parameters(*files)["feedforward_controller"]
    assert read == {"stop_time": 0.7, "decay_time": 0.4, "effort_scale": 0.8}
    arm = ControlledArm.from_robot("ur5e", parameters=files)
    assert (arm.settings.stop_time, arm.settings.decay_time) == (0.7, 0.4)
    assert described("ur5e", files).arm.values["effort_scale"] == 0.8
    other.write_text("/**: {ros__parameters: {stop_tim: 0.7}}")
    with pytest.raises(ParameterFileError, match=r"other.yaml: no parameter stop_tim "):
        ControlledArm.from_robot("ur5e", parameters=files)


def check(text="/**: {ros__parameters: {armature: {a: 3.0}}}"):
    Path("arm.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    check_names(Path("arm.yaml"), JOINTS)


test_a_file_that_is_not_one_of_the_nodes_is_refused_by_name = refusals(
    *((f"arm.yaml.*{said}", text) for text, said in WRONG),
    ("none.yaml", lambda: read_parameters(Path("none.yaml"))),
    error=ParameterFileError, of=check, files={},
)  # fmt: skip


def test_numbers_and_names_are_read_as_people_write_them(file):
    for text in ("1e3", "1000", "1000.0"):
        assert controller(file, f"speed: {text}").number("speed", 0.0) == 1000.0
    for text in ("fast", "true", "[1.0]"):
        with pytest.raises(ParameterFileError, match=rf"{file.name}: speed is .*expected a number"):
            controller(file, f"speed: {text}").number("speed", 0.0)
    values = controller(file, "gains: {b: {p: 3}}")
    np.testing.assert_array_equal(values.numbers("gains.{}.p", JOINTS, [1.0, 2.0]), [1.0, 3.0])
    for text, names in (("[a, b]", ["a", "b"]), ("['']", None), ("[]", None)):
        assert controller(file, f"joints: {text}").joints() == names
    for text in ("a", "3", "[1, 2]"):
        with pytest.raises(ParameterFileError, match=rf"{file.name}: joints is .*list of names"):
            controller(file, f"joints: {text}").joints()


MISSPELT = "friction.elbow_joint.coulmb .nearest: friction.elbow_joint.coulomb."
LACKS = "lacks.yaml: drives.elbow_joint.stiffness is 0, expected more than 0 for command position"
test_commands_refuse_a_wrong_file = refused_commands(
    {
        "plan.yaml": "joint_names: [elbow_joint]\npoints: [{positions: [0.1], time_from_start: 1}]",
        "list.yaml": "[1]",
        "three.yaml": "/**: {ros__parameters: {joints: 3}}",
        "misspelt.yaml": "/**: {ros__parameters: {friction: {elbow_joint: {coulmb: 3.0}}}}",
        "lacks.yaml": "/**: {ros__parameters: {drives: {elbow_joint: {command: position}}}}",
    },
    *(
        (f"{command} --parameters {file}", 2 if "plan" in command else 1, text)
        for command in ("run ur5e", "excite ur5e --output e.yaml", "preflight plan.yaml ur5e")
        for file, text in (
            ("list.yaml", "list.yaml"),
            ("three.yaml", "three.yaml"),
            ("misspelt.yaml", MISSPELT),
            ("lacks.yaml", LACKS),
        )
    ),
    ("retime plan.yaml ur5e --output e.yaml --parameters lacks.yaml", 2, LACKS),
)


def test_parameters_of_a_joint_with_a_dot_in_its_name_are_not_nested(tmp_path):
    """ROS's reader would lose those of the next joint: test/ros/test_setup_file.py."""
    gains = {"p": 1.5, "d": 0.5}
    assert of_joint("elbow", gains) == {"elbow": gains}
    assert of_joint("elbow.1", gains) == {"elbow.1.p": 1.5, "elbow.1.d": 0.5}
    path = tmp_path / "arm.yaml"
    for joint in ("elbow", "elbow.1"):
        content = {"/**": {"ros__parameters": {"gains": of_joint(joint, gains)}}}
        path.write_text(yaml.safe_dump(content))
        read = read_parameters(path)["digital_twin"]
        assert read == {f"gains.{joint}.p": 1.5, f"gains.{joint}.d": 0.5}


def test_names_that_a_node_or_ros_has_pass(file):
    file.write_text(
        "/**: {ros__parameters: {use_sim_time: true, armature: {a: 1.0}, path_tolerance: 0.1,"
        " qos_overrides: {/joint_states: {publisher: {depth: 3}}}}}\n"
        "/**/digital_twin: {ros__parameters: {initial_positions: {b: 1.0}}}\n"
        "/robot_state_publisher: {ros__parameters: {anything: 1}}"
    )
    check_names(file, JOINTS)


@pytest.mark.parametrize("robot", robot_names())
def test_the_files_of_the_packages_robots_pass(robot):
    ControlledArm.from_robot(robot, load(robot).model.joint_names[:2], robot_parameters(robot))


def test_lists_that_ros_reads_pass(file):
    for text in ("[0.0, 0.0, -9.81]", "[1e3, 1.0]", "[1, 2]", "[a, b]", "[true, false]"):
        controller(file, f"gravity: {text}")


# Small YAML that stands for much: refused before anything is built from it.


EIGHT = ["1", "*a", "*b", "*c", "*d", "*e", "*f"]  # each in the next, eight times
LAUGHS = "".join(
    f"{name}: &{name} [{','.join(8 * [value])}]\n"
    for name, value in zip("abcdefg", EIGHT, strict=True)
)
TOO_MUCH = {
    "laughs": (LAUGHS, "more than 1,000,000 values"),
    "itself": ("goal: &a\n  goal: *a\n", r"line 2: \*a contains itself"),
    "points": ("points: &p [*p]\n", r"\*p contains itself"),
    "deep": ("[" * 60 + "]" * 60, "nested deeper than 50"),
    "endless": ("[" * 100_000, "nested deeper|nesting depth"),
    "digits": ("a: " + 5000 * "9", "a number of 5000 characters"),
    "base 60": ("a: 1" + 100_000 * ":1", "a number of 200001 characters"),
    "said to be a number": (f'a: !!int "1{100_000 * ":1"}"', "a number of 200001 characters"),
    "tag": ("!!python/x a", "could not determine a constructor"),
    "long tag": ("!!python/" + 100_000 * "x" + " a", "a tag of 100025 characters"),
    "repeated tag": (f"%TAG !e! {'x' * 1000}\n---\n[{1000 * '!e!a b,'}]", "a tag of 1001"),
    "one hash": (f"{{{','.join(f'{k * (2**61 - 1)}: 0' for k in range(9))}}}", "of 64 bits"),
    "key": ("? [1]\n: 2", "unhashable key"),
    "date": ("a: 2001-99-99", "month must be in 1..12"),
}


@pytest.mark.parametrize("text, said", TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_stands_for_too_much_is_refused_by_every_reader_in_a_short_line(text, said, tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text(text)
    for reader, error, given in [
        (parse_yaml, YamlError, text),
        (lambda where: read(str(where)), FeatherstoneError, path),
        (read_parameters, ParameterFileError, path),
    ]:
        with pytest.raises(error, match=said) as refusal:
            reader(given)
        assert len(str(refusal.value)) < 500 + len(str(path))


def test_aliases_that_stand_for_little_are_read():
    """As PyYAML writes a list that occurs twice."""
    text = """
joint_names: [a]
points:
- {positions: [1.0], velocities: &id001 [0.0], time_from_start: 1}
- {positions: [2.0], velocities: *id001, time_from_start: {sec: 2, nanosec: 500000000}}
---
joint_names: &id001 [b]
"""
    first, second = parse(text, "here")
    assert [point.time for point in first.points] == [1.0, 2.5]
    assert all(point.velocities == (0.0,) for point in first.points)
    assert second.names == ("b",)


def test_a_file_beyond_the_size_is_not_read(tmp_path):
    path = tmp_path / "a.yaml"
    path.touch()
    for beyond, said in ((0, "characters are not allowed"), (1, "50 MB, which is the most")):
        os.truncate(path, bounded_yaml.MAX_SIZE + beyond)  # zeros
        with pytest.raises(YamlError, match=said):
            read_yaml(path)


def test_unknown_names_of_any_number_and_length_make_a_short_message(tmp_path, monkeypatch):
    explained = []

    def counted(name, known, explain=parameter_files.misspelt):
        explained.append(name)
        return explain(name, known)

    monkeypatch.setattr(parameter_files, "misspelt", counted)  # it compares with all names
    path = tmp_path / "a.yaml"
    names = "".join(f"    {'x' * 1000}{k}: 1\n" for k in range(1000))
    path.write_text("/**:\n  ros__parameters:\n" + names)
    with pytest.raises(ParameterFileError, match="and 980 more") as refusal:
        check_names(path, ["joint"])
    assert len(str(refusal.value)) < 10_000
    assert len(explained) == parameter_files.SHOWN
