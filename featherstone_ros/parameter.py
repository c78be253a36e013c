"""Parameters: each is written once, with its default, description and range; without ROS.

Most are fields of a settings class that are ``declared`` where an algorithm reads them; the others
are a ``Parameter`` of their own. ``nodes.parameters`` declares both to ROS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros.arrays import Floats

T = TypeVar("T")
REQUIRED: Any = MISSING  # default of a field that has none
Value = Any  # bool, int, float, str or a list of these, as the parameter is declared
NAMES = {bool: "bool", int: "integer", float: "double", str: "string"}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a node: its default, what is said of it, and which values it accepts.

    Attributes:
        name: Full name, e.g. ``"gains.elbow.p"``.
        default: Value if none is given; its type is the parameter's type. Integers are accepted
            where a double is expected.
        description: One line for ``ros2 param describe``, with the unit in brackets.
        minimum: Smallest value allowed (each element's, for a list of doubles).
        maximum: Largest value allowed; inf allows infinity as well, for no limit.
        choices: The strings allowed; empty if any is.
        read_only: Fixed at start-up.
        check: Further check of one value, returns why it is refused, or None.
        kind: Type of the elements where ``default`` is an empty list.
    """

    name: str
    default: Value
    description: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    read_only: bool = False
    check: Callable[[Any], str | None] | None = None
    kind: type = str

    def accept(self, value: object) -> Value:
        """Return the value as it will be used.

        Raises:
            ValueError: With the parameter's name, the value found and what was expected.
        """
        value = self._converted(value)
        numbers = value if isinstance(value, list) else [value]
        for number in numbers:
            if isinstance(number, int | float):
                self._check_number(number)
        if self.choices and value not in self.choices:
            raise ValueError(f"{self.name} is {value!r}, expected one of {', '.join(self.choices)}")
        reason = self.check(value) if self.check else None
        if reason:
            raise ValueError(f"{self.name} is {value!r}: {reason}")
        return value

    @property
    def _scalar(self) -> type:
        """Type of the value, or of its elements."""
        if isinstance(self.default, list):
            return type(self.default[0]) if self.default else self.kind
        return type(self.default)

    @property
    def is_real(self) -> bool:
        """Whether the value is a real number, or a list of them."""
        return self._scalar is float

    def _converted(self, value: Any) -> Value:
        """Return the value in the default's type, integers as floats where floats are expected."""
        kind = self._scalar
        if isinstance(self.default, list):
            if value is None or value == [""]:  # ``name:=[]`` on the command line; ROS's own empty
                return []
            values = [value] if isinstance(value, str) or not hasattr(value, "__iter__") else value
            return [self._converted_scalar(v, kind, f"array of {NAMES[kind]}") for v in values]
        return self._converted_scalar(value, kind, NAMES[kind])

    def _converted_scalar(self, value: Any, kind: type, expected: str) -> Any:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if kind is float and is_number:
            return float(value)
        if type(value) is not kind:
            raise ValueError(f"{self.name} is {value!r}, expected type {expected}")
        return value

    def _check_number(self, number: float) -> None:
        if not math.isfinite(number) and not number == self.maximum == math.inf:
            raise ValueError(f"{self.name} is {number}, expected a finite number")
        low, high = self.minimum, self.maximum
        if (low is not None and number < low) or (high is not None and number > high):
            bounds = f"{'-inf' if low is None else low} to {'inf' if high is None else high}"
            raise ValueError(f"{self.name} is {number}, expected {bounds}")


