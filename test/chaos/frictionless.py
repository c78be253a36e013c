"""Arms without friction under the controller's defaults: no law, phase or way into it excites them.

    python test/chaos/frictionless.py [--robots iiwa ur10] [--seeds 3] [--workers 2]

Friction hides a law that is unstable in the sampled loop. Here there is none: neither in the arm
nor in the model. The controller has the node's defaults for the robot description, and commands
that act as late as ``gains.delay`` states, or sooner. An arm that is moved at half its speed limits
at most, or pushed so that it would move so fast by itself, never exceeds them by more than BEYOND.

What is still beyond, on all robots of example-robot-data and config/ with one seed:

- ``compliant_blind`` of Kinova, 2.5 to 4.8, of SO-100, 1.6, and of the finger finger_edu with one
  seed of two: the hand's last torque acts until silence is noticed.
- ``compliant_moving`` of TwoDofs and finger_edu with a delay of 5 ms, 1.4 and 1.5.
- ``blind_then_stop`` of the flying arm Hextilt (30 g, 0.3 N m), 1.5 to 2.3: it tips over faster
  than that. ``compliant`` and ``compliant_blind``, 1.2 to 1.9: a spring for larger arms pulls it,
  softened as it is.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import report

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))
from drive_settings import parameters_of
from example_robots import ROBOTS

from featherstone_ros import Dynamics, Model, Simulator
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.gains import Timing
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import Point
from featherstone_ros.errors import DivergenceError, FeatherstoneError
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.simulation.simulated_arm import SimulatedArm
from featherstone_ros.tools.proposal import propose

BEYOND = 1.2  # times the speed limits
SHARE = 0.4  # of the speed limits at which arms are moved and pushed
HELD = 0.8  # share of the effort limits that gravity may take at most of an arm that can be held
ANY_SPEED = 10.0  # [rad/s or m/s] where the URDF gives no limit,
PLACEHOLDER = 50.0  # or one that no arm's joint has: 1,000 or 10,000 for "not known"
PUSH = 0.2  # [s]
# [s] without states: time to notice and to brake. Longer, and what gravity tips over falls: without
# friction or states nothing holds it, whatever the law.
BLIND = 0.35
MIN_WAY = 1e-3  # [rad or m] of the range in which a target is looked for
TIPPING = 1.0  # of its time constants in which nothing holds the arm
STEP = 0.5e-3  # [s] of the simulation; delays are multiples of it
PERIOD = 0.002  # [s] between joint states
DELAYS = ((0.002, 0.0), (0.002, 0.001), (0.002, 0.002), (0.005, 0.003), (0.005, 0.005))
COASTING = (Phase.FLOATING, Phase.DAMPED, Phase.FAULT, Phase.SETTLING)
CONFIG = Path(__file__).resolve().parents[2] / "config"


@dataclass(frozen=True, eq=False)
class Arm:
    """A robot that can be held; arrays are (n,) in joint order."""

    name: str
    model: Model
    armature: Floats
    start: Floats
    tip: str
    speed: Floats


@lru_cache(maxsize=16)
def controlled(the_arm: Arm, delay: float, mode: Mode) -> ControlledArm:
    """Return the arm with the node's defaults for robot description and delay."""
    values = parameters_of(the_arm.model.joint_names, the_arm.armature)
    values |= {"gains.delay": delay, "tip": the_arm.tip, "mode": mode}
    return ControlledArm.of(the_arm.model, values)


