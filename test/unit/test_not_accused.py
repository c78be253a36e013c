"""Arms that are as described are not accused; what is told has a motion that tells it.

Motions are sums of sines, steps between poses (positions alone are measured), and steps without a
rest: on any arm, with friction that turns round at once and hides the links of light wrists.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from example_robots import example_robot
from studies import few_or_all, study

import featherstone_ros as fr
from featherstone_ros.identification.bodies import Bodies
from featherstone_ros.identification.couplings import couplings
from featherstone_ros.identification.faults import find_faults
from featherstone_ros.identification.model_order import Fitting
from featherstone_ros.identification.recording import Recording, interpolated
from featherstone_ros.identification.recording_checks import clipped_efforts
from featherstone_ros.model.robots import robot_file, robot_names

pytest.importorskip("scipy")
ARMS = (
    *("ur5e", "panda", "z1", "xarm7", "so101"),
    *("kinova", "ur10_robot", "talos_left_arm", "ur3_gripper", "so100"),
)
MOTIONS = ("sines", "steps", "without rest")
RATE, LENGTH, POSES = 200.0, 20.0, 10  # [1/s], [s]


def load(arm):
    """Return an arm's model."""
    return fr.Model.from_file(robot_file(arm) if arm in robot_names() else example_robot(arm))


