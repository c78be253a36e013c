"""Matches the joints that messages name with those of a model; needs no ROS."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.errors import MessageError

if TYPE_CHECKING:
    from sensor_msgs.msg import JointState

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class JointMap:
    """Finds a model's joints in messages by name.

    Publishers send the same names in the same order in every message, so the indices of the last
    list of names are kept; a lookup then costs one comparison of two lists.
    """

    def __init__(self, joint_names: Sequence[str], other_names: Iterable[str] = ()) -> None:
        """Remember the names.

        Args:
            joint_names: The joints wanted, in the order of the arrays.
            other_names: Joints that exist on the robot but are not wanted (mimic followers, locked
                joints): passed over where a name that is neither would be refused.
        """
        self.joint_names = tuple(joint_names)
        self._order = {name: index for index, name in enumerate(self.joint_names)}
        self._others = frozenset(other_names)
        self._complete_names: list[str] | None = None
        self._complete: Indices = np.empty(0, np.intp)

    def complete(self, names: list[str]) -> Indices:
        """Return where each of our joints stands in ``names``: ``array[indices]`` is in our order.

        Joints that are not ours are passed over.

        Raises:
            MessageError: If a joint is missing or named twice.
        """
        if names != self._complete_names:
            place = {name: index for index, name in enumerate(names)}
            refuse_duplicates(names, self._order)
            missing = [name for name in self.joint_names if name not in place]
            if missing:
                raise MessageError(f"joints missing: {', '.join(missing)}")
            self._complete = np.array([place[name] for name in self.joint_names], np.intp)
            self._complete_names = list(names)
        return self._complete

    def partial(self, names: Sequence[str]) -> tuple[Indices, Indices]:
        """Match a message that may name only some of our joints.

        Returns:
            Indices into the message's arrays and, for each of them, the index of our joint.

        Raises:
            MessageError: If a name is not a joint of the robot, is given twice, or none is ours.
        """
        refuse_duplicates(names, self._order)
        unknown = [n for n in names if n not in self._order and n not in self._others]
        if unknown:
            valid = ", ".join(self.joint_names)
            raise MessageError(f"unknown joints: {', '.join(unknown)}; valid names: {valid}")
        source = [index for index, name in enumerate(names) if name in self._order]
        if not source:
            raise MessageError(f"no joint named; valid names: {', '.join(self.joint_names)}")
        target = [self._order[names[index]] for index in source]
        return np.array(source, np.intp), np.array(target, np.intp)

    def state(self, message: JointState) -> tuple[Floats, Floats | None, Floats | None]:
        """Return position, velocity and effort in our order; finiteness is not checked.

        Velocity or effort is None if the message leaves it empty.

        Raises:
            MessageError: If a joint is missing or an array's length differs from the names'.
        """
        indices = self.complete(message.name)
        count = len(message.name)
        position = field_values(message.position, count, "position")[indices]
        velocity = optional_values(message.velocity, count, "velocity")
        effort = optional_values(message.effort, count, "effort")
        return (
            position,
            None if velocity is None else velocity[indices],
            None if effort is None else effort[indices],
        )


def refuse_duplicates(names: Sequence[str], wanted: Iterable[str]) -> None:
    """Raise MessageError if one of the wanted names stands in ``names`` more than once."""
    if len(set(names)) == len(names):
        return
    wanted = set(wanted)
    twice = sorted({name for name in names if name in wanted and names.count(name) > 1})
    if twice:
        raise MessageError(f"joints named twice: {', '.join(twice)}")


def check_length(length: int, count: int, what: str) -> None:
    """Raise MessageError if a field's length is not ``count``."""
    if length != count:
        raise MessageError(f"{what} has {length} values, expected {count}")


def field_values(values: array[float], count: int, what: str) -> Floats:
    """Return a message's float64 array as (count,) numpy array, a view of the message.

    Raises:
        MessageError: If the length is not ``count``.
    """
    check_length(len(values), count, what)
    return np.asarray(values, np.float64)


def optional_values(values: array[float], count: int, what: str) -> Floats | None:
    """Return ``field_values``, or None for an empty field."""
    return field_values(values, count, what) if len(values) else None
