"""featherstone-ros monitor without ROS: who is ours, what is shown, what a hostile text may do."""

from types import SimpleNamespace

import pytest

from featherstone_ros.control.diagnostics import DiagnosticLevel
from featherstone_ros.text import LONGEST, plain
from featherstone_ros.tools.monitor import line
from featherstone_ros.tools.node_status import MAX_NODES, SILENCE, StatusTable

NODE = "left/feedforward_controller"
ALL = {
    "state": "active",
    "latency p50 [us]": "41",
    "latency p99 [us]": "96",
    "latency max [us]": "214",
    "period jitter p99 [us]": "30",
    "period jitter max [us]": "87",
    "overruns": "0",
    "states lost": "3",
    "commands saturated": "12",
    "governor interventions": "5",
    "scheduling": "FIFO 60, cpu 1",
    "latency histogram [us]": "40:500 41:400 96:9 215:1",
}


def status(name=NODE, level=b"\0", message="running: trajectory", values=ALL):
    items = [SimpleNamespace(key=key, value=value) for key, value in values.items()]
    return SimpleNamespace(name=name, level=level, message=message, values=items)


def heard(*statuses, now=100.0):
    table = StatusTable()
    table.hear(statuses, now)
    return table


def shown(table, now=100.0):
    return "\n".join(line(status, now) for status in table.nodes)


def test_figures_that_a_node_does_not_tell_or_has_not_measured_are_left_out():
    text = shown(heard(status(values={"state": "active", "overruns": "7"})))
    assert text.endswith("| running: trajectory | overruns 7")
    nothing = {**ALL, "latency histogram [us]": "", "latency p50 [us]": "0"}
    text = shown(heard(status(values=nothing)))
    assert "p50" not in text and "jitter" not in text and "overruns 0" in text
    lost = heard(status("digital_twin", values={"state": "active", "commands lost": "8765"}))
    assert "lost 8765" in shown(lost)


def test_only_our_nodes_are_listed_each_in_its_namespace():
    foreign = status(name="joint_state_broadcaster", values={"publish rate": "500"})
    other = status(name="controller_manager", values={"state": "very good"})
    table = heard(foreign, status("right/digital_twin"), other, status())
    assert [node.name for node in table.nodes] == [NODE, "right/digital_twin"]


def test_last_report_counts():
    table = heard(status(level=b"\2"))
    assert table.has_error
    table.hear([status(message="later")], 101.0)
    (node,) = table.nodes
    assert node.message == "later" and not table.has_error


def test_further_status_of_a_node_is_shown_beside_its_own():
    description = status(f"{NODE}: robot description", b"\1", "2 warnings")
    table = heard(status(), description)
    (node,) = table.nodes
    assert node.level is DiagnosticLevel.OK and "robot description: 2 warnings" in shown(table)
    table = heard(status(), status(f"{NODE}: robot description", b"\2", "no inertia"))
    assert table.has_error
    assert "robot description: 2 warnings" in line(node, 100.0)


@pytest.mark.parametrize("level", [b"\2", 2, b"\3", b"\x7f", b"", 99])
def test_level_above_warning_is_an_error(level):
    assert heard(status(level=level)).has_error is (level != b"")


def test_node_that_falls_silent_says_so():
    table = heard(status())
    (node,) = table.nodes
    assert "SILENT" not in shown(table, 100.0 + SILENCE)
    assert line(node, 109.0).startswith("SILENT left/")
    assert "| for 9 s; running: trajectory |" in line(node, 109.0)


def test_line_has_everything():
    (node,) = heard(status(level=b"\1")).nodes
    assert line(node, 100.0) == (
        f"WARN   {NODE} | active | running: trajectory | latency p50 41, p99 96, max 214, "
        "jitter p99 30, max 87, overruns 0, lost 3, saturated 12, governor 5, "
        "FIFO 60, cpu 1"
    )


def test_what_comes_from_the_net_cannot_command_the_terminal():
    evil = "\x1b]0;owned\x07\x1b[2J[red]\n\r" + "x" * 1_000_000
    values = {key: evil for key in ALL} | {"state": "active", evil: evil}
    table = heard(status(name=evil, message=evil, values=values))
    (node,) = table.nodes
    text = line(node, 100.0)
    assert len(text) < 10_000 and "[red]" in text
    assert all(c.isprintable() for c in text)
    assert plain("\x9b31m\u202e") == "31m"
    assert len(plain(evil)) <= LONGEST


def test_number_of_nodes_is_bounded():
    table = heard(*(status(name=f"node_{i}") for i in range(10 * MAX_NODES)))
    assert len(table.nodes) == MAX_NODES
    table.hear([status(name="node_0", message="still heard")], 101.0)
    assert table.nodes[0].message == "still heard"
