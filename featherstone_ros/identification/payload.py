"""Identifies the payload of a link: ten parameters of a possible body, with their uncertainty.

The torque that the arm without its payload leaves unexplained is the link's columns of the
regressor times the payload's parameters. If the arm's friction is not known, it is fitted at the
same time. Errors of the arm, those of its identification, or those of its links that the torque
allows for (``probable_widths``), are unknowns of known deviation: they are integrated out, so that
each torque counts by how well the arm predicts it, and the deviations include them. A weak prior
draws the payload towards a solid ball of its mass: static poses determine mass and centre of mass,
but only fast rotations determine the inertia. How far payloads are from balls is not known: several
widths are tried, and the answer is their mean, each by how probable the torque makes it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats, finite_array
from featherstone_ros.errors import FeatherstoneError, IdentificationError, UnknownNameError
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.base_parameters import (
    UNDETERMINED,
    least_squares,
    probable_widths,
)
from featherstone_ros.identification.bodies import SIZE, Bodies, Deformable, upper_cholesky
from featherstone_ros.identification.explanation import CERTAIN, MIN_LOAD
from featherstone_ros.identification.filtering import SmoothMotion, clean
from featherstone_ros.identification.fit import covariance_factor, evidence, noise, solve
from featherstone_ros.identification.recording import Recording
from featherstone_ros.identification.regression import (
    Equations,
    Law,
    drive_columns,
    filtered,
    one_thread,
    prepared,
)
from featherstone_ros.model.body_tree import parameters_of
from featherstone_ros.model.parameter_files import parameter_text, rounded
from featherstone_ros.model.primitives import UPPER, inertia_matrix, pseudo_inertia, sphere

DENSITY = 1000.0  # [kg/m^3] of the ball: grippers are hollow
MIN_BALL = 0.02  # [kg] least mass of the ball
NEAR = 0.5  # [m] greatest distance of the ball's initial centre from the link's origin
# Spreads of theta about the ball: mass by a factor e^2 s, shape by e^s, place by s radii. Boxes of
# sides up to 1 : 3 have a shape of .2 to .35, up to 1 : 20 of .5 to 1.3.
SPREADS = [np.array([1.0, *[shape] * 6, *[10.0] * 3]) for shape in (0.2, 0.5, 1.25)]
PINNED = 1e-3  # spread of the ball's place where the centre of mass is given
MIN_EXPLAINED = 0.5  # share of the unexplained squares that it must explain
DRIVE_TERMS = len(Law().terms)
MIN_TRUST = 0.1  # of a joint's samples, RMS
STEP = 1e-6  # of deviations, for derivatives
LEVER = 0.1  # [m] scales the first moment to the mass
UNKNOWN = 100.0  # [kg] prior deviation of the mass, and of the first moment / LEVER
SEPARATE = 0.01  # relative singular value of mass and first moment that are told apart
# Of a payload that is identified while the arm works.
MIN_TIME = 8.0  # [s] of states before an answer
WINDOW = 120.0  # [s] of states kept
INFORMATION_PERIOD = 0.05  # [s] between poses that count towards the information
MIN_RATIO = 0.05  # least singular value of the regressor / the greatest, for an answer
MIN_POSES = 40  # of the information


@dataclass(frozen=True, eq=False)
class Payload:
    """A load on a link, and how well it is known."""

    link: str  # which link
    joints: tuple[str, ...]  # (n,) names of the joints that were judged
    mass: float  # [kg]
    com: Floats  # (3,) in the link's frame [m]; as given, if its deviation is 0
    inertia: Floats  # (3, 3) about the centre of mass, in the link's axes [kg m^2]
    # standard deviation of ``mass``, given the prior, by noise and by the errors of the arm's
    # links [kg]
    mass_deviation: float
    com_deviation: Floats  # (3,) likewise [m]
    inertia_deviation: Floats  # (3, 3) likewise [kg m^2]
    free_mass: float  # mass by least squares alone, which may be negative [kg]
    free_deviation: float  # its standard deviation [kg]
    before: Floats  # (n,) RMS of the torque left unexplained without it [N m or N]
    after: Floats  # (n,) the same with it

    @property
    def explained(self) -> float:
        """Share of the squared unexplained torque that the load explains."""
        return 1 - float((self.after**2).sum() / max((self.before**2).sum(), 1e-300))

    @property
    def significant(self) -> bool:
        """Whether the data show that there is a load at all."""
        return self.free_mass > CERTAIN * self.free_deviation


def find_payload(
    arm: Arm,
    recordings: Sequence[Recording],
    link: str,
    cut_off: float = 2.0,
    judged: Sequence[int] | None = None,
    fit_drives: bool = False,
    subtracted: bool = False,
    com: ArrayLike | None = None,
) -> Payload:
    """Find the load on a link.

    Args:
        arm: Without the load; its joints are those of the recordings.
        recordings: With the load.
        link: The link that carries it.
        cut_off: Of the filter [Hz].
        judged: Indices of the joints whose effort counts; None: all.
        fit_drives: Also fit friction, armature and offset of the arm, for an arm where they are
            not known.
        subtracted: The effort is only what the load adds (``Recording.minus``): errors of the arm
            cancel out.
        com: (3,) the load's centre of mass in the link's frame, where it is known [m].

    Raises:
        UnknownNameError: There is no such link.
        ValueError: ``com`` is not three finite numbers.
        UnseparatedError: The torque tells no mass, but perhaps the first moment.
        IdentificationError: The recordings are too short for the filter, no joint carries the link,
            or the motion does not reveal a load.
    """
    model = arm.model
    centre = None if com is None else finite_array("com", com, (3,))
    if link not in model.link_names:
        raise UnknownNameError("link", link, model.link_names)
    bodies = Bodies.of(model)
    at, dynamics = SIZE * model.link_names.index(link), Dynamics(model)
    joints = list(range(model.n) if judged is None else judged)
    law, undeformed = Law(), np.zeros(SIZE * len(bodies.names))

    def columns(motion: SmoothMotion) -> Floats:
        Y = dynamics.regressor(*motion.state)
        links = dynamics.rnea(*motion.state)
        # A load on the arm also loads the gears: their friction grows with the sign of the torque.
        Y *= (1.0 + arm.drives.load * np.sign(links) * motion.sliding)[:, :, None]
        load, drives = Y[:, :, at : at + SIZE], drive_columns(motion, law, links)
        of_bodies = Y[:, :, bodies.columns()]
        if arm.errors is None:
            return np.concatenate([load, drives, bodies.by_theta(of_bodies, undeformed)], axis=2)
        own = drive_columns(motion, arm.errors.law, links)
        return np.concatenate([load, drives, of_bodies, own], axis=2)

    def torque(motion: SmoothMotion) -> Floats:
        return motion.effort if subtracted else motion.effort - arm.torque(motion)

    with one_thread():
        stretches = [stretch for r in recordings for stretch in clean(r).stretches]
        motions = prepared(stretches, cut_off, arm.drives.presliding_displacement)
        facts = filtered(motions, columns, cut_off, torque)
        own = [SIZE + k * model.n + j for k in range(DRIVE_TERMS) for j in joints]
        by_arm = facts.A[:, joints, SIZE + DRIVE_TERMS * model.n :]
        facts = Equations(facts.A[:, joints][:, :, [*range(SIZE), *own]], facts.tau[:, joints])
        bare = Equations(facts.A[:, :, :SIZE], facts.tau)  # without drives
        if np.linalg.norm(bare.A) < 1e-9:
            raise IdentificationError(f"no joint that was recorded carries a load on {link}")
        widths, probability = np.ones((2, 1))
        if subtracted:
            by_arm = _changes(facts, law, len(joints))
            widths, probability = probable_widths(bare, by_arm)
        elif arm.errors is None:
            widths, probability = probable_widths(facts, by_arm)
        else:
            b, terms = SIZE * len(bodies.names), len(arm.errors.law.terms)
            drives = [b + k * model.n + j for k in range(terms) for j in arm.errors.joints]
            by_arm = by_arm[:, :, [*range(b), *drives]] @ arm.errors.factor
        # Of a joint at rest little is trusted: its noise is that of as many samples as are.
        offsets = facts.A[:, range(len(joints)), -len(joints) + np.arange(len(joints))]
        trust = np.sqrt((offsets**2).mean(axis=0))
        names = tuple(model.joint_names[j] for j in joints)
        errors = by_arm, widths, probability
        return _solve(link, names, facts if fit_drives else bare, errors, trust, centre)


def _changes(facts: Equations, law: Law, count: int) -> Floats:
    """Return the torque (N, n, m) of drives that changed between two drives of one motion."""
    changing = [k for k, term in enumerate(law.terms) if term != "armature"]
    own = [SIZE + k * count + j for k in changing for j in range(count)]
    columns = facts.A[:, :, own]
    size = np.sqrt((facts.tau**2).mean(axis=0))
    lengths = np.sqrt((columns**2).sum(axis=1).mean(axis=0)) + 1e-300
    return np.asarray(columns / lengths * np.tile(size, len(changing)), float)


def forgotten_load(
    arm: Arm,
    recordings: Sequence[Recording],
    cut_off: float,
    judged: Sequence[int],
    fit_drives: bool,
) -> Payload | None:
    """Return the load on the last link that explains most of the remaining torque, if there is."""
    link = arm.model.tree.body_names[int(arm.model.tree.joint_body.max()) + 1]
    try:
        found = find_payload(arm, recordings, link, cut_off, judged, fit_drives)
    except FeatherstoneError:  # the data do not determine a load
        return None
    telling = found.significant and found.free_mass > MIN_LOAD and found.explained > MIN_EXPLAINED
    return found if telling else None


def _solve(
    link: str,
    joints: tuple[str, ...],
    facts: Equations,
    errors: tuple[Floats, Floats, Floats],
    trust: Floats,
    com: Floats | None,
) -> Payload:
    """Return the load.

    ``errors``: torque (N, n, m) of independent errors of the arm, whose deviation is one of k
    widths, and the probability of each width.
    """
    by_arm, widths, probability = errors
    both = facts.beside(Equations(by_arm, facts.tau))
    sigma = noise(both) / np.maximum(trust, MIN_TRUST)
    p = facts.A.shape[2]
    reduced = both.reduced(1 / sigma)
    R, y = _without_arm(*reduced, p, float(np.sqrt(probability @ widths**2)))
    unknowns = _unknowns(p, com)
    free, deviation = least_squares(R @ unknowns, y)
    _require_mass(link, R, y, com, free[0], deviation[0])
    free = unknowns @ free
    ball = Deformable(upper_cholesky(_ball(free, com)[None]))
    spreads = SPREADS if com is None else [np.append(s[:7], [PINNED] * 3) for s in SPREADS]
    armature = np.ones((p - SIZE) // DRIVE_TERMS)
    fits = [solve(R, y, ball, armature, s) for s in spreads]
    logs = [evidence(R, y, ball, armature, *both) for both in zip(spreads, fits, strict=True)]
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    fit = fits[int(weights.argmax())]
    each = np.array([_mass_com_inertia(ball.deformed(one.theta)) for one in fits])
    values = weights @ each
    left = facts.tau - facts.A @ fit.unknowns(ball)
    drives = facts.A[:, :, SIZE:]
    rows = (drives / sigma[:, None]).reshape(facts.tau.size, -1)
    bare = facts.tau - drives @ np.linalg.lstsq(rows, (facts.tau / sigma).ravel(), rcond=None)[0]
    covariance, variances = np.zeros((4, 4)), np.zeros((len(spreads), SIZE))  # over all widths
    for width, share in zip(widths, probability, strict=True):
        rows, _ = _without_arm(*reduced, p, width)
        A = rows @ unknowns
        covariance += share * (
            unknowns[:4] @ np.linalg.pinv(A.T @ A, hermitian=True) @ unknowns[:4].T
        )
        for k, one in enumerate(fits):
            factor = covariance_factor(rows, ball, armature, spreads[k], one)
            steps = STEP * factor[:SIZE].T
            more, less = (_mass_com_inertia(ball.deformed(one.theta) + s) for s in (steps, -steps))
            variances[k] += share * (((more - less) / (2 * STEP)) ** 2).sum(axis=0)
    free_deviation = float(np.sqrt(covariance[0, 0]))
    spread = np.sqrt(weights @ (variances + (each - values) ** 2))
    if free[0] < CERTAIN * free_deviation:
        spread = np.maximum(spread, _of_hardly_any_load(values, covariance))
    if com is not None:
        values[1:4], spread[1:4] = com, 0.0
    return Payload(
        link=link,
        joints=joints,
        mass=float(values[0]),
        com=values[1:4],
        inertia=inertia_matrix(values[4:]),
        mass_deviation=float(spread[0]),
        com_deviation=spread[1:4],
        inertia_deviation=inertia_matrix(spread[4:]),
        free_mass=float(free[0]),
        free_deviation=free_deviation,
        before=np.sqrt((bare**2).mean(axis=0)),
        after=np.sqrt((left**2).mean(axis=0)),
    )


def _without_arm(R: Floats, y: Floats, p: int, width: float) -> tuple[Floats, Floats]:
    """Return R (r, p) and y (r,) with the arm's errors integrated out."""
    m = R.shape[1] - p
    first = np.column_stack([width * R[:, p:], R[:, :p], y])
    prior = np.eye(m, first.shape[1])
    rest = np.asarray(np.linalg.qr(np.vstack([first, prior]), "r"))[m:, m:]
    return rest[:, :p], rest[:, p]


