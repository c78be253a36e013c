"""`make chaos` without ROS: the same episodes on the same logic, in simulated time.

    python test/chaos/replica.py [--episodes 100000] [--seed 0] [--robot panda] [--workers 2]
        [--hand admittance]

Controller and twin are those of the nodes, and between them the same faulty links. What is left out
is what ROS and the operating system do: messages are numbers instead of bytes (one that a node
would refuse to read is lost here), and nothing is late unless a fault makes it so.
"""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import report
from arm import COMMAND_TIMEOUT, GIVE_UP_AFTER, RATE, RECOVERY, Arm, arm
from checks import CALM, Figures, Traffic, coasted, judge_episode, recovery, tracked
from episodes import COMMAND_DAMAGE, COMMANDS, KINDS, STATE_DAMAGE, STATES, Episode, draw
from faulty_link import FaultyLink
from rich.console import Console
from rich.progress import track

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.admittance import virtual_settings
from featherstone_ros.control.cartesian_impedance import CartesianSettings, prepared
from featherstone_ros.control.controller import TorqueController
from featherstone_ros.control.damping import (
    choose_damping,
    choose_fault_damping,
    wanted_damping,
)
from featherstone_ros.control.gains import SampledLoop
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.settings import OF_END_EFFECTOR, Mode, Settings
from featherstone_ros.control.torque_governor import default_torque_rate
from featherstone_ros.control.trajectory import Point, TrajectoryError
from featherstone_ros.simulation.settings import TwinSettings
from featherstone_ros.simulation.twin import Twin

TICK = 0.001  # [s]
STATE_EVERY, LOOK_EVERY, DESIRED_EVERY = 5, 10, 4  # ticks, ticks, states
QUEUE = 4  # messages that wait for a stopped node
BEFORE = 0.3  # [s] in which the controller takes the arm over
BEGIN = 1000.0  # [s] steady time and stamps at the beginning
SENSOR_DELAY = 0.01  # [s] of the wrench in mode admittance
READY = 0.05  # [s] that a killed node takes to be back
STATE_FRAME, COMMAND_FRAME = 220, 32  # bytes of a message besides its numbers: names, lengths
UNREADABLE = ("wrong length", "joint missing", "joint twice", "empty", "noise", "truncated")


class State(NamedTuple):
    """A joint state."""

    stamp: float
    q: Floats
    qd: Floats
    effort: Floats
    number: int  # of the arm's states; not for the controller


class Corruption:
    """Corrupts states and commands at random; None is what no node can read."""

    def __init__(self, random: np.random.Generator) -> None:
        """Draw from ``random``."""
        self._random = random

    def state(self, state: State, damage: str) -> State | None:
        """Return a state with one sort of damage, see ``episodes.STATE_DAMAGE``."""
        if damage in UNREADABLE:
            return None
        random = self._random
        if damage == "stamp zero":
            return state._replace(stamp=0.0)
        if damage == "stamp backward":
            return state._replace(stamp=max(state.stamp - 10.0 ** random.uniform(-3.0, 3.0), 0.0))
        if damage == "bits flipped":
            flipped = self._flipped(np.concatenate(state[1:4]), STATE_FRAME)
            return (
                flipped
                if flipped is None
                else state._replace(
                    **dict(zip(("q", "qd", "effort"), np.split(flipped, 3), strict=True))
                )
            )
        spikes = {"position": (-2.0, 2.0), "velocity": (-1.0, 6.0), "effort": (2.5, 6.0)}
        what, _, spike = damage.partition(" ")
        if not spike:
            what = str(random.choice(["position", "velocity"]))
        field = {"position": "q", "velocity": "qd", "effort": "effort"}[what]
        values = getattr(state, field).copy()
        joint = random.integers(len(values))
        if spike:
            values[joint] += self._sign() * 10.0 ** random.uniform(*spikes[what])
        else:
            values[joint] = self._value(damage)
        return state._replace(**{field: values})

    def command(self, command: Floats, damage: str) -> Floats | None:
        """Return a command with one sort of damage, see ``episodes.COMMAND_DAMAGE``."""
        if damage in UNREADABLE:
            return None
        if damage == "bits flipped":
            return self._flipped(command, COMMAND_FRAME)
        spoiled = command.copy()
        spoiled[self._random.integers(len(command))] = self._value(damage)
        return spoiled

    def _flipped(self, values: Floats, frame: int) -> Floats | None:
        """Return numbers with bits flipped, None if one hit what else the message holds."""
        body = bytearray(values.tobytes())
        for place in self._random.integers(len(body) + frame, size=self._random.integers(1, 9)):
            if place >= len(body):
                return None
            body[place] ^= 1 << int(self._random.integers(8))
        return np.frombuffer(bytes(body)).copy()

    def _sign(self) -> float:
        return float(self._random.choice([-1.0, 1.0]))

    def _value(self, damage: str) -> float:
        huge = 10.0 ** self._random.choice([3.0, 30.0, 300.0])
        return self._sign() * {"nan": np.nan, "inf": np.inf, "huge": huge}[damage]


