"""Compare ``retime`` with MoveIt's algorithm and with slowing down, on random paths of four arms.

    python -m benchmarks.retiming --paths 50 --json retiming.json --plot retiming.png

Every arm follows paths of straight lines through random postures that it can hold, without payload
and with 3 kg, and has the same limits in all methods: velocity and effort of its URDF, acceleration
of ``ACCELERATION`` velocity limits per second; friction and armature as the controller has them.

- slow-down: a spline through the postures, slowed down by one factor until it fits (preflight's)
- TOTG: MoveIt's time-optimal trajectory generation, within velocity and acceleration
- TOTG, torque: the same with its correction by torque
- TOTG, slowed: TOTG slowed down by one factor until its torque fits, too
- retime: ours
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import featherstone_ros as fr
from benchmarks import totg
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.feasibility.demand import Demand
from featherstone_ros.control.feasibility.excesses import SUDDEN, slow_down
from featherstone_ros.control.feasibility.feasibility import check
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.settings import ControllerSettings, Interpolation
from featherstone_ros.control.torque_governor import default_torque_rate
from featherstone_ros.control.trajectory import Point, Trajectory
from featherstone_ros.model.friction import presliding
from featherstone_ros.tools.proposal import tool_link
from featherstone_ros.tools.style import BLUE, GREY, INK, RED, YELLOW, picture, short_names

ARMS = ("panda", "ur5e", "ur10_robot", "xarm7")
PAYLOADS = (0.0, 3.0)  # [kg]
ACCELERATION = 6.0  # velocity limits per second; those of a Panda are 3.4 to 7.7
POSTURES = 5
BLEND = 0.05  # [rad]
STEP = 1e-3  # [s]
STANDING = 0.85  # share of the effort limits that postures may take, and the lines between them
METHODS = ("slow-down", "TOTG", "TOTG, torque", "TOTG, slowed", "retime")
COLOURS = dict(zip(METHODS, (GREY, RED, YELLOW, INK, BLUE), strict=True))


@dataclass(frozen=True, eq=False)
class Bench:
    """An arm with a payload and its limits."""

    name: str
    mass: float
    arm: ControlledArm
    limits: JointSpace
    dynamics: fr.Dynamics

    def torque(self, time: Floats, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        """Return the torque along a motion (M, n)."""
        return self.demand(time, q, qd, qdd).torque

    def demand(self, time: Floats, q: Floats, qd: Floats, qdd: Floats) -> Demand:
        """Return what a sampled motion asks, by the same law as preflight."""
        drives, gravity = self.arm.drives, self.dynamics.gravity(q)
        rigid = self.dynamics.rnea(q, qd, qdd) - gravity
        sliding = presliding(q, drives.presliding_displacement, 0.0, time)
        dry = drives.coulomb * sliding
        return Demand(
            time, q, qd, qdd, gravity + dry, drives.viscous * qd, rigid + drives.rotor_torque(qdd)
        )

    def ratios(self, asked: Demand) -> dict[str, float]:
        """Return the duration, and the largest share of each limit."""
        limits = self.limits
        torque = self.dynamics.rnea(asked.position, asked.velocity, asked.acceleration)
        torque += asked.viscous + self.arm.drives.rotor_torque(asked.acceleration)
        earlier = asked.time - SUDDEN
        before = np.transpose([np.interp(earlier, asked.time, column) for column in torque.T])
        change = (torque - before) / SUDDEN / default_torque_rate(limits.effort)
        return {
            "duration": float(asked.time[-1] - asked.time[0]),
            "velocity": float((np.abs(asked.velocity) / limits.velocity).max()),
            "acceleration": float((np.abs(asked.acceleration) / limits.acceleration).max()),
            "torque": float((np.abs(asked.torque) / limits.effort).max()),
            "torque rate": float(np.abs(change).max()),
        }


def load(name: str, mass: float) -> Bench:
    """Return an arm that carries a mass."""
    robot = name
    if name not in ("panda", "ur5e"):
        from importlib import metadata

        files = metadata.files("example-robot-data") or []
        robot = str(next(f.locate() for f in files if f.name == f"{name}.urdf"))
    arm = ControlledArm.from_robot(robot)
    joints = [joint for joint in arm.model.joint_names if "finger" not in joint]
    arm = ControlledArm.from_robot(robot, joints)
    load = {"payload.link": tool_link(arm.model), "payload.com": [0.0, 0.0, 0.05]}
    arm = arm.with_parameters({**load, "payload.mass": mass})
    most = ACCELERATION * arm.limits.velocity
    limits = replace(arm.limits, acceleration=most, deceleration=most)
    return Bench(name, mass, arm, limits, fr.Dynamics(arm.model))


def random_paths(heavy: Bench, count: int) -> Iterator[Floats]:
    """Yield postures (K, n) that the arm can hold with its payload, and the lines between."""
    model, limits = heavy.arm.model, heavy.limits
    rng = np.random.default_rng(0)
    lower, upper = np.maximum(model.lower, -np.pi), np.minimum(model.upper, np.pi)
    middle, half = (lower + upper) / 2.0, 0.35 * (upper - lower)
    share = np.linspace(0.0, 1.0, 20)[:, None]
    while count:
        path = [middle + half * rng.uniform(-1.0, 1.0, model.n)]
        while len(path) < POSTURES:
            tried = middle + half * rng.uniform(-1.0, 1.0, model.n)
            way = path[-1] + share * (tried - path[-1])
            if (np.abs(heavy.dynamics.gravity(way)) < STANDING * limits.effort).all():
                path.append(tried)
            elif rng.random() < 0.05:
                break
        if len(path) == POSTURES:
            count -= 1
            yield np.array(path)


def compare(bench: Bench, path: Floats) -> dict[str, tuple[Demand, float]]:
    """Return what each method's motion asks, and how long it took to compute [s]."""
    arm, limits = bench.arm, bench.limits
    found: dict[str, tuple[Demand, float]] = {}
    begun = time.perf_counter()
    spline = _spline(bench, path)
    found["slow-down"] = spline, time.perf_counter() - begun
    begun = time.perf_counter()
    circles = totg.circular_path(path, BLEND)
    x = totg.squared_speeds(circles[0], *circles[2:], limits.velocity, limits.acceleration)
    plain = bench.demand(*totg.motion(*circles, x, STEP))
    found["TOTG"] = plain, time.perf_counter() - begun
    begun = time.perf_counter()
    motion = totg.corrected(
        circles, limits.velocity, limits.acceleration, limits.effort, bench.torque, STEP
    )
    found["TOTG, torque"] = bench.demand(*motion), time.perf_counter() - begun
    found["TOTG, slowed"] = plain.slowed(slow_down(plain, limits)), found["TOTG"][1]
    begun = time.perf_counter()
    timed = fr.control.retime(arm.model, path, drives=arm.drives, limits=limits, blend=BLEND)
    found["retime"] = timed.verdict.demand, time.perf_counter() - begun
    return found


