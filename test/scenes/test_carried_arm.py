"""An arm on a torso or a lift that somebody else moves: the controller knows where it stands."""

from functools import partial

import numpy as np
import pytest
from arm_scene import Scene, play, trajectory
from numpy.testing import assert_allclose
from studies import study
from urdf_text import joint, link, robot

import featherstone_ros as fr
from featherstone_ros.control.trajectory import Point

LEANS = {"carrier": lambda t: (0.6, 0.0, 0.0)}  # a torso [rad], whatever the arm does
REST, SETTLED = np.array([0.3, -0.8]), 0.4  # [rad], [s] from which the arm has been held
INSIDE = '<limit lower="-0.5" upper="1.5" effort="200" velocity="1"/>'
ARM_INSIDE = (
    '<limit lower="-3" upper="3" effort="40" velocity="3"/><dynamics damping="0.5" friction="0.2"/>'
)


def text(kind):
    """Return an arm of two joints on a lift ("prismatic") or on a torso ("revolute")."""
    axis = "0 0 1" if kind == "prismatic" else "0 1 0"
    hang = {"axis": "0 1 0", "inside": ARM_INSIDE}
    return robot(
        link("pelvis", mass=20.0),
        link("chest", mass=10.0, com="0 0 0.25", inertia=(0.2, 0.2, 0.1)),
        link("upper", mass=2.0, com="0 0 -0.15"),
        link("fore", mass=1.5, com="0 0 -0.12"),
        joint("carrier", "pelvis", "chest", kind, INSIDE, xyz="0 0 0", axis=axis),
        joint("shoulder", "chest", "upper", xyz="0 0.2 0.45", **hang),
        joint("elbow", "upper", "fore", xyz="0 0 -0.3", **hang),
    )


def moved(t, distance, begin=0.5, duration=2.0):
    """Return position, velocity and acceleration of a smooth move that begins and ends at rest."""
    s = min(max((t - begin) / duration, 0.0), 1.0)
    return (
        distance * (10 * s**3 - 15 * s**4 + 6 * s**5),
        distance * (30 * s**2 - 60 * s**3 + 30 * s**4) / duration,
        distance * (60 * s - 180 * s**2 + 120 * s**3) / duration**2,
    )


@pytest.fixture(scope="module")
def robots(tmp_path_factory):
    """Files by kind."""
    folder = tmp_path_factory.mktemp("robots")
    paths = {kind: folder / f"{kind}.urdf" for kind in ("prismatic", "revolute")}
    for kind, path in paths.items():
        path.write_text(text(kind))
    return {kind: str(path) for kind, path in paths.items()}


@pytest.mark.parametrize(("kind", "distance"), [("prismatic", 0.3), ("revolute", 0.6)])
def test_what_carries_the_arm_moves_while_the_arm_is_held(robots, kind, distance):
    """Without a step, within 2 mrad: 30 to 50 of a torso where gravity stays as it was."""
    others = {"carrier": partial(moved, distance=distance)}
    played = play(Scene(robots[kind], {}, 3.0, REST, others=others))
    held = played.since(SETTLED)
    assert np.abs(played.record.desired[held, 0] - played.q[held]).max() < 2e-3
    assert np.abs(np.diff(played.record.command[held], axis=0)).max() < 0.1  # [N m]
    assert_allclose(played.loop.controller.compiled.locked, distance, atol=1e-9)
    whole = fr.Dynamics(fr.Model.from_urdf(text(kind)))
    gravity = whole.gravity([distance, *played.q[-1]])[1:]
    assert_allclose(played.loop.controller.snapshot().gravity, gravity, atol=1e-9)


def test_a_publisher_that_begins_late_makes_no_step(robots):
    """The torso stands at 0.6 rad, but the first second no joint state tells it."""

    def late(state):
        return state if state.stamp > 1.0 else state._replace(locked={})

    played = play(Scene(robots["revolute"], {}, 2.5, REST, others=LEANS, state=late))
    held = played.since(SETTLED)
    steps = np.abs(np.diff(played.record.command[held], axis=0))
    assert steps.max() < 0.1  # of the 4.6 N m that were missing
    assert np.abs(played.record.error[played.since(2.3)]).max() < 1e-2  # what sticks by friction
    assert np.abs(played.record.error[played.since(0.9)][:100]).max() > 0.02


@pytest.mark.parametrize("wrong", [np.nan, study(np.inf), 34.0])
def test_absurd_positions_are_ignored_and_said(robots, wrong):

    def broken(state):
        return state._replace(locked={"carrier": wrong}) if state.stamp > 0.5 else state

    played = play(Scene(robots["revolute"], {}, 1.0, REST, others=LEANS, state=broken))
    assert np.abs(played.record.error[played.since(SETTLED)]).max() < 2e-3
    assert "'carrier'" in played.text and "-2.5 to 3.5" in played.text


def test_a_parameter_tells_what_no_joint_state_tells(robots):
    parameters = {"locked.carrier": 0.6}

    def silent(state):
        return state._replace(locked={})

    scene = Scene(robots["revolute"], {}, 1.0, REST, parameters, silent, others=LEANS)
    played = play(scene)
    assert np.abs(played.record.error[played.since(SETTLED)]).max() < 2e-3
    changed = {0.5: lambda loop: loop.configure({"locked.carrier": 0.0})}
    played = play(Scene(robots["revolute"], changed, 1.2, REST, parameters, silent, others=LEANS))
    assert np.abs(np.diff(played.record.command[played.since(SETTLED)], axis=0)).max() < 0.1
    assert played.loop.controller.compiled.locked == 0.0


def test_the_end_effector_is_held_while_the_lift_moves(robots):
    """At its height: the arm goes up as the lift goes down, smoothly."""
    parameters = {
        "mode": "cartesian_impedance",
        "tip": "fore",
        "stiffness": [0.0, 0.0, 2000.0, 0.0, 0.0, 0.0],
    }
    others = {"carrier": partial(moved, distance=-0.1)}
    played = play(Scene(robots["prismatic"], {}, 3.0, REST, parameters, others=others))
    whole = fr.Dynamics(fr.Model.from_urdf(text("prismatic")))
    held = played.since(SETTLED)
    times = played.record.time[held]
    height = [
        whole.link_pose([moved(t, -0.1)[0], *q], "fore")[2, 3]
        for t, q in zip(times[::20], played.q[held][::20], strict=True)
    ]
    assert np.ptp(height) < 0.02  # [m] of the lift's 0.1: damped, as the lift's speed is not known
    assert_allclose(height[-1], height[0], atol=2e-3)
    assert np.abs(np.diff(played.record.command[held], axis=0)).max() < 0.1


def test_it_arrives_on_a_torso_that_leans(robots):
    goal = REST + np.array([0.5, -0.4])
    ask = {0.3: trajectory([Point(1.0, goal, np.zeros(2))])}
    played = play(Scene(robots["revolute"], ask, 2.0, REST, others=LEANS))
    assert_allclose(played.q[-1], goal, atol=2e-3)
