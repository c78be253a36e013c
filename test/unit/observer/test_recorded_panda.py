"""What a real Panda measured while it moved is what its model predicts, also to a shadow."""

from pathlib import Path

import numpy as np
import pytest

import featherstone_ros as fr
from featherstone_ros.identification.bags import read_joint_states
from featherstone_ros.model.drives import Drives
from featherstone_ros.observer import Shadow, ShadowSettings
from featherstone_ros.observer.effort_contract import ContractState
from featherstone_ros.tools.evaluate.evaluation import EvaluationOptions, evaluate

RECORDINGS = Path(__file__).resolve().parents[2] / "recordings"
BAG, URDF = RECORDINGS / "panda.npz", RECORDINGS / "panda_fer_hand.urdf"
JOINTS = tuple(f"fer_joint{k}" for k in range(1, 8))

# As the recording's README states them, obtained with another library.
R2_OF_RIGID_LINKS = [0.47, 0.998, 0.998, 0.988, 0.39, 0.81, 0.00]
R2_WITH_FRICTION = [0.92, 0.998, 0.999, 0.998, 0.83, 0.97, 0.96]
RMS_WITH_FRICTION = [0.17, 0.66, 0.18, 0.20, 0.26, 0.14, 0.05]  # [N m]
# Where a figure is near 1, it is stated to three decimals.
ROUNDING = np.where(np.array(R2_OF_RIGID_LINKS) > 0.9, 1e-3, 5e-3)


@pytest.fixture(scope="module")
def evaluation():
    return evaluate(BAG, URDF, EvaluationOptions(fit_friction=True))


def test_samples_are_what_the_recordings_readme_says(evaluation):
    assert evaluation.joint_names == JOINTS
    assert evaluation.period == pytest.approx(0.03399, rel=1e-3)
    assert "14 samples repeat" in " ".join(evaluation.notes)


def test_rigid_links_explain_the_torque_as_stated(evaluation):
    """And gravity alone no more."""
    gravity, rigid, *_ = evaluation.explanations
    assert (gravity.rms >= rigid.rms).all()
    assert (np.abs(rigid.r2 - R2_OF_RIGID_LINKS) <= ROUNDING).all()


def test_friction_explains_the_rest_at_least_as_well_as_stated(evaluation):
    """Better in places: the sign of velocity passes the filter that the torque passed."""
    _, _, fitted, written = evaluation.explanations
    rounding = np.where(np.array(R2_WITH_FRICTION) > 0.99, 5e-4, 5e-3)
    assert (fitted.r2 >= R2_WITH_FRICTION - rounding).all()
    assert (fitted.rms <= np.array(RMS_WITH_FRICTION) + 5e-3).all()
    assert (written.r2 >= fitted.r2 - 1e-3).all()


# What a shadow says of it

GAIN = 25.0  # [1/s]


@pytest.fixture(scope="module")
def model(evaluation):
    return fr.Model.from_file(URDF, joints=evaluation.joint_names)


def residuals(shadow):
    """Return what a shadow says after each state of the recording."""
    (said,) = read_joint_states(BAG)
    states = zip(said.stamp.tolist(), said.position, said.velocity, said.effort, strict=True)
    updates = [shadow.update(*state) for state in states]
    return [update.residual for update in updates if update is not None and update.residual]


def test_residual_of_the_raw_recording_is_hardly_more_and_no_contact(evaluation, model):
    friction = evaluation.drives
    drives = Drives(np.zeros_like(friction.viscous), friction.viscous, friction.coulomb)
    shadow = Shadow(model, ShadowSettings(observer_gain=GAIN, drives=drives))
    said = residuals(shadow)
    torque = np.sqrt(np.mean(np.square([residual.torque for residual in said]), axis=0))
    written = evaluation.explanations[-1].rms
    offset = np.abs(evaluation.drives.offset)  # the nodes have no parameter for it
    np.testing.assert_allclose(torque, np.hypot(written, offset), atol=0.2)
    assert not any(residual.contact for residual in said)
    assert shadow.passed_over == {"repeated": 14}
    assert shadow.restarts == 0
    assert shadow.judge.in_motion.finding is ContractState.KEPT


def test_friction_of_the_description_too_small_is_no_other_contract(model):
    shadow = Shadow(model, ShadowSettings(observer_gain=GAIN))
    residuals(shadow)
    assert shadow.judge.in_motion.finding is not ContractState.BROKEN