@lru_cache(maxsize=4)
def arm(path: Path) -> Arm | str:
    """Return a robot, without the friction of its description, or why it cannot be held."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            proposal = propose(path, timing=Timing(0.002, max(stated for stated, _ in DELAYS)))
        except (FeatherstoneError, ValueError) as error:
            return str(error)
    model = proposal.model
    weight = np.abs(Dynamics(model).gravity(proposal.start)) / model.effort_limit
    if weight.max() > HELD:
        joint = int(np.argmax(weight))
        return f"joint {model.joint_names[joint]!r} bears {weight[joint]:.2g} of its effort limit"
    limit = model.velocity_limit
    speed = np.where((limit > 0.0) & (limit < PLACEHOLDER), limit, ANY_SPEED)
    limited = replace(model, velocity_limit=speed)
    return Arm(path.stem, limited, proposal.armature, proposal.start, proposal.tip, speed)


class Episode(ClosedLoop):
    """An arm without friction and its controller in simulated time."""

    plant: SimulatedArm

    def __init__(self, robot: Arm, stated: float, late: float, mode: Mode, seed: int) -> None:
        """Take the arm over at rest; its commands act ``late`` [s] after the state."""
        self.robot, self.model, self.stated = robot, robot.model, stated
        simulator = Simulator(self.model, STEP, damping=0, friction=0, armature=robot.armature)
        simulator.reset(robot.start)
        plant = SimulatedArm(simulator, self.model.effort_limit)
        super().__init__(controlled(robot, stated, mode), plant, late, PERIOD)
        self.random = np.random.default_rng(seed)
        self.dynamics = Dynamics(self.model)
        self.fastest = 0.0  # of the speed limits
        self.driven = robot.start, 0.0 * robot.start  # position and velocity when it last was
        self.transfers_until = 0.0  # from the last command of another mode
        self.run(0.3)

    def run(self, duration: float) -> None:
        """Let time pass, until the arm is far too fast or brakes hold it: commands have ended."""
        for _ in self.steps(duration):
            self._note_speed()
            if self.fastest > 100.0 or self.controller.phase in (Phase.INACTIVE, Phase.SILENT):
                return

    def _note_speed(self) -> None:
        """Note the speed, unless the arm coasts: it may pass all its energy to a light wrist."""
        q, qd = self.plant.q, self.plant.qd
        is_driven = self.controller.phase not in COASTING
        if (
            is_driven
            or self.now < self.transfers_until
            or np.any(self.plant.push)
            or (np.abs(self.dynamics.gravity(q)) > self.model.effort_limit).any()
        ):
            self.driven = q, qd
        if is_driven or self._energy(q, qd) > self._energy(*self.driven):
            self.fastest = max(self.fastest, float((np.abs(qd) / self.robot.speed).max()))

    def _energy(self, q: Floats, qd: Floats) -> float:
        return self.dynamics.energy(q, qd)[0] + 0.5 * self.robot.armature @ qd**2

    def move(self, share: float = 1.0) -> None:
        """Begin a motion of all joints and follow a share of it."""
        target, duration = self._target()
        point = Point(duration, tuple(target), *np.zeros((2, self.model.n)))
        self.controller.set_trajectory(self.now, self.model.joint_names, [point])
        self.run(share * duration)

    def _target(self) -> tuple[Floats, float]:
        model, start = self.model, self.robot.start
        lower = np.maximum(model.lower, start - 1.0)
        upper = np.minimum(model.upper, start + 1.0)
        while (upper - lower).max() > MIN_WAY:
            target = start + 0.8 * (self.random.uniform(lower, upper) - start)
            way = target - start
            duration = max(1.0, 1.875 * float((np.abs(way) / self.robot.speed).max()) / SHARE)
            s = np.linspace(0.0, 1.0, 50)[:, None]
            q = start + way * (10 * s**3 - 15 * s**4 + 6 * s**5)
            for _ in range(4):
                qd = way * (30 * s**2 - 60 * s**3 + 30 * s**4) / duration
                qdd = way * (60 * s - 180 * s**2 + 120 * s**3) / duration**2
                torque = np.abs(self.dynamics.rnea(q, qd, qdd) + self.robot.armature * qdd)
                if (torque <= HELD * model.effort_limit).all():
                    return target, duration
                duration *= 1.5
            lower, upper = start + 0.7 * (lower - start), start + 0.7 * (upper - start)
        raise ValueError(f"{self.robot.name}: no motion from its start is feasible")

    def push(self) -> None:
        """Push a joint for PUSH: as hard as moves no joint beyond its share of the speed limit."""
        joint = int(self.random.integers(self.model.n))
        inertia = self.dynamics.crba(self.plant.q) + np.diag(self.robot.armature)
        column = np.abs(np.linalg.inv(inertia)[:, joint]) / self.robot.speed
        effort = SHARE / (PUSH * column.max())
        push = np.zeros(self.model.n)
        push[joint] = self.random.choice([-1.0, 1.0]) * min(effort, self.model.effort_limit[joint])
        self.plant.push = push
        self.run(PUSH)
        self.plant.push = 0.0

    def change(self, mode: Mode) -> None:
        """Change the mode while everything goes on."""
        self.arm = controlled(self.robot, self.stated, mode)
        self.transfers_until = self.now + self.arm.settings.blend_time
        self.controller.configure(self.now, self.arm.settings)

    def comply(self, before: float, duration: float) -> None:
        """Lead the end effector for a duration [s], as far as some motion of the joints would."""
        self.change(Mode.CARTESIAN_IMPEDANCE)
        self.run(before)
        if self.controller.phase is not Phase.FAULT:  # the arm may have swung before
            target, _ = self._target()
            self.controller.set_target(self.now, self.dynamics.link_pose(target, self.robot.tip))
        self.run(duration)

    def blind(self, duration: float, halfway: Callable[[float], object] | None = None) -> None:
        """Keep joint states from the controller: for less time where the arm tips over faster.

        Args:
            duration: [s].
            halfway: What is done in the middle, at a given time.
        """
        rest = np.zeros(self.model.n)
        stiffness, _, inertia = self.dynamics.rnea_derivatives(self.plant.q, rest, rest)
        inertia = inertia + np.diag(self.robot.armature)
        tipping = -np.linalg.eigvals(np.linalg.solve(inertia, stiffness)).real.min()
        duration = min(duration, TIPPING / np.sqrt(max(tipping, 1.0)))
        sees, self.plant.measure = self.plant.measure, lambda state: None
        self.run(0.5 * duration)
        if halfway:
            halfway(self.now)
        self.run(0.5 * duration)
        self.plant.measure = sees


# Ways into the phases. Each gets an episode in which the arm stands.


def rest(duration: float) -> Callable[[Episode], None]:
    return lambda e: e.run(duration)


def mode(name: str) -> Callable[[Episode], None]:
    return lambda e: e.change(Mode(name))


def part(e: Episode) -> None:
    """Follow a part of a motion."""
    e.move(e.random.uniform(0.2, 0.8))


def stop(e: Episode) -> None:
    e.controller.deactivate(e.now)
    e.run(2.0)


def fall_back(e: Episode) -> None:
    for _ in range(100):
        e.controller.fall_back(e.now)
        e.run(0.01)


def blind(e: Episode) -> None:
    e.blind(e.random.uniform(0.05, BLIND))


push = Episode.push
FLOAT = (mode("gravity_compensation"), rest(0.3), push)
WAYS: dict[str, tuple[Callable[[Episode], object], ...]] = {
    "stop_standing": (stop,),
    "stop_moving": (part, stop),
    "hold_moving": (part, lambda e: e.controller.hold(e.now), rest(1.0)),
    "arrive": (lambda e: e.move(1.0), rest(1.0)),
    "fall_back_moving": (part, fall_back, rest(1.0)),
    "blind_moving": (part, blind, rest(1.0)),
    "blind_then_stop": (part, lambda e: e.blind(BLIND, e.controller.deactivate), rest(1.5)),
    "push_holding": (push, rest(1.0)),
    "push_moving": (lambda e: e.move(0.3), push, rest(1.0)),
    "push_stopping": (
        *(lambda e: e.move(0.3), lambda e: e.controller.deactivate(e.now), rest(0.1)),
        *(push, rest(1.0)),
    ),
    "push_floating": (*FLOAT, rest(2.0)),
    "push_floating_stop": (*FLOAT, stop),
    "push_floating_hold": (*FLOAT, mode("feedforward"), rest(1.0)),
    "float_moving": (part, mode("gravity_compensation"), rest(2.0)),
    # Pushes that are off the path again and again lead to the phase ``fault``.
    "push_fault": (lambda e: e.configure(path_tolerance=1e-3), *[push] * 5, rest(1.0)),
    "compute_torque_moving": (part, mode("computed_torque"), rest(0.5), push, stop),
    # The end effector is led, pushed, and stopped.
    "compliant": (lambda e: e.comply(0.3, 1.0), push, rest(1.0), stop),
    # A motion of the joints, then the end effector's spring, then gravity compensation.
    "compliant_moving": (
        part,
        lambda e: e.comply(1.0, 0.5),
        mode("gravity_compensation"),
        rest(1.0),
    ),
    "compliant_blind": (lambda e: e.comply(0.3, 0.7), blind, rest(1.0)),
}

COMPLIANT = [way for way in WAYS if way.startswith("compliant")]  # with an end effector only


class Outcome(NamedTuple):
    """What became of an episode: ``fastest`` is the largest speed over its limit."""

    robot: str
    way: str
    stated: float
    late: float
    seed: int
    fastest: float
    trouble: str

    @property
    def is_bad(self) -> bool:
        """Whether the arm was too fast, or the episode did not run."""
        return bool(self.trouble) or not self.fastest <= BEYOND


def outcome(path: Path, way: str, stated: float, late: float, seed: int) -> Outcome | None:
    """Run one episode; None where the robot cannot be held or has no end effector."""
    the_arm = arm(path)
    if isinstance(the_arm, str) or (way in COMPLIANT and not the_arm.tip):
        return None
    fastest, trouble = 0.0, ""
    try:
        episode = Episode(the_arm, stated, late, Mode.FEEDFORWARD, seed)
        for act in WAYS[way]:
            act(episode)
        fastest = episode.fastest
    except DivergenceError:
        fastest = np.inf
    except (ValueError, RuntimeError) as error:
        trouble = f"{type(error).__name__}: {error}"
    return Outcome(the_arm.name, way, stated, late, seed, fastest, trouble)


def outcomes_of(path: Path, seeds: Iterable[int], delays=DELAYS) -> list[Outcome]:
    """Run all ways with all delays on one robot."""
    runs = (
        outcome(path, way, stated, late, seed)
        for stated, late in delays
        for way in WAYS
        for seed in seeds
    )
    return [one for one in runs if one is not None]


def paths(names: list[str]) -> list[Path]:
    """Return URDF files: those named (a file, or part of a name), or all that are known here."""
    known = [*ROBOTS, *sorted(CONFIG.glob("*.urdf"))]
    files = [Path(name) for name in names if Path(name).is_file()]
    return files + [p for p in known if any(n in str(p) for n in names) or not names]


def main() -> int:
    """Run the episodes; return 1 if an arm was too fast."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--robots", nargs="*", default=[], help="files, or parts of their names")
    parser.add_argument("--seeds", type=int, default=1, help="episodes of each sort; default: 1")
    parser.add_argument("--workers", type=int, default=2)
    its = parser.parse_args()
    robots, bad, count, idle = paths(its.robots), 0, 0, []
    jobs = partial(outcomes_of, seeds=range(its.seeds))
    for path, outcomes in zip(robots, report.run(jobs, robots, its.workers), strict=True):
        count += len(outcomes)
        idle += [path.stem] * (not outcomes)
        for one in filter(lambda o: o.is_bad, outcomes):
            bad += 1
            late = f"{1e3 * one.late:g} of {1e3 * one.stated:g} ms, seed {one.seed}"
            print(one.robot, one.way, f"{late}: {one.fastest:.3g} times the limit {one.trouble}")
    print(f"{count} episodes, {len(robots) - len(idle)} robots, {bad} beyond {BEYOND}")
    print(f"not held: {', '.join(idle) or 'none'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