def declared(
    default: T,
    description: str,
    minimum: float | None = None,
    maximum: float | None = None,
    *,
    name: str = "",
    **more: Any,
) -> T:
    """Return a field of a dataclass that is a parameter, declared as a ``Parameter`` is.

    Args:
        default: Its type is the parameter's: bool, int, float, str, an enumeration of words, or a
            tuple of as many numbers; None, or ``REQUIRED`` of the field, where each joint has its
            own, see ``name``.
        description: As of ``Parameter``.
        minimum: As of ``Parameter``.
        maximum: As of ``Parameter``.
        name: Of the parameter, empty for the field's own, which ``*`` in it stands for; with ``{}``
            for a joint's name there is one for each joint, and the field is an array (n,), or n
            words.
        **more: ``choices``, ``read_only`` and ``check`` of ``Parameter``; an enumeration brings its
            own choices.
    """
    own = {"description": description, "minimum": minimum, "maximum": maximum, "name": name}
    return field(default=default, metadata={**own, **more})


def parameters_of(kind: type) -> Iterator[Parameter]:
    """Yield the parameters that fields of a dataclass are ``declared`` to be, but the joints'."""
    for _, name, default, options in _declared(kind):
        if "{}" in name:
            continue
        if isinstance(default, Enum):
            options["choices"] = tuple(map(str, type(default)))
            default = str(default)
        elif isinstance(default, tuple):
            options.setdefault("check", of_length(len(default)))
            default = list(default)
        yield Parameter(name, default, **options)


def joint_parameters_of(kind: type, joint: str, **defaults: float) -> Iterator[Parameter]:
    """Yield a joint's parameters; ``defaults`` by field take the place of the declared ones."""
    for place, name, default, options in _declared(kind):
        if "{}" in name:
            value = defaults.get(place, default)
            value = value if isinstance(value, str) else float(value)
            yield Parameter(name.format(joint), value, **options)


def check_finite(settings: Any) -> None:
    """Check the declared numbers of settings; arrays are checked with the model they are for.

    Raises:
        ValueError: One is not finite (named), nor infinite where that is allowed.
    """
    for place, _, _, options in _declared(type(settings)):
        number = getattr(settings, place)
        if isinstance(number, float) and not math.isfinite(number):
            if not number == options["maximum"] == math.inf:
                raise ValueError(f"{place} is {number}, expected a finite number")


def values_of(
    kind: type, values: Mapping[str, Value], joints: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the declared fields' values in their own types, by field."""
    return {
        place: per_joint(values, name, joints) if "{}" in name else type(default)(values[name])
        for place, name, default, _ in _declared(kind)
    }


def _declared(kind: type) -> Iterator[tuple[str, str, Any, dict[str, Any]]]:
    """Yield field, parameter, default and what else is declared."""
    for place in fields(kind):
        if place.metadata:
            options = dict(place.metadata)
            name = options.pop("name").replace("*", place.name) or place.name
            yield place.name, name, place.default, options


def per_joint(values: Mapping[str, Any], pattern: str, joints: Iterable[str]) -> Floats:
    """Return (n,) numbers, one per joint.

    Args:
        values: Of all parameters.
        pattern: The parameters' names, with ``{}`` for the joint's.
        joints: n names.
    """
    return np.array([values[pattern.format(joint)] for joint in joints], dtype=float)


def of_joints(pattern: str, joints: Iterable[str], values: Iterable[float]) -> dict[str, Value]:
    """Return the parameters, by name, of which ``per_joint`` reads the values (n,)."""
    return {
        pattern.format(joint): float(value) for joint, value in zip(joints, values, strict=True)
    }


def default_of(value: ArrayLike) -> float | list[float]:
    """Return a setting of the algorithms as a parameter's default: a number, or a list of them."""
    return np.asarray(value, dtype=float).tolist()


def of_length(*lengths: int) -> Callable[[Any], str | None]:
    """Return a check of a list's length."""

    def check(values: list[Any]) -> str | None:
        expected = " or ".join(map(str, lengths))
        return None if len(values) in lengths else f"has {len(values)} values, expected {expected}"

    return check


def bounded(word: str, bound: float, why: str) -> Callable[[float], str | None]:
    """Return a check against a bound that a number has for a reason, ``"least"`` or ``"most"``."""

    def check(value: float) -> str | None:
        good = value >= bound if word == "least" else value <= bound
        return None if good else f"expected at {word} {bound:.3g}: {why}"

    return check
