"""`featherstone-ros doctor`: what is well has no remedy, and what is not has one. No ROS."""

import os

import pytest

from featherstone_ros import FeatherstoneError, _core
from featherstone_ros.control.diagnostics import DiagnosticLevel as Level
from featherstone_ros.tools.doctor import checks, in_words
from featherstone_ros.tools.doctor.checks import Line
from featherstone_ros.tools.options import require_ros


@pytest.mark.parametrize(
    ("text", "level"),
    [("", Level.OK), ("101", Level.OK), ("170", Level.WARN), ("233", Level.ERROR), ("x", 2)],
)
def test_a_domain_that_others_cannot_join_is_named(text, level):
    line = checks.domain({"ROS_DOMAIN_ID": text})
    assert line.level == level and bool(line.remedy) == (level > Level.OK)
    assert text in line.text


@pytest.mark.parametrize(
    "command", [["run", "ur5e"], ["replay", "plan.yaml"], ["record"], ["demo"]]
)
def test_commands_refuse_what_is_no_domain(command, monkeypatch, tool):
    monkeypatch.setenv("ROS_DOMAIN_ID", "lab")
    assert "ROS_DOMAIN_ID is 'lab', expected a number up to 101" in tool(*command, status=1)


def test_each_library_that_is_missing_has_its_line():
    there, *missing = checks.libraries(lambda name: name in ("rosbags", "xacro"))
    assert there.level == Level.OK and "rosbags" in there.text and "scipy" not in there.text
    assert {line.subject: line.remedy for line in missing} == {
        "scipy": "pip install scipy",
        "matplotlib": "pip install matplotlib",
    }


def test_the_lack_of_control_msgs_costs_an_action(monkeypatch):
    monkeypatch.setattr(checks, "find_spec", lambda _: None)
    line = checks.control_messages({"ROS_DISTRO": "jazzy"})
    assert "follow_joint_trajectory" in line.text
    assert line.remedy == "sudo apt install ros-jazzy-control-msgs"


def test_a_middleware_that_is_not_there_is_named_with_the_variable():
    line = checks.middleware({**os.environ, "RMW_IMPLEMENTATION": "rmw_absent_cpp"})
    expected = "unset RMW_IMPLEMENTATION (rmw_absent_cpp), or install it"
    assert (line.level, line.remedy) == (Level.ERROR, expected), line.text


def test_every_command_names_a_middleware_that_is_not_there(monkeypatch):
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_absent_cpp")
    with pytest.raises(FeatherstoneError, match="unset RMW_IMPLEMENTATION"):
        require_ros()


@pytest.mark.parametrize(
    ("look", "changed", "value", "said"),
    [
        ("real_time", "may_have_priority", lambda: False, "rtprio 98"),
        ("processor", "platform.machine", lambda: "x86_64", "FEATHERSTONE_"),
        ("clock", "CLOCK", "hpet\n", "clocksource"),
        ("clock", "CLOCK", "tsc\n", None),
    ],
)
def test_what_slows_a_machine_down_is_told_with_the_remedy(
    look, changed, value, said, monkeypatch, tmp_path
):
    monkeypatch.setattr(_core, "instruction_set", "an older one")
    if isinstance(value, str):
        (tmp_path / "current_clocksource").write_text(value)
        value = tmp_path / "current_clocksource"
    monkeypatch.setattr(f"{checks.__name__}.{changed}", value)
    line = getattr(checks, look)()
    assert line.level == (Level.WARN if said else Level.OK)
    assert said in line.remedy if said else not line.remedy


def test_what_to_do_stands_below_what_was_found():
    text = in_words(Line("clock", "hpet", Level.WARN, "boot anew")).plain
    assert [line.strip(" ●") for line in text.splitlines()] == [f"{'clock':14} hpet", "→ boot anew"]
