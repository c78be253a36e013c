"""`make chaos`: seeded faults between and in controller and twin, and whether the arm stayed safe.

    python test/chaos/replica.py [--episodes 100000] [--seed 0] [--robot panda] [--workers 2]
        [--hand admittance] [--press] [--arms 2]

Controller and twin are those of the nodes, in simulated time. What is left out is what ROS and the
operating system do: messages are numbers instead of bytes (one that a node would refuse to read is
lost here), and nothing is late unless a fault makes it so.

With --press the hand is led along a plane, on which it presses by force control, and the force's
sensor has faults of its own. With --arms 2 one twin and one joint_states have two arms, each with
its controller: both get the same spoiled states; where a controller is stopped or killed, it is the
first one's. Each arm is judged alone.
"""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))

import numpy as np
import report
from arm import COMMAND_TIMEOUT, GIVE_UP_AFTER, RATE, RECOVERY, Arm, arm
from arm_pair import ARMS, PLACES, joined
from cdr_messages import float64_multi_array, wrench_stamped
from checks import CALM, Figures, Record, Traffic, coasted, judge_episode, recovery, tracked
from corruption import TOO_MUCH, Corruption, State, shifted
from episodes import (
    COMMAND_DAMAGE,
    COMMANDS,
    KINDS,
    KINDS_IN_CONTACT,
    STATE_DAMAGE,
    STATES,
    WRENCH,
    WRENCH_DAMAGE,
    Episode,
    Fault,
    draw,
)
from faulty_link import FaultyLink

from featherstone_ros import Dynamics, Model
from featherstone_ros._twin import INPUTS
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import Point, TrajectoryError
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.robots import robot_names
from featherstone_ros.simulation.simulator_settings import SimulatorSettings
from featherstone_ros.simulation.twin import Twin, nanoseconds

TICK = 0.001  # [s]
STATE_EVERY, LOOK_EVERY, DESIRED_EVERY = 5, 10, 4  # ticks, ticks, states
QUEUE = 4  # messages that wait for a stopped node
BEFORE = 0.3  # [s] in which the controller takes the arm over
BEGIN = 1000.0  # [s] steady time and stamps at the beginning
SENSOR_DELAY = 0.01  # [s] of the wrench in mode admittance
SECOND = 1 << 40  # more than any seed: the second arm's episode is drawn from another one
FORCE = 2.0 * TOO_MUCH  # [N] on a plane
PLANE = 1e4  # [N/m]
GAP = 0.01  # [m] at most between hand and plane at the beginning
PRESSING = 1.0  # [s] until the hand is led along the plane
WRENCH_EVERY = 100  # ticks between two messages that ask for the force
READY = 0.05  # [s] that a killed node takes to be back


@dataclass
class Side:
    """One of the arms: its joints of the twin, what it is to do, its controller and its traffic.

    Attributes:
        arms: It alone with its controller's parameters, by mode.
        joints: Which of the twin's.
    """

    arms: dict[Mode, ControlledArm]
    joints: slice

    @property
    def model(self) -> Model:
        """Of it alone."""
        return self.arms[Mode.FEEDFORWARD].model

    @cached_property
    def tip(self) -> str:
        """Its hand's link."""
        return self.arms[Mode.FEEDFORWARD].tip

    def begin(self, episode: Episode, random: np.random.Generator, corruption: Corruption) -> None:
        """Begin an episode."""
        self.episode, self.record = episode, Record()
        self.links = {
            COMMANDS: FaultyLink(random, corruption.command, shifted, COMMAND_DAMAGE),
            WRENCH: FaultyLink(random, corruption.wrench, shifted, WRENCH_DAMAGE),
        }
        self.states, self.wrenches, self.commands = (deque(maxlen=QUEUE) for _ in range(3))
        self.process, self.is_still = 0, False
        self.wrench, self.plane = np.zeros(6), -np.inf
        self.dynamics = Dynamics(self.model)

    def touch(self, q: Floats) -> bool:
        """Find the wrench of the plane on the hand; tell whether it has changed."""
        before, pose = self.wrench, self.dynamics.link_pose(q[self.joints], self.tip)
        force = PLANE * max(self.plane - pose[2, 3], 0.0)
        self.wrench = np.concatenate([force * pose[2, :3], np.zeros(3)])
        return bool((self.wrench != before).any())


