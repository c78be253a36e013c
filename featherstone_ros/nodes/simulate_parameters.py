"""Parameters of the digital twin's mode ``simulate``, and the settings made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from featherstone_ros.declaration import per_joint
from featherstone_ros.model import Model
from featherstone_ros.nodes.declared_parameters import settings_of, values_of
from featherstone_ros.nodes.drive_parameters import drives_of
from featherstone_ros.nodes.parameters import Setting, Value
from featherstone_ros.simulation import Noise, TwinSettings
from featherstone_ros.simulation.drive_gains import drive_gains
from featherstone_ros.simulation.twin import home_positions

SETTINGS = (
    *settings_of(TwinSettings),
    Setting("publish_clock", False, "publish simulation time on /clock", read_only=True),
    Setting("steps_per_call", 1, "integration steps per call of ~/step", 1, 10_000_000),
    Setting(
        "stops.stiffness",
        TwinSettings.stop_stiffness,
        "stiffness of joint stops at the URDF position limits [N m/rad or N/m]; 0: no stops",
        0.0,
    ),
    Setting(
        "stops.damping",
        TwinSettings.stop_damping,
        "damping of the joint stops [N m s/rad or N s/m]",
        0.0,
    ),
    Setting("seed", Noise.seed, "seed of the sensor noise: the same seed gives the same noise", 0),
    Setting("noise.position", Noise.position, "standard deviation of positions [rad or m]", 0.0),
    Setting(
        "noise.velocity", Noise.velocity, "standard deviation of velocities [rad/s or m/s]", 0.0
    ),
    Setting("noise.effort", Noise.effort, "standard deviation of efforts [N m or N]", 0.0),
)


def joint_settings(model: Model, values: Mapping[str, Value]) -> Iterable[Setting]:
    """Return the initial position of every joint, and the gains of its drive.

    Args:
        model: The arm.
        values: Has each joint's ``armature``.
    """
    armature = np.array([values[f"armature.{joint}"] for joint in model.joint_names])
    p, d = drive_gains(model, armature)
    for joint, position, p_joint, d_joint in zip(
        model.joint_names, home_positions(model), p, d, strict=True
    ):
        yield from (
            Setting(
                f"initial_positions.{joint}",
                float(position),
                "position at the start and after a reset [rad or m]",
            ),
            Setting(
                f"drive.{joint}.p",
                float(p_joint),
                "position gain of the simulated drive, for ~/joint_commands [N m/rad or N/m]",
                0.0,
            ),
            Setting(
                f"drive.{joint}.d",
                float(d_joint),
                "velocity gain of the simulated drive [N m s/rad or N s/m]",
                0.0,
            ),
        )


def twin_settings(values: Mapping[str, Value], model: Model) -> TwinSettings:
    """Return a twin's settings from the node's parameters."""
    of_joints = partial(per_joint, values, joints=model.joint_names)
    return TwinSettings(
        **values_of(TwinSettings, values),
        initial_positions=of_joints("initial_positions.{}"),
        initial_base_position=values["initial_base.position"],
        initial_base_orientation=values["initial_base.orientation"],
        **drives_of(values, model),
        drive_p=of_joints("drive.{}.p"),
        drive_d=of_joints("drive.{}.d"),
        stop_stiffness=values["stops.stiffness"],
        stop_damping=values["stops.damping"],
        noise=Noise(
            position=values["noise.position"],
            velocity=values["noise.velocity"],
            effort=values["noise.effort"],
            seed=values["seed"],
        ),
        simulation_stamps=bool(values["publish_clock"]),
    )
