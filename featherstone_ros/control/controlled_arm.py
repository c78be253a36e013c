"""An arm with the parameters of its controller, and what follows from both; without ROS.

    arm = ControlledArm.of("arm.urdf", {"gains.bandwidth": 10.0, "payload.link": "tool"})
    controller = arm.controller()

The node, the commands and simulations in plain Python begin here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros.arrays import Floats
from featherstone_ros.control import cartesian_parameters
from featherstone_ros.control.armature import unset_armature
from featherstone_ros.control.controller import TorqueController
from featherstone_ros.control.controller_parameters import (
    Output,
    declared_parameters,
    effort_limit,
    require_effort_for_friction,
)
from featherstone_ros.control.feedback import Feedback
from featherstone_ros.control.gains import Timing
from featherstone_ros.control.goal_tolerances import Tolerances
from featherstone_ros.control.joint_space import JointSpace, reach
from featherstone_ros.control.payload import gravity_and_payload, model_with_payload
from featherstone_ros.control.retiming.retime import Retimed, retime
from featherstone_ros.control.settings import (
    Choice,
    ControllerSettings,
    Interpolation,
    Mode,
)
from featherstone_ros.control.trajectory import Trajectory
from featherstone_ros.errors import ModelError
from featherstone_ros.model import Model
from featherstone_ros.model.drive_units import POSITION, TORQUE, DriveUnits
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.joint_selection import locked_positions
from featherstone_ros.model.parameter_files import (
    CONTROLLER,
    PAYLOAD_NAMES,
    NodeParameters,
    ParameterFileError,
    check_names,
    controller_parameters,
    misspelt,
    parameter_names,
)
from featherstone_ros.model.robots import (
    description_text,
    errors_naming,
    read_file,
    robot_file,
    robot_parameters,
)
from featherstone_ros.parameter import Parameter, Value, per_joint, values_of

Files = str | PathLike[str] | Sequence[str | PathLike[str]]


@dataclass(frozen=True, eq=False, repr=False)
class ControlledArm:
    """An arm with the parameters of its controller, each of which has been accepted.

    What follows from them is computed once, where it is asked for. What does not fit together
    raises a ValueError there: gains that would swing the arm up where ``settings`` are asked for,
    but not where ``limits`` are. What drives lack is an error of the file that describes them.

    Attributes:
        unloaded: The arm as it is described, without payload; its locked joints stand where the
            parameters say.
        values: Of all parameters, by name.
        files: The parameter files that some were read from, of which a later one overrides the
            earlier.
    """

    unloaded: Model
    values: Mapping[str, Value]
    files: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        """Place the locked joints."""
        placed = self.unloaded.with_locked(locked_positions(self.values, self.unloaded))
        object.__setattr__(self, "unloaded", placed)

    def __repr__(self) -> str:
        """Return the arm with its payload, its mode and parameter file."""
        files = f", parameters of {', '.join(map(str, self.files))}" if self.files else ""
        return f"<ControlledArm of {self.model!r}: {self.mode}{files}>"

    @classmethod
    def of(
        cls,
        description: str | PathLike[str] | Model,
        parameters: Mapping[str, object] | Files | None = None,
        joints: Iterable[str] | None = None,
    ) -> ControlledArm:
        """Return an arm.

        Args:
            description: URDF text, the path of a URDF or xacro file, or a model.
            parameters: Names of the controller's parameters and their values, or the path of a
                parameter file, or of several, of which a later one overrides the earlier; the
                declared defaults take the place of what is missing.
            joints: Those that move, the others are locked; None: as the parameter ``joints`` says.
                A model has its own.

        Raises:
            FeatherstoneError: The description or the file cannot be used, or there is no such
                parameter or joint.
            ValueError: A value is refused (named, with what was expected); of a file that is a
                ``ParameterFileError``.
        """
        given = _given(parameters)
        model = _model(description, joints if joints is not None else given.joints())
        if not model.n:
            raise ModelError(f"robot {model.name!r} has no joint that moves: nothing to control")
        for path in _files(parameters):
            check_names(path, {*model.joint_names, *model.locked})
        if not _files(parameters) and not isinstance(parameters, NodeParameters):
            _require_known(given, model)
        defaults = {name: one.default for name, one in declared_parameters(model, ()).items()}
        try:
            arm = cls(model, defaults, tuple(_files(parameters)))
            arm = arm._changed(given)
            _ = arm.model
            if given.source:
                _ = arm.units
        except ValueError as error:
            if not given.source or isinstance(error, ParameterFileError):
                raise
            raise ParameterFileError(f"{given.source}: {error}") from None
        return arm

    @classmethod
    def from_robot(
        cls,
        robot: str | PathLike[str],
        joints: Iterable[str] | None = None,
        parameters: Files | None = None,
        joint_limits: str | PathLike[str] | None = None,
    ) -> ControlledArm:
        """Return one of the package's robots with its parameters, or an arm from files.

        Args:
            robot: ``panda``, ``ur5e``, or the path of a URDF or xacro file.
            joints: As of ``of``.
            parameters: A parameter file, or several as of ``of``; None: the package's own for
                ``panda`` and ``ur5e``, else the defaults.
            joint_limits: MoveIt's joint_limits.yaml, whose limits take the place of the URDF's.

        Raises:
            FeatherstoneError: As of ``of``; or there is no such robot.
        """
        arm = cls.of(robot_file(robot), parameters or robot_parameters(robot), joints)
        if joint_limits is None:
            return arm
        try:
            return replace(arm, unloaded=arm.unloaded.with_joint_limits(joint_limits))
        except OSError as error:
            raise ParameterFileError(f"{joint_limits} cannot be read: {error}") from error

    def with_parameters(
        self, changes: Mapping[str, object] | None = None, /, **more: object
    ) -> ControlledArm:
        """Return the same arm with other values of some parameters.

        Args:
            changes: Their names and values.
            **more: Likewise, of names without dots.

        Raises:
            ValueError: There is no such parameter, or its value is refused (named).
        """
        changed = {**(changes or {}), **more}
        if not changed:
            return self
        _require_known({PAYLOAD_NAMES: self.values[PAYLOAD_NAMES], **changed}, self.unloaded)
        arm = self._changed(changed)
        if PAYLOAD_NAMES in changed or arm.is_loaded_otherwise(self):
            _ = arm.model
        return arm

    def is_loaded_otherwise(self, before: ControlledArm) -> bool:
        """Return whether payload or gravity are others than before."""
        return gravity_and_payload(self.values) != gravity_and_payload(before.values)

    def _changed(self, changes: Mapping[str, object]) -> ControlledArm:
        if PAYLOAD_NAMES in changes:
            return self._with_payloads(changes[PAYLOAD_NAMES])._changed(
                {name: changes[name] for name in changes if name != PAYLOAD_NAMES}
            )
        parameters = self.parameters
        accepted = {
            name: parameters[name].accept(_as_read(parameters[name], value))
            for name, value in changes.items()
            if name in parameters
        }
        return replace(self, values={**self.values, **accepted})

    def _with_payloads(self, names: object) -> ControlledArm:
        """Return the arm with parameters of the payloads that have these names."""
        accepted = self.parameters[PAYLOAD_NAMES].accept(names)
        declared = declared_parameters(self.unloaded, tuple(accepted))
        defaults = {name: one.default for name, one in declared.items()}
        return replace(self, values={**defaults, **self.values, PAYLOAD_NAMES: accepted})

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """All parameters by name, with their defaults for this arm."""
        return declared_parameters(self.unloaded, tuple(self.values[PAYLOAD_NAMES]))

    # The arm.

    @cached_property
    def model(self) -> Model:
        """The arm with the parameters' payload and gravity."""
        return model_with_payload(self.values, self.unloaded)

    @cached_property
    def drives(self) -> Drives:
        """Friction and rotors."""
        return Drives.of_parameters(self.values, self.unloaded.joint_names)

    @cached_property
    def units(self) -> DriveUnits:
        """What the drives are told, and what their measured efforts mean.

        Raises:
            ValueError: A constant is missing, or a command does not go with ``output``.
        """
        units = DriveUnits.of(self.values, self.unloaded.joint_names)
        for joint, unit in zip(units.names, units.command, strict=True):
            if self.sends_joints and unit not in (TORQUE, POSITION):
                raise ValueError(
                    f"drives.{joint}.command is {unit}, expected {TORQUE} or {POSITION} with "
                    f"output: {Output.JOINT_STATE}, or output: {Output.EFFORT}"
                )
        return units

    def with_units(self, units: DriveUnits) -> ControlledArm:
        """Return the same arm with drives that are told and measure what these do.

        Raises:
            ValueError: They are of other joints, or do not go with ``output``.
        """
        if units.names != self.unloaded.joint_names:
            raise ValueError(
                f"units are of {', '.join(units.names)}, expected the arm's joints: "
                f"{', '.join(self.unloaded.joint_names)}"
            )
        arm = self.with_parameters(units.parameters)
        _ = arm.units
        return arm

    @property
    def assumed_armature(self) -> str:
        """The armature that is assumed, not set, in words; empty for none."""
        defaults = self.parameters
        return unset_armature(self.values, lambda name: defaults[name].default, self.unloaded)[0]

    @cached_property
    def space(self) -> JointSpace:
        """The joints with the limits of the description, and what the drives can accelerate."""
        rate = per_joint(self.values, "torque_rate.{}", self.unloaded.joint_names)
        limits, armature = self.limits, self.drives.armature
        return replace(
            JointSpace.of(self.unloaded), reach=reach(self.model, limits.effort, armature, rate)
        )

    @cached_property
    def limits(self) -> JointSpace:
        """The joints with the efforts that may be used: of description, parameters and drives."""
        return JointSpace.of(self.unloaded, effort_limit(self.values, self.unloaded, self.units))

    @property
    def of_trajectories(self) -> tuple[bool, Interpolation]:
        """What a ``Trajectory`` is told: whether it may end in motion, and its interpolation."""
        may_end_moving = self.values["allow_nonzero_velocity_at_trajectory_end"]
        return may_end_moving, Interpolation(self.values["interpolation"])

    @property
    def tolerances(self) -> Tolerances:
        """Tolerances of goals that have none of their own."""
        values, joints = self.values, self.unloaded.joint_names
        path, goal = (
            per_joint(values, f"constraints.{{}}.{what}", joints) for what in ("trajectory", "goal")
        )
        stopped = np.full(len(joints), values["constraints.stopped_velocity_tolerance"])
        return Tolerances(
            np.stack([path, np.zeros(len(joints))]),
            np.stack([goal, stopped]),
            values["constraints.goal_time"],
        )

    def retimed(self, path: Trajectory | ArrayLike, **options: Any) -> Retimed:
        """Return a path timed anew, with this arm's payload, drives and limits.

        Args:
            path: As of ``fr.control.retime``.
            **options: Its others.

        Raises:
            RetimingError: No timing is within the limits.
        """
        rate = per_joint(self.values, "torque_rate.{}", self.unloaded.joint_names)
        return retime(
            self.model,
            path,
            drives=self.drives,
            limits=self.limits,
            torque_rate=rate,
            **options,
        )

    # Its end effector.

    @property
    def tip(self) -> str:
        """The end effector's link, empty for none."""
        return cartesian_parameters.tip_of(self.values, self.unloaded)

    @property
    def offset(self) -> Floats:
        """(4, 4) pose of the end effector's frame in the tip's."""
        return cartesian_parameters.offset_of(self.values)

    # Its controller.

    @property
    def mode(self) -> Mode:
        """The control law."""
        return Mode(self.values["mode"])

    @property
    def timing(self) -> Timing:
        """Period and delay for which gains are chosen and checked."""
        return Timing.of(self.values)

    @property
    def sends_joints(self) -> bool:
        """Whether commands are joint states, of positions with feed-forward efforts."""
        return bool(self.values["output"] == Output.JOINT_STATE)

    @property
    def has_position_loops(self) -> bool:
        """Whether some drives have position loops of their own, which take positions."""
        return bool(self.feedback.follows.any())

    @cached_property
    def feedback(self) -> Feedback:
        """Gains and damping, set or chosen, and why they are what they are."""
        return Feedback(self.values, self.unloaded)

    @cached_property
    def settings(self) -> ControllerSettings:
        """All that the controller is told.

        Raises:
            NoStableGainsError: No gains are stable; ``feedback.remedy`` tells what would help.
            ValueError: Values do not fit together.
        """
        values, model = self.values, self.unloaded
        feedback, _ = self.feedback, self.units
        if self.has_position_loops and self.mode.has_spring:
            raise ValueError(
                "mode is cartesian_impedance, which drives with position loops (output: "
                "joint_state, drives.<joint>.command: position) would work against: expected mode "
                "admittance, whose motion they follow, or one of the joints"
            )
        require_effort_for_friction(self.drives, self.limits.effort, model)
        p, d = feedback.gains
        return ControllerSettings(
            p=p,
            d=d,
            damping=feedback.damping,
            fault_damping=feedback.fault_damping,
            effort_limit=self.limits.effort,
            drives=self.drives,
            command_period=self.timing.period,
            impedance=cartesian_parameters.impedance(values, model),
            **values_of(ControllerSettings, values, model.joint_names),
        )

    @property
    def without_margin(self) -> str:
        """What is not stable with margin in this mode, in one line; empty for nothing."""
        stiffness = cartesian_parameters.without_delay_margin(self.values, self.unloaded)
        return "; ".join(filter(None, (stiffness, self.feedback.without_margin)))

    @property
    def contact_margin(self) -> str:
        """What contact mode admittance bears, in one line; empty in other modes."""
        return cartesian_parameters.contact_margin(self.values, self.settings)

    def controller(
        self, notify: Callable[[str], None] = lambda line: None, **options: Any
    ) -> TorqueController:
        """Return an inactive controller of this arm, for plain Python.

        Args:
            notify: Called with a line of text when the controller acts by itself.
            **options: ``units`` and ``ahead`` of a ``TorqueController``.

        Raises:
            ValueError: As of ``settings``; or the mode needs a tip, and there is none.
        """
        return TorqueController(
            self.space,
            self.model,
            self.settings,
            notify,
            self.tip,
            self.offset,
            self.has_position_loops,
            **options,
        )


