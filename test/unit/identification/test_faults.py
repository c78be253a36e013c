"""Faults of recordings are named with their joint: simulated ones and spoiled real ones."""

import re
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import known_arm
import numpy as np
import pytest
from studies import few_or_all, study

import featherstone_ros as fr
from featherstone_ros.identification.faults import couplings, find_faults
from featherstone_ros.identification.identification import Options, recorded
from featherstone_ros.identification.inference import Hypothesis, Inference, Posterior
from featherstone_ros.identification.model_order import Fitting
from featherstone_ros.identification.recording import Recording, interpolated

RECORDINGS = Path(__file__).resolve().parents[2] / "recordings"
BAG, URDF = RECORDINGS / "panda.npz", RECORDINGS / "panda_fer_hand.urdf"
# Of as few joints as tell of a fault: of six each takes several times as long.
PAIR, WRIST = (  # and with a last joint that is mostly friction
    fr.Model.from_file(known_arm.URDF, joints=[known_arm.NAMES[k] for k in joints])
    for joints in ((1, 2), (1, 2, 5))
)


@cache
def recording_of(model, real=None, duration=10.0):
    """Return a model, and what is recorded of an arm that is not quite it, but for ``real``."""
    real = real or known_arm.deformed(model=model)
    return model, Recording("", model.joint_names, *known_arm.record(real, duration=duration))


@cache
def real():
    (recording,), names, _ = recorded([BAG], URDF, Options())
    assert list(recording.joint_names) == names
    return fr.Model.from_file(URDF, joints=names), recording


ARMS = {  # what makes a model and a recording, and the index of its elbow
    "simulated": (partial(recording_of, known_arm.NOMINAL), 2),
    "level": (partial(recording_of, known_arm.LEVEL), 1),
    "wrist": (partial(recording_of, WRIST), 1),
    "real": (real, 3),
}


@pytest.fixture
def arm(request):
    """Return a model, a recording of an arm that is not quite it, and its elbow's index."""
    make, elbow = ARMS[request.param]
    return *make(), elbow


def named(model, recording):
    fitting = Fitting(model, [recording], range(model.n), 2.0)
    return find_faults(fitting)


def test_a_sound_recording_has_none():
    """Nor one that is simulated: test_clean_recordings.py."""
    found = named(*real())
    assert found.texts == () and not found.offsets.any()


# Alone, or of two joints, which agree with each other; most joints do not.
GAINS = [(arm, (), gain) for arm in ("level", "real") for gain in (0.09, 0.5, 1.3, 12.0)]
GAINS += [(arm, (1,), gain) for arm in ("simulated", "real") for gain in (0.09, 0.5, 12.0)]


@pytest.mark.parametrize(
    ("arm", "others", "gain"), few_or_all([("level", (), 1.3)], GAINS), indirect=["arm"]
)
def test_a_gain_is_named_with_its_size(arm, others, gain):
    model, recording, elbow = arm
    effort, at = recording.effort.copy(), [*others, elbow]
    effort[:, at] *= gain
    texts = named(model, replace(recording, effort=effort)).texts
    told = dict(text.split(": its effort is ") for text in texts)
    assert len(texts) == len(at) and told.keys() == {model.joint_names[k] for k in at}
    for text in told.values():
        assert float(text.split()[0]) == pytest.approx(gain, rel=0.15 if others else 0.1)


def fields_times(factor, *fields):
    """Return what multiplies fields of a recording."""
    return lambda recording: replace(
        recording, **{f: factor * getattr(recording, f) for f in fields}
    )


def weightless(recording):
    gravity = fr.Dynamics(known_arm.deformed(model=PAIR)).gravity(recording.position)
    return replace(recording, effort=recording.effort - gravity)