def moved(model, kind, seed=0):
    """Return time (N,), position, velocity and acceleration (N, n)."""
    random, n = np.random.default_rng(seed), model.n
    bounded = np.isfinite(model.lower) & np.isfinite(model.upper)
    low, high = np.where(bounded, model.lower, -2.5), np.where(bounded, model.upper, 2.5)
    middle, half = (low + high) / 2, 0.85 * np.minimum((high - low) / 2, 2.5)
    fastest = 0.4 * np.where(model.velocity_limit > 0, np.minimum(model.velocity_limit, 3.0), 3.0)
    t = np.arange(round(LENGTH * RATE)) / RATE
    if kind == "sines":
        omega, phase = random.uniform([[0.3]], [[2.8]], (5, n)), random.uniform(0, 6.28, (5, n))
        size = random.uniform(0.5, 1.0, (5, n)) / omega
        angle = omega * t[:, None, None] + phase
        shapes = np.sin(angle), omega * np.cos(angle), -(omega**2) * np.sin(angle)
        q, qd, qdd = ((size * shape).sum(axis=1) for shape in shapes)
        share = np.minimum(half / np.abs(q).max(axis=0), fastest / np.abs(qd).max(axis=0))
        return t, middle + share * q, share * qd, share * qdd
    each, rest = LENGTH / POSES, 0.3 if kind == "steps" else 0.0
    taken, points = each * (1 - rest), middle + half * random.uniform(-1, 1, (POSES + 1, n))
    for k in range(POSES):
        way = fastest * taken / 1.875
        points[k + 1] = points[k] + np.clip(points[k + 1] - points[k], -way, way)
    k = np.minimum(t // each, POSES - 1).astype(int)
    x = np.clip((t - k * each) / taken, 0.0, 1.0)[:, None]
    way = points[k + 1] - points[k]
    shape = 10 * x**3 - 15 * x**4 + 6 * x**5, 30 * x**2 - 60 * x**3 + 30 * x**4
    bend = 60 * x - 180 * x**2 + 120 * x**3
    return t, points[k] + shape[0] * way, shape[1] * way / taken, bend * way / taken**2


def recorded(model, kind, seed=0, noise=0.0, friction=1.0):
    """Return what the sensors of an arm give."""
    t, q, qd, qdd = moved(model, kind, seed)
    random = np.random.default_rng(seed + 1)
    tau = fr.Dynamics(model).rnea(q, qd, qdd)
    size = np.maximum(np.abs(tau).max(axis=0), 0.02 * np.abs(tau).max())
    coulomb, viscous = friction * size * random.uniform(0.1, 0.4, (2, model.n))
    drives = coulomb * np.tanh(qd / 0.001) + viscous * qd / np.abs(qd).max(axis=0)
    tau = tau + drives + noise * tau.std(axis=0) * random.standard_normal(q.shape)
    velocity = None if kind == "steps" else qd
    return Recording("", model.joint_names, t, q, velocity, tau)


def deformed(model, size=0.1, seed=0):
    bodies = Bodies.of(model)
    theta = size * np.random.default_rng(seed).uniform(-1, 1, 10 * len(bodies.names))
    return model.with_inertial_parameters(bodies.link_parameters(theta))


def faults(model, recording):
    return find_faults(Fitting(model, [recording], range(model.n), 2.0))


@pytest.fixture(scope="module")
def ur5e():
    return load("ur5e")


@pytest.fixture(scope="module")
def sound(ur5e):
    """Return the recording of an arm that is nearly as described."""
    return recorded(deformed(ur5e), "sines", noise=2e-3)


# Clean twins


@pytest.mark.parametrize("kind", MOTIONS)
@pytest.mark.parametrize("arm", few_or_all(["z1"], ARMS))
def test_an_arm_as_described_is_accused_of_nothing(arm, kind):
    model = load(arm)
    recording = recorded(model, kind)
    found = faults(model, recording)
    assert found.texts == () and not found.offsets.any() and found.delay == 0.0
    assert clipped_efforts(model.joint_names, [recording]) == []


@pytest.mark.parametrize("kind", few_or_all(["sines"], MOTIONS))
@pytest.mark.parametrize("arm", [study(arm) for arm in ARMS])
def test_an_arm_that_is_nearly_as_described_is_accused_of_nothing(arm, kind):
    model = load(arm)
    assert faults(model, recorded(deformed(model), kind, noise=2e-3)).texts == ()


def test_what_friction_hides_is_said_to_be_untold(ur5e):
    found = faults(ur5e, recorded(ur5e, "sines", friction=5.0))
    (note,) = [note for note in found.notes if "does not tell in which unit" in note]
    assert "wrist_3_joint" in note and "shoulder_lift_joint" not in note


def test_smooth_extremes_are_not_clipped():
    """At 1 kHz, many samples about a maximum are the same within a millionth."""
    t = np.arange(20_000) / 1000
    q = np.sin(0.6 * t)[:, None] + [0.0]
    qd = 0.6 * np.cos(0.6 * t + 0.3)[:, None]
    effort = 7.0 * np.sin(0.25 * t + 0.2)[:, None]
    assert clipped_efforts(["a"], [Recording("", ("a",), t, q, qd, effort)]) == []
    limited = Recording("", ("a",), t, q, qd, np.clip(effort, -6.0, 6.0))
    (text,) = clipped_efforts(["a"], [limited])
    assert "at -6, 6" in text


@pytest.mark.parametrize("rate", [100, 40])
def test_an_exact_twin_is_accused_of_nothing(rate):
    """Recorded of the node's twin. The last links weigh .2 % of their joints' friction."""
    with np.load(Path(__file__).with_name(f"twin_of_z1_{rate}_hz.npz")) as file:
        names = tuple(file["joint_names"].tolist())
        states = [file[f].astype(float) for f in ("time", "position", "velocity", "effort")]
    model = fr.Model.from_file(example_robot("z1"), joints=names)
    fitting = Fitting(model, [Recording("", names, *states)], range(model.n), 2.0)
    assert couplings(fitting) == []
    assert find_faults(fitting).texts == ()


# What is told


def test_the_sign_of_a_wrist_that_is_mostly_friction_is_found(ur5e):
    """Friction takes power: an effort of the other sign would give it."""
    recording = recorded(deformed(ur5e), "sines", noise=2e-3)
    effort = recording.effort * np.where(np.arange(6) == 5, -1.0, 1.0)
    (text,) = faults(ur5e, replace(recording, effort=effort)).texts
    assert "wrist_3_joint: its effort has the opposite sign of torque" in text


@pytest.mark.parametrize("late", few_or_all([0.02], [-0.02, 0.005, 0.01, 0.02, 0.04]))
def test_a_delay_of_the_efforts_is_estimated_and_named(ur5e, sound, late):
    effort = interpolated(sound.time - late, sound.time, sound.effort)
    found = faults(ur5e, replace(sound, effort=effort))
    told = next(note for note in found.notes if "efforts" in note and "±" in note)
    delay, deviation = (
        float(word) for word in told.split("efforts ")[1].split(" ms")[0].split(" ± ")
    )
    assert abs(delay - 1e3 * late) < 3.0 * deviation < 4.0
    assert bool(found.texts) == (abs(late) > 0.01) and bool(found.delay) == bool(found.texts)
    if found.texts:
        assert "--fix delay" in found.texts[0]
        mended = replace(sound, effort=effort).with_delay(found.delay)
        assert faults(ur5e, mended).texts == ()


def turned(degrees, axis):
    angle, axis = np.radians(degrees), np.array(axis) / np.linalg.norm(axis)
    down = np.array([0.0, 0.0, -9.81])
    return np.cos(angle) * down + np.sin(angle) * np.cross(axis, down)


@pytest.mark.parametrize(
    ("degrees", "axis"),
    few_or_all(
        [(2.0, (1.0, 0.0, 0.0)), (90.0, (0.0, 1.0, 0.0))],
        [(d, a) for d in (2.0, 10.0, 45.0, 90.0) for a in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))],
    ),
)
def test_an_arm_that_is_mounted_otherwise_is_told_by_gravitys_direction(ur5e, degrees, axis):
    down = turned(degrees, axis)
    recording = recorded(deformed(ur5e).with_gravity(tuple(down)), "sines", noise=2e-3)
    (text,) = faults(ur5e, recording).texts  # alone, or the first of what may be wrong
    assert text.partition(": ")[2].startswith("Gravity is turned by ") or text.startswith("Gravity")
    told = text.split("Gravity is turned by ")[1]
    angle, deviation = (float(w) for w in told.split(" deg")[0].split(" ± "))
    assert abs(angle - degrees) < max(3.0 * deviation, 0.3)
    said = [float(word.strip(").")) for word in text.split("--gravity ")[1].split()[:3]]
    np.testing.assert_allclose(said, down, atol=0.1)


@pytest.mark.parametrize(
    ("real", "described"),
    [("ur10_robot", "ur5e"), study("ur5_robot", "ur10_robot"), study("ur3_robot", "ur5_robot")],
)
def test_a_sibling_is_called_no_fault_of_the_recording(real, described):
    one, other = load(real), load(described)
    recording = recorded(deformed(one), "sines", noise=2e-3)
    found = faults(other, replace(recording, joint_names=other.joint_names))
    assert all("another arm's" in text for text in found.texts)
    assert any("another arm's" in text for text in (*found.texts, *found.notes))