def _files(parameters: Mapping[str, object] | Files | None) -> list[Path]:
    """Return the parameter files that are given."""
    if parameters is None or isinstance(parameters, Mapping):
        return []
    if isinstance(parameters, str | PathLike):
        return [Path(parameters)]
    return [Path(one) for one in parameters]


def _given(parameters: Mapping[str, object] | Files | None) -> NodeParameters:
    """Return the parameters that are given, with their file for messages."""
    if isinstance(parameters, NodeParameters):
        return parameters
    if parameters is None or isinstance(parameters, Mapping):
        return NodeParameters(parameters or {}, "")
    return controller_parameters(*_files(parameters))


def _model(description: str | PathLike[str] | Model, joints: Iterable[str] | None) -> Model:
    names = None if joints is None else tuple(map(str, joints))
    if isinstance(description, PathLike):
        text = read_file(description)
        with errors_naming(description):
            return _model_of(text, names)
    if isinstance(description, str):
        return _model_of(description_text(description), names)
    if names is not None and names != description.joint_names:
        raise ModelError(
            f"joints are {', '.join(names)}, expected the model's: "
            f"{', '.join(description.joint_names)}"
        )
    return description


@lru_cache(maxsize=8)  # what is found out about a model, as its gains, is kept with it
def _model_of(text: str | bytes, joints: tuple[str, ...] | None) -> Model:
    return Model.from_urdf(text, joints)


def _require_known(given: Mapping[str, object], model: Model) -> None:
    """Raise ValueError with the names of parameters that the controller does not have."""
    payloads = NodeParameters(given, "").payloads()
    joints, locked = {*model.joint_names, *model.locked}, model.locked_joints
    known = parameter_names(CONTROLLER, joints, payloads, locked)
    unknown = [f"no parameter {misspelt(name, known)}" for name in given if name not in known]
    if unknown:
        raise ValueError("; ".join(unknown))


def _as_read(parameter: Parameter, value: Any) -> Any:
    """Return a value as ROS reads it: YAML 1.1 takes 1e3, without a point, for text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_as_read(parameter, one) for one in value]
    if isinstance(value, str) and parameter.is_real:
        try:
            return float(value)
        except ValueError:
            return value
    return str(value) if isinstance(value, Choice) else value