def _unknowns(p: int, com: Floats | None) -> Floats:
    """Return (p, r) parameters and drives by r unknowns of least squares."""
    if com is None:
        return np.eye(p)
    point = np.concatenate([[1.0], com, (com @ com * np.eye(3) - np.outer(com, com))[UPPER]])
    return np.column_stack([np.append(point, np.zeros(p - SIZE)), np.eye(p)[:, 4:]])


def _require_mass(
    link: str, R: Floats, y: Floats, com: Floats | None, mass: float, deviation: float
) -> None:
    """Raise if the torque does not tell the mass, though there may be a load."""
    if com is None and not mass > CERTAIN * deviation:
        moment = first_moment(R, y)
        if not np.isfinite(deviation) or moment.shows_load:
            raise UnseparatedError(link, moment)
    elif not np.isfinite(deviation):
        raise IdentificationError(
            f"the motion does not tell the mass of a load on {link} with its centre of mass at "
            f"{com}: no joint that was recorded feels how it weighs"
        )


def _of_hardly_any_load(values: Floats, covariance: Floats) -> Floats:
    """Return the deviations (10,) of ``values``, as ``_mass_com_inertia``, if none may be there."""
    mass = float(np.sqrt(covariance[0, 0]))
    moved = np.column_stack([-values[1:4], np.eye(3)]) / values[0]
    variance = np.einsum("ij,jk,ik->i", moved, covariance, moved)
    of_com = np.sqrt(np.where(variance > 0.0, variance, np.inf))  # lost in rounding: not known
    of_ball = 0.4 * (3 * (values[0] + mass) / (4 * np.pi * DENSITY)) ** (2 / 3)  # [m^2] per mass
    inertia = np.full(6, of_ball * mass)
    return np.concatenate([[mass], 1.0 / np.hypot(1.0 / of_com, 1.0 / NEAR), inertia])


