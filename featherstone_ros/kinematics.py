"""Pose errors, their derivative, inverse kinematics, and the axes of twists and wrenches.

A pose is that of a link in the base frame: a homogeneous transform (4, 4), as
``Dynamics.link_pose`` returns it, or position and quaternion x y z w (7,). Every function also
takes batches (B, ...). Numbers that are not finite spread as in ``Dynamics``; an orientation with
such numbers is no rotation, and refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

import featherstone_ros._task_space as _task_space
from featherstone_ros._core import BoundDynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import UnknownNameError
from featherstone_ros.model import Model

ROTATION = 1e-6  # tolerance on the entries of R^T R - 1 of a rotation
EXPECTED = ("a rotation matrix in the first three rows and columns", "0 0 0 1 as its last row")
UNIT = 1e-3  # tolerance on the length of a quaternion
TRIES = 30  # searches without a q0: one reaches 85 % of what a Panda or UR5e can, ten 99 %
OUTCOMES = (
    "reached",
    "stuck: no small change of the joints within their limits brings the link nearer",
    "not reached within the iterations allowed",
    "not finite: positions or pose are not numbers",
)


def pose_error(pose: ArrayLike, target: ArrayLike, last: ArrayLike | None = None) -> Floats:
    """Return the error from a pose to its target: target minus pose.

    Args:
        pose: (4, 4) or (7,), of the link.
        target: The same, where it should be.
        last: (6,) the error of the previous instant, or None. If given, a rotation that grows past
            pi continues instead of jumping to the other side, up to three quarters of a turn.

    Returns:
        (6,): position error [m], then the rotation vector [rad] that turns the link to its target,
        the shorter way round unless ``last`` says otherwise; base axes.

    Raises:
        ValueError: A shape does not fit, or an argument is not a pose; the message names it.
    """
    poses, targets = as_transforms("pose", pose), as_transforms("target", target)
    before = None if last is None else _rows("last", last, (6,))[..., 3:]
    batch = np.broadcast_shapes(
        poses.shape[:-2], targets.shape[:-2], () if before is None else before.shape[:-1]
    )
    error = np.empty((math.prod(batch), 6))
    _task_space.pose_errors(
        _flat(poses, batch, (4, 4)),
        _flat(targets, batch, (4, 4)),
        None if before is None else _flat(before, batch, (3,)),
        error,
    )
    if before is not None:
        error[:, 3:][~np.isfinite(_flat(before, batch, (3,)))] = np.nan
    return error.reshape(*batch, 6)


def pose_error_derivative(
    error: ArrayLike, velocity: ArrayLike, target_velocity: ArrayLike | None = None
) -> Floats:
    """Return the derivative of ``pose_error`` with respect to time.

    Args:
        error: (6,) from ``pose_error``.
        velocity: (6,) of the link, as ``Dynamics.link_velocity`` returns it: linear part first.
        target_velocity: (6,) of the target; None if it is at rest.

    Returns:
        (6,) [m/s, rad/s]: near zero error, the target's velocity minus the link's; infinite at a
        rotation error of a full turn.
    """
    error, velocity = _rows("error", error, (6,)), _rows("velocity", velocity, (6,))
    target_velocity = _rows(
        "target_velocity", np.zeros(6) if target_velocity is None else target_velocity, (6,)
    )
    batch = np.broadcast_shapes(error.shape[:-1], velocity.shape[:-1], target_velocity.shape[:-1])
    rate = np.empty((math.prod(batch), 6))
    _task_space.pose_error_derivatives(
        *(_flat(x, batch, (6,)) for x in (error, velocity, target_velocity)), rate
    )
    return rate.reshape(*batch, 6)


@dataclass(frozen=True)
class ScrewAxis:
    """The axis that a twist turns about, or a wrench acts along; arrays (B, ...) for a batch.

    Attributes:
        point: (3,) the point of the axis nearest to the origin [m]; the origin if there is no
            rotation or no force.
        direction: (3,) unit vector along the axis.
        pitch: Translation per rotation [m/rad], or moment per force [m]; infinite if there is no
            rotation or no force.
        magnitude: Of the rotation [rad/s] or the force [N]; if there is none, of the velocity [m/s]
            or the moment [N m].
    """

    point: Floats
    direction: Floats
    pitch: float | Floats
    magnitude: float | Floats


def twist_axis(twist: ArrayLike) -> ScrewAxis:
    """Return the axis and the pitch of a twist, as which every motion of a body can be seen.

    Args:
        twist: (6,) velocity of the body's point at the origin, then angular velocity [m/s, rad/s]:
            of ``Dynamics.link_velocity``, for a point that is counted from the link's origin.

    Raises:
        ValueError: The shape does not fit.

    Source: RBDA section 2.5. Zero has no axis: NaN.
    """
    rows = _rows("twist", twist, (6,))
    return _screw_axis(rows[..., 3:], rows[..., :3])


def wrench_axis(wrench: ArrayLike) -> ScrewAxis:
    """Return the axis and the pitch of a wrench: the line of its force, and the moment about it.

    Args:
        wrench: (6,) force, then moment about the origin [N, N m].

    Raises:
        ValueError: The shape does not fit.

    Source: RBDA section 2.5. Zero has no axis: NaN.
    """
    rows = _rows("wrench", wrench, (6,))
    return _screw_axis(rows[..., :3], rows[..., 3:])


def _screw_axis(along: Floats, at_origin: Floats) -> ScrewAxis:
    """Return the axis of a resultant; at_origin is point x along + pitch along."""
    squared = np.sum(along**2, axis=-1, keepdims=True)
    pure = squared == 0  # a translation, a couple
    main = np.where(pure, at_origin, along)
    magnitude = np.linalg.norm(main, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        direction = main / magnitude[..., np.newaxis]
        pitch = np.where(
            pure,
            np.inf * magnitude[..., np.newaxis],
            np.sum(along * at_origin, axis=-1, keepdims=True) / squared,
        )[..., 0]
        point = np.where(pure, 0.0 * at_origin, np.cross(along, at_origin) / squared)
    if along.ndim == 1:
        return ScrewAxis(point, direction, float(pitch), float(magnitude))
    return ScrewAxis(point, direction, pitch, magnitude)


@dataclass(frozen=True)
class Solution:
    """The result of inverse kinematics; arrays (B, ...) for a batch of poses.

    Attributes:
        q: (n,) joint positions within their limits that reach the pose, or the nearest found.
        success: Whether ``q`` reaches the pose within the tolerances.
        error: (6,) the remaining pose error, see ``pose_error``.
        iterations: Number of steps taken.
        outcome: The result in words, one of ``OUTCOMES``.
    """

    q: Floats
    success: bool | NDArray[np.bool_]
    error: Floats
    iterations: int | NDArray[np.intp]
    outcome: str | NDArray[np.str_]


def inverse_kinematics(
    model: Model,
    link: str,
    pose: ArrayLike,
    q0: ArrayLike | None = None,
    *,
    position_tolerance: float = 1e-6,
    orientation_tolerance: float = 1e-6,
    weights: ArrayLike = (1, 1, 1, 1, 1, 1),
    iterations: int = 200,
    limits: bool = True,
    seed: int = 0,
) -> Solution:
    """Find joint positions that bring a link to a pose, or its origin to a position.

    The search is local: if it fails from one q0, another may succeed. Without q0 it begins in the
    middle of the joints' range and, where that fails, up to ``TRIES`` - 1 times at random postures.
    A pose out of reach is not an error: check ``success``.

    Args:
        model: The robot.
        link: Name of the link.
        pose: (4, 4) or (7,), in the base frame; or (3,), the position of the link's origin alone.
        q0: (n,) start of the search; positions beyond a limit are moved to the limit.
        position_tolerance: [m].
        orientation_tolerance: [rad].
        weights: (6,) of the error's components, linear first [1/m^2, 1/rad^2]; 0 leaves one free.
        iterations: Greatest number of steps from one start.
        limits: Whether to keep within ``model.lower`` and ``model.upper``.
        seed: Of the random postures.

    Returns:
        A ``Solution``; its arrays are (B, ...) for a batch of poses, of q0 or of both. The error of
        an orientation that was not asked for is 0. The GIL is released.

    Raises:
        UnknownNameError: The model has no such link.
        ValueError: A shape does not fit, or an argument is not a pose; the message names it.

    Source: T. Sugihara, "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt
    method", IEEE T-RO 2011, with joint limits as an active set.
    """
    if link not in model.link_names:
        raise UnknownNameError("link", link, model.link_names)
    weighting = _rows("weights", weights, (6,)).copy()
    if weighting.shape != (6,) or not (np.isfinite(weighting) & (weighting >= 0)).all():
        raise ValueError(f"weights: expected six finite numbers >= 0, got {weights!r}")
    tolerances = position_tolerance, orientation_tolerance
    if not min(tolerances) >= 0 or np.isnan(tolerances).any():
        raise ValueError(
            f"position_tolerance, orientation_tolerance: expected numbers >= 0, got {tolerances}"
        )
    shape = np.shape(pose)
    is_position = bool(shape) and shape[-1] == 3
    if is_position:
        weighting[3:] = 0.0
        targets = _upright(_rows("pose", pose, (3,)))
    else:
        targets = as_transforms("pose", pose)
    low, high = model.position_range
    start = 0.5 * (low + high) if q0 is None else _rows("q0", q0, (model.n,))
    batch = np.broadcast_shapes(targets.shape[:-2], start.shape[:-1])
    goals, q = _flat(targets, batch, (4, 4)), _flat(start, batch, (model.n,)).copy()
    everywhere = np.full(model.n, np.inf)
    within = np.array([model.lower, model.upper] if limits else [-everywhere, everywhere])

    def search(goals: Floats, q: Floats) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
        index, bound = model.link_names.index(link), BoundDynamics(model)
        error, outcome, count = _task_space.solve(
            bound, index, goals, within, weighting, tolerances, iterations, q
        )
        error[:, 3:] *= not is_position
        return error, outcome, count

    error, outcome, count = search(goals, q)
    random = np.random.default_rng(seed)
    for _ in range(TRIES - 1 if q0 is None else 0):
        failed = np.flatnonzero(outcome)
        if not len(failed):
            break
        again = random.uniform(low, high, (len(failed), model.n))
        off, result, steps = search(goals[failed], again)
        count[failed] += steps
        better = (result == 0) | (off**2 @ weighting < error[failed] ** 2 @ weighting)
        rows = failed[better]
        q[rows], error[rows], outcome[rows] = again[better], off[better], result[better]
    if batch == ():
        reached = bool(outcome[0] == 0)
        return Solution(q[0], reached, error[0], int(count[0]), OUTCOMES[outcome[0]])
    return Solution(q, outcome == 0, error, count, np.array(OUTCOMES)[outcome])


def _upright(positions: Floats) -> Floats:
    """Return the transforms (..., 4, 4) to positions (..., 3), without rotation."""
    transforms = np.zeros((*positions.shape[:-1], 4, 4))
    transforms[..., :, :] = np.eye(4)
    transforms[..., :3, 3] = positions
    return transforms


def _rows(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return an argument as an array of that shape, or a batch of such arrays."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: expected numbers, got {value!r}") from error
    if array.shape[-len(shape) :] != shape or array.ndim > len(shape) + 1:
        batch = ", ".join(map(str, ("B", *shape)))
        raise ValueError(f"{name}: expected shape {shape} or ({batch}), got {array.shape}")
    return array


def _flat(array: Floats, batch: tuple[int, ...], shape: tuple[int, ...]) -> Floats:
    """Return rows (B, *shape); B = 1 for a single one."""
    if array.shape != (*batch, *shape):
        array = np.broadcast_to(array, (*batch, *shape))
    return np.ascontiguousarray(array).reshape(-1, *shape)


def as_transforms(name: str, value: ArrayLike) -> Floats:
    """Return poses as homogeneous transforms (4, 4) or (B, 4, 4), checked."""
    shape = np.shape(value)
    if shape and shape[-1] == 7:
        return _of_quaternions(name, _rows(name, value, (7,)))
    transforms = _rows(name, value, (4, 4))
    wrong = _task_space.improper(_flat(transforms, transforms.shape[:-2], (4, 4)), ROTATION)
    if wrong:
        raise ValueError(f"{name}: expected {EXPECTED[wrong - 1]}")
    return transforms


def _of_quaternions(name: str, poses: Floats) -> Floats:
    length = np.linalg.norm(poses[..., 3:], axis=-1)
    if not (np.abs(length - 1) <= UNIT).all():
        raise ValueError(f"{name}: expected a quaternion x y z w of length 1, got {length}")
    batch = poses.shape[:-1]
    out = np.empty((math.prod(batch), 4, 4))
    _task_space.transforms(_flat(poses, batch, (7,)), out)
    return out.reshape(*batch, 4, 4)