def _spline(bench: Bench, path: Floats) -> Demand:
    """Return the spline through postures, slowed down until it fits."""
    arm, limits = bench.arm, bench.limits
    took = (np.abs(np.diff(path, axis=0)) / limits.velocity).max(axis=1)
    times = np.append(0.0, np.cumsum(took))
    points = [Point(t, q) for t, q in zip(times.tolist(), path, strict=True)]
    unlimited = np.full(len(limits.names), np.inf)
    free = replace(limits, lower=-unlimited, upper=unlimited, effort=unlimited)
    trajectory = Trajectory(limits.names, points, free, interpolation=Interpolation.SPLINE)
    motion = trajectory.motion(0.0, trajectory.state(0), ControllerSettings.stop_time)
    verdict = check(
        bench.dynamics, arm.drives, free, motion, 0.0, motion.end, np.zeros(len(limits.names))
    )
    return verdict.demand.slowed(slow_down(verdict.demand, limits))


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, default=50)
    parser.add_argument("--arms", nargs="+", default=ARMS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    rows = []
    for name in args.arms:
        benches = [load(name, mass) for mass in PAYLOADS]
        for number, path in enumerate(random_paths(benches[-1], args.paths)):
            for bench in benches:
                try:
                    results = compare(bench, path)
                except fr.FeatherstoneError as error:
                    print(f"{name}, {bench.mass:g} kg, path {number}: {error}")
                    raise
                for method, (asked, took) in results.items():
                    figures = bench.ratios(asked)
                    rows.append(dict(arm=name, mass=bench.mass, path=number, method=method,
                                     computed=took, **figures))  # fmt: skip
                if args.plot and number == 0 and name == args.arms[0] and bench.mass:
                    draw(bench, results, args.plot)
            if args.json:
                args.json.write_text(json.dumps(rows))
        print_table([row for row in rows if row["arm"] == name], name)
    print_table(rows, "all")


def print_table(rows: list[dict[str, Any]], title: str) -> None:
    """Print medians and worst ratios of each method."""
    for mass in PAYLOADS:
        base = _column(rows, mass, "slow-down", "duration")
        print(f"{title}, {mass:g} kg, {len(base)} paths")
        for method in METHODS:
            duration = _column(rows, mass, method, "duration")
            worst = {
                q: _column(rows, mass, method, q).max()
                for q in ("velocity", "acceleration", "torque", "torque rate")
            }
            over = (_column(rows, mass, method, "torque") > 1.01).mean()
            print(
                f"  {method:13} median {np.median(duration):6.3f} s, "
                f"{np.median(duration / base):5.3f} of slow-down; worst "
                + " ".join(f"{q} {share:6.3f}" for q, share in worst.items())
                + f"; torque beyond 1 % in {over:4.0%}; computed in "
                f"{np.median(_column(rows, mass, method, 'computed')):.2f} s"
            )


def _column(rows: list[dict[str, Any]], mass: float, method: str, quantity: str) -> Floats:
    taken = [r[quantity] for r in rows if r["mass"] == mass and r["method"] == method]
    return np.array(taken)


def draw(bench: Bench, results: dict[str, tuple[Demand, float]], path: Path) -> None:
    """Draw the torque of every joint of three methods over time."""
    limits = bench.limits
    shown = ("slow-down", "TOTG, torque", "retime")
    with picture(path) as pyplot:
        figure, grid = pyplot.subplots(
            len(shown), 1, sharex=True, sharey=True, figsize=(8.5, 6.0), dpi=130
        )
        for axes, method in zip(grid, shown, strict=True):
            asked = results[method][0]
            share = 100.0 * asked.torque / limits.effort
            axes.axhspan(-100, 100, color="#d8dce1", alpha=0.45, lw=0)
            for j, name in enumerate(short_names(limits.names)):
                axes.plot(asked.time, share[:, j], lw=1.0, label=name)
            over = np.where(np.abs(share) > 101.0, share, np.nan)
            axes.plot(asked.time, over, color=RED, lw=2.4)
            axes.set_title(f"{method}: {asked.time[-1]:.2f} s", loc="left", fontsize=10)
            axes.set_ylabel("torque [% of limit]")
        grid[-1].set_xlabel("time [s]")
        grid[0].legend(ncols=len(limits.names), fontsize=7, frameon=False, loc="lower right",
                       bbox_to_anchor=(1.0, 1.0))  # fmt: skip
        figure.tight_layout()


if __name__ == "__main__":
    main()
