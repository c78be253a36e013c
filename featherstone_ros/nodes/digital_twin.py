"""The digital twin node: a lifecycle node around one of its two modes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from rclpy.context import Context

from featherstone_ros.control.armature import assumed_armature
from featherstone_ros.control.controller_parameters import (
    PAYLOAD_PARAMETERS,
    payload_parameters_of,
)
from featherstone_ros.control.drive_parameters import drive_parameters
from featherstone_ros.model import EARTH, Model
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.joint_selection import locked_parameters
from featherstone_ros.model.parameter_files import PAYLOAD_NAMES
from featherstone_ros.nodes import floating_base, payload_service
from featherstone_ros.nodes.diagnostics_publisher import Report
from featherstone_ros.nodes.execution import StartError
from featherstone_ros.nodes.lifecycle import ASSUMED, ModelNode
from featherstone_ros.nodes.parameters import Commit
from featherstone_ros.nodes.shadow_mode import ShadowMode
from featherstone_ros.nodes.simulate_mode import SimulateMode, topic_parameter
from featherstone_ros.observer.shadow_settings import (
    ShadowSettings,
    shadow_parameters,
)
from featherstone_ros.parameter import Parameter, Value, default_of, of_length, parameters_of
from featherstone_ros.realtime import scheduling
from featherstone_ros.simulation import twin_parameters as simulation

Mode = SimulateMode | ShadowMode
MODES: dict[str, type[Mode]] = {
    "simulate": SimulateMode,
    "shadow": ShadowMode,
}

PARAMETERS = (
    Parameter(
        "mode",
        "simulate",
        "simulate: be the arm; shadow: listen to the arm, tell what the model does not explain",
        choices=tuple(MODES),
        read_only=True,
    ),
    Parameter(
        "gravity",
        default_of(EARTH),
        "in the frame of the base link, or of the world if the base floats [m/s^2]",
        -100.0,
        100.0,
        read_only=True,
        check=of_length(3),
    ),
    *simulation.PARAMETERS,
    *floating_base.PARAMETERS,
    *parameters_of(ShadowSettings),
    *parameters_of(Drives),
    *PAYLOAD_PARAMETERS,
    *payload_service.PARAMETERS,
    *scheduling.PARAMETERS,
)


class DigitalTwin(ModelNode):
    """The arm of the robot description, simulated or shadowed.

    The parameters of both modes are declared in either, so that one file serves both. What a mode
    does begins with its making in ``configure`` and ends with ``cleanup``.
    """

    def __init__(self, context: Context | None = None) -> None:
        """Declare the parameters."""
        self._mode: Mode | None = None
        super().__init__("digital_twin", PARAMETERS, context)
        if self.parameters["mode"] == "shadow" and self.parameters["base"] != "fixed":
            raise StartError(
                f"parameter base is {self.parameters['base']!r}, expected 'fixed' in mode shadow: "
                "joint states do not tell how a base moves"
            )

    def make_model(self, description: str) -> Model:
        """Return the model, on its base and under its gravity."""
        return Model.from_urdf(
            description,
            joints=self.parameters["joints"] or None,
            gravity=self.parameters["gravity"],
            base=str(self.parameters["base"]),
        )

    def joint_parameters(self, model: Model) -> Iterable[Parameter]:
        """Return friction and armature of every joint, and what the modes need of it."""
        for index, armature in enumerate(assumed_armature(model)):
            yield from drive_parameters(model, index, float(armature))
        yield from simulation.joint_parameters(model, self.parameters)
        yield from map(topic_parameter, model.joint_names)
        yield from shadow_parameters(model)
        yield from locked_parameters(model)
        yield from payload_parameters_of(self.parameters[PAYLOAD_NAMES])

    def configure(self) -> None:
        """Make the mode."""
        self.tell_assumption()
        self._mode = MODES[str(self.parameters["mode"])](self)

    @property
    def _chosen(self) -> Mode:
        """The mode, once configured."""
        if self._mode is None:
            raise RuntimeError("the twin is not configured")
        return self._mode

    def activate(self) -> None:
        """Let the mode work."""
        self._chosen.activate()

    def deactivate(self) -> None:
        """Let the mode rest."""
        self._chosen.deactivate()

    def cleanup(self) -> None:
        """Forget the mode."""
        self._chosen.cleanup()

    def halt(self) -> None:
        """Stop the mode's thread."""
        if self._mode is not None:
            self._mode.halt()

    def plan(self, values: Mapping[str, Value]) -> Commit:
        """Prepare the mode for new settings."""
        return self._chosen.plan(values)

    def diagnose(self) -> Report:
        """Return what the mode says."""
        report = self._chosen.diagnose()
        return replace(report, values={**report.values, ASSUMED: self.assumption or "none"})
