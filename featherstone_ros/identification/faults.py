"""What is wrong with a recording: the fault that explains its torque best, then the next one.

Faults compete (see ``inference``): one at a time is added to what is believed, the likeliest, as
long as the torque becomes more probable by far. What it then is said to be has a width that
includes how wrong the model's own joints seem to be, and is named only beyond that. Motion comes
first: inconsistent position and velocity need no torque. Coupled drives come next: no fault of
single joints looks like them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.identification.effort_gains import BY_LOAD, gains_by_links
from featherstone_ros.identification.explanation import (
    CERTAIN,
    KNOWN,
    MIN_DELAY,
    MIN_GAIN,
    MIN_LOAD,
    MIN_OFFSET,
    MIN_TILT,
    OF_KIND,
    OF_SIZE,
    TOLD,
    VAGUE,
    least_noise,
    squares_about_mean,
)
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.fit import correlation_length
from featherstone_ros.identification.inference import THETAS, Hypothesis, Inference, Posterior
from featherstone_ros.identification.model_order import Fitting
from featherstone_ros.identification.recording import Recording
from featherstone_ros.identification.regression import link_columns
from featherstone_ros.model import Model
from featherstone_ros.model.drive_units import ANOTHER_UNIT
from featherstone_ros.model.drives import smooth_sign

ANOTHER_ARM = (
    f"The links would have to be about {max(THETAS):.0%} off: is the description another arm's?"
)
UNIT = "effort: current"  # of drives.<joint>, where a unit is named
MAX_FAULTS = 3  # faults
FINALISTS = 4  # of which the prior's width is chosen anew
UNSEEN = 0.5  # of an effort's squares beside its drive: links that leave more are not seen in it
LIKELIER = 0.25  # of the squares that an effort's own joint leaves, that another's leaves
DOUBTFUL = 0.1  # share of a joint's squared torque left, from which mirrored positions are tried
CORRELATED = 0.9  # correlation of velocity and the rate of position, to compare them
LEFT = 0.25  # greatest share of the squares that the other joint's friction leaves of a coupling
KINDS = 6  # of columns for each joint
DEPENDENT = 1e-6  # relative singular value of unknowns that the torque does not determine


@dataclass(frozen=True, eq=False)
class Faults:
    """What is wrong with a recording."""

    texts: tuple[str, ...]  # each fault in words, with the joint
    offsets: Floats  # (n,) of the encoders, 0 where none is certain [rad or m]
    # A load that the last link seems to carry, in words; empty: none that is certain
    load: str = ""
    delay: float = 0.0  # of all efforts, 0 where none is certain [s]
    # what is always estimated, and what the motion does not tell, in words
    notes: tuple[str, ...] = ()


def find_faults(fitting: Fitting) -> Faults:
    """Find what is wrong with a recording."""
    names, nothing = fitting.dynamics.model.joint_names, np.zeros(fitting.dynamics.model.n)
    if inconsistent := inconsistent_velocities(names, fitting.motion()):
        return Faults(tuple(inconsistent), nothing)
    if coupled := couplings(fitting):
        texts = (
            f"{names[each.joint]}: its effort goes with the velocity of {names[each.other]}, too: "
            f"the other's friction leaves {100 * each.left:.2g} % of the squares that the best "
            "links and its own drive leave. Their drives are coupled, which the law of friction "
            "does not know: leave its effort out (--joints lists the others)."
            for each in coupled
        )
        return Faults(tuple(texts), nothing)
    inference = Inference(fitting)
    found, rivals = likeliest(inference)
    notes = _always(found, inference.model.gravity), *_untold(inference, found)
    said = replace(_in_words(inference, found), load=_load(inference, found), notes=notes)
    others = [_in_words(inference, rival).texts for rival in rivals]
    others = [texts for texts in others if texts and set(texts) != set(said.texts)]
    if inference.width == max(THETAS) or (said.texts and _hides_links(found)):
        others.append((ANOTHER_ARM,))
    if not said.texts:
        return replace(said, notes=(*said.notes, *dict.fromkeys(sum(others, ()))))
    if not others:
        return said
    ways = " Or: ".join(" ".join(texts) for texts in (said.texts, *others))
    doubt = f"Something is wrong, and this motion cannot tell what of these: {ways}"
    return replace(said, texts=(doubt,), offsets=nothing, delay=0.0)


def in_other_units(faults: Faults, model: Model, recording: Recording, cut_off: float) -> Faults:
    """Return faults whose gains are those of all joints together, where most are in another unit.

    One joint after the other, the first that are tried pass for torques, and scale the others.
    """
    named = " ".join(text for text in faults.texts if UNIT in text)
    if not named or ANOTHER_ARM in named:  # then its links tell of no gains
        return faults
    try:
        gains = gains_by_links(model, recording, cut_off)
    except FeatherstoneError:
        return faults
    are_told = any(f"drives.{joint}.{UNIT}" in named for joint in (*gains.told, "<joint>"))
    if gains.share_of_others < 0.5 or (gains.share_of_others < 1.0 and not are_told):
        return faults  # what is named is not explained by gains of which some are torques'
    text = (
        f"Efforts are another unit than torque, or motor currents (drives.<joint>.{UNIT}). By the "
        f"links (identify --gains-by-links): {gains.in_words()}."
    )
    return replace(faults, texts=(text,), offsets=0.0 * faults.offsets, delay=0.0)


def inconsistent_velocities(joints: Sequence[str], motion: SmoothMotion) -> list[str]:
    """Name joints whose velocity is not the rate of their position."""
    rate = np.gradient(motion.position, motion.time, axis=0)
    texts = []
    for joint, v, r in zip(joints, motion.velocity.T, rate.T, strict=True):
        if not v.any() or abs(v @ r) < CORRELATED * np.sqrt((v @ v) * (r @ r)):
            continue
        factor = (v @ r) / (r @ r)
        if factor < 0:
            texts.append(f"{joint}: its position and its velocity have opposite signs.")
        elif abs(np.log(factor)) > np.log(MIN_GAIN):
            texts.append(
                f"{joint}: its velocity is {factor:.3g} times the rate of its position: another "
                "unit?"
            )
    return texts


def likeliest(inference: Inference) -> tuple[Posterior, list[Posterior]]:
    """Return the explanation by as few faults as are convincing, and those nearly as likely."""
    found, rivals = inference.tune(Hypothesis()), list[Posterior]()
    for rarity in range(1, MAX_FAULTS + 1):

        def merit(each: Posterior, rarity: int = rarity) -> float:
            return each.evidence - rarity * _price(each)

        tried = [
            inference.posterior(hypothesis) for hypothesis in _one_more(found.hypothesis, inference)
        ]
        tried += [inference.posterior(hypothesis) for each in tried for hypothesis in _of_few(each)]
        if merit(max(tried, key=merit)) > merit(found) or _is_doubtful(found, inference):
            mirrored = found.hypothesis.mirrored
            tried += [
                inference.posterior(replace(found.hypothesis, mirrored=(*mirrored, joint)))
                for joint in range(inference.model.n)
                if joint not in mirrored
            ]
            off = [t for t in tried if t.hypothesis.offsets != found.hypothesis.offsets]
            tried += [inference.about(max(off, key=merit).hypothesis)] if off else []
            if not found.hypothesis.gravity:
                tried.append(inference.about(inference.turned(found.hypothesis)))
        tried = [t for t in tried if _is_telling(t, found)]
        tried.sort(key=merit, reverse=True)
        finalists = [found.hypothesis, *(each.hypothesis for each in tried[:FINALISTS])]
        best = max(map(inference.with_any_prior, finalists), key=merit)
        if best.hypothesis != found.hypothesis:
            inference.tune(best.hypothesis)  # its noise is the least: by that, once more
            compared = [inference.with_any_prior(hypothesis) for hypothesis in finalists]
            best = max(compared, key=merit)
            near = [e for e in compared[1:] if e is not best and merit(e) > merit(best) - OF_SIZE]
            found = inference.tune(best.hypothesis)
            rivals = [inference.about(each.hypothesis) for each in near]
            rivals = [each for each in rivals if merit(each) > merit(found) - OF_SIZE]
        if best.hypothesis == finalists[0]:
            break
    return inference.tune(inference.about(found.hypothesis).hypothesis), rivals


def _price(posterior: Posterior) -> float:
    """Return by how much evidence a first fault like those of a hypothesis must be worth."""
    hypothesis = posterior.hypothesis
    kinds = len(hypothesis.mirrored) + bool(hypothesis.order)
    for joints in (hypothesis.negative, hypothesis.weightless):
        kinds += 1 if len(joints) == len(posterior.gains) else len(joints)
    sizes = len(hypothesis.gains) + len(hypothesis.offsets)
    kinds += bool(hypothesis.gravity)
    return OF_KIND * kinds + OF_SIZE * sizes


def _is_telling(tried: Posterior, found: Posterior) -> bool:
    """Whether efforts that are not swapped, or else far better explained, are."""
    order = list(tried.hypothesis.order)
    if tried.hypothesis.order == found.hypothesis.order:
        return True
    moved = [k for k, m in enumerate(order) if k != m]
    before, after = ((each.left**2).sum(axis=0) for each in (found, tried))
    return all(after[k] < LIKELIER * before[order[k]] for k in moved)


def _hides_links(found: Posterior) -> bool:
    """Whether gains but make links vanish that are not seen in most of their efforts."""
    scaled = [k for group in found.hypothesis.gains for k in group]
    left, beside = (found.left[:, scaled] ** 2).mean(axis=0), found.shares[0][scaled] ** 2
    return 2 * int((left > UNSEEN * beside).sum()) > len(scaled)


def _is_doubtful(found: Posterior, inference: Inference) -> bool:
    """Whether much of a joint's effort stays unexplained."""
    measured = squares_about_mean(inference.rows(found.hypothesis).efforts)
    return bool(((found.left**2).sum(axis=0) > DOUBTFUL * measured).any())


