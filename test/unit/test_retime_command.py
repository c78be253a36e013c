"""The command `featherstone-ros retime`: what it writes passes preflight; what it says."""

import pytest
from refusals import refused_commands

from featherstone_ros.control.trajectory import Point
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools import cli
from featherstone_ros.tools.trajectory_files import (
    UncheckedTrajectory,
    as_yaml,
    parse,
    read_timed,
)

JOINTS = ("elbow_joint", "wrist_1_joint")
CORNERS = (0.0, 0.0), (0.8, 0.4), (0.3, 0.9)


@pytest.fixture
def plan(tmp_path):
    points = [Point(1.0 + 5.0 * k, corner) for k, corner in enumerate(CORNERS)]
    path = tmp_path / "plan.yaml"
    path.write_text(as_yaml(UncheckedTrajectory(JOINTS, tuple(points))))
    return path


def written(path):
    (trajectory,) = parse(path.read_text(), str(path))
    return trajectory


def test_what_it_writes_passes_preflight(plan, tmp_path, capsys):
    fast = tmp_path / "fast.yaml"
    command = ["retime", str(plan), "ur5e", "--output", str(fast), "--acceleration", "12"]
    assert cli.main(command) == 0
    out = capsys.readouterr().out
    assert "10.000 s before" in out
    assert "acceleration 100.0%" in out
    assert cli.main(["preflight", str(fast), "ur5e"]) == 0
    trajectory = written(fast)
    assert trajectory.names == JOINTS
    first, last = trajectory.points[0], trajectory.points[-1]
    assert first.time == 1.0 and 1.5 < last.time < 2.5
    assert first.positions == pytest.approx(CORNERS[0], abs=1e-9)
    assert last.positions == pytest.approx(CORNERS[-1], abs=1e-9)
    assert last.velocities == (0.0, 0.0)


def test_a_link_can_be_slow(plan, tmp_path, capsys):
    slow = tmp_path / "slow.yaml"
    command = ["retime", str(plan), "ur5e", "--output", str(slow), "--link-speed", "tool0=0.2"]
    assert cli.main(command) == 0
    assert written(slow).points[-1].time > 2.5


WAYPOINTS = "joint_names: [elbow_joint, wrist_1_joint]\npoints:\n" + "".join(
    f"- positions: [{a}, {b}]\n" for a, b in CORNERS
)


def test_waypoints_need_no_times(tmp_path, capsys):
    path, fast = tmp_path / "path.yaml", tmp_path / "fast.yaml"
    path.write_text(WAYPOINTS)
    assert cli.main(["retime", str(path), "ur5e", "--output", str(fast)]) == 0
    assert written(fast).points[-1].positions == pytest.approx(CORNERS[-1], abs=1e-9)
    assert "s, without times before; " in capsys.readouterr().out
    assert cli.main(["preflight", str(path), "ur5e"]) == 0
    assert "Without times" in capsys.readouterr().out
    with pytest.raises(FeatherstoneError, match="no time_from_start: featherstone-ros retime"):
        read_timed(str(path))


test_what_cannot_be_done_is_refused_in_one_line = refused_commands(
    {"plan.yaml": WAYPOINTS, "degrees.yaml": WAYPOINTS.replace("0.8", "90")},
    ("retime plan.yaml ur5e --output f.yaml --effort 0.1", 1, "gravity and friction alone take"),
    (
        "retime plan.yaml ur5e --output f.yaml --link-speed hand=1",
        2,
        "no link 'hand'; valid names",
    ),
    ("retime plan.yaml ur5e --output f.yaml --number 2", 2, "--number 2"),
    ("retime plan.yaml ur5e --output f.yaml --joint-limits none.yaml", 2, "none.yaml"),
    ("retime degrees.yaml ur5e --output f.yaml", 1, "are these degrees.*90 degrees are 1.571 rad"),
    ("preflight degrees.yaml ur5e", 1, "are these degrees.*90 degrees are 1.571 rad"),
)
