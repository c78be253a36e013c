"""A peg on a plane: how hard an end effector on a spring presses, and how well it slides.

A simulated Panda holds a peg. Under Cartesian impedance control it is led to a target below a
plane, so that it lands and presses, then along the plane, and up again. The plane is no part of
the controller: it pushes on the peg as a stiff spring with dry friction. Along the normal the end
effector is as soft as asked for, along the plane it is stiff.

Prints how hard the peg presses, which the two springs in series predict, and draws it.

Examples:
  python examples/peg_on_a_plane.py
  python examples/peg_on_a_plane.py --stiffness 100 400 1600 --depth 0.03
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import featherstone_ros as fr
from featherstone_ros.arrays import Floats
from featherstone_ros.tools.robot_setup import load
from featherstone_ros.tools.style import COLOURS, GREY, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TIME_STEP = 0.001  # [s] of control and simulation
TIP = "panda_hand_tcp"
START = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.8])  # the end effector points down
SPEED = 0.08  # [m/s]
HEIGHT = 0.03  # [m] of the peg above the plane at the start
SLIDE = np.array([0.0, 0.12, 0.0])  # [m] along the plane
ALONG, TURNING = 1500.0, 40.0  # stiffness along the plane [N/m] and of orientation [N m/rad]
PLANE_STIFFNESS, PLANE_DAMPING, FRICTION = 20e3, 50.0, 0.2  # [N/m, N s/m, -]
STILL = 1e-3  # [m/s] below which friction is viscous
# Where the target goes, with the time until the next: down, on, along, up [s].
STAGES = (("land", 3.0), ("slide", 2.5), ("lift", 1.5))


@dataclass(frozen=True)
class Record:
    """One run, sample by sample."""

    time: Floats  # (N,) [s]
    position: Floats  # (N, 3) of the peg from where it starts, the plane at -HEIGHT [m]
    desired: Floats  # (N, 3) of the desired pose on its way [m]
    force: Floats  # (N, 3) of the plane on the peg [N]

    def pressed(self) -> float:
        """Return the normal force at the end of landing, before the peg slides [N]."""
        return float(self.force[self.time < STAGES[0][1]][-1, 2])

    def strayed(self) -> float:
        """Return the greatest distance along the plane between peg and desired pose [m]."""
        return float(np.linalg.norm((self.position - self.desired)[:, :2], axis=1).max())


def plane(height: float, position: Floats, velocity: Floats) -> Floats:
    """Return the force of a plane at that height on the peg [N]: it pushes and rubs."""
    depth = height - position[2]
    push = max(PLANE_STIFFNESS * depth - PLANE_DAMPING * velocity[2], 0.0) if depth > 0 else 0.0
    sliding = velocity[:2]
    rub = -FRICTION * push * sliding / max(float(np.linalg.norm(sliding)), STILL)
    return np.array([*rub, push])


def press(model: fr.Model, stiffness: float, depth: float) -> Record:
    """Land, slide and lift with that stiffness along the normal [N/m]; depth: of the target [m]."""
    dynamics = fr.Dynamics(model)
    arm = fr.Simulator(model, TIME_STEP, damping=0.0, friction=0.0)  # as if compensated
    law = fr.control.CartesianImpedance(
        model,
        TIP,
        stiffness=(ALONG, ALONG, stiffness, TURNING, TURNING, TURNING),
        max_force=200.0,
        max_speed=SPEED,
        max_acceleration=0.5,
    )
    arm.reset(START)
    law.start(START)
    start = dynamics.link_pose(START, TIP)
    down = np.array([0.0, 0.0, -HEIGHT - depth])
    goals = {"land": down, "slide": down + SLIDE, "lift": SLIDE}
    rows = []
    for stage, duration in STAGES:
        target = start.copy()
        target[:3, 3] += goals[stage]
        law.set_target(target)
        for _ in range(round(duration / TIME_STEP)):
            pose, velocity = (
                dynamics.link_pose(arm.q, TIP),
                dynamics.link_velocity(arm.q, arm.qd, TIP),
            )
            force = plane(start[2, 3] - HEIGHT, pose[:3, 3], velocity[:3])
            wrench = np.concatenate([pose[:3, :3].T @ force, np.zeros(3)])
            arm.step(law.torque(arm.q, arm.qd, TIME_STEP), f_ext={TIP: wrench})
            desired = law.report["desired"]
            rows.append((arm.time, *(pose - start)[:3, 3], *(desired - start)[:3, 3], *force))
    table = np.array(rows)
    return Record(table[:, 0], table[:, 1:4], table[:, 4:7], table[:, 7:])


def expected(stiffness: float, depth: float) -> float:
    """Return the normal force of end effector and plane as springs in series [N]."""
    return depth * stiffness * PLANE_STIFFNESS / (stiffness + PLANE_STIFFNESS)


def draw(records: dict[float, Record], path: Path) -> None:
    """Draw the paths from the side, and the forces over time."""
    with picture(path) as pyplot:
        figure = pyplot.figure(figsize=(9.0, 3.8), dpi=100, layout="constrained")
        _draw(records, *figure.subplots(1, 2))


def _draw(records: dict[float, Record], side: Axes, force: Axes) -> None:
    for index, (stiffness, record) in enumerate(records.items()):
        name, color = f"{stiffness:g} N/m", COLOURS[index]
        along, up = 1e3 * record.position[:, 1], 1e3 * record.position[:, 2]
        side.plot(along, up, color=color, lw=1.2)
        force.plot(record.time, record.force[:, 2], color=color, lw=1.0, label=name)
        force.plot(record.time, np.linalg.norm(record.force[:, :2], axis=1), ":", color=color)
    desired = 1e3 * record.desired
    side.plot(desired[:, 1], desired[:, 2], "--", color=GREY, lw=1.0, label="desired")
    floor = -1e3 * HEIGHT
    side.axhspan(side.get_ylim()[0], floor, color="0.9", zorder=0, label="plane")
    side.set(xlabel="along the plane [mm]", ylabel="height [mm]", title="The peg from the side")
    side.legend(loc="center")
    force.set(
        xlabel="time [s]",
        ylabel="force of the plane [N]",
        title="Along the normal; dotted: friction",
    )
    force.set_ylim(top=1.35 * force.get_ylim()[1])  # room for the legend
    force.legend(title="stiffness along the normal", loc="upper right", ncols=len(records))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scene; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--stiffness", type=float, nargs="+", default=[200.0, 500.0, 1000.0], help="[N/m]"
    )
    parser.add_argument(
        "--depth", type=float, default=0.02, help="of the target below the plane [m]"
    )
    parser.add_argument("--output", type=Path, default=Path("peg"), help="folder of the picture")
    options = parser.parse_args(arguments)
    model = fr.Model.from_urdf(load("panda").text, joints=[f"panda_joint{k}" for k in range(1, 8)])
    console = Console()
    try:
        records = {
            stiffness: press(model, stiffness, options.depth)
            for stiffness in track(options.stiffness, "pressing", console=console)
        }
    except ValueError as error:
        parser.error(str(error))
    table = Table("stiffness", "presses with", "two springs say", "strays along the plane")
    for stiffness, record in records.items():
        table.add_row(
            f"{stiffness:g} N/m",
            f"{record.pressed():.2f} N",
            f"{expected(stiffness, options.depth):.2f} N",
            f"{1e3 * record.strayed():.2f} mm",
        )
    console.print(table)
    draw(records, options.output / "peg.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