def _one_more(hypothesis: Hypothesis, inference: Inference) -> Iterator[Hypothesis]:
    """Yield hypotheses with one more fault of the efforts or encoders."""
    j = len(inference.judged)
    every = tuple(range(j))
    scaled = {k for group in hypothesis.gains for k in group}
    if j > 1 and not hypothesis.gains:
        yield replace(hypothesis, gains=(every,))
        yield replace(hypothesis, gains=tuple((k,) for k in every))
    if not hypothesis.weightless:
        yield replace(hypothesis, weightless=every)
    if not hypothesis.negative:
        yield replace(hypothesis, negative=every)
    for k in every:
        if k not in scaled:
            yield with_gain(hypothesis, k)
        if k not in hypothesis.negative:
            yield replace(hypothesis, negative=(*hypothesis.negative, k))
        if k not in hypothesis.weightless:
            yield replace(hypothesis, weightless=(*hypothesis.weightless, k))
        for m in range(k if not hypothesis.order else 0):
            order = list(every)
            order[k], order[m] = m, k
            yield replace(hypothesis, order=tuple(order))
    for joint in range(inference.model.n):
        if joint not in hypothesis.offsets:
            yield with_offset(hypothesis, joint)


def _of_few(posterior: Posterior) -> Iterator[Hypothesis]:
    """Yield, of one in which each effort has its own gain, that of those unlike most alone.

    What all gains have in common, the links' masses may have as well.
    """
    gains = np.abs(posterior.gains)
    unlike = np.abs(np.log(gains / np.median(gains))) > np.log(MIN_GAIN)
    if 1 < len(gains) == len(posterior.hypothesis.gains) and unlike.any():
        own = tuple((k,) for k in np.flatnonzero(unlike).tolist())
        yield replace(posterior.hypothesis, gains=own)