ELBOWS, LAST = np.array([1.0, -1.0]), np.array([1.0, 1.0, -1.0])
SIGN = "{}_joint: its effort has the opposite sign of torque.$"
RATE = "elbow_joint: its position and its velocity have opposite signs.$"
# A recording of which arm is spoiled how, and patterns of all that is named.
ALONE = {
    "signs": (PAIR, fields_times(-1.0, "effort"),
              SIGN.format("shoulder_lift"), SIGN.format("elbow")),
    # By the links that it would need.
    "a unit that all share": (PAIR, fields_times(0.09, "effort"),
                              r"The measured torque is 0\.0.*drives.<joint>.effort: current"),
    "no gravity": (PAIR, weightless, "(?=.*--gravity 0 0 0).*without_gravity"),
    # Friction takes power: an effort of the other sign would give it.
    "the sign of a wrist": (WRIST, fields_times(LAST, "effort"), SIGN.format("wrist_3")),
    "an axis": (PAIR, fields_times(ELBOWS, "position", "velocity"),
                "elbow_joint: its position and velocity seem to have the opposite sign"),
    # A velocity that is not the rate of its position is named first.
    "a position": (PAIR, fields_times(ELBOWS, "position"), RATE),
    "a velocity": (PAIR, fields_times(ELBOWS, "velocity"), RATE),
}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "spoil", "patterns"), [(m, s, p) for m, s, *p in ALONE.values()], ids=ALONE
)
def test_the_culprit_alone_is_named(model, spoil, patterns):
    model, recording = recording_of(model)
    texts = named(model, spoil(recording)).texts
    assert len(texts) == len(patterns) and all(map(re.match, patterns, texts)), texts


def test_what_friction_hides_is_said_to_be_untold():
    terms = {name: 5 * getattr(known_arm.DRIVES, name) for name in ("coulomb", "viscous")}
    drives = replace(known_arm.DRIVES, **terms)
    signals = known_arm.record(WRIST, drives, duration=10.0)
    found = named(WRIST, Recording("", WRIST.joint_names, *signals))
    (note,) = [note for note in found.notes if "does not tell in which unit" in note]
    assert "wrist_3_joint" in note and "shoulder_lift_joint" not in note


OFF = [(arm, offset) for arm in ("simulated", "real") for offset in (0.04, 0.05, 0.3)]


@pytest.mark.parametrize(
    ("arm", "offset"), few_or_all([("wrist", 0.3)], [("wrist", 0.3), *OFF]), indirect=["arm"]
)
def test_an_encoders_offset_is_named_and_measured(arm, offset):
    """The least one by little more than a first fault's price, ``SIZE``."""
    model, recording, elbow = arm
    position = recording.position.copy()
    position[:, elbow] += offset
    found = named(model, replace(recording, position=position))
    assert [text.split(":")[0] for text in found.texts] == [model.joint_names[elbow]]
    assert found.offsets[elbow] == pytest.approx(offset, rel=0.15, abs=0.03)
    assert np.flatnonzero(found.offsets).tolist() == [elbow]


def coupled(ratio):
    """Return the recording of an arm whose last motor turns with its last two joints."""
    model, recording = recording_of(known_arm.NOMINAL)
    _, _, qd, qdd = known_arm.motion(10.0)
    own = np.eye(model.n)[-1]
    way = own + ratio * np.eye(model.n)[-2]
    drive = replace(known_arm.DRIVES, offset=np.zeros(model.n))
    own_torque = known_arm.torque(drive, qd, qdd)[:, -1]
    turned = known_arm.torque(drive, np.outer(qd @ way, own), np.outer(qdd @ way, own))[:, -1]
    effort = recording.effort - np.outer(own_torque, own) + np.outer(turned, way)
    return model, replace(recording, effort=effort)


@pytest.mark.parametrize("ratio", few_or_all([1.0], [-1.0, 1.0]))
def test_coupled_drives_are_named_with_what_to_do(ratio):
    model, recording = coupled(ratio)
    texts = named(model, recording).texts
    assert [text.split(":")[0] for text in texts] == list(model.joint_names[-2:])
    for text, other in zip(texts, model.joint_names[:-3:-1], strict=True):
        assert f"goes with the velocity of {other}" in text and "--joints" in text


