"""Parameters of a node as ROS has them: declared with description and range, set by services.

A change is checked completely before any of it takes effect. That holds for the
``set_parameters`` service too: plain rclpy applies the valid part of a request; here one bad value
refuses the whole request (mass without its centre of mass would be a wrong payload).
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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
from rclpy.parameter import Parameter as RosParameter

from featherstone_ros.errors import StartError
from featherstone_ros.parameter import NAMES, Parameter, Value
from featherstone_ros.text import plain, shortened

MAX_NAMED = 10  # in a reason

Commit = Callable[[], None]


def descriptor_of(parameter: Parameter) -> ParameterDescriptor:
    """Return a parameter as ROS describes it."""
    is_list = isinstance(parameter.default, list)
    scalar = parameter.default
    if isinstance(scalar, list) and scalar:
        scalar = scalar[0]
    descriptor = ParameterDescriptor(
        name=parameter.name,
        description=parameter.description,
        read_only=parameter.read_only,
        # Lets an integer through to accept(), which turns it into a double.
        dynamic_typing=isinstance(scalar, float) or is_list,
    )
    if parameter.choices:
        descriptor.additional_constraints = f"one of {', '.join(parameter.choices)}"
    if parameter.minimum is None and parameter.maximum is None:
        return descriptor
    # An open side reaches to the largest number.
    if isinstance(scalar, float):
        low, high = -sys.float_info.max, sys.float_info.max
        ranges, kind = descriptor.floating_point_range, FloatingPointRange
    else:
        low, high = -(2**63), 2**63 - 1
        ranges, kind = descriptor.integer_range, IntegerRange
    low = low if parameter.minimum is None else type(low)(parameter.minimum)
    high = high if parameter.maximum is None else type(high)(parameter.maximum)
    ranges.append(kind(from_value=low, to_value=high))
    return descriptor


class Parameters(Mapping[str, Value]):
    """The parameters of one node and their current values, always a set that passed the checks."""

    def __init__(self, node: Node, plan: Callable[[Mapping[str, Value]], Commit]) -> None:
        """Watch a node's parameters.

        ``plan`` gets the whole new set of values at run time: it raises ValueError with the reason
        if they do not fit together, else it returns what puts them into effect, which must not
        fail.
        """
        self._node = node
        self._plan = plan
        self._declared: dict[str, Parameter] = {}
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
        return self._declared[name].default

    def is_given(self, name: str) -> bool:
        """Whether somebody has given a parameter's value, be it the default."""
        return name in self._chosen or name in self._overrides

    @property
    def _overrides(self) -> Mapping[str, object]:
        """What was given at start-up."""
        return getattr(self._node, "_parameter_overrides", {})  # rclpy has no public access.

    def declare(self, parameters: Iterable[Parameter]) -> None:
        """Declare parameters; values from the command line or a file replace the defaults."""
        for parameter in parameters:
            chosen = self._chosen.get(parameter.name)
            value = parameter.default if chosen is None else chosen
            try:
                declared = self._node.declare_parameter(
                    parameter.name,
                    [""] if value == [] else value,  # rclpy takes an empty list for one of bytes
                    descriptor_of(parameter),
                    ignore_override=chosen is not None,
                )
                self._values[parameter.name] = parameter.accept(declared.value)
                self._declared[parameter.name] = parameter
            except InvalidParameterTypeException:
                expected = NAMES[type(parameter.default)]
                raise StartError(f"parameter {parameter.name}: expected type {expected}") from None
            except InvalidParameterValueException as error:
                reason = str(error).partition("Reason: ")[2] or str(error)
                raise StartError(f"parameter {parameter.name}: {reason}") from None
            except ValueError as error:
                raise StartError(f"parameter {error}") from None

    def undeclare(self, names: Iterable[str], for_good: bool) -> None:
        """Undeclare parameters, also those whose declaration failed half-way.

        If not ``for_good``, they get their values back when they are declared again.
        """
        for name in names:
            if for_good:
                self._chosen.pop(name, None)
            if self._node.has_parameter(name):
                self._node.undeclare_parameter(name)
            self._declared.pop(name, None)
            self._values.pop(name, None)

    def unknown_overrides(self) -> list[str]:
        """Return names given at start-up that match no parameter: most likely misspelt."""
        return [
            name
            for name in self._overrides
            if not self._node.has_parameter(name) and not name.startswith("qos_overrides.")
        ]

    def _on_set(self, parameters: list[RosParameter]) -> SetParametersResult:
        self._commit = None
        try:
            changed = {
                parameter.name: self._declared[parameter.name].accept(parameter.value)
                for parameter in parameters
                if parameter.name in self._declared
            }
            if not changed:  # e.g. use_sim_time, or one that is being declared
                return SetParametersResult(successful=True)
            values = {**self._values, **changed}
            commit = self._plan(values)
        except ValueError as error:
            return SetParametersResult(successful=False, reason=shortened(error))

        def commit_all() -> None:
            self._values = values
            self._chosen |= changed
            commit()

        self._commit = commit_all
        return SetParametersResult(successful=True)

    def _on_was_set(self, _: list[RosParameter]) -> None:
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
            unknown = [m.name for m in messages if not self._node.has_parameter(m.name)]
            if unknown:  # rclpy would not tell which
                raise ValueError(f"no such parameter: {', '.join(unknown[:MAX_NAMED])}")
            parameters = [RosParameter.from_parameter_msg(message) for message in messages]
            changed = [p for p in parameters if not self._is_as_before(p)]
            if parameters and not changed:
                return SetParametersResult(successful=True)
            return self._node.set_parameters_atomically(changed)
        except ValueError as error:
            return SetParametersResult(successful=False, reason=plain(str(error)))
        except Exception:
            self._node.get_logger().error(f"parameters not set:\n{traceback.format_exc()}")
            return SetParametersResult(successful=False, reason="unexpected exception, see the log")

    def _is_as_before(self, parameter: RosParameter) -> bool:
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
        if name in self._declared:
            return self._declared[name].accept(value) == self._values[name]
        return value == present