def _in_words(inference: Inference, found: Posterior) -> Faults:
    hypothesis, model = found.hypothesis, inference.model
    names = [model.joint_names[k] for k in inference.judged]
    width = _scatter(inference, found)
    texts = [
        f"{model.joint_names[k]}: its position and velocity seem to have the opposite sign of the "
        "URDF's axis."
        for k in hypothesis.mirrored
    ]
    texts += [
        f"{names[m]} and {names[k]}: their efforts seem to be swapped."
        for k, m in enumerate(hypothesis.order)
        if m < k
    ]
    if len(hypothesis.weightless) == len(names):
        texts.append(
            "The torque is explained better without gravity: the driver reports effort without it "
            "(drives.<joint>.effort: torque_without_gravity); --gravity 0 0 0 reads it so, or is "
            "--gravity another one?"
        )
    else:
        texts += [
            f"{names[k]}: its effort is explained better without gravity."
            for k in hypothesis.weightless
        ]
    texts += [
        f"{names[k]}: its effort has the opposite sign of torque." for k in hypothesis.negative
    ]
    texts += _gains(names, found, width[0])
    deviation = found.offset_deviation * width[1]
    size = np.abs(found.offsets)
    certain = size > np.maximum(MIN_OFFSET, CERTAIN * deviation)
    texts += [
        f"{model.joint_names[k]}: its encoder is off by {found.offsets[k]:+.3f} ± "
        f"{deviation[k]:.3f} rad or m (--fix offsets corrects it)."
        for k in np.flatnonzero(certain)
    ]
    late = _delayed(found)
    texts += late + _tilted(found, inference.model.gravity)
    offsets = np.where(certain, found.offsets, 0.0)
    return Faults(tuple(texts), offsets, delay=found.delay[0] if late else 0.0)