@pytest.mark.parametrize("seed", few_or_all([0], range(8)))
def test_friction_that_grows_with_the_load_couples_no_joints(seed):
    """In motions of all joints in step the signs of velocities are much alike."""
    random, real = np.random.default_rng(seed), known_arm.deformed(seed)
    points = known_arm.CENTRE + np.random.default_rng(seed).uniform(-1.0, 1.0, (11, known_arm.n))
    t, q, qd, qdd = known_arm.moves(points, time=2.0, moved=1.6, rate=100.0)
    links = fr.Dynamics(real).rnea(q, qd, qdd)
    tau = links * (1 + 0.15 * np.sign(links) * np.tanh(qd / known_arm.SLIDING))
    tau = tau + known_arm.torque(known_arm.DRIVES, qd, qdd)
    tau = tau + known_arm.NOISE * random.standard_normal(q.shape)
    noisy = q + 1e-5 * random.standard_normal(q.shape), qd + 1e-3 * random.standard_normal(q.shape)
    recording = Recording("", known_arm.NAMES, t, *noisy, tau)
    fitting = Fitting(known_arm.NOMINAL, [recording], range(known_arm.n), 2.0)
    assert couplings(fitting) == []


@pytest.mark.parametrize("gain", few_or_all([0.09], [0.09, 0.5, 12.0]))
def test_bodies_that_have_to_bend_far_are_found_from_anywhere(gain):
    """Of all efforts in another unit, which bodies of another mass explain as well."""
    model, recording = recording_of(known_arm.NOMINAL)
    spoiled = replace(recording, effort=gain * recording.effort)
    inference = Inference(Fitting(model, [spoiled], range(model.n), 2.0))
    narrow, found = (Posterior(inference, Hypothesis(), width) for width in (0.15, 0.6))
    again, other = (Posterior(inference, Hypothesis(), 0.6, start) for start in (found, narrow))
    assert again.evidence == pytest.approx(found.evidence, abs=1.0)
    assert other.evidence == pytest.approx(found.evidence, abs=5.0)  # what a first fault costs


@pytest.mark.parametrize("late", few_or_all([0.02], [-0.02, 0.005, 0.01, 0.02, 0.05]))
def test_a_delay_of_the_efforts_is_estimated_and_named(late):
    model, recording = recording_of(known_arm.LEVEL, duration=20.0)
    effort = interpolated(recording.time - late, recording.time, recording.effort)
    found = named(model, replace(recording, effort=effort))
    told = next(note for note in found.notes if "efforts" in note and "±" in note)
    figures = told.split("efforts ")[1].split(" ms")[0].split(" ± ")
    delay, deviation = map(float, figures)
    assert abs(delay - 1e3 * late) < 3.0 * deviation < 6.0
    assert bool(found.texts) == (abs(late) > 0.01) and bool(found.delay) == bool(found.texts)
    if found.texts:
        (text,) = found.texts
        assert "ms after the motion" in text or late < 0
        assert "--fix delay" in text
        mended = replace(recording, effort=effort).with_delay(found.delay)
        assert named(model, mended).texts == ()


def test_an_arm_that_is_mounted_otherwise_is_told_by_gravitys_direction():
    """On a wall; turned by less: test_clean_recordings.py."""
    down = 9.81 * np.array([0.6, -0.8, 0.0])
    model = known_arm.INNER
    real = known_arm.deformed(model=model).with_gravity(tuple(down))
    (text,) = named(*recording_of(model, real)).texts
    said = re.search(r"Gravity is turned by .* \(--gravity (\S+) (\S+) (\S+)\)", text).groups()
    np.testing.assert_allclose(list(map(float, said)), down, atol=0.1)


@pytest.mark.parametrize("mass", [study(0.0), 1.5, 3.0])
def test_a_load_that_the_description_lacks_is_told_with_its_mass(mass):
    """But one of 1.5 kg, which heavier links explain as well, is left untold."""
    arm = fr.Model.from_file(known_arm.URDF, joints=known_arm.NAMES[1:5])
    found = named(*recording_of(arm, arm.with_payload("tool0", mass, [0.0, 0.0, 0.05])))
    told, _, rest = found.load.partition(" ± ")
    assert found.texts == () and bool(told) is (mass == 3.0)
    if told:
        assert float(told.rpartition(" ")[2]) == pytest.approx(mass, abs=0.5)
        assert " kg on wrist_2_link" in rest
    else:
        most = re.search(r"whether wrist_2_link carries up to ([\d.]+) kg more", found.notes[-1])
        assert float(most[1]) > mass
