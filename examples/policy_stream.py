"""A stream of chunks from a policy, and what the arm makes of it.

A mock policy draws a circle with the end effector: 30 times a second it sees the arm, and 0.1 s
later it sends positions alone, 16 points 1/30 s apart, stamped with the time at which it saw the
arm. Chunks disagree by a few mrad, as those of a learned policy do. The controller follows each as
soon as it comes; points of the past are passed over.

Prints how far and how smoothly the arm follows with lines and with a spline between the points,
and draws both.

Examples:
  python examples/policy_stream.py
  python examples/policy_stream.py --robot ur5e --disagreement 0.02 --inference 0.3
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import featherstone_ros as fr
from featherstone_ros.arrays import Floats
from featherstone_ros.control.settings import Interpolation
from featherstone_ros.control.trajectory import Point
from featherstone_ros.model.robots import robot_file
from featherstone_ros.simulation.closed_loop import ClosedLoop, Record
from featherstone_ros.simulation.simulated_arm import SimulatedArm
from featherstone_ros.tools.proposal import Proposal, propose
from featherstone_ros.tools.robot_setup import load
from featherstone_ros.tools.style import COLOURS, GREY, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PERIOD = 0.002  # [s] of the controller and its joint states
RATE, POINTS, SPACING = 30, 16, 1.0 / 30  # chunks per second; points of each, and their times [s]
RADIUS, TURN = 0.05, 3.0  # [m] of the circle, [s] for one
DURATION = 6.0  # [s]
TIPS = {"panda": "panda_hand_tcp", "ur5e": "tool0"}


class Run(NamedTuple):
    """What happened, N samples, and where the policy would have had the arm (N, n) [rad]."""

    record: Record
    wanted: Floats

    def error(self) -> float:
        """Return the RMS distance of the joints from where the policy would have them [rad]."""
        return float(np.sqrt(np.mean((self.record.q - self.wanted) ** 2)))

    def velocity_step(self) -> float:
        """Return the largest change of a desired velocity from one sample to the next [rad/s]."""
        return step(self.record.desired[:, 1])


def step(values: Floats) -> float:
    """Return the largest change from one sample to the next."""
    return float(np.abs(np.diff(values, axis=0)).max())


def proposed(robot: str) -> Proposal:
    """Return the gains that ``setup`` proposes, and where the robot's configuration starts."""
    return replace(propose(robot_file(robot)), start=load(robot).start)


def circle(model: fr.Model, tip: str, start: Floats) -> Floats:
    """Return joint positions (K, n) along a circle of the tip that begins and ends at start."""
    pose, q = fr.Dynamics(model).link_pose(start, tip), start
    rows = []
    for angle in np.linspace(0.0, 2.0 * np.pi, 91):
        goal = pose.copy()
        goal[1:3, 3] += RADIUS * np.array([np.sin(angle), 1.0 - np.cos(angle)])
        q = fr.kinematics.inverse_kinematics(model, tip, goal, q0=q).q
        rows.append(q)
    return np.array(rows)


def follow(
    proposal: Proposal,
    way: Floats,
    interpolation: Interpolation,
    disagreement: float,
    inference: float,
) -> Run:
    """Let the arm follow the stream; disagreement [rad], inference [s]."""
    model, rng = proposal.model, np.random.default_rng(1)
    arm = proposal.arm.with_parameters(interpolation=interpolation)
    plant = SimulatedArm.of(model, arm.drives, proposal.start, PERIOD)
    loop = ClosedLoop(arm, plant, delay=0.0, period=PERIOD)

    def wanted(time: float) -> Floats:
        turn = np.clip(time - 0.5, 0.0, None) / TURN % 1.0
        return np.array([np.interp(turn, np.linspace(0.0, 1.0, len(way)), q) for q in way.T])

    chunks: list[tuple[float, list[Point]]] = []
    samples, wants, seen = [], [], -np.inf
    for sample in loop.steps(DURATION):
        now = loop.now
        if now - seen >= 1.0 / RATE:
            seen, wrong = now, rng.normal(0.0, disagreement, model.n)
            times = SPACING * np.arange(1, POINTS + 1)
            chunks.append((now, [Point(t, tuple(wanted(now + t) + wrong)) for t in times]))
        if chunks and chunks[0][0] + inference <= now:
            asked, points = chunks.pop(0)
            loop.controller.set_trajectory(now, model.joint_names, points, asked - now)
        if now > 1.0:
            samples.append(sample)
            wants.append(wanted(now))
    return Run(Record.of(samples), np.array(wants))


def draw(model: fr.Model, tip: str, runs: dict[str, Run], path: Path) -> None:
    """Draw the tip's path, and the fastest joint's desired velocity."""
    with picture(path) as pyplot:
        figure = pyplot.figure(figsize=(9.0, 3.8), dpi=100, layout="constrained")
        _draw(model, tip, runs, *figure.subplots(1, 2, width_ratios=(2, 3)))


def _draw(model: fr.Model, tip: str, runs: dict[str, Run], side: Axes, speed: Axes) -> None:
    dynamics = fr.Dynamics(model)
    first = next(iter(runs.values()))
    joint = int(np.argmax(np.abs(first.record.desired[:, 1]).max(axis=0)))
    for index, (name, run) in enumerate(runs.items()):
        tips = np.array([dynamics.link_pose(q, tip)[:3, 3] for q in run.record.q[::10]])
        side.plot(1e3 * tips[:, 1], 1e3 * tips[:, 2], color=COLOURS[index], lw=1.0, label=name)
        shown = run.record.time < first.record.time[0] + 1.0
        speed.plot(
            run.record.time[shown],
            run.record.desired[shown, 1, joint],
            color=COLOURS[index],
            lw=1.0,
        )
    tips = np.array([dynamics.link_pose(q, tip)[:3, 3] for q in first.wanted[::10]])
    side.plot(1e3 * tips[:, 1], 1e3 * tips[:, 2], "--", color=GREY, lw=1.0, label="desired")
    side.set(xlabel="y [mm]", ylabel="z [mm]", title="The end effector", aspect="equal")
    side.legend(loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=3)
    speed.set(xlabel="time [s]", ylabel="[rad/s]")
    speed.set_title(f"Desired velocity of {model.joint_names[joint]}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--robot", choices=sorted(TIPS), default="panda")
    parser.add_argument(
        "--disagreement", type=float, default=0.005, help="of chunks, standard deviation [rad]"
    )
    parser.add_argument("--inference", type=float, default=0.1, help="time it takes [s]")
    parser.add_argument("--output", type=Path, default=Path("stream"), help="folder of the picture")
    options = parser.parse_args(arguments)
    tip, proposal, console = TIPS[options.robot], proposed(options.robot), Console()
    way = circle(proposal.model, tip, proposal.start)
    runs = {
        kind.value: follow(proposal, way, kind, options.disagreement, options.inference)
        for kind in track(Interpolation, "following", console=console)
    }
    table = Table("between points", "RMS error", "step of the velocity", "step of the torque")
    for name, run in runs.items():
        table.add_row(
            name,
            f"{1e3 * run.error():.1f} mrad",
            f"{run.velocity_step():.3f} rad/s",
            f"{step(run.record.command):.2f} N m",
        )
    console.print(table)
    draw(proposal.model, tip, runs, options.output / "stream.png")
    console.print(f"picture: {options.output / 'stream.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
