"""What a real Panda measured while it moved is what its model predicts."""

import sqlite3
import struct
from pathlib import Path

import numpy as np
import pytest

from featherstone_ros import Dynamics, Model

signal = pytest.importorskip("scipy.signal")

RECORDING = Path(__file__).resolve().parents[3] / "shared" / "data" / "panda"
BAG = RECORDING / "panda_exciting_trajectory.db3"
URDF = RECORDING / "panda_fer_hand.urdf"
JOINTS = [f"fer_joint{k}" for k in range(1, 8)]
PERIOD = 0.03399  # [s] between samples, repeated ones left out
CUT_OFF = 2.0  # [Hz], far below the noise and above the trajectory
SETTLING = 10  # samples at either end, where the filter has too little to go by
SLIDING = 0.02  # [rad/s] speed at which dry friction has its sign for sure, above the noise

# R^2 of each joint as the recording's README states them, obtained with another library.
R2_OF_RIGID_BODIES = [0.47, 0.998, 0.998, 0.988, 0.39, 0.81, 0.00]
R2_WITH_FRICTION = [0.92, 0.998, 0.999, 0.998, 0.83, 0.97, 0.96]
R2_TOLERANCE = 0.01

pytestmark = pytest.mark.skipif(not BAG.is_file(), reason=f"{BAG} is not there")


class CdrReader:
    """Reads the little-endian CDR of a serialised ROS message, field by field."""

    def __init__(self, message):
        self.payload = message[4:]  # after the encapsulation header
        self.at = 0

    def read(self, kind, count=1):
        size = struct.calcsize(kind)
        self.at += -self.at % size  # every number lies at a multiple of its size
        values = struct.unpack_from(f"<{count}{kind}", self.payload, self.at)
        self.at += count * size
        return values

    def read_string(self):
        (length,) = self.read("I")
        self.at += length
        return self.payload[self.at - length : self.at - 1].decode(errors="replace")

    def read_numbers(self):
        (length,) = self.read("I")
        return self.read("d", length)


def read_joint_state(message):
    """Return names, position, velocity and effort of a serialised sensor_msgs/JointState."""
    cdr = CdrReader(message)
    cdr.read("i"), cdr.read("I"), cdr.read_string()  # header: stamp and frame
    names = [cdr.read_string() for _ in range(*cdr.read("I"))]
    return names, cdr.read_numbers(), cdr.read_numbers(), cdr.read_numbers()


@pytest.fixture(scope="module")
def recorded():
    """Position, velocity, acceleration and torque, (samples, 7), filtered as its README says."""
    with sqlite3.connect(f"file:{BAG}?mode=ro", uri=True) as bag:
        rows = bag.execute("SELECT data FROM messages ORDER BY timestamp").fetchall()
    states = [read_joint_state(message) for (message,) in rows]
    assert all(names == JOINTS for names, *_ in states)
    samples = np.array([numbers for _, *numbers in states])  # (samples, 3, 7)
    repeated = (samples[1:] == samples[:-1]).all(axis=(1, 2))
    samples = samples[np.append(True, ~repeated)]
    smooth = signal.butter(4, CUT_OFF, fs=1 / PERIOD, output="sos")
    q, qd, tau = np.moveaxis(signal.sosfiltfilt(smooth, samples, axis=0), 1, 0)
    qdd = np.gradient(qd, PERIOD, axis=0)
    return [x[SETTLING:-SETTLING] for x in (q, qd, qdd, tau)]


@pytest.fixture(scope="module")
def predicted(recorded):
    model = Model.from_file(URDF, joints=JOINTS)
    q, qd, qdd, _ = map(np.ascontiguousarray, recorded)
    return Dynamics(model).rnea(q, qd, qdd)


def determination(measured, explained):
    """Return R^2 of each joint: 1 - variance left over / variance."""
    left_over = ((measured - explained) ** 2).sum(axis=0)
    return 1 - left_over / ((measured - measured.mean(axis=0)) ** 2).sum(axis=0)


def with_friction(qd, measured, predicted):
    """Add viscous, Coulomb and constant terms to the prediction, fitted joint by joint."""
    explained = predicted.copy()
    for k in range(len(JOINTS)):
        terms = np.column_stack([qd[:, k], np.tanh(qd[:, k] / SLIDING), np.ones(len(qd))])
        factors, *_ = np.linalg.lstsq(terms, measured[:, k] - predicted[:, k], rcond=None)
        explained[:, k] += terms @ factors
    return explained


def test_rigid_bodies_predict_the_recorded_torque(recorded, predicted):
    *_, tau = recorded
    r2 = determination(tau, predicted)
    np.testing.assert_allclose(r2, R2_OF_RIGID_BODIES, atol=R2_TOLERANCE)


def test_rigid_bodies_and_friction_predict_the_recorded_torque(recorded, predicted):
    _, qd, _, tau = recorded
    r2 = determination(tau, with_friction(qd, tau, predicted))
    np.testing.assert_allclose(r2, R2_WITH_FRICTION, atol=R2_TOLERANCE)
