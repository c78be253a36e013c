"""A simulated arm with friction, and the recording of its motion."""

import bag_writer
import numpy as np
import urdf_text

import featherstone_ros as fr

NAMES = ("shoulder", "elbow")
URDF = urdf_text.chain(
    *NAMES, axis="0 1 0", inside='<limit lower="-3" upper="3" velocity="9" effort="99"/>'
)
VISCOUS, COULOMB, ARMATURE = np.array([0.8, 0.3]), np.array([1.5, 0.6]), np.array([0.5, 0.2])
STEP = 1e-3  # [s]
START = 1_700_000_000 * 10**9  # [ns] of the first stamp
STIFFNESS, DAMPING = np.array([400.0, 200.0]), np.array([40.0, 20.0])


def desired(t):
    """Angles [rad] that reach many speeds in both directions, at rest at t = 0."""
    phase = 2 * np.pi * t * np.array([[0.13, 0.31], [0.17, 0.29]])
    return ((1 - np.cos(phase)) * [[0.5, 0.1], [0.4, 0.15]]).sum(axis=1)


def simulate(duration=20.0, rate=200.0):
    """Return time (N,) [s] and position, velocity, torque (N, 2) of the arm driven by PD."""
    model = fr.Model.from_urdf(URDF)
    arm = fr.Simulator(
        model, STEP, "implicit", damping=VISCOUS, friction=COULOMB, armature=ARMATURE
    )
    dynamics = fr.Dynamics(model)
    arm.reset(desired(0.0))
    rows = []
    for k in range(round(duration / STEP)):
        tau = STIFFNESS * (desired(k * STEP) - arm.q) - DAMPING * arm.qd + dynamics.gravity(arm.q)
        if k % round(1 / rate / STEP) == 0:
            rows.append((k * STEP, *arm.q, *arm.qd, *tau))
        arm.step(tau)
    rows = np.array(rows)
    return rows[:, 0], rows[:, 1:3], rows[:, 3:5], rows[:, 5:7]


def gravity(q):
    """Return the torque (N, 2) that holds the arm."""
    return fr.Dynamics(fr.Model.from_urdf(URDF)).gravity(np.ascontiguousarray(q))


def states(time, q, qd, tau, names=NAMES, received_late=10**6):
    """Give (time of reception, JointState); None for a field leaves it empty."""
    for k, t in enumerate(time):
        stamp = START + round(t * 1e9)
        fields = (() if x is None else x[k] for x in (q, qd, tau))
        yield stamp + received_late, bag_writer.joint_state(stamp, names, *fields)
