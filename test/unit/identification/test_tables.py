"""Recordings as tables: CSV and npz with named columns."""

from pathlib import Path

import numpy as np
import pytest
from refusals import refusals

from featherstone_ros.errors import BagError
from featherstone_ros.identification.bags import read_joint_states

TIME = np.arange(5) * 0.01
VALUES = {"shoulder_pan": np.arange(5.0), "elbow": np.arange(5.0) ** 2}
STYLES = {
    "first": ("time", "{quantity}_{joint}", ("position", "velocity", "effort")),
    "last": ("t", "{joint}_{quantity}", ("q", "qd", "tau")),
    "plotjuggler": (
        "__time",
        "/joint_states/{joint}/{quantity}",
        ("position", "velocity", "effort"),
    ),
    "brackets": ("Timestamp", "{quantity}[{joint}]", ("pos", "vel", "torque")),
    "dots": ("time_s", "joint_states.{quantity}.{joint}", ("position", "velocity", "effort")),
}


def columns(style):
    time, pattern, words = STYLES[style]
    found = {time: TIME}
    for joint, values in VALUES.items():
        for k, word in enumerate(words):
            found[pattern.format(joint=joint, quantity=word)] = values + 100 * k
    return found | {"temperature": TIME}


def write_csv(path, table, delimiter=","):
    rows = [table.keys(), *zip(*table.values(), strict=True)]
    path.write_text("\n".join(delimiter.join(map(str, row)) for row in rows) + "\n")
    return path


def assert_states(path):
    (read,) = read_joint_states(path)
    assert read.joint_names == tuple(VALUES) and read.topic == path.name
    np.testing.assert_array_equal(np.diff(read.stamp), 10_000_000)
    assert (read.stamp > 0).all() and (read.received == read.stamp).all()
    for k, field in enumerate((read.position, read.velocity, read.effort)):
        np.testing.assert_array_equal(field, np.column_stack(list(VALUES.values())) + 100 * k)


@pytest.mark.parametrize("style", STYLES)
def test_columns_are_found_by_their_names(tmp_path, style):
    for delimiter in ",;\t":
        assert_states(write_csv(tmp_path / "a.csv", columns(style), delimiter))
    np.savez(tmp_path / "a.npz", **columns("first" if "/" in STYLES[style][1] else style))
    assert_states(tmp_path / "a.npz")


@pytest.mark.parametrize("words", [("positions", "velocities", "torques"), ("q", "dq", "effort")])
def test_arrays_of_all_joints_are_read(tmp_path, words):
    values = np.column_stack(list(VALUES.values()))
    fields = {word: values + 100 * k for k, word in enumerate(words)}
    np.savez(tmp_path / "a.npz", times=TIME, joint_names=[*VALUES], **fields)
    assert_states(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", times=TIME, **fields)
    with pytest.raises(BagError, match="2 columns, and there is no array joint_names"):
        read_joint_states(tmp_path / "b.npz")
    with pytest.raises(BagError, match=r"nor are there 2 of the 1 \(arm\); .*--joints"):
        read_joint_states(tmp_path / "b.npz", joints=[["arm"]])


@pytest.mark.parametrize("numbered", [False, True])
def test_joints_without_names_get_those_of_the_reader(tmp_path, numbered):
    values = {"position": np.array(list(VALUES.values())).T}
    if numbered:
        values = {f"q_{k}": x for k, x in zip((2, 1), VALUES.values(), strict=True)}
    np.savez(tmp_path / "a.npz", times=TIME, **values)
    names = [*VALUES][::-1] if numbered else [*VALUES]
    (read,) = read_joint_states(tmp_path / "a.npz", joints=[(), ["a"], names])
    assert list(read.joint_names) == names and "names no joints" in read.notes[0]
    for name, column in zip(names, read.position.T, strict=True):
        np.testing.assert_array_equal(column, VALUES[name])


def test_what_is_missing_is_nan_and_time_may_have_another_unit(tmp_path):
    table = {"time_ns": (TIME * 1e9).astype(int) + 10**18, "position_a": [1, 2, "", 4, 5]}
    (read,) = read_joint_states(write_csv(tmp_path / "a.csv", table))
    np.testing.assert_array_equal(read.position[:, 0], [1, 2, np.nan, 4, 5])
    assert np.isnan(read.effort).all()
    np.testing.assert_allclose(np.diff(read.stamp), 10_000_000, atol=200)


def read_text(text="time,position_a\n1,2\n"):
    Path("a.csv").write_text(text)
    read_joint_states("a.csv")


def read_object():
    np.savez("a.npz", time=np.array([{}], dtype=object))
    read_joint_states("a.npz")


test_what_cannot_be_used_is_named = refusals(
    ("no column for the position of a joint, .*'time', 'a', 'b'", "time,a,b\n1,2,3\n"),
    ("no column for the time", "position_a\n1\n"),
    ("line 3 has 1 fields, its head 2", "time,position_a\n1,2\n2\n"),
    ("could not convert", "time,position_a\n1,x\n"),
    ("the time goes back after row 1", "time,position_a\n2,0\n1,0\n"),
    ("two columns are the position of joint 'a'", "time,position_a,a_pos\n2,0,0\n"),
    ("a time is no finite number", "time,position_a\nnan,0\n"),
    ("it is empty", ""),
    ("allow_pickle", read_object),
    ("there is no", lambda: read_joint_states("nowhere.csv")),
    error=BagError, of=read_text, files={},
)  # fmt: skip
