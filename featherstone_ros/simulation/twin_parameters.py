"""Parameters of the digital twin's mode ``simulate``, and the settings made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from featherstone_ros.model import Model
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.joint_selection import locked_positions
from featherstone_ros.parameter import (
    Parameter,
    Value,
    joint_parameters_of,
    parameters_of,
    per_joint,
    values_of,
)
from featherstone_ros.simulation.simulator_settings import Noise, SimulatorSettings
from featherstone_ros.simulation.twin import drive_gains, home_positions

PARAMETERS = (
    *parameters_of(SimulatorSettings),
    Parameter("publish_clock", False, "publish simulation time on /clock", read_only=True),
    Parameter(
        "wrench_sensor",
        "",
        "link whose external wrench a simulated force-torque sensor publishes on ~/wrench, with "
        "each joint state; empty: none",
        read_only=True,
    ),
    Parameter("steps_per_call", 1, "integration steps per call of ~/step", 1, 10_000_000),
    *parameters_of(Noise),
)


def joint_parameters(model: Model, values: Mapping[str, Value]) -> Iterable[Parameter]:
    """Yield every joint's initial position and drive gains, by its ``armature``."""
    p, d = drive_gains(model, per_joint(values, "armature.{}", model.joint_names))
    for joint, q, p_joint, d_joint in zip(
        model.joint_names, home_positions(model), p, d, strict=True
    ):
        yield from joint_parameters_of(
            SimulatorSettings, joint, initial_positions=q, drive_p=p_joint, drive_d=d_joint
        )


def twin_settings(values: Mapping[str, Value], model: Model) -> SimulatorSettings:
    """Return a twin's settings from the node's parameters."""
    return SimulatorSettings(
        **values_of(SimulatorSettings, values, model.joint_names),
        drives=Drives.of_parameters(values, model.joint_names),
        units=DriveUnits.of(values, model.joint_names),
        noise=Noise(**values_of(Noise, values)),
        locked=locked_positions(values, model),
        simulation_stamps=values["publish_clock"],
    )
