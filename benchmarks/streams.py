"""Follow a policy's stream beside the real joint_trajectory_controller, and judge how smoothly.

The scenarios are those of ros2_control_demos PR #1159, whose script verifies smoothness: one chunk
of 50 points at 25 Hz from rest to rest, three of them one after the other, and one that replaces
another in motion. Then its mock policy, which replaces a chunk of 30 points every 0.6 s: as it is,
and falling silent; 0.1 s late, its chunks 5 mrad apart; and so with the stamps they answer. Both
controllers get the same points, stamps and times of arrival, and the arm's own state, 1000 times a
second. Their references are judged, and what a simulated arm does that follows them by one and the
same drive: the model's torque for the reference, and the gains that ``setup`` chooses.

joint_trajectory_controller is called in this process, as its own unit tests call it: no clock and
no middleware stand between the two. FEATHERSTONE_JTC names a library that does so, see ``jtc``.

Examples:
  python -m benchmarks.streams
  FEATHERSTONE_JTC=LIBRARY python -m benchmarks.streams --pictures bench
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import featherstone_ros as fr
from benchmarks.jtc import JointTrajectoryController
from featherstone_ros.arrays import Floats
from featherstone_ros.control.trajectory import Point
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.robots import robot_file
from featherstone_ros.tools.proposal import Proposal, propose
from featherstone_ros.tools.robot_setup import load
from featherstone_ros.tools.style import finish, picture

RATE, POLICY = 1000.0, 25.0  # [Hz] of the controllers, and of a chunk's points


@dataclass(frozen=True)
class Chunk:
    """Points that arrive at a time [s].

    Attributes:
        begin: When the policy means their time zero [s]; it is their stamp if they are stamped.
        way: Where the policy would have the arm at times (K,) from there: (K, n).
        times, positions: What it sends: (K,) from the stamp or from arrival, and (K, n).
    """

    arrival: float
    begin: float
    stamped: bool
    way: Callable[[Floats], Floats]
    times: Floats
    positions: Floats


class Ours:
    """This package's controller."""

    def __init__(self, proposal: Proposal, stop_time: float) -> None:
        """Hold the arm at its start."""
        self._names, self._now = proposal.model.joint_names, 0.0
        arm = proposal.arm.with_parameters(interpolation="spline", stop_time=stop_time)
        self._controller = arm.controller()
        self._controller.activate(0.0)

    def accept(self, stamp: float | None, times: Floats, positions: Floats) -> None:
        """Take points (K, n) that arrive now, at times (K,) from the stamp; None: from now on."""
        points = [Point(float(t), tuple(q)) for t, q in zip(times, positions, strict=True)]
        # Without a stamp both begin with the next sample.
        delay = 1 / RATE if stamp is None else stamp - self._now
        self._controller.set_trajectory(self._now, self._names, points, delay)

    def step(self, now: float, q: Floats, qd: Floats) -> Floats:
        """Return position, velocity and acceleration that are asked for (3, n)."""
        self._now = now
        self._controller.accept_state(now, q, qd, stamp=now)
        return self._controller.compiled.desired[:3]


def rest_to_rest(start: Floats, times: Floats) -> Floats:
    """Return the demo's way of two joints, for every other joint, at times (K,): (K, n)."""
    s = np.clip((times * POLICY - 1.0) / 49.0, 0.0, 1.0)
    w = np.sin(np.pi * s) ** 2
    pair = 0.5 * w * np.sin(1.5 * np.pi * s), -0.3 * w * np.sin(np.pi * s + 0.3)
    return start + np.stack([pair[j % 2] for j in range(len(start))], axis=1)


def wanted(chunks: list[Chunk], start: Floats, now: float) -> Floats:
    """Return where the policy would have the arm (n,), by the last chunk that has come."""
    come = [chunk for chunk in chunks if chunk.arrival < now]
    return come[-1].way(np.array([now - come[-1].begin]))[0] if come else start


def ways(start: Floats, arrivals: list[float]) -> list[Chunk]:
    """Return ways from rest to rest, each from where the one before is when it arrives."""
    times, chunks = np.arange(1, 51) / POLICY, list[Chunk]()
    for arrival in arrivals:
        way = partial(rest_to_rest, wanted(chunks, start, arrival))
        chunks.append(Chunk(arrival, arrival + 1 / RATE, False, way, times, way(times)))
    return chunks


def policy(start: Floats, late: float, stamped: bool, apart: float) -> list[Chunk]:
    """Return ten chunks of the demo's policy, so late [s] and so far apart [rad]."""
    sign, rng, chunks = np.where(np.arange(len(start)) % 2, -0.5, 0.5), np.random.default_rng(1), []
    for seen in 0.6 * np.arange(10):

        def way(times: Floats, seen: float = seen) -> Floats:
            return start + np.outer(np.sin(0.5 * np.pi * (seen + times)), sign)

        times = np.arange(30) / POLICY
        positions = way(times) + rng.normal(0.0, apart, len(start))
        times += 0.0 if stamped else 1 / POLICY  # as the demo has it
        chunks.append(Chunk(0.5 + seen + late, 0.5 + seen, stamped, way, times, positions))
    return chunks


