"""The torque that a motion needs of drives is the one by which a simulated arm makes it."""

import numpy as np
import urdf_text

from featherstone_ros import Dynamics, Model, Simulator
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
