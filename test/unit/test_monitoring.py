"""featherstone-ros monitor without ROS: who is ours, what is shown, what a hostile text may do."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from featherstone_ros.control.diagnostics import DiagnosticLevel
from featherstone_ros.realtime.histogram import LatencyHistogram
from featherstone_ros.text import LONGEST, plain
from featherstone_ros.tools.monitor import columns
from featherstone_ros.tools.monitor.columns import COLUMNS, sketch
from featherstone_ros.tools.monitor.lines import line
from featherstone_ros.tools.monitor.node_status import MAX_NODES, SILENCE, StatusTable
from featherstone_ros.tools.monitor.view import NOBODY, view

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


def shown(table, now=100.0, width=120):
    console = Console(width=width, force_terminal=True, color_system="truecolor", record=True)
    with console.capture() as capture:
        console.print(view(table.nodes, now))
    return re.sub(r"\x1b\[[0-9;]*m", "", capture.get())


def test_every_figure_of_a_node_is_shown():
    text = shown(heard(status()))
    words = text.split()
    for column in COLUMNS:
        assert ALL[column.keys[0]] in words
    for piece in (NODE, "active", "running: trajectory", "FIFO 60, cpu 1"):
        assert piece in text


def test_figures_that_a_node_does_not_tell_are_dashes():
    text = shown(heard(status(values={"state": "active", "overruns": "7"})))
    assert text.count("–") == len(COLUMNS) - 1 and " 7" in text


def test_lost_commands_of_a_twin_stand_where_the_lost_states_of_a_controller_do():
    table = heard(status("digital_twin", values={"state": "active", "commands lost": "8765"}))
    assert "8765" in shown(table)
    assert "lost 8765" in line(table.nodes[0], 100.0)


def test_nothing_measured_is_not_zero():
    nothing = {**ALL, "latency histogram [us]": "", "latency p50 [us]": "0"}
    assert shown(heard(status(values=nothing))).count("–") == 5


def test_four_arms_fit_eighty_columns():
    arms = [
        f"arm_{k}/{node}" for k in range(4) for node in ("feedforward_controller", "digital_twin")
    ]
    lines = shown(heard(*(status(name) for name in arms)), width=80).splitlines()
    assert len(lines) <= 2 + 3 * len(arms) and max(map(len, lines)) <= 80
    for name in arms:
        assert any(line.startswith(f"● {name}  active  running: trajectory") for line in lines)


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
    assert "silent" not in shown(table, 100.0 + SILENCE)
    assert "silent for 9 s" in shown(table, 109.0)
    assert line(node, 109.0).startswith("SILENT left/")


def test_line_has_everything():
    (node,) = heard(status(level=b"\1")).nodes
    assert line(node, 100.0) == (
        f"WARN   {NODE} | active | running: trajectory | latency p50 41, p99 96, max 214, "
        "jitter p99 30, max 87, overruns 0, lost 3, saturated 12, governor 5, "
        "FIFO 60, cpu 1"
    )


def test_nobody_heard_is_said():
    assert NOBODY in shown(heard())


def test_sketch_has_the_counts_where_they_belong():
    latencies = LatencyHistogram.from_text("21:1000 201:10 2000:1")
    low, bars, high = re.fullmatch(r"(\d+) (.{24}) (\d+) µs", sketch(latencies)).groups()
    assert (low, high) == ("20", "2000")
    heights = np.array([" ▁▂▃▄▅▆▇█".index(bar) for bar in bars])
    assert np.flatnonzero(heights).tolist() == [0, 12, 23]  # a decade is half of the axis
    assert heights[0] > heights[12] > heights[23] > 0


@pytest.mark.parametrize(
    "text",
    ["", "40", "40:", ":3", "-1:3", "40:x", "41.5:3", f"40:{10**30}", f"{10**400}:1", "x" * 99],
)
def test_odd_histogram_is_left_out(text):
    values = {**ALL, "latency histogram [us]": text}
    assert columns.histogram(values) is None
    assert NODE in shown(heard(status(values=values)))


def test_what_comes_from_the_net_cannot_command_the_terminal():
    evil = "\x1b]0;owned\x07\x1b[2J[red]\n\r" + "x" * 1_000_000
    values = {key: evil for key in ALL} | {"state": "active", evil: evil}
    table = heard(status(name=evil, message=evil, values=values))
    (node,) = table.nodes
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        console.print(view([node], 100.0))
    for text in (capture.get(), line(node, 100.0)):
        assert len(text) < 10_000 and "[red]" in text
        assert all(c.isprintable() or c == "\n" for c in text)
    assert plain("\x9b31m\u202e") == "31m"
    assert len(plain(evil)) <= LONGEST


def test_number_of_nodes_is_bounded():
    table = heard(*(status(name=f"node_{i}") for i in range(10 * MAX_NODES)))
    assert len(table.nodes) == MAX_NODES
    table.hear([status(name="node_0", message="still heard")], 101.0)
    assert table.nodes[0].message == "still heard"
