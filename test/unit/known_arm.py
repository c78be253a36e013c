"""Recordings of an arm whose links, drives and noise are known, on a smooth exciting motion."""

import bag_writer
import numpy as np
import recorded_arm

import featherstone_ros as fr
from featherstone_ros.identification.bodies import Bodies
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.robots import robot_file

URDF = robot_file("ur5e")
NOMINAL = fr.Model.from_file(URDF)
NAMES = NOMINAL.joint_names
n = NOMINAL.n
VISCOUS = np.array([8.0, 8.0, 5.0, 1.0, 1.0, 0.7])
COULOMB = np.array([6.0, 6.0, 4.0, 1.0, 0.8, 0.6])
ARMATURE = np.array([1.0, 1.0, 0.8, 0.1, 0.1, 0.1])
OFFSET = np.array([0.5, -1.0, 0.4, 0.1, -0.1, 0.05])
NOISE = np.array([0.3, 0.3, 0.2, 0.05, 0.05, 0.05])  # [N m]
SLIDING = 0.02


DRIVES = Drives(ARMATURE, VISCOUS, COULOMB, offset=OFFSET)


def torque(drives, qd, qdd):
    """Return what drives take besides their links."""
    moving = drives.viscous * qd + drives.armature * qdd
    return moving + drives.coulomb * np.tanh(qd / SLIDING) + drives.offset


# Of three joints: six take several times as long to identify.
INNER = fr.Model.from_file(URDF, joints=NAMES[:3])
LEVEL = fr.Model.from_file(URDF, joints=NAMES[1:4])  # about axes that are level and parallel


def deformed(seed=3, size=0.25, tool=1.0, model=NOMINAL):
    """Return the arm as it really is: other links, and a tool that the URDF has not."""
    bodies = Bodies.of(model)
    theta = size * np.random.default_rng(seed).uniform(-1, 1, 10 * len(bodies.names))
    model = model.with_inertial_parameters(bodies.link_parameters(theta))
    return model.with_payload("tool0", tool, [0.02, 0.01, 0.08], 0.004 * np.eye(3))


def motion(duration=20.0, rate=100.0, seed=1, speed=1.0):
    """Return time (N,), and position, velocity, acceleration (N, n) of sums of sines."""
    t = np.arange(round(duration * rate)) / rate
    random = np.random.default_rng(seed)
    omega = 2 * np.pi * speed * random.uniform(0.05, 0.45, (4, n))
    phase = random.uniform(0, 2 * np.pi, (4, n))
    amplitude = random.uniform(0.5, 1.0, (4, n)) * 0.35 / omega
    angle = omega * t[:, None, None] + phase
    q = np.array([0.0, -1.3, 1.2, -1.0, 0.5, 0.0]) + (amplitude * np.sin(angle)).sum(axis=1)
    qd = (amplitude * omega * np.cos(angle)).sum(axis=1)
    qdd = -(amplitude * omega**2 * np.sin(angle)).sum(axis=1)
    return t, q, qd, qdd


def record(model, drives=DRIVES, noise=NOISE, seed=5, **of_motion):
    """Return time, position, velocity and torque as sensors give them, of the model's joints."""
    t, q, qd, qdd = motion(**of_motion)
    off = np.random.default_rng(seed).standard_normal((3, *q.shape))
    off *= np.array([np.full(n, 1e-5), np.full(n, 1e-3), np.broadcast_to(noise, n)])[:, np.newaxis]
    signals = np.array([q + off[0], qd + off[1], torque(drives, qd, qdd) + off[2], q, qd, qdd])
    at = [NAMES.index(name) for name in model.joint_names]
    *measured, tau, q, qd, qdd = np.take(signals, at, axis=2)
    return t, *measured, tau + fr.Dynamics(model).rnea(q, qd, qdd)


def write(folder, signals, storage="sqlite3", names=NAMES):
    """Write a recording; return its path as text."""
    states = recorded_arm.states(*signals, names=names)
    bag_writer.write(folder, {"/joint_states": states}, storage)
    return str(folder)


def save(path, signals, names=NAMES):
    """Write a recording as a table, which takes less than a bag does; return its path as text.

    A signal that is None is left out.
    """
    fields = zip(("time", "position", "velocity", "effort"), signals, strict=True)
    np.savez(path, joint_names=names, **{key: x for key, x in fields if x is not None})
    return str(path)
