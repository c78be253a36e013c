"""The weight of a tool behind a force-torque sensor, from its zeros in several postures.

What the sensor reads while nothing acts is its offset and the weight of what hangs on it. The
weight turns with the end effector, the offset does not: with g the gravity in its axes,

    force = offset + m g        moment = offset + (m c) x g

Both are linear in offsets, m and m c. Two postures tell m, three whose directions of gravity lie on
no line tell c as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.cartesian_impedance import sensor_poses
from featherstone_ros.control.cartesian_parameters import sensed_weight
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.payload import payload_of

SPREAD = 0.3  # least second singular value of the directions of gravity: some 20 degrees apart
AGREE = (1.0, 0.1)  # [N, N m] standard deviation of zeros that one tool explains
SIGNIFICANT = 3.0  # deviations of a mass that is there
LEAST = 1e-3  # [kg, kg m] deviation at least


@dataclass(frozen=True, eq=False)
class Tool:
    """What explains zeros, but for the payload that was known."""

    mass: float  # [kg]
    deviation: float  # its standard deviation [kg]
    moment: Floats  # (3,) mass times centre of mass, in the end effector's frame [kg m]
    moment_deviation: float  # about that of each [kg m]
    offset: Floats  # (6,) of the sensor alone, in any posture [N, N m]
    misfit: tuple[float, float]  # standard deviation of the zeros, of force and moment [N, N m]


def find_tool(zeros: Floats, gravity: Floats) -> Tool | None:
    """Return the tool that explains zeros (K, 6), of these gravities (K, 3) in the sensor's axes.

    None if their postures do not tell.
    """
    count = len(zeros)
    if count < 3:
        return None
    middle, centre = zeros.mean(axis=0), gravity.mean(axis=0)
    turned, force, moment = gravity - centre, *np.split(zeros - middle, 2, axis=1)
    sizes = np.linalg.svd(turned, compute_uv=False)
    if not sizes[1] > SPREAD * np.linalg.norm(gravity[0]):
        return None
    mass = float((turned * force).sum() / (turned**2).sum())
    crossed = np.concatenate([-_cross(g) for g in turned])  # moment = m c x g
    arm = np.linalg.lstsq(crossed, moment.ravel(), rcond=None)[0]
    left = force - mass * turned, moment - (crossed @ arm).reshape(-1, 3)
    freedom = 3 * count - 4, 3 * count - 6
    misfit = [float(np.sqrt((x**2).sum() / n)) for x, n in zip(left, freedom, strict=True)]
    weight = np.concatenate([mass * centre, np.cross(arm, centre)])
    size = float(np.sqrt((turned**2).sum()))
    deviations = misfit[0] / size, misfit[1] / size
    offset = middle - weight
    return Tool(mass, deviations[0], arm, deviations[1], offset, (misfit[0], misfit[1]))


class SensorZeros:
    """The zeros of a node's sensor, as long as the payload that it knows is the same."""

    def __init__(self) -> None:
        """Begin without any."""
        self._zeros: list[tuple[Floats, Floats]] = []  # with the gravity, both in its axes
        self._payload = ""

    def note(self, zero: Floats, rotation: Floats, arm: ControlledArm) -> str:
        """Take a zero (6,) in the end effector's frame; return what all tell of the tool."""
        gravity = rotation.T @ np.asarray(arm.values["gravity"], float)
        known = sensed_weight(arm.values, arm.unloaded)
        payload = repr((known, arm.tip, arm.offset.tolist()))
        if payload != self._payload:
            self._zeros, self._payload = [], payload
        self._zeros.append((np.array(zero), gravity))
        tool = find_tool(*map(np.array, zip(*self._zeros, strict=True)))
        if tool is None:
            return ""
        source = f"the zeros of {len(self._zeros)} postures"
        if tool.misfit[0] > AGREE[0] or tool.misfit[1] > AGREE[1]:
            self._zeros = self._zeros[-1:]
            return (
                f"{source} scatter by {tool.misfit[0]:.2g} N and {tool.misfit[1]:.2g} N m about "
                "those of any one tool: something touched it, or it was changed; begun anew"
            )
        other = abs(tool.mass) > SIGNIFICANT * max(tool.deviation, LEAST)
        shifted = np.abs(tool.moment).max() > SIGNIFICANT * max(tool.moment_deviation, LEAST)
        if not (other or shifted):
            return f"{source} show no more weight than is known (to {tool.deviation:.2g} kg)"
        if tool.mass < 0.0 and not known:
            return (
                f"{source} show a weight of {tool.mass:.3f} kg: the sensor's signs are wrong, "
                "expected the wrench that acts on the tip"
            )
        return f"{source} show another tool than is known: {_parameters(tool, known, arm)}"


def _parameters(tool: Tool, known: dict[str, Floats], arm: ControlledArm) -> str:
    """Return the parameters of the whole payload, with what the sensor has shown."""
    load = payload_of(arm.values)[1]
    poses = sensor_poses(arm.unloaded, arm.tip, arm.offset)
    link = str(load["link"]) if load["link"] in poses else arm.tip
    before = load["mass"] if known else 0.0
    mass = before + tool.mass
    if mass <= SIGNIFICANT * tool.deviation:
        return f"payload.mass 0, not {before:g}"
    centre = (before * np.asarray(known.get("weight_at", np.zeros(3))) + tool.moment) / mass
    com = np.linalg.inv(poses[link]) @ np.append(centre, 1.0)
    return (
        f"payload.link {link}, payload.mass {mass:.3f} (deviation {tool.deviation:.2g} kg), "
        f"payload.com [{com[0]:.4f}, {com[1]:.4f}, {com[2]:.4f}]; once they are set, zero the "
        "sensor again: then its offset holds in every orientation"
    )


def _cross(v: Floats) -> Floats:
    """Return the matrix of v x."""
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
