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
CENTRE = np.array([0.0, -1.3, 1.2, -1.0, 0.5, 0.0])  # [rad] of its motion

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


def motion(duration=20.0, rate=100.0, seed=1, speed=1.0, model=None):
    """Return time (N,), and position, velocity, acceleration (N, n) of sums of sines.

    They are those of the known arm, or of ``model`` about the middle of its range.
    """
    t = np.arange(round(duration * rate)) / rate
    random, shape = np.random.default_rng(seed), (4, n if model is None else model.n)
    omega = 2 * np.pi * speed * random.uniform(0.05, 0.45, shape)
    angle = omega * t[:, None, None] + random.uniform(0, 2 * np.pi, shape)
    amplitude, centre = random.uniform(0.5, 1.0, shape) * 0.35 / omega, CENTRE
    if model is not None:
        low, high = np.maximum(model.lower, -2.5), np.minimum(model.upper, 2.5)
        amplitude *= 0.35 * (high - low) / (2 * amplitude.sum(axis=0))
        centre = (low + high) / 2
    q = centre + (amplitude * np.sin(angle)).sum(axis=1)
    qd = (amplitude * omega * np.cos(angle)).sum(axis=1)
    qdd = -(amplitude * omega**2 * np.sin(angle)).sum(axis=1)
    return t, q, qd, qdd


def moves(points, time, moved, rate):
    """Return the same of moves from point to point: ``moved`` s each, at rest until ``time`` s."""
    count = len(points) - 1
    t = np.arange(round(count * time * rate)) / rate
    k = np.minimum(t // time, count - 1).astype(int)
    x, way = np.clip((t - k * time) / moved, 0, 1)[:, None], points[k + 1] - points[k]
    shape = 10 * x**3 - 15 * x**4 + 6 * x**5, 30 * x**2 - 60 * x**3 + 30 * x**4
    bend = 60 * x - 180 * x**2 + 120 * x**3
    return t, points[k] + way * shape[0], way * shape[1] / moved, way * bend / moved**2


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