def _ball(free: Floats, com: Floats | None) -> Floats:
    """Return the pseudo-inertia (4, 4) of a ball with the least-squares mass and centre of mass."""
    mass = max(free[0], MIN_BALL)
    centre = free[1:4] / mass if com is None else com
    if com is None:
        centre = centre * min(1.0, NEAR / max(float(np.linalg.norm(centre)), 1e-9))
    radius = (3 * mass / (4 * np.pi * DENSITY)) ** (1 / 3)
    return pseudo_inertia(parameters_of(sphere(radius, mass=mass, translation=centre)))


def _mass_com_inertia(parameters: Floats) -> Floats:
    """Return (..., 10) mass, centre of mass, and inertia xx xy xz yy yz zz about it."""
    mass, com = parameters[..., :1], parameters[..., 1:4] / parameters[..., :1]
    squares = com[..., :, None] * com[..., None, :]
    about = np.trace(squares, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - squares
    rows, columns = UPPER
    inertia = parameters[..., 4:] - mass * about[..., rows, columns]
    return np.concatenate([mass, com, inertia], axis=-1)


@dataclass(frozen=True, eq=False)
class FirstMoment:
    """What is known of m (c - p), the first moment of a mass m at c about p, in link axes."""

    about: Floats  # (3,) p, where a mass would make no difference, nearest to the link's origin [m]
    directions: Floats  # (k, 3) orthonormal, along which it is determined; k is 0 to 3
    values: Floats  # (k,) it along each [kg m]
    deviations: Floats  # (k,) standard deviation of each [kg m]
    # relative singular value of mass and first moment: 0 where the torque leaves some combination
    # of them open, 1 where it tells all as well
    separation: float

    @property
    def shows_load(self) -> bool:
        """Whether there is a load, although the torque does not tell its mass."""
        seen = np.abs(self.values) > CERTAIN * self.deviations
        return self.separation < SEPARATE and bool(seen.any())


class UnseparatedError(IdentificationError):
    """The torque does not tell mass and centre of mass of a ``link``'s load apart, but a moment."""

    def __init__(self, link: str, moment: FirstMoment) -> None:
        """Say what is known of the load on ``link``, and how to know more."""
        self.link, self.moment = link, moment
        super().__init__(
            f"the motion does not separate mass and centre of mass of a load on {link}: turn the "
            f"link about several axes{_in_words(moment)}"
        )


def first_moment(R: Floats, y: Floats) -> FirstMoment:
    """Return the first moment, by least squares.

    It is taken about the point at which it has least to do with the mass.

    ``R`` (r, p) regressor of torque of unit noise; its first columns are those of mass and first
    moment about the link's origin. ``y`` (r,) the torque.
    """
    scale = np.array([1.0, LEVER, LEVER, LEVER])
    others = R[:, 4:] / (np.linalg.norm(R[:, 4:], axis=0) + 1e-300)
    U, s, _ = np.linalg.svd(others, full_matrices=False)
    U = U[:, s > UNDETERMINED * s.max(initial=0.0)]
    own = R[:, :4] * scale
    left = own - U @ (U.T @ own)
    strengths = np.linalg.svd(left, compute_uv=False)
    rows, told = np.vstack([left, np.eye(4) / UNKNOWN]), np.append(y - U @ (U.T @ y), np.zeros(4))
    U, s, Vt = np.linalg.svd(rows, full_matrices=False)
    x = Vt.T @ (U.T @ told / s)
    covariance = (Vt.T / s**2) @ Vt
    about = covariance[1:, 0] / covariance[0, 0]
    apart = np.column_stack([-about, np.eye(3)])
    of_moment = apart @ covariance @ apart.T
    variances, axes = np.linalg.eigh(of_moment)
    known = axes[:, variances < (UNKNOWN / 10) ** 2]
    directions = _along_axes(known)
    return FirstMoment(
        about * LEVER,
        directions,
        directions @ (apart @ x) * LEVER,
        np.sqrt(np.einsum("ki,ij,kj->k", directions, of_moment, directions)) * LEVER,
        float(strengths[-1] / (np.linalg.norm(own) + 1e-300)) if len(strengths) == 4 else 0.0,
    )


def _along_axes(space: Floats) -> Floats:
    """Return an orthonormal basis (k, 3) of a space (3, k), along the axes of x, y, z if it can."""
    projector, basis = space @ space.T, np.empty((0, 3))
    for _ in range(space.shape[1]):
        nearest = int(np.argmax(np.diag(projector)))
        basis = np.vstack([basis, projector[nearest] / np.sqrt(projector[nearest, nearest])])
        projector = projector - np.outer(basis[-1], basis[-1])
    return basis[np.argsort(np.abs(basis).argmax(axis=1), kind="stable")]


def _in_words(moment: FirstMoment) -> str:
    if not len(moment.values):
        return "; no joint that was recorded feels how it weighs"

    def vector(values: Floats) -> str:
        return "(" + ", ".join(f"{v:.4g}" for v in values.round(4) + 0.0) + ")"

    about = "" if np.allclose(moment.about, 0, atol=1e-4) else f" - {vector(moment.about)} m"
    told = ", ".join(
        f"{value:.4g} ± {2 * deviation:.2g} along {vector(direction)}"
        for value, direction, deviation in zip(
            moment.values, moment.directions, moment.deviations, strict=True
        )
    )
    what = f"m (c{about})" if about else "m c"
    return (
        ", or say where its centre of mass is (--com, or com in Python). Of its mass m and centre "
        f"c the torque tells {what} [kg m, with two standard deviations]: {told}"
    )


def lines(found: Payload) -> list[str]:
    """Return mass, centre of mass and moments with two standard deviations, and a verdict."""
    width = max(map(len, found.joints))
    moments = np.diag(found.inertia), 2 * np.diag(found.inertia_deviation)
    text = [
        f"On {found.link}, with two standard deviations:",
        f"  mass            {found.mass:.3f} ± {2 * found.mass_deviation:.3f} kg",
        f"  centre of mass  {_centre(found)}",
        f"  inertia         {_three(*moments, '.2g')} kg m² (xx yy zz about it)",
        f"  explains {int(100 * found.explained)} % of the torque that the arm leaves (squares), "
        "RMS without and with it [N m or N]:",
        *(
            f"    {joint:{width}} {before:8.3f} {after:8.3f}"
            for joint, before, after in zip(found.joints, found.before, found.after, strict=True)
        ),
    ]
    if found.free_mass < -CERTAIN * found.free_deviation:
        text.append(
            f"The arm carries less than its model has: {found.free_mass:.3f} kg. Is something in "
            "the URDF not mounted?"
        )
    elif not found.significant:
        text.append(
            "The data show no load beyond what noise and errors of the arm's own model may cause: "
            f"{found.free_mass:.3f} ± {2 * found.free_deviation:.3f} kg by them alone; a longer "
            "motion tells more."
        )
    return text


def snippet(found: Payload) -> str:
    """Return the controller's parameters, as YAML."""
    payload = {
        "name": "",  # these numbers, whichever of payload.names was carried before
        "link": found.link,
        "mass": rounded(found.mass),
        "com": [rounded(x) for x in found.com],
        "inertia": [rounded(x) for x in found.inertia[UPPER]],
    }
    return parameter_text((), {"/**": {"payload": payload}})


def in_short(found: Payload) -> str:
    """Return what was found on one line."""
    if not found.significant:
        return lines(found)[-1]
    mass = f"{found.mass:.3f} ± {2 * found.mass_deviation:.3f} kg"
    return f"{mass} on {found.link}, centre of mass at {_centre(found)} (two standard deviations)"


def commented(found: Payload) -> str:
    """Return the words as YAML comments, followed by the parameters if there is a load."""
    words = "".join(f"# {line}\n" for line in lines(found))
    return words + snippet(found) if found.significant else words


def as_dict(found: Payload, joints: list[str]) -> dict[str, Any]:
    """Return numbers in SI units; inertia is xx xy xz yy yz zz about the centre of mass."""
    return {
        "link": found.link,
        "mass": found.mass,
        "com": found.com.tolist(),
        "inertia": found.inertia[UPPER].tolist(),
        "standard_deviation": {
            "mass": found.mass_deviation,
            "com": found.com_deviation.tolist(),
            "inertia": found.inertia_deviation[UPPER].tolist(),
        },
        "significant": bool(found.significant),
        "least_squares": {"mass": found.free_mass, "standard_deviation": found.free_deviation},
        "explained": found.explained,
        "joints": joints,
        "rms_before": found.before.tolist(),
        "rms": found.after.tolist(),
    }


def moment_as_dict(link: str, moment: FirstMoment) -> dict[str, Any]:
    """Return what is known of a load whose mass is not, in SI units."""
    return {
        "link": link,
        "mass": None,
        "first_moment": {
            "about": moment.about,
            "directions": moment.directions,
            "values": moment.values,
            "standard_deviation": moment.deviations,
        },
    }


def _centre(found: Payload) -> str:
    if not found.com_deviation.any():
        return f"{', '.join(f'{x:.4g}' for x in 1e3 * found.com)} mm, as given"
    return f"{_three(1e3 * found.com, 2e3 * found.com_deviation, '.0f')} mm"


def _three(values: np.ndarray, deviations: np.ndarray, form: str) -> str:
    return ", ".join(f"{v:{form}} ± {d:{form}}" for v, d in zip(values, deviations, strict=True))


class OnlinePayload:
    """Identifies the load on one link of a known arm, state by state, without ROS and threads.

    ``add`` is cheap (some microseconds, occasionally one evaluation of the regressor); ``answer``
    takes a tenth of a second and should not run in the loop that adds.
    """

    def __init__(self, arm: Arm, link: str, cut_off: float = 2.0) -> None:
        """Start without states, for an arm without the load; ``cut_off`` of the filter [Hz]."""
        if link not in arm.model.link_names:
            raise UnknownNameError("link", link, arm.model.link_names)
        self.arm, self.link, self._cut_off = arm, link, cut_off
        self._dynamics = Dynamics(arm.model)
        self._at = 10 * arm.model.link_names.index(link)
        self.clear()

    def clear(self) -> None:
        """Forget all states."""
        self._states: deque[tuple[float, Floats]] = deque()
        self._information, self._poses = np.zeros((4, 4)), 0
        self._next_pose_time = -np.inf

    def add(self, time: float, q: ArrayLike, qd: ArrayLike, effort: ArrayLike) -> bool:
        """Add a state of a time [s], q, qd and effort (n,); return whether there are enough.

        States that are not later than the one before, or not finite, are ignored.
        """
        state = np.array([q, qd, effort], dtype=float)
        if not np.isfinite(state).all() or (self._states and time <= self._states[-1][0]):
            return self.enough
        self._states.append((time, state))
        while time - self._states[0][0] > WINDOW:
            self._states.popleft()
        if time >= self._next_pose_time:
            self._next_pose_time = time + INFORMATION_PERIOD
            self._add_to_information(state[0])
        return self.enough

    @property
    def latest(self) -> float:
        """Time of the last state [s], minus infinity before the first."""
        return self._states[-1][0] if self._states else -np.inf

    @property
    def duration(self) -> float:
        """Time from the first to the last state [s]."""
        return self._states[-1][0] - self._states[0][0] if self._states else 0.0

    @property
    def progress(self) -> float:
        """Share of the data needed, 0 to 1."""
        weakest, *_, strongest = np.linalg.eigvalsh(self._information) + 1e-12
        separation = max(weakest / strongest / MIN_RATIO**2, 0.0)
        shares = self.duration / MIN_TIME, self._poses / MIN_POSES, separation
        return float(min(1.0, *shares))

    @property
    def enough(self) -> bool:
        """Whether the poses so far separate mass and centre of mass."""
        return self.progress >= 1.0

    def answer(self) -> Payload:
        """Return the load."""
        time = np.array([time for time, _ in self._states])
        states = np.array([state for _, state in self._states]).reshape(-1, 3, self.arm.model.n)
        q, qd, effort = np.moveaxis(states, 1, 0)
        names = self.arm.model.joint_names
        recording = Recording("online", names, time - time[:1].sum(), q, qd, effort)
        return find_payload(self.arm, [recording], self.link, self._cut_off)

    def _add_to_information(self, q: Floats) -> None:
        """Add a pose's Fisher information on mass and first moment, from gravity alone."""
        zero = np.zeros_like(q)
        Y = self._dynamics.regressor(q, zero, zero)[:, self._at : self._at + 4]
        Y = Y * [1.0, LEVER, LEVER, LEVER]
        self._information += Y.T @ Y
        self._poses += 1
