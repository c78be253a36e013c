"""The torque that a motion needs of drives is the one by which a simulated arm makes it."""

import numpy as np
import pytest
import urdf_text
from control_arm import NAMES, model, space

from featherstone_ros import Dynamics, Model, Simulator
from featherstone_ros.control.trajectory import Point, Trajectory
from featherstone_ros.model.drives import Drives

MODEL = Model.from_urdf(urdf_text.chain("shoulder", "elbow", "wrist", axis="0 1 0"))
DT = 1e-6  # [s]


def test_torque_of_a_motion_makes_the_simulated_arm_move_so():
    random = np.random.default_rng(1)
    armature, viscous, coulomb, thinning = random.uniform(0.1, 1.0, (4, MODEL.n))
    offset = random.uniform(-2.0, 2.0, MODEL.n)
    stiffness = random.uniform(0.0, 5.0, MODEL.n)
    drives = Drives(
        armature, viscous, coulomb, thinning=thinning, offset=offset, stiffness=stiffness
    )
    arm = Simulator(
        MODEL,
        DT,
        "rk4",
        damping=viscous,
        friction=coulomb,
        armature=armature,
        thinning=thinning,
    )
    for _ in range(20):
        q, qd, qdd = random.uniform(0.2, 2.0, (3, MODEL.n)) * random.choice([-1, 1], (3, MODEL.n))
        arm.reset(q, qd)
        torque = drives.torque(Dynamics(MODEL), q, qd, qdd, sliding=np.sign(qd))
        arm.step(torque - offset - stiffness * q)
        np.testing.assert_allclose((arm.qd - qd) / DT, qdd, atol=1e-3)


# A trajectory's efforts add to the model's torque, unless they are that.


ARM = model()
DYNAMICS = Dynamics(ARM)
DRIVES = Drives(np.array([0.1, 0.05]), np.array([0.5, 0.3]), np.array([0.8, 0.4]))
TIMES = np.linspace(0.0, 2.0, 21)


def trajectory(effort, with_accelerations=True):
    """Cosines from rest to rest, with efforts made from position, velocity and acceleration."""
    phase = np.pi * TIMES[:, None] / 2.0
    q = 0.3 - np.array([0.4, 0.6]) * np.cos(phase)
    qd = np.array([0.4, 0.6]) * np.sin(phase) * np.pi / 2.0
    qdd = np.array([0.4, 0.6]) * np.cos(phase) * np.pi**2 / 4.0
    qd[-1] = 0.0
    fields = (q, qd, qdd, effort(q, qd, qdd)) if with_accelerations else (q, qd, effort(q, qd, qdd))
    points = []
    for time, *row in zip(TIMES, *fields, strict=True):
        row = [part.tolist() for part in row]
        points.append(Point(float(time), *row[: len(row) - 1], effort=row[-1]))
    return Trajectory(NAMES, points, space())


@pytest.mark.parametrize(
    "effort",
    [
        DYNAMICS.rnea,
        lambda *at: DRIVES.torque(DYNAMICS, *at),
        lambda *at: 1.02 * DYNAMICS.rnea(*at),
    ],
)
@pytest.mark.parametrize("with_accelerations", [True, False])
def test_the_models_own_torque_is_recognised(effort, with_accelerations):
    sent = trajectory(effort, with_accelerations)
    assert sent.has_effort
    followed = sent.without_own_torque(DYNAMICS, DRIVES)
    assert not followed.has_effort and sent.has_effort
    np.testing.assert_array_equal(followed.positions, sent.positions)


@pytest.mark.parametrize(
    "effort",
    [
        lambda q, qd, qdd: 0.0 * q + 0.7,
        lambda q, qd, qdd: 0.8 * DYNAMICS.rnea(q, qd, qdd),
        lambda q, qd, qdd: DYNAMICS.rnea(q, qd, qdd) + [[0.0, 2.0]] * (np.arange(21) == 7)[:, None],
        lambda q, qd, qdd: DYNAMICS.rnea(q, qd, qdd) - DYNAMICS.gravity(q),
    ],
)
def test_any_other_effort_is_added(effort):
    sent = trajectory(effort)
    assert sent.without_own_torque(DYNAMICS, DRIVES) is sent