class Replica:
    """A twin of one arm or two, a controller for each, and all traffic between them."""

    def __init__(
        self,
        the_arm: Arm,
        hand: Mode = Mode.CARTESIAN_IMPEDANCE,
        press: bool = False,
        arms: int = 1,
    ) -> None:
        """Read the nodes' parameters.

        Args:
            the_arm: It, or each of two.
            hand: Mode in which it is led by its hand.
            press: The hand presses on a plane.
            arms: How many.
        """
        self.arm, self._hand, self._press = the_arm, hand, press
        robot, model = the_arm.robot, the_arm.model

        led = robot.arm.with_parameters(
            tip=the_arm.tip,
            give_up_after=GIVE_UP_AFTER,
            contact_delay=SENSOR_DELAY,
            force_axes="z" if press else "",
        )
        controlled, self._model = [led], model
        if arms == 2:
            urdf = joined(robot.text, model.base_link, PLACES)
            controlled = [prefixed(led, urdf, arm) for arm in ARMS]
            every = [joint for arm in controlled for joint in arm.model.joint_names]
            self._model = Model.from_urdf(urdf, joints=every)
        self._sides = [
            Side(
                {mode: arm.with_parameters(mode=mode) for mode in (Mode.FEEDFORWARD, hand)},
                slice(k * model.n, (k + 1) * model.n),
            )
            for k, arm in enumerate(controlled)
        ]
        twin, drives = robot.parameters["digital_twin"], robot.drives
        self._twin_settings = SimulatorSettings(
            rate=RATE,
            drives=Drives(
                *(np.tile(x, arms) for x in (drives.armature, drives.viscous, drives.coulomb))
            ),
            stop_stiffness=float(twin["stops.stiffness"]),
            stop_damping=float(twin["stops.damping"]),
            command_timeout=COMMAND_TIMEOUT,
            wrench_timeout=0.0,
        )

    def draw(self, seed: int, by_hand: bool | None = None) -> list[Episode]:
        """Return what each arm does in the episode of a seed; the fault is the same."""
        kinds = KINDS_IN_CONTACT if self._press else KINDS
        by_hand = by_hand or self._press or None
        about = self.arm.model, self.arm.home
        first = draw(seed, *about, by_hand, kinds)
        second = draw(seed + SECOND, *about, first.by_hand)
        second = replace(second, seed=seed, fault=first.fault, onset=first.onset)
        return [first, second][: len(self._sides)]

    def judge(self, seed: int, by_hand: bool | None = None) -> report.Outcome:
        """Run the episode of a seed and judge what each arm has done."""
        episodes = self.draw(seed, by_hand)

        def again(k: int, fault: Fault) -> Traffic:
            return self.run([replace(episode, fault=fault) for episode in episodes])[k]

        try:
            figures = worst_of(
                judge_episode(traffic, self.arm, episode, lambda calm, k=k: again(k, calm.fault))
                for k, (traffic, episode) in enumerate(
                    zip(self.run(episodes), episodes, strict=True)
                )
            )
        except (TrajectoryError, ValueError) as error:
            figures = Figures(recovery=np.inf, faults=[f"{type(error).__name__}: {error}"])
        return report.Outcome(episodes[0], figures)

    def run(self, episodes: list[Episode]) -> list[Traffic]:
        """Run an episode, of each arm; return their traffic."""
        first = episodes[0]
        random = np.random.default_rng(first.seed)
        corruption = Corruption(random)
        self._link = FaultyLink(random, corruption.state, shifted, STATE_DAMAGE)
        self._now, self._tick = BEGIN, 0
        self._states: list[State] = []
        self._twin_is_still = False
        self._mode = self._hand if first.by_hand else Mode.FEEDFORWARD
        for side, episode in zip(self._sides, episodes, strict=True):
            side.begin(episode, random, corruption)
            if self._press:
                height = side.dynamics.link_pose(episode.start, side.tip)[2, 3]
                side.plane = height - random.uniform(0.0, GAP)
            self._start_controller(side)
        self._start_twin(np.concatenate([episode.start for episode in episodes]))
        self._pass(BEFORE + (PRESSING if self._press else 0.0))
        for side in self._sides:
            self._lead(side)
        self._pass(first.onset)
        begin = len(self._states) - 1
        self._act(first)
        end = len(self._states) - 1
        self._pass(RECOVERY + 2.0 * CALM)
        self._pass(max(self._more(traffic) for traffic in self._traffic(begin, end)))
        return self._traffic(begin, end)

    def _lead(self, side: Side) -> None:
        episode = side.episode
        if episode.at_rest:
            return
        if episode.by_hand:
            pose = side.dynamics.link_pose(episode.target, side.tip)
            side.controller.set_target(self._now, pose)
            return
        points = [Point(episode.motion_time, episode.target, *np.zeros((2, side.model.n)))]
        side.controller.set_trajectory(self._now, side.model.joint_names, points)

    def _traffic(self, begin: int, end: int) -> list[Traffic]:
        """Return that of each arm; the fault lasted from one state to another."""
        return [side.record.traffic(begin, end) for side in self._sides]

    def _more(self, traffic: Traffic) -> float:
        """Return for how long an arm that has not recovered yet is watched in addition [s]."""
        led = self.arm.led(self._sides[0].episode.by_hand)
        more = led.recovery - RECOVERY + coasted(traffic, led)
        late = recovery(traffic, tracked(traffic, led), led.period) > RECOVERY
        return max(more, 0.0) if late else 0.0

    def _act(self, episode: Episode) -> None:
        """Let the fault happen, from beginning to end."""
        fault, side = episode.fault, self._sides[0]
        links = [side.links[name] for name in fault.links if name != STATES for side in self._sides]
        links += [self._link] * (STATES in fault.links)
        for link in links:
            link.begin(fault, self._now + fault.duration)
        verb, _, rest = fault.kind.partition(" ")
        of_controller = rest.startswith("controller")
        if verb in ("kill", "stop"):
            side.is_still, self._twin_is_still = of_controller, not of_controller
        self._pass(fault.duration)
        side.is_still = self._twin_is_still = False
        if verb == "kill":
            if of_controller:
                side.states.clear()
                side.wrenches.clear()
                self._start_controller(side)
            else:
                for each in self._sides:
                    each.commands.clear()
                self._start_twin(self._states[-1].q)
            self._pass(fault.duration if fault.links else READY)
        for link in links:
            link.end()

    def _start_twin(self, q: Floats) -> None:
        settings = replace(self._twin_settings, initial_positions=q)
        own = [side.model.joint_names for side in self._sides]
        self._twin = Twin(self._model, settings, own_commands=own)

    def _start_controller(self, side: Side) -> None:
        side.controller = side.arms[self._mode].controller()
        side.controller.activate(self._now)
        side.process += 1

    def _pass(self, duration: float) -> None:
        """Let time pass."""
        end = self._tick + round(duration / TICK)
        while self._tick < end:
            self._tick = min(self._next_tick(), end)
            self._now = BEGIN + self._tick * TICK
            if self._tick % STATE_EVERY == 0 and not self._twin_is_still:
                self._advance()
            states = [each for each in self._link.pop(self._now) if each.payload is not None]
            for side in self._sides:
                side.states.extend(states)
                side.wrenches.extend(side.links[WRENCH].pop(self._now))
                if not side.is_still:
                    self._go_on(side)
                commands = side.links[COMMANDS].pop(self._now)
                side.commands.extend(each for each in commands if each.payload is not None)
                if not self._twin_is_still:
                    self._obey(side)

    def _next_tick(self) -> int:
        """Return the next tick at which something may happen."""
        sides = self._sides
        if any(side.states or side.wrenches or side.commands for side in sides):
            return self._tick + 1
        links = [self._link, *(link for side in sides for link in side.links.values())]
        due = min(link.next_due for link in links)
        tick = (self._tick // STATE_EVERY + 1) * STATE_EVERY
        while tick > self._tick + 1 and BEGIN + (tick - 1) * TICK >= due:
            tick -= 1
        return tick

    def _advance(self) -> None:
        twin, number = self._twin, len(self._states)
        if self._press:
            for _ in range(STATE_EVERY):
                self._touch()
                twin.advance(self._now, 1)
        else:
            twin.advance(self._now)
        self._states.append(State(self._now, twin.position, twin.velocity, twin.effort, number))
        self._link.push(self._now, self._states[-1])
        for side in self._sides:
            own = tuple(values[side.joints] for values in self._states[-1][1:4])
            side.record.states.append(own)
            side.record.force.append(float(np.linalg.norm(side.wrench)))
            if self._press or self._mode is Mode.ADMITTANCE:
                side.links[WRENCH].push(self._now, side.wrench)

    def _touch(self) -> None:
        for side in self._sides:
            if side.touch(self._twin.q):
                message = wrench_stamped(side.tip, side.wrench)
                self._twin.message(INPUTS["external_wrench"], message, nanoseconds(self._now))

    def _go_on(self, side: Side) -> None:
        """Let a controller take what waits for it."""
        if self._press and self._tick % WRENCH_EVERY == 0:
            with suppress(TrajectoryError):  # after a fault, or before the first state
                side.controller.set_target(self._now, wrench=[0, 0, -FORCE, 0, 0, 0])
        for delivery in taken(side.wrenches):
            with suppress(ValueError):
                side.controller.take_wrench(self._now, delivery.payload, side.tip)
        for delivery in taken(side.states):
            side.record.spoiled += delivery.spoiled
            self._answer(side, delivery.payload)
        if self._tick % LOOK_EVERY == 0:
            self._send(side, side.controller.update(self._now))

    def _answer(self, side: Side, state: State) -> None:
        own = (values[side.joints] for values in state[1:4])
        command = side.controller.accept_state(self._now, *own, state.stamp)
        self._send(side, command)
        if command is not None and state.number % DESIRED_EVERY == 0:
            desired = side.controller.desired()
            if desired is not None:
                side.record.desired.append((np.array(desired.position), state.number))

    def _send(self, side: Side, command: Floats | None) -> None:
        if command is None:
            return
        record, sent = side.record, np.array(command)
        record.commands.append((sent, self._now, len(self._states) - 1, side.process))
        side.links[COMMANDS].push(self._now, sent)

    def _obey(self, side: Side) -> None:
        """Let the twin take what waits for it."""
        topic = len(INPUTS) + self._sides.index(side)
        for delivery in taken(side.commands):
            side.record.spoiled += delivery.spoiled
            message = multi_array_head(len(delivery.payload)) + delivery.payload.tobytes()
            refusals = self._twin.message(topic, message, nanoseconds(self._now))[1]
            if not refusals and not delivery.spoiled:
                side.record.given.append(len(self._states) - 1)


def prefixed(arm: ControlledArm, urdf: str, prefix: str) -> ControlledArm:
    """Return one of the arms of a URDF in which the names of its parts have a prefix."""
    joints = arm.model.joint_names

    def renamed(name: str) -> str:
        return ".".join(f"{prefix}_{it}" if it in joints else it for it in name.split("."))

    values = {renamed(name): value for name, value in arm.values.items()}
    model = Model.from_urdf(urdf, joints=[renamed(joint) for joint in joints])
    return ControlledArm.of(model, values | {"tip": f"{prefix}_{arm.tip}"})


@cache
def multi_array_head(count: int) -> bytes:
    """Return what a Float64MultiArray of so many numbers begins with: all but these."""
    return bytes(float64_multi_array(np.zeros(count)))[: -8 * count]


def taken(waiting: deque[Any]) -> list[Any]:
    """Return what waits, which then does so no more."""
    waits = list(waiting)
    waiting.clear()
    return waits


def worst_of(figures: Iterable[Figures]) -> Figures:
    """Return the worst of the figures of some arms, and all that is wrong."""
    one, *others = figures
    for other in others:
        worst = {name: max(getattr(one, name), getattr(other, name)) for name in report.COLUMNS}
        one = Figures(**worst, faults=one.faults + other.faults)
    return one


@cache
def replica_of(robot: str, *options: Any) -> Replica:
    """Return a robot's; options are those of ``Replica``."""
    return Replica(arm(robot), *options)


def outcome_of(options: tuple[Any, ...], seed: int) -> report.Outcome:
    """Run the episode of a seed and judge it; options are those of ``replica_of``."""
    return replica_of(*options).judge(seed)


def main() -> int:
    """Run the episodes; return 1 if one has failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first episode; default: 0")
    parser.add_argument("--robot", choices=robot_names(), default="panda")
    parser.add_argument("--workers", type=int, default=2)
    modes = [str(mode) for mode in Mode if mode.leads_end_effector]
    parser.add_argument("--hand", default=modes[0], choices=modes, help="mode when led by the hand")
    parser.add_argument("--press", action="store_true", help="the hand presses on a plane")
    parser.add_argument("--arms", type=int, default=1, choices=(1, 2))
    parser.add_argument("--output", type=Path, default=Path("chaos"))
    its = parser.parse_args()
    seeds = range(its.seed, its.seed + its.episodes)
    options = its.robot, Mode(its.hand), its.press, its.arms
    outcomes = report.run(partial(outcome_of, options), seeds, its.workers)
    return report.tell(outcomes, len(seeds), list(KINDS_IN_CONTACT), its.output / "episodes.csv")


if __name__ == "__main__":
    sys.exit(main())