def scenarios(start: Floats) -> dict[str, tuple[list[Chunk], float]]:
    """Return streams for an arm that stands there, and how long each lasts after its last chunk."""
    return {
        "one chunk": (ways(start, [0.5]), 2.5),
        "one after the other": (ways(start, [0.5, 3.3, 6.1]), 2.5),
        "replaced in motion": (ways(start, [0.5, 0.5 + 0.4 * 49 / POLICY]), 2.5),
        "mock policy": (policy(start, 0.0, False, 0.0), 0.6),
        "mock policy that ends in motion": (policy(start, 0.0, False, 0.0), 2.5),
        "mock policy, late": (policy(start, 0.1, False, 0.005), 0.6),
        "mock policy, late and stamped": (policy(start, 0.1, True, 0.005), 0.6),
    }


def run(
    chunks: list[Chunk], rest: float, follower: Ours | JointTrajectoryController, proposal: Proposal
) -> dict[str, Floats]:
    """Let a follower lead the arm; return reference (N, 3, n), position and so on (N, n)."""
    model, gains = proposal.model, proposal.gains
    drives = Drives.of_model(model, armature=proposal.armature)
    arm, dynamics = fr.Simulator(model, 0.25 / RATE, **drives.of_simulator), fr.Dynamics(model)
    arm.reset(proposal.start)
    rows, waiting = [], list(chunks)
    for tick in range(round((chunks[-1].arrival + rest) * RATE)):
        now, q, qd = tick / RATE, arm.q.copy(), arm.qd.copy()
        asked = follower.step(now, q, qd)
        torque = drives.torque(dynamics, *asked)
        torque += gains.p * (asked[0] - q) + gains.d * (asked[1] - qd)
        torque = np.clip(torque, -model.effort_limit, model.effort_limit)
        rows.append((asked, q, torque, wanted(chunks, proposal.start, now)))
        arm.step(torque, steps=4)
        if waiting and waiting[0].arrival <= now + 1e-9:
            chunk = waiting.pop(0)
            stamp = chunk.begin if chunk.stamped else None
            follower.accept(stamp, chunk.times, chunk.positions)
    names = "reference", "position", "torque", "wanted"
    return {k: np.array(v) for k, v in zip(names, zip(*rows, strict=True), strict=True)}


def figures(record: dict[str, Floats], chunks: list[Chunk]) -> dict[str, float]:
    """Return the demo's measures of the reference, steps of its acceleration, and the arm's."""
    q, v, a = np.moveaxis(record["reference"], 1, 0)

    def step(values: Floats) -> Floats:
        return np.abs(np.diff(values, axis=0)).max(axis=1)

    def rms(values: Floats) -> float:
        return 1e3 * float(np.sqrt(np.mean(values**2)))

    seams = [round(chunk.arrival * RATE) for chunk in chunks]
    return {
        "peak of the velocity, rad/s": np.abs(v).max(),
        "step of the velocity, rad/s": step(v).max(),
        "the same at a seam": max(step(v)[k - 200 : k + 250].max() for k in seams),
        "peak of the acceleration, rad/s²": np.abs(a).max(),
        "the same from positions": np.abs(np.diff(q, 2, axis=0)).max() * RATE**2,
        "step of the acceleration, rad/s²": step(a).max(),
        "step of the torque, N m": step(record["torque"]).max(),
        "RMS of the torque's steps, N m": 1e-3 * rms(step(record["torque"])),
        "arm from its reference, RMS, mrad": rms(record["position"] - q),
        "arm from the policy, RMS, mrad": rms(record["position"] - record["wanted"]),
    }


def draw(records: dict[str, dict[str, Floats]], title: str, file: Path) -> None:
    """Draw position, velocity and acceleration that are asked of the first joint."""
    titles = ("position [rad]", "velocity [rad/s]", "acceleration [rad/s²]")
    with picture(file) as pyplot:
        figure = pyplot.figure(figsize=(6.4, 5.2), dpi=125, layout="constrained")
        panels = figure.subplots(3, 1, sharex=True)
        for row, axes in enumerate(panels):
            for name, record in reversed(records.items()):
                values = record["reference"][:, row, 0]
                axes.plot(np.arange(len(values)) / RATE, values, lw=1.2, label=name)
            axes.set_title(f"desired {titles[row]}")
            finish(axes)
        panels[-1].set_xlabel("time [s]")
        figure.suptitle(title)
        figure.legend(handles=panels[0].get_lines(), loc="outside lower center", ncols=2)


def main() -> int:
    """Run all; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--robot", default="panda", metavar="NAME|PATH")
    parser.add_argument("--stop-time", type=float, default=0.25, help="of this controller [s]")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="one of each scenario")
    options, console = parser.parse_args(), Console(width=100)
    proposal = replace(propose(robot_file(options.robot)), start=load(options.robot).start)
    for name, (chunks, rest) in scenarios(proposal.start).items():
        ours = Ours(proposal, options.stop_time)
        records = {"this controller": run(chunks, rest, ours, proposal)}
        if "FEATHERSTONE_JTC" in os.environ:
            peer = JointTrajectoryController(proposal.model.joint_names, proposal.start, RATE)
            records["joint_trajectory_controller"] = run(chunks, rest, peer, proposal)
        columns = [figures(record, chunks) for record in records.values()]
        table = Table(name, *records, "ratio")
        for measure in columns[0]:
            values = [float(column[measure]) for column in columns]
            ratio = "" if len(values) == 1 else f"{values[0] / values[1]:.2f}"
            table.add_row(measure, *(f"{value:.4g}" for value in values), ratio)
        console.print(table)
        if options.pictures:
            options.pictures.mkdir(parents=True, exist_ok=True)
            file = options.pictures / f"{name.replace(', ', '_').replace(' ', '_')}.png"
            draw(records, f"{proposal.model.joint_names[0]}: {name}", file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
