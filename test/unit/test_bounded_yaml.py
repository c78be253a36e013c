"""Small YAML that stands for much: refused before anything is built from it."""

import pytest

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model import bounded_yaml, parameter_files
from featherstone_ros.model.bounded_yaml import YamlError, parse_yaml, read_yaml
from featherstone_ros.model.parameter_files import ParameterFileError, check_names, read_parameters
from featherstone_ros.tools.trajectory_files import parse, read

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


def test_a_file_beyond_the_size_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded_yaml, "MAX_SIZE", 100)
    path = tmp_path / "a.yaml"
    path.write_text("#" * 100)
    assert read_yaml(path) == []
    path.write_text("#" * 101)
    with pytest.raises(YamlError, match="which is the most"):
        read_yaml(path)


@pytest.mark.parametrize(
    "time", [".inf", "-.inf", ".nan", "1.0e+300", "2147483648", "{sec: 1.0e+10}"]
)
def test_a_time_that_no_message_can_hold_is_refused(time):
    text = f"joint_names: [a]\npoints: [{{positions: [1.0], time_from_start: {time}}}]"
    with pytest.raises(FeatherstoneError, match=r"time_from_start is .*fewer than 2"):
        parse(text, "here")


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


def test_a_list_that_ros_reads_for_minutes_is_refused(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(f"/**:\n  ros__parameters:\n    gravity: [{10_001 * '0,'}]")
    with pytest.raises(ParameterFileError, match="gravity has 10001 values, expected at most"):
        check_names(path, ["joint"])
