"""Parameters of a node: declared with description and range, checked one by one and as a set.

A change is checked completely before any of it takes effect. That holds for the
``set_parameters`` service too: plain rclpy applies the valid part of a request; here one bad value
refuses the whole request (mass without its centre of mass would be a wrong payload).
"""

from __future__ import annotations

import math
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import (
    SetParameters,
    SetParametersAtomically,
)
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from featherstone_ros.nodes.execution import StartError
from featherstone_ros.text import plain

MOST_NAMED = 10  # in a reason

Value = Any  # bool, int, float, str or a list of these, as the parameter is declared
Commit = Callable[[], None]


@dataclass(frozen=True)
class Setting:
    """One parameter.

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

    def _converted(self, value: Any) -> Value:
        """Return the value in the default's type, integers as floats where floats are expected."""
        if isinstance(self.default, list):
            kind = type(self.default[0]) if self.default else self.kind
            if value is None or value == [""]:  # ``name:=[]`` on the command line; ROS's own empty
                return []
            values = [value] if isinstance(value, str) or not hasattr(value, "__iter__") else value
            return [self._converted_scalar(v, kind, f"array of {NAMES[kind]}") for v in values]
        kind = type(self.default)
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

    def descriptor(self) -> ParameterDescriptor:
        """Return the setting as ROS describes it."""
        is_list = isinstance(self.default, list)
        scalar = self.default
        if isinstance(scalar, list) and scalar:
            scalar = scalar[0]
        descriptor = ParameterDescriptor(
            name=self.name,
            description=self.description,
            read_only=self.read_only,
            # Lets an integer through to accept(), which turns it into a double.
            dynamic_typing=isinstance(scalar, float) or is_list,
        )
        if self.choices:
            descriptor.additional_constraints = f"one of {', '.join(self.choices)}"
        if self.minimum is None and self.maximum is None:
            return descriptor
        # An open side reaches to the largest number.
        if isinstance(scalar, float):
            low, high = -sys.float_info.max, sys.float_info.max
            ranges, kind = descriptor.floating_point_range, FloatingPointRange
        else:
            low, high = -(2**63), 2**63 - 1
            ranges, kind = descriptor.integer_range, IntegerRange
        low = low if self.minimum is None else type(low)(self.minimum)
        high = high if self.maximum is None else type(high)(self.maximum)
        ranges.append(kind(from_value=low, to_value=high))
        return descriptor


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


NAMES = {bool: "bool", int: "integer", float: "double", str: "string"}