def shifted(state: State, offset: float) -> State:
    """Return a state with its stamp moved by ``offset`` [s]."""
    return state._replace(stamp=max(state.stamp + offset, 0.0))


class Replica:
    """A twin, a controller, and all traffic between them."""

    def __init__(self, the_arm: Arm, hand: Mode = Mode.CARTESIAN_IMPEDANCE) -> None:
        """Read the nodes' parameters."""
        self.arm, self._hand = the_arm, hand
        robot, model = the_arm.robot, the_arm.model

        def of(node: str, pattern: str) -> Floats:
            return robot.by_joint(node, pattern)

        given = robot.parameters["feedforward_controller"]
        armature = of("feedforward_controller", "armature.{}")
        loop = SampledLoop(model, armature)
        damping = choose_damping(loop, wanted_damping(model, loop), Settings.state_timeout).value
        self._settings = Settings(
            p=of("feedforward_controller", "gains.{}.p"),
            d=of("feedforward_controller", "gains.{}.d"),
            damping=damping,
            fault_damping=choose_fault_damping(model, loop, damping, Settings.velocity_cutoff),
            coulomb=of("feedforward_controller", "friction.{}.coulomb"),
            viscous=of("feedforward_controller", "friction.{}.viscous"),
            armature=armature,
            effort_limit=model.effort_limit,
            torque_rate=default_torque_rate(model.effort_limit),
            path_tolerance=float(given["path_tolerance"]),
            blind_stop=bool(given["blind_stop"]),
            give_up_after=GIVE_UP_AFTER,
            impedance=prepared(CartesianSettings(), model),
        )
        self._dynamics = Dynamics(model)
        twin = robot.parameters["digital_twin"]
        self._twin_settings = TwinSettings(
            rate=RATE,
            viscous=of("digital_twin", "friction.{}.viscous"),
            coulomb=of("digital_twin", "friction.{}.coulomb"),
            armature=of("digital_twin", "armature.{}"),
            stop_stiffness=float(twin["stops.stiffness"]),
            stop_damping=float(twin["stops.damping"]),
            command_timeout=COMMAND_TIMEOUT,
        )

    def run(self, episode: Episode) -> Traffic:
        """Run an episode; return its traffic."""
        random = np.random.default_rng(episode.seed)
        corruption = Corruption(random)
        self._links = {
            STATES: FaultyLink(random, corruption.state, shifted, STATE_DAMAGE),
            COMMANDS: FaultyLink(random, corruption.command, shifted, COMMAND_DAMAGE),
        }
        self._now, self._tick, self._process = BEGIN, 0, 0
        self._record = Record()
        self._waiting: dict[str, deque] = {name: deque(maxlen=QUEUE) for name in (STATES, COMMANDS)}
        self._still: set[str] = set()  # what has been stopped or killed
        self._mode = self._hand if episode.by_hand else Mode.FEEDFORWARD
        self._start_twin(episode.start)
        self._start_controller()
        self._pass(BEFORE)
        if episode.at_rest:
            pass
        elif episode.by_hand:
            pose = self._dynamics.link_pose(episode.target, self.arm.tip)
            self._controller.set_target(self._now, pose)
        else:
            self._controller.set_trajectory(
                self._now,
                self.arm.model.joint_names,
                [Point(episode.motion_time, episode.target, *np.zeros((2, self.arm.model.n)))],
            )
        self._pass(episode.onset)
        begin = len(self._record.states) - 1
        self._act(episode)
        end = len(self._record.states) - 1
        self._pass(RECOVERY + 2.0 * CALM)
        led, traffic = self.arm.led(episode.by_hand), self._record.traffic(begin, end)
        more = led.recovery - RECOVERY + coasted(traffic, led)
        if more > 0.0 and recovery(traffic, tracked(traffic, led), led.period) > RECOVERY:
            self._pass(more)
            traffic = self._record.traffic(begin, end)
        return traffic

    def _act(self, episode: Episode) -> None:
        """Let the fault happen, from beginning to end."""
        fault = episode.fault
        for link in fault.links:
            self._links[link].begin(fault, self._now + fault.duration)
        verb, _, rest = fault.kind.partition(" ")
        node = "controller" if rest.startswith("controller") else "twin"
        if verb in ("kill", "stop"):
            self._still.add(node)
        self._pass(fault.duration)
        self._still.clear()
        if verb == "kill":
            self._revive(node)
            self._pass(fault.duration if fault.links else READY)
        for link in fault.links:
            self._links[link].end()

    def _revive(self, node: str) -> None:
        """Start a node that has been killed, at the place where the old one left off."""
        for waiting in self._waiting.values():
            waiting.clear()
        if node == "twin":
            self._start_twin(self._record.states[-1].q)
        else:
            self._start_controller()

    def _start_twin(self, q: Floats) -> None:
        settings = replace(self._twin_settings, initial_positions=q)
        self._twin = Twin(self.arm.model, settings)

    def _start_controller(self) -> None:
        model = self.arm.model
        settings = self._settings
        if self._mode is Mode.ADMITTANCE:
            law = prepared(virtual_settings(CartesianSettings(), SENSOR_DELAY), model)
            settings = replace(settings, impedance=law)
        settings = replace(settings, mode=self._mode)
        self._controller = TorqueController(JointSpace.of(model), model, settings, tip=self.arm.tip)
        self._controller.activate(self._now)
        self._process += 1

    def _pass(self, duration: float) -> None:
        """Let time pass."""
        end = self._tick + round(duration / TICK)
        while self._tick < end:
            self._tick = min(self._next_tick(), end)
            self._now = BEGIN + self._tick * TICK
            if self._tick % STATE_EVERY == 0 and "twin" not in self._still:
                self._advance()
            self._deliver(STATES, "controller")
            if self._tick % LOOK_EVERY == 0 and "controller" not in self._still:
                self._send(self._controller.update(self._now))
            self._deliver(COMMANDS, "twin")

    def _next_tick(self) -> int:
        """Return the next tick at which something may happen."""
        if any(self._waiting.values()):
            return self._tick + 1
        due = min(link.next_due for link in self._links.values())
        tick = (self._tick // STATE_EVERY + 1) * STATE_EVERY
        while tick > self._tick + 1 and BEGIN + (tick - 1) * TICK >= due:
            tick -= 1
        return tick

    def _advance(self) -> None:
        twin, record = self._twin, self._record
        twin.advance(self._now)
        number = len(record.states)
        record.states.append(State(self._now, twin.position, twin.velocity, twin.effort, number))
        self._links[STATES].push(self._now, number, record.states[-1])

    def _deliver(self, link: str, node: str) -> None:
        """Hand over what is due, as soon as the node it is for can take it."""
        for delivery in self._links[link].pop(self._now):
            if delivery.payload is not None:
                self._waiting[link].append(delivery)
        if node in self._still:
            return
        waiting, self._waiting[link] = self._waiting[link], deque(maxlen=QUEUE)
        for delivery in waiting:
            self._record.spoiled += delivery.spoiled
            if link == STATES:
                self._answer(delivery.payload)
            else:
                self._obey(delivery.payload, delivery.spoiled)

    def _answer(self, state: State) -> None:
        if self._mode is Mode.ADMITTANCE:
            self._controller.take_wrench(self._now, np.zeros(6), self.arm.tip)
        command = self._controller.accept_state(
            self._now, state.q, state.qd, state.effort, state.stamp
        )
        self._send(command)
        if command is not None and state.number % DESIRED_EVERY == 0:
            desired = self._controller.desired()
            if desired is not None:
                self._record.desired.append((np.array(desired.position), state.number))

    def _send(self, command: Floats | None) -> None:
        if command is None:
            return
        record, sent = self._record, np.array(command)
        record.commands.append((sent, self._now, len(record.states) - 1, self._process))
        self._links[COMMANDS].push(self._now, len(record.commands), sent)

    def _obey(self, command: Floats, spoiled: bool) -> None:
        try:
            self._twin.command(command, self._now)
        except ValueError:
            return
        if not spoiled:
            self._record.given.append(len(self._record.states) - 1)


class Record:
    """The traffic seen, in order of arrival."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.states: list[State] = []
        self.commands: list[tuple[Floats, float, int, int]] = []
        self.given: list[int] = []
        self.desired: list[tuple[Floats, int]] = []
        self.spoiled = 0

    def traffic(self, begin: int, end: int) -> Traffic:
        """Return it as arrays; the fault lasted from one state to another."""
        command, time, index, process = zip(*self.commands, strict=True)
        position, answered = zip(*self.desired, strict=True)
        return Traffic(
            q=np.array([state.q for state in self.states]),
            qd=np.array([state.qd for state in self.states]),
            effort=np.array([state.effort for state in self.states]),
            command=np.array(command),
            command_time=np.array(time),
            command_index=np.array(index),
            command_process=np.array(process),
            given_index=np.array(self.given),
            desired=np.array(position),
            desired_index=np.array(answered),
            fault_begin=begin,
            fault_end=end,
            spoiled=self.spoiled,
        )


_replica: list[Replica] = []  # the worker's


def prepare(robot: str, hand: Mode = Mode.CARTESIAN_IMPEDANCE) -> None:
    """Make this worker's replica."""
    _replica[:] = [Replica(arm(robot), hand)]


def outcome_of(seed: int, by_hand: bool | None = None) -> report.Outcome:
    """Run the episode of a seed and judge it."""
    replica = _replica[0]
    episode = draw(seed, replica.arm.model, replica.arm.home, by_hand)
    try:
        traffic = replica.run(episode)
        figures = judge_episode(traffic, replica.arm, episode, replica.run)
    except (TrajectoryError, ValueError) as error:
        figures = Figures(recovery=np.inf, faults=[f"{type(error).__name__}: {error}"])
    return report.Outcome.of(episode, figures)


def run(
    robot: str, seeds: range, workers: int, hand: Mode = Mode.CARTESIAN_IMPEDANCE
) -> Iterator[report.Outcome]:
    """Run the episodes of these seeds; yield their outcomes in order."""
    with ProcessPoolExecutor(workers, get_context("spawn"), prepare, (robot, hand)) as pool:
        rest = iter(seeds)
        running = deque(pool.submit(outcome_of, seed) for seed in islice(rest, 50 * workers))
        while running:
            yield running.popleft().result()
            running.extend(pool.submit(outcome_of, seed) for seed in islice(rest, 1))


def main() -> int:
    """Run the episodes; return 1 if one has failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first episode; default: 0")
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--workers", type=int, default=2)
    modes = [str(mode) for mode in OF_END_EFFECTOR]
    parser.add_argument("--hand", default=modes[0], choices=modes, help="mode when led by the hand")
    parser.add_argument("--output", type=Path, default=Path("chaos"))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    console = Console(width=max(Console().width, 120))
    seeds = range(arguments.seed, arguments.seed + arguments.episodes)
    outcomes = []
    episodes = run(arguments.robot, seeds, arguments.workers, Mode(arguments.hand))
    for outcome in track(episodes, "Episodes", len(seeds), console=console, transient=True):
        outcomes.append(outcome)
        if outcome.figures.faults:
            what = "; ".join(outcome.figures.faults)
            console.print(f"seed {outcome.seed} ({outcome.fault}): {what}", markup=False)
    report.write_csv(outcomes, arguments.output / "replica.csv")
    console.print(report.table(sorted(outcomes, key=lambda o: o.seed % len(KINDS))))
    return 1 if any(outcome.figures.faults for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