def _delayed(found: Posterior) -> list[str]:
    delay, deviation = found.delay
    if deviation > MIN_DELAY or abs(delay) < max(MIN_DELAY, CERTAIN * deviation):
        return []
    return [
        f"All efforts come {1e3 * abs(delay):.0f} ± {1e3 * deviation:.0f} ms "
        f"{'after' if delay > 0 else 'before'} the motion that they belong to: viscous friction "
        "would be found wrong (--fix delay corrects it)."
    ]


def _tilted(found: Posterior, given: Sequence[float] | Floats) -> list[str]:
    angle, deviation = _tilt(found, given)
    if deviation > MIN_TILT or angle < max(MIN_TILT, CERTAIN * deviation):
        return []
    down = " ".join(f"{value:.3g}" for value in found.gravity.round(3) + 0.0)
    return [
        f"Gravity is turned by {np.degrees(angle):.1f} ± {np.degrees(deviation):.1f} degrees: the "
        f"arm is mounted otherwise (--gravity {down})."
    ]


def _tilt(found: Posterior, given: Sequence[float] | Floats) -> tuple[float, float]:
    """Return by what gravity is turned [rad], and its deviation."""
    down = np.asarray(given, float)
    sine, cosine = np.linalg.norm(np.cross(down, found.gravity)), down @ found.gravity
    return float(np.arctan2(sine, cosine)), found.tilt


def _always(found: Posterior, given: Sequence[float] | Floats) -> str:
    """Say what is estimated of every recording, or that its motion does not tell it."""
    delay, deviation = found.delay
    late = f"efforts {1e3 * delay:.1f} ± {1e3 * deviation:.1f} ms after the motion"
    if deviation > MIN_DELAY:
        late = "this motion does not tell whether efforts are late"
    angle, spread = _tilt(found, given)
    level = f"gravity {np.degrees(angle):.1f} ± {np.degrees(spread):.1f} degrees off --gravity"
    if not np.any(found.gravity):
        level = "no gravity"
    elif spread > MIN_TILT:
        level = "this motion does not tell whether gravity is tilted"
    return f"estimated: {late}; {level}"


def _untold(inference: Inference, found: Posterior) -> list[str]:
    """Name the efforts' sizes, encoders' zeros and load that this motion does not tell."""
    hypothesis, names = found.hypothesis, inference.model.joint_names
    width = _scatter(inference, found)
    scaled = {k for group in hypothesis.gains for k in group}
    sizes = [
        names[joint]
        for k, joint in enumerate(inference.judged)
        if k not in scaled
        for size, deviation in [_gain(inference, hypothesis, k)]
        if abs(size) + CERTAIN * width[0] * deviation > np.log(ANOTHER_UNIT[1])
    ]
    zeros = [
        name
        for k, name in enumerate(names)
        if k not in hypothesis.offsets
        for offset, deviation in [_offset(inference, hypothesis, k)]
        if abs(offset) + CERTAIN * width[1] * deviation > CERTAIN * TOLD
    ]
    texts = [f"in which unit the efforts of {', '.join(sizes)} are"] * bool(sizes)
    texts += [f"whether the encoders of {', '.join(zeros)} are off"] * bool(zeros)
    mass, deviation = found.load
    most = max(mass, 0.0) + CERTAIN * deviation
    if most > MIN_LOAD and not _load(inference, found):
        texts += [f"whether {inference.bodies.names[-1]} carries up to {most:.2g} kg more"]
    return ["this motion does not tell " + "; ".join(texts)] * bool(texts)


