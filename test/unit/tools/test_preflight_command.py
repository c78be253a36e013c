"""The command `featherstone-ros preflight`: where it finds trajectories, what it says, writes."""

import numpy as np
import pytest
import urdf_text
import yaml
from control_arm import LIMITS
from refusals import refusals, refused_commands

from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.trajectory import Point
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.robots import robot_file
from featherstone_ros.tools import trajectory_files
from featherstone_ros.tools.taught_motion import of_arm
from featherstone_ros.tools.trajectory_files import (
    UncheckedTrajectory,
    as_yaml,
    from_arrays,
    parse,
)

JOINTS = ("elbow_joint", "wrist_1_joint")
REST = (0.0, 0.0)
EMPTY = {"velocities": [], "accelerations": [], "effort": []}


def echoed() -> str:
    """Return a trajectory as ros2 topic echo prints it."""
    stamped = {"stamp": {"sec": 12, "nanosec": 5}, "frame_id": ""}
    times = {"sec": 0, "nanosec": 0}, {"sec": 2, "nanosec": 500_000_000}
    points = [
        {"positions": positions, **EMPTY, "time_from_start": time}
        for positions, time in zip(([0.0, 1.0], [0.5, -1e-5]), times, strict=True)
    ]
    message = {"header": stamped, "joint_names": [*JOINTS], "points": points}
    return yaml.safe_dump(message, sort_keys=False) + "---\n"


def swing(duration: float) -> UncheckedTrajectory:
    points = Point(0.0, REST, REST), Point(duration, (0.8, 0.4), REST)
    return UncheckedTrajectory(JOINTS, points)


@pytest.fixture
def run(tmp_path, tool):
    """Run the command on a trajectory of UR5e's elbow; returns what it says."""

    def run(trajectory, *arguments, urdf="ur5e", status=0):
        file = tmp_path / "plan.yaml"
        if isinstance(trajectory, UncheckedTrajectory):
            trajectory = as_yaml(trajectory)
        file.write_text(trajectory)
        return tool("preflight", file, "--urdf", urdf, *arguments, status=status)

    return run


def test_echoed_trajectory_is_read():
    (found,) = parse(echoed(), "file")
    assert found.names == JOINTS and not found.has_effort
    assert found.points == (Point(0.0, (0.0, 1.0)), Point(2.5, (0.5, -1e-5)))


@pytest.mark.parametrize("keys", [("trajectory",), ("goal", "trajectory"), ("joint_trajectory",)])
def test_trajectory_in_a_goal_is_read(keys):
    document = yaml.safe_load(as_yaml(swing(1.0)))
    for key in reversed(keys):
        document = {key: document, "goal_time_tolerance": {"sec": 0, "nanosec": 0}}
    assert parse(yaml.safe_dump(document), "file") == parse(as_yaml(swing(1.0)), "file")


def test_written_trajectory_is_read_as_it_was():
    rng = np.random.default_rng(3)
    points = [Point(t, *map(tuple, rng.normal(size=(4, 2)).tolist())) for t in (0.0, 0.1, 1e3 / 7)]
    (again,) = parse(as_yaml(UncheckedTrajectory(JOINTS, tuple(points))), "file")
    for point, read in zip(points, again.points, strict=True):
        assert read.time == pytest.approx(point.time, abs=1e-9)
        assert read.positions == point.positions and read.effort == point.effort


def test_fields_that_a_recording_leaves_empty_are_empty():
    nan = np.full((1, 2), np.nan)
    found = from_arrays(JOINTS, [0.5], np.ones((1, 2)), nan, nan, nan)
    assert found.points == (Point(0.5, (1.0, 1.0)),)


def timed(time: str) -> str:
    return f"joint_names: [a]\npoints: [{{positions: [1.0], time_from_start: {time}}}]"


@pytest.mark.parametrize(
    "time", ["2.5", "{sec: 2, nanosec: 500000000}", "{nanosec: 2500000000}", "{sec: 2}"]
)
def test_times_are_read_as_people_write_them(time):
    (found,) = parse(timed(time), "file")
    assert found.points[0].time == pytest.approx(2.0 if time == "{sec: 2}" else 2.5)


CUT = (
    "joint_names: [a]\npoints:\n- positions: [0.0, '...']\n  time_from_start: {sec: 0, nanosec: 0}"
)
WITH_TIME = timed("1.0")
NO_TIMES = {
    "file: time_from_start is .*, expected seconds": ("soon", "{s: 1}", "[1]"),
    "time_from_start is .*fewer than 2":  # which no message can hold
        (".inf", "-.inf", ".nan", "1.0e+300", "2147483648", "{sec: 1.0e+10}"),
}  # fmt: skip
test_a_source_that_holds_no_trajectory_is_refused = refusals(
    ("is empty", ""),
    ("no joint_names", "position: [1]"),
    ("no joint_names", "- 1\n- 2"),
    ("is not YAML", "a: ["),
    ("--full-length", CUT),
    ("file: 'time_from_start' is missing", "joint_names: [a]\npoints: [{positions: [1]}]"),
    *((said, timed(t)) for said, times in NO_TIMES.items() for t in times),
    error=FeatherstoneError, of=lambda text=WITH_TIME: parse(text, "file"),
)  # fmt: skip


