"""What a shadow says of the recorded Panda is the torque that evaluation cannot explain."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import featherstone_ros as fr
from featherstone_ros.model.drives import Drives
from featherstone_ros.observer import Shadow, ShadowSettings
from featherstone_ros.observer.effort_contract import ContractState

pytest.importorskip("rosbags", reason="rosbags is not installed: it reads the recording")
pytest.importorskip("scipy", reason="scipy is not installed: evaluation filters with it")
from featherstone_ros.identification.bags import read_joint_states
from featherstone_ros.tools.evaluate.session import EvaluationOptions, evaluate

RECORDINGS = Path(__file__).resolve().parents[1] / "recordings"
BAG, URDF = RECORDINGS / "panda.npz", RECORDINGS / "panda_fer_hand.urdf"
GAIN = 25.0  # [1/s]


@pytest.fixture(scope="module")
def evaluation():
    return evaluate(BAG, URDF, EvaluationOptions(fit_friction=True))


@pytest.fixture(scope="module")
def model(evaluation):
    return fr.Model.from_file(URDF, joints=evaluation.joint_names)


@pytest.fixture(scope="module")
def settings(evaluation):
    friction = evaluation.drives
    drives = Drives(np.zeros_like(friction.viscous), friction.viscous, friction.coulomb)
    return ShadowSettings(observer_gain=GAIN, drives=drives)


def residuals(shadow, time, *motion):
    """Return the residuals after each state; time (N,) in ns."""
    updates = [shadow.update(*state) for state in zip(time.tolist(), *motion, strict=True)]
    return [update.residual for update in updates if update is not None and update.residual]


def rms(values):
    return np.sqrt(np.mean(np.square(values), axis=0))


def test_residual_of_the_raw_recording_is_hardly_more_and_no_contact(evaluation, model, settings):
    (recorded,) = read_joint_states(BAG)
    shadow = Shadow(model, settings)
    said = residuals(shadow, recorded.stamp, recorded.position, recorded.velocity, recorded.effort)
    torque = rms([residual.torque for residual in said])
    written = evaluation.explanations[-1].rms
    offset = np.abs(evaluation.drives.offset)  # the nodes have no parameter for it
    assert_allclose(torque, np.hypot(written, offset), atol=0.2)
    assert not any(residual.contact for residual in said)
    assert shadow.passed_over == {"repeated": 14}
    assert shadow.restarts == 0
    assert shadow.judge.in_motion.finding is ContractState.KEPT


def test_friction_of_the_description_too_small_is_no_other_contract(model):
    (recorded,) = read_joint_states(BAG)
    shadow = Shadow(model, ShadowSettings(observer_gain=GAIN))
    residuals(shadow, recorded.stamp, recorded.position, recorded.velocity, recorded.effort)
    verdict = shadow.judge.in_motion
    assert verdict.finding is not ContractState.BROKEN