def with_offset(hypothesis: Hypothesis, joint: int) -> Hypothesis:
    """Return a hypothesis in which one more encoder is off."""
    return replace(hypothesis, offsets=(*hypothesis.offsets, joint))


def with_gain(hypothesis: Hypothesis, k: int) -> Hypothesis:
    """Return a hypothesis in which one more effort has a gain of its own."""
    return replace(hypothesis, gains=(*hypothesis.gains, (k,)))


def _offset(inference: Inference, hypothesis: Hypothesis, joint: int) -> tuple[float, float]:
    """Return what one more encoder would be off by, and the deviation."""
    found = inference.posterior(with_offset(hypothesis, joint))
    return found.offsets[joint], found.offset_deviation[joint]


def _gain(inference: Inference, hypothesis: Hypothesis, k: int) -> tuple[float, float]:
    """Return the logarithm of the gain that one more effort would have, and the deviation."""
    found = inference.posterior(with_gain(hypothesis, k))
    return np.log(abs(found.gains[k])), found.deviation[k]


def _gains(names: Sequence[str], found: Posterior, width: float) -> list[str]:
    """Name efforts in another unit than torque: all of them together, or each."""
    gains = np.abs(found.gains)
    relative = found.deviation * width
    wrong = np.abs(np.log(gains)) > np.maximum(np.log(MIN_GAIN), CERTAIN * relative)
    is_free = [any(k in group for group in found.hypothesis.gains) for k in range(len(names))]
    those = [k for k in range(len(names)) if is_free[k] and wrong[k] and relative[k] < VAGUE]
    if found.hypothesis.gains == (tuple(range(len(names))),):
        if ANOTHER_UNIT[0] < gains[0] < ANOTHER_UNIT[1] or not wrong[0]:
            return []
        return [
            f"The measured torque is {gains[0]:.2g} ± {gains[0] * relative[0]:.1g} times that of "
            "possible links, in every joint: another unit, or motor currents "
            f"(drives.<joint>.{UNIT}; {BY_LOAD})?"
        ]
    what = "measured torque" if 2 * len(those) > len(names) else "its effort"
    return [
        f"{names[k]}: {what} is {gains[k]:.3g} ± {gains[k] * relative[k]:.1g} times torque: "
        f"another unit, or a motor's current (drives.{names[k]}.{UNIT}; "
        + (f"--current-gain {names[k]}={1 / gains[k]:.3g}" if relative[k] < KNOWN else BY_LOAD)
        + ")?"
        for k in those
    ]


def _scatter(inference: Inference, found: Posterior) -> tuple[float, float]:
    """Return how many deviations gains and offsets of joints that are right seem to be off."""

    def typical(estimates: Iterable[tuple[float, float]]) -> float:
        """Return the median ratio to their deviation, at least 1, of those that are told at all."""
        sizes = [abs(value) / deviation for value, deviation in estimates if deviation < TOLD]
        return max(1.0, float(np.median(sizes))) if sizes else 1.0

    hypothesis = found.hypothesis
    gains = {k for group in hypothesis.gains for k in group}
    others = [k for k in range(len(inference.judged)) if k not in gains] if gains else []
    joints = [k for k in range(inference.model.n) if k not in hypothesis.offsets]
    return (
        typical(_gain(inference, hypothesis, k) for k in others),
        typical(_offset(inference, hypothesis, k) for k in (joints if hypothesis.offsets else [])),
    )