def test_status_says_whether_it_fits(run):
    said = run(swing(2.0), urdf=robot_file("ur5e"))
    assert "It fits." in said and "taken to stand at: shoulder_pan_joint 0" in said
    said = run(swing(0.2), status=1)
    assert "slowed down" in said and "'elbow_joint'" in said


def turning(speed: float, **fields: tuple) -> UncheckedTrajectory:
    """Return points between which the elbow moves to and fro at a speed, half a second each way."""
    there = (0.5 * speed, 0.0)
    points = [Point(0.5 * k, (there, REST)[k % 2 == 0], **fields) for k in range(3)]
    return UncheckedTrajectory(JOINTS, tuple(points))


def test_points_that_reverse_a_joint_in_no_time_do_not_fit(run):
    text = run(turning(0.9 * np.pi), status=1)
    assert "It fits" not in text
    assert "velocity of joint 'elbow_joint' jumps from 2.83 to -2.83 rad/s at 0.500 s" in text
    assert "infinite acceleration" in text
    assert "Interpolated by straight lines: the points have positions only." in text
    factor = float(text.partition("; or ")[2].split()[0])
    run(turning(0.9 * np.pi / factor))
    run(turning(0.9 * np.pi / (0.999 * factor)), status=1)
    run(turning(1.5, velocities=REST))  # a cubic


def test_mixed_fields_are_told(run):
    mixed = UncheckedTrajectory(
        JOINTS, (Point(0.0, REST), Point(2.0, REST, REST), Point(4.0, (0.2, 0.0), REST))
    )
    assert "straight lines and cubics, by the fields that two points share" in run(mixed)


def test_one_of_several_is_chosen(run):
    both = as_yaml(swing(2.0)) + "---\n" + as_yaml(swing(0.2))
    run(both)
    run(both, "--number", 2, status=1)
    assert "has 2" in run(both, "--number", 3, status=2)


def test_recording_is_read(tmp_path, tool):
    import bag_writer  # skips this test where rosbags is missing

    def recorded(duration):
        points = [{"time": 0, "positions": REST}, {"time": duration, "positions": (0.5, 0.5)}]
        return bag_writer.joint_trajectory(JOINTS, points)

    messages = [(1, recorded(10**9)), (2, recorded(10**8))]
    bag_writer.write(tmp_path / "bag", {"/plan": messages})
    arguments = ["preflight", str(tmp_path / "bag"), "--urdf", "ur5e"]
    assert "1 of 2" in tool(*arguments)
    tool(*arguments, "--number", 2, "--topic", "/plan", status=1)
    assert "/plan" in tool(*arguments, "--topic", "/other", status=2)


def test_filled_efforts_are_written(run, tmp_path):
    run(swing(2.0), "--fill-effort", tmp_path / "filled.yaml")
    (filled,) = parse((tmp_path / "filled.yaml").read_text(), "file")
    assert filled.has_effort
    assert [p.positions for p in filled.points] == [p.positions for p in swing(2.0).points]
    assert abs(filled.points[0].effort[0]) > 1.0  # it starts with an acceleration
    assert "ignored" in run(filled)


def test_picture_is_drawn(run, tmp_path):
    from PIL import Image

    run(swing(0.2), "--plot", tmp_path / "not.png", status=1)  # it does not fit: all is marked
    with Image.open(tmp_path / "not.png") as picture:
        colours = len(picture.convert("RGB").getcolors(1 << 24))
        assert picture.width > 600 and colours > 50


def written(**changes) -> str:
    return as_yaml(UncheckedTrajectory(**{"names": JOINTS, "points": swing(1.0).points, **changes}))


test_what_is_no_trajectory_is_reported = refused_commands(
    {
        "nose.yaml": written(names=("elbow_joint", "nose")),
        "none.yaml": written(points=()),
        "short.yaml": written(points=(Point(0.0, (0.0,)),)),
        "twice.yaml": written(points=(Point(1.0, REST), Point(1.0, REST))),
    },
    ("preflight nose.yaml ur5e", 2, "nose"),
    ("preflight none.yaml ur5e", 2, "no points"),
    ("preflight short.yaml ur5e", 2, "expected 2"),
    ("preflight twice.yaml ur5e", 2, "times do not increase"),
    ("preflight no_such_file.yaml ur5e", 2, "no_such_file.yaml"),
    ("preflight plan ur5e", 2, "plan"),
)


@pytest.mark.parametrize(("time", "fits"), [(0.0, False), (1.0, True)])
def test_a_single_point_at_time_0_asks_for_a_jump(run, time, fits):
    said = run(UncheckedTrajectory(JOINTS, (Point(time, (0.8, 0.4)),)), status=0 if fits else 1)
    assert fits == ("can stand there" in said)
    assert "It fits" not in said
    assert ("to be reached at time 0" in said) == ("give the point a time_from_start" in said)
    assert ("time_from_start" in said) != fits
    assert ("the way to the only point is not checked" in said) == fits


