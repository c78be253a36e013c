"""The digital twin node: a lifecycle node around one of its two modes."""

from __future__ import annotations

from collections.abc import Iterable

from rclpy.context import Context

from featherstone_ros.control.armature import assumed_armature, drive_parameters
from featherstone_ros.control.controller_parameters import (
    PAYLOAD_PARAMETERS,
    payload_parameters_of,
)
from featherstone_ros.errors import StartError
from featherstone_ros.model import EARTH, Model
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.joint_selection import locked_parameters
from featherstone_ros.model.parameter_files import PAYLOAD_NAMES
from featherstone_ros.nodes import payload_service
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.shadow_mode import ShadowMode
from featherstone_ros.nodes.simulate_mode import BASE_PARAMETERS, SimulateMode, topic_parameter
from featherstone_ros.observer.shadow_settings import (
    ShadowSettings,
    shadow_parameters,
)
from featherstone_ros.parameter import Parameter, default_of, of_length, parameters_of
from featherstone_ros.realtime.scheduling import Scheduling
from featherstone_ros.simulation import twin as simulation

MODES = {"simulate": SimulateMode, "shadow": ShadowMode}

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
    *BASE_PARAMETERS,
    *parameters_of(ShadowSettings),
    *parameters_of(Drives),
    *PAYLOAD_PARAMETERS,
    *payload_service.PARAMETERS,
    *parameters_of(Scheduling),
)


class DigitalTwin(ModelNode):
    """The arm of the robot description, simulated or shadowed.

    The parameters of both modes are declared in either, so that one file serves both. What a mode
    does begins with its making in ``configure`` and ends with ``cleanup``.
    """

    def __init__(self, context: Context | None = None) -> None:
        """Declare the parameters."""
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
        """Make the mode, which does all that follows."""
        self.tell_assumption()
        self._worker = MODES[str(self.parameters["mode"])](self)
