"""Identified from a simulated arm under feedback, a model drives it nearly as the true one does."""

import known_arm
import numpy as np
import pytest
import yaml

import featherstone_ros as fr
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.tools import cli
from featherstone_ros.tools.excite.clearance import Clearance
from featherstone_ros.tools.excite.excitation import Excitation

pytest.importorskip("scipy")
pytestmark = pytest.mark.study

STEP = 2e-3  # [s]
P = np.array([4000.0, 4000.0, 2500.0, 400.0, 300.0, 200.0])
D = np.array([400.0, 400.0, 250.0, 40.0, 30.0, 20.0])
NOISE = np.array([0.15, 0.15, 0.1, 0.02, 0.02, 0.02])  # [N m]


def drive(truth, model, drives, motion, seed=None):
    """Follow a motion by the model's feedforward and PD; return what sensors see, and the error."""
    t, q, qd, qdd = motion
    arm = fr.Simulator(
        truth, STEP, "implicit", damping=known_arm.VISCOUS, friction=known_arm.COULOMB,
        armature=known_arm.ARMATURE,
    )  # fmt: skip
    feedforward = fr.Dynamics(model).rnea(q, qd, qdd) + drives.torque(qd, qdd)
    random = np.random.default_rng(seed)
    noise = np.zeros((3, 6)) if seed is None else np.array([[1e-5] * 6, [1e-3] * 6, NOISE])
    arm.reset(q[0], qd[0])
    rows, error = [], np.zeros_like(q)
    for k in range(len(t)):
        error[k] = q[k] - arm.q
        seen = arm.q + noise[0] * random.standard_normal(6)
        rate = arm.qd + noise[1] * random.standard_normal(6)
        tau = feedforward[k] + P * (q[k] - seen) + D * (qd[k] - rate)
        if k % 2 == 0:
            rows.append((seen, rate, tau + noise[2] * random.standard_normal(6)))
        arm.step(tau - known_arm.OFFSET)
    position, velocity, effort = (np.array(x) for x in zip(*rows, strict=True))
    return (t[::2], position, velocity, effort), np.sqrt((error[500:] ** 2).mean(axis=0))


def planned():
    """Return a motion that tells, found by a short search."""
    arm = ControlledArm.from_robot("ur5e", known_arm.NAMES)
    clearance = Clearance.of(arm.model, known_arm.URDF.read_text(), None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("featherstone_ros.tools.excite.excitation.STEPS", 8)
        return Excitation(arm, clearance).search().series


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    """The true arm, the identified one with its drives, and the tracking errors of three models."""
    folder = tmp_path_factory.mktemp("loop")
    truth = known_arm.deformed(size=0.3, tool=1.0)
    nothing = known_arm.Drives(*np.zeros((4, 6)))
    t = np.arange(0.0, 30.0, STEP)
    exciting = (t, *planned().at(t))
    signals, _ = drive(truth, known_arm.NOMINAL, nothing, exciting, seed=2)
    bag = known_arm.write(folder / "bag", signals)
    files = ["--output", str(folder / "i.urdf"), "--parameters", str(folder / "i.yaml")]
    assert not cli.main(["identify", bag, "--urdf", "ur5e", *files])
    parameters = yaml.safe_load((folder / "i.yaml").read_text())["/**"]["ros__parameters"]
    friction = [
        [parameters["friction"][name][term] for name in known_arm.NAMES]
        for term in ("viscous", "coulomb", "offset")
    ]
    armature = [parameters["armature"][name] for name in known_arm.NAMES]
    viscous, coulomb, offset = map(np.array, friction)
    identified = known_arm.Drives(viscous, coulomb, np.array(armature), offset)
    model = fr.Model.from_file(folder / "i.urdf")
    other = known_arm.motion(duration=6.0, rate=1 / STEP, seed=9, speed=1.5)
    guess = known_arm.Drives(*np.zeros((4, 6)))
    errors = {
        name: np.linalg.norm(drive(truth, links, drives, other)[1])
        for name, links, drives in (
            ("true", truth, known_arm.DRIVES),
            ("identified", model, identified),
            ("urdf", known_arm.NOMINAL, guess),
        )
    }
    return truth, model, identified, errors


def test_tracking_is_nearly_that_with_the_true_model(loop):
    *_, errors = loop
    assert errors["identified"] < 2 * errors["true"]
    assert errors["identified"] < errors["urdf"] / 5


def test_forces_in_random_states_are_the_true_ones(loop):
    truth, model, drives, _ = loop
    random = np.random.default_rng(4)
    q = random.uniform(-np.pi, np.pi, (1000, 6))
    qd, qdd = random.uniform(-1.5, 1.5, (1000, 6)), random.uniform(-4, 4, (1000, 6))
    expected = fr.Dynamics(truth).rnea(q, qd, qdd) + known_arm.ARMATURE * qdd
    torque = fr.Dynamics(model).rnea(q, qd, qdd) + drives.armature * qdd
    off, size = (np.sqrt((x**2).mean(axis=0)) for x in (torque - expected, expected))
    assert (off < 0.02 * size).all()
