"""The joint states of a bag that tell of the joints of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.bags import JointStates
from featherstone_ros.evaluation.errors import EvaluationError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Recording:
    """Joint states as they were recorded, in order of reception, joints in the model's order.

    Attributes:
        topic: Where they came from.
        joint_names: n names.
        time: (N,) by the stamps, or by reception where nobody set stamps; from the first one [s].
        position: (N, n) [rad or m].
        velocity: (N, n) [rad/s or m/s], None where there is none.
        effort: (N, n) [N m or N].
    """

    topic: str
    joint_names: tuple[str, ...]
    time: Floats
    position: Floats
    velocity: Floats | None
    effort: Floats


def choose(
    groups: Sequence[JointStates], described: Sequence[str], judged: Sequence[str] | None = None
) -> Recording:
    """Choose the joint states that know the most of these joints, with effort before without.

    Args:
        groups: What ``bags.read_joint_states`` gives.
        described: The joints of a description, in the order wanted; those that were not recorded
            are left out.
        judged: Those of which effort is needed; None: all that were recorded. The effort of others
            is 0 where it was not recorded.

    Raises:
        EvaluationError: A joint that is to be judged is not among the others or was not recorded,
            with effort; or none was.
    """

    def known(group: JointStates) -> list[str]:
        return [joint for joint in described if joint in group.joint_names]

    def merit(group: JointStates) -> tuple[int, bool, int]:
        return len(known(group)), bool(np.isfinite(group.effort).any()), len(group.stamp)

    group = max(groups, key=merit)
    names = known(group)
    both = f"bag: {_recorded(groups)}; description: {', '.join(described)}"
    if not names:
        raise EvaluationError(f"bag and description have no joint in common; {both}")
    for joint in judged or ():
        if joint not in names:
            where = "together with the others" if joint in described else "in the description"
            where = "in the bag" if joint not in _recorded(groups) else where
            raise EvaluationError(f"there is no joint {joint} {where}; {both}")
    columns = [group.joint_names.index(name) for name in names]
    position, velocity, effort = (
        values[:, columns] for values in (group.position, group.velocity, group.effort)
    )
    compared = [names.index(joint) for joint in judged or names]
    _require(names, range(len(names)), position, "position", group.topic)
    _require(names, compared, effort, "effort", group.topic)
    if not np.nan_to_num(effort[:, compared]).any():
        raise EvaluationError(
            f"{group.topic}: effort is 0 throughout: the driver does not measure it"
        )
    has_velocity = np.isfinite(velocity).all(axis=1)
    used = np.isfinite(position).all(axis=1) & np.isfinite(effort[:, compared]).all(axis=1)
    if has_velocity.any():
        used &= has_velocity
    if not used.any():
        raise EvaluationError(f"{group.topic}: no message has position and effort of all joints")
    time = (group.stamp if np.ptp(group.stamp) else group.received)[used]
    return Recording(
        group.topic,
        tuple(names),
        (time - time[0]) * 1e-9,
        position[used],
        velocity[used] if has_velocity.any() else None,
        np.nan_to_num(effort[used]),
    )


def _recorded(groups: Sequence[JointStates]) -> str:
    return ", ".join(dict.fromkeys(name for group in groups for name in group.joint_names))


def _require(
    names: Sequence[str], joints: Iterable[int], values: Floats, field: str, topic: str
) -> None:
    missing = [names[j] for j in joints if not np.isfinite(values[:, j]).any()]
    if missing:
        raise EvaluationError(
            f"{topic}: the joint states have no {field} of {', '.join(missing)}; measured position "
            "and effort are compared with the model (--joints chooses whose)"
        )