def test_a_trajectory_that_no_speed_helps_promises_no_time(run):
    points = Point(0.0, REST, REST), Point(0.3, (7.0, 0.4), REST)
    said = run(UncheckedTrajectory(JOINTS, points), status=1)
    assert "no speed would keep it within the position limits" in said and "would fit)" not in said


def test_parameters_that_are_given_are_not_asked_for(run, tmp_path):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(urdf_text.chain(*JOINTS, inside=LIMITS))
    assert "give --parameters" in run(swing(2.0), urdf=urdf)
    file = tmp_path / "arm.yaml"
    file.write_text("/**: {ros__parameters: {effort_scale: 0.5}}")
    for files in (["--parameters", file], 2 * ["--parameters", file]):
        said = run(swing(2.0), *files, urdf=urdf)
        assert "give --parameters" not in said
        assert "Without drive friction and armature" in said and "and the URDF have none" in said


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ("joints: [elbow_joint]", "unknown joint 'wrist_1_joint'; the joints are elbow_joint"),
        ("joints: [elbow_joint]\nallow_partial_joints_goal: true", "unknown joint 'wrist_1_joint'"),
        ("mode: computed_torque", "no values for joint shoulder_pan_joint,"),
        ("allow_partial_joints_goal: true", ""),
        ("joints: [wrist_1_joint, elbow_joint]", ""),
        ("allow_partial_joints_goal: true\neffort_limit: {elbow_joint: 1.0}", "of 1 "),
    ],
)
def test_what_the_controller_refuses_does_not_fit(run, tmp_path, parameters, refused):
    file = tmp_path / "arm.yaml"
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": yaml.safe_load(parameters)}}))
    said = run(swing(2.0), "--parameters", file, status=bool(refused))
    assert refused in said and ("It fits" in said) != bool(refused)


def test_an_acceleration_that_no_controller_takes_does_not_fit(run, tmp_path):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(urdf_text.chain("a", inside='<limit lower="-1" upper="1" velocity="3"/>'))
    sudden = Point(0.0, (0.0,), (0.0,)), Point(1e-3, (1e-3,), (0.0,))
    said = run(UncheckedTrajectory(("a",), sudden), urdf=urdf, status=1)
    assert "refused: acceleration of joint 'a' is 6000" in said


def test_where_other_joints_stand_is_said_without_their_followers(run, tmp_path):
    urdf = tmp_path / "arm.urdf"
    limit = '<limit lower="-1" upper="1" velocity="3"/>'
    text = urdf_text.chain("a", "finger", "follower", inside=limit)
    follows = '<joint name="follower" type="revolute"><mimic joint="finger"/>'
    urdf.write_text(text.replace('<joint name="follower" type="revolute">', follows))
    still = Point(0.0, (0.0,), (0.0,)), Point(1.0, (0.1,), (0.0,))
    said = run(UncheckedTrajectory(("a",), still), urdf=urdf)
    assert "taken to stand at: finger" in said and "follower" not in said


def test_joint_states_alone_are_taken_as_the_motion(tmp_path, tool):
    import known_arm  # skips this test where rosbags is missing

    bag, file = tmp_path / "bag", tmp_path / "arm.yaml"
    times = np.arange(0.0, 4.0, 0.01)  # from rest to rest
    way = 0.4 * (1.0 - np.cos(np.pi / 2.0 * np.clip(times - 1.0, 0.0, 2.0)))
    q = np.stack([way, *np.full((2, len(times)), 0.1)], axis=1)
    known_arm.write(bag, (times, q, None, None), names=(*JOINTS, "gripper"))
    file.write_text(f"/**: {{ros__parameters: {{joints: [{', '.join(JOINTS)}]}}}}")
    command = [str(bag), "--urdf", "ur5e", "--parameters", str(file)]
    said = tool("preflight", *command)
    assert "smoothed at 5 Hz" in said and "It fits" in said
    tool("retime", *command, "--output", tmp_path / "fast.yaml")
    (fast,) = parse((tmp_path / "fast.yaml").read_text(), "file")
    assert fast.names == JOINTS and fast.points[-1].time < 1.5
    np.testing.assert_allclose(fast.points[-1].positions, (0.8, 0.1), atol=3e-3)
    said = tool("preflight", bag, "--urdf", "ur5e", status=2)
    assert "no values for joint shoulder_pan_joint" in said
    both = UncheckedTrajectory(("gripper",), (), is_measured=True), *trajectory_files.read(str(bag))
    arm = ControlledArm.from_robot("ur5e", JOINTS)
    assert of_arm(list(both), arm) == [both[1]] and of_arm([fast, fast], arm) == [fast, fast]
    with pytest.raises(FeatherstoneError, match="holds no trajectory_msgs/msg/JointTrajectory on"):
        trajectory_files.read(str(bag), "/plan")