def _load(inference: Inference, found: Posterior) -> str:
    mass, deviation = found.load
    if mass < max(MIN_LOAD, CERTAIN * deviation):
        return ""
    bare = inference.posterior(replace(found.hypothesis, loaded=False))
    if found.evidence < bare.evidence + OF_SIZE:
        return ""
    link = inference.bodies.names[-1]
    return (
        f"This looks like an unmodelled load of {mass:.2g} ± {deviation:.1g} kg on {link}: a tool "
        "or gripper that the URDF lacks?"
    )




@dataclass(frozen=True)
class Coupling:
    """A joint whose effort goes with another's velocity."""

    joint: int  # its index
    other: int  # the other's
    left: float  # share of the squares unexplained so far that the other's friction leaves


def couplings(fitting: Fitting) -> list[Coupling]:
    """Return what couples each joint that is coupled, the likeliest of the other joints.

    In many a wrist one motor turns with the sum of two joints' angles: its friction and its rotor
    load both. What is left of a joint's effort beside the best links and its own drive is explained
    once more with friction of each other joint, and with Coulomb friction of the sum and of the
    difference of both. No error of the links can be mistaken for that: they are fitted freely, for
    this joint alone, and dissipate nothing. Of a coupling each joint's effort tells.
    """
    joints = fitting.dynamics.model.n

    def columns(motion: SmoothMotion) -> Floats:
        links = link_columns(motion, fitting.dynamics, fitting.bodies)
        v = motion.velocity
        every = v, motion.sliding, motion.acceleration, motion.effort
        of_all = [np.repeat(values[:, None], joints, axis=1) for values in every]
        both = [smooth_sign(v[:, :, None] + sign * v[:, None]) for sign in (1.0, -1.0)]
        return np.concatenate([links, np.ones((*links.shape[:2], 1)), *of_all, *both], axis=2)

    samples = fitting.filtered(columns)
    of_joints = [_of_joint(samples[:, row], k, joints) for row, k in enumerate(fitting.judged)]
    pairs = {(each.joint, each.other): each for each in of_joints if each}
    return [each for (joint, other), each in pairs.items() if (other, joint) in pairs]


def _of_joint(samples: Floats, joint: int, joints: int) -> Coupling | None:
    """Return the coupling of a joint, by its equations (N, p) from ``couplings``."""
    of_all = samples[:, -KINDS * joints :].reshape(len(samples), KINDS, joints)
    v, s, a, efforts, *both_ways = of_all.swapaxes(0, 1)
    effort, frictions = efforts[:, joint], np.stack([v, s, *both_ways], axis=2)
    rest = np.column_stack([samples[:, : -KINDS * joints], a[:, joint]])
    own = np.column_stack([rest, frictions[:, joint, :2]])
    left = _left(own, effort)
    independent = len(left) / float(correlation_length(left[:, None])[0])
    others = [other for other in range(joints) if other != joint]
    if not others or not left.any():
        return None
    # What no model explains of links and of friction is left by the other's friction, too.
    beside = _left(np.column_stack([np.ones(len(effort)), frictions[:, joint, :2]]), effort)
    taken = effort - effort.mean() - beside
    least = len(left) * float(least_noise(beside.std(), taken.std())) ** 2
    both = {k: _squares(_left(np.hstack([own, frictions[:, k]]), effort)) + least for k in others}
    other = min(others, key=lambda k: both[k])
    share = both[other] / (_squares(left) + least)
    # Efforts that are swapped go with the other's friction alone.
    alone = _squares(_left(np.hstack([rest, frictions[:, other]]), effort))
    evidence = -0.5 * independent * float(np.log(max(share, 1e-300)))  # for unknown noise
    if share < LEFT and both[other] < LEFT * alone and evidence > OF_KIND:
        return Coupling(joint, other, share)
    return None


def _left(A: Floats, y: Floats) -> Floats:
    scale = np.linalg.norm(A, axis=0)
    A = A[:, scale > 0] / scale[scale > 0]
    return np.asarray(y - A @ np.linalg.lstsq(A, y, rcond=DEPENDENT)[0], float)


def _squares(values: Floats) -> float:
    return float(values @ values)