class Parameters(Mapping[str, Value]):
    """The parameters of one node and their current values, always a set that passed the checks."""

    def __init__(self, node: Node, plan: Callable[[Mapping[str, Value]], Commit]) -> None:
        """Watch a node's parameters.

        Args:
            node: The node.
            plan: Given the whole new set of values at run time, it raises ValueError with the
                reason if they do not fit together, and otherwise returns what puts them into
                effect; that must not fail.
        """
        self._node = node
        self._plan = plan
        self._settings: dict[str, Setting] = {}
        self._values: dict[str, Value] = {}
        self._chosen: dict[str, Value] = {}  # at run time, of parameters undeclared since too
        self._commit: Commit | None = None
        node.add_on_set_parameters_callback(self._on_set)
        node.add_post_set_parameters_callback(self._on_was_set)
        own = {SetParameters: self._set_together, SetParametersAtomically: self._set_atomically}
        for service in node.services:
            if service.srv_type in own:
                service.callback = own[service.srv_type]

    def __getitem__(self, name: str) -> Value:
        """Return a parameter's current value."""
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in the order of declaration."""
        return iter(self._values)

    def __len__(self) -> int:
        """Return the number of parameters."""
        return len(self._values)

    def default(self, name: str) -> Value:
        """Return a parameter's default."""
        return self._settings[name].default

    def declare(self, settings: Iterable[Setting]) -> None:
        """Declare parameters; values from the command line or a file replace the defaults.

        Raises:
            StartError: If such a value is refused; says which and why.
        """
        for setting in settings:
            try:
                self._declare(setting)
            except InvalidParameterTypeException:
                expected = NAMES[type(setting.default)]
                raise StartError(f"parameter {setting.name}: expected type {expected}") from None
            except InvalidParameterValueException as error:
                reason = str(error).partition("Reason: ")[2] or str(error)
                raise StartError(f"parameter {setting.name}: {reason}") from None
            except ValueError as error:
                raise StartError(f"parameter {error}") from None

    def _declare(self, setting: Setting) -> None:
        descriptor = setting.descriptor()
        chosen = self._chosen.get(setting.name)
        value = setting.default if chosen is None else chosen
        # rclpy takes an empty list for one of bytes.
        value = [""] if value == [] else value
        declared = self._node.declare_parameter(
            setting.name, value, descriptor, ignore_override=chosen is not None
        )
        self._values[setting.name] = setting.accept(declared.value)
        self._settings[setting.name] = setting

    def undeclare(self, names: Iterable[str], for_good: bool) -> None:
        """Undeclare parameters, also those whose declaration failed half-way.

        Args:
            names: Theirs.
            for_good: Forget their values; otherwise they get them back when declared again.
        """
        for name in names:
            if for_good:
                self._chosen.pop(name, None)
            if self._node.has_parameter(name):
                self._node.undeclare_parameter(name)
            self._settings.pop(name, None)
            self._values.pop(name, None)

    def unknown_overrides(self) -> list[str]:
        """Return names given at start-up that match no parameter: most likely misspelt."""
        overrides = getattr(self._node, "_parameter_overrides", {})  # rclpy has no public access.
        return [
            name
            for name in overrides
            if not self._node.has_parameter(name) and not name.startswith("qos_overrides.")
        ]

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        self._commit = None
        try:
            changed = {
                parameter.name: self._settings[parameter.name].accept(parameter.value)
                for parameter in parameters
                if parameter.name in self._settings
            }
            if not changed:  # e.g. use_sim_time, or one that is being declared
                return SetParametersResult(successful=True)
            values = {**self._values, **changed}
            commit = self._plan(values)
        except ValueError as error:
            return SetParametersResult(successful=False, reason=str(error))

        def commit_all() -> None:
            self._values = values
            self._chosen |= changed
            commit()

        self._commit = commit_all
        return SetParametersResult(successful=True)

    def _on_was_set(self, _: list[Parameter]) -> None:
        if self._commit is not None:
            commit, self._commit = self._commit, None
            commit()

    # Services.

    def _set_together(
        self, request: SetParameters.Request, response: SetParameters.Response
    ) -> SetParameters.Response:
        result = self._set(request.parameters)
        response.results = [result] * len(request.parameters)
        return response

    def _set_atomically(
        self, request: SetParametersAtomically.Request, response: SetParametersAtomically.Response
    ) -> SetParametersAtomically.Response:
        response.result = self._set(request.parameters)
        return response

    def _set(self, messages: Sequence[ParameterMessage]) -> SetParametersResult:
        """Set all parameters of a request, or none; a read-only one may be set to its own value."""
        try:
            self._require_known(messages)
            parameters = [Parameter.from_parameter_msg(message) for message in messages]
            changed = [p for p in parameters if not self._is_as_before(p)]
            if parameters and not changed:
                return SetParametersResult(successful=True)
            return self._node.set_parameters_atomically(changed)
        except ValueError as error:
            return SetParametersResult(successful=False, reason=plain(str(error)))
        except Exception:
            self._node.get_logger().error(f"parameters not set:\n{traceback.format_exc()}")
            return SetParametersResult(successful=False, reason="unexpected exception, see the log")

    def _require_known(self, messages: Sequence[ParameterMessage]) -> None:
        """Raise ValueError with the names that are no parameters', which rclpy would not tell."""
        unknown = [m.name for m in messages if not self._node.has_parameter(m.name)]
        if unknown:
            raise ValueError(f"no such parameter: {', '.join(unknown[:MOST_NAMED])}")

    def _is_as_before(self, parameter: Parameter) -> bool:
        """Tell whether this is already the value of a parameter that is a text or read-only.

        What was dumped can then be loaded, although `ros2 param load` breaks the lines of a URDF
        in another way.
        """
        name, value = parameter.name, parameter.value
        present = self._node.get_parameter(name).value
        if isinstance(value, str) and isinstance(present, str):
            return value.split() == present.split()
        if not self._node.describe_parameter(name).read_only:
            return False
        if name in self._settings:
            return self._settings[name].accept(value) == self._values[name]
        return value == present
