"""Controller and twin as processes, with this process between them, which may corrupt messages."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
from arm import COMMAND_TIMEOUT, GIVE_UP_AFTER, RATE, RECOVERY, Arm, arm
from checks import CALM, Figures, Record, Traffic, coasted, judge_episode, recovery, tracked
from episodes import COMMAND_DAMAGE, COMMANDS, STATE_DAMAGE, STATES, Episode, Fault, draw
from faulty_link import FaultyLink
from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile
from report import Outcome
from rosgraph_msgs.msg import Clock
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from support import RUNNING, NodeProcess, Ros, free_domain, set_priority
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from wire import NANOSECONDS, WireCorruption, ros_time, rows_of, shifted, stamp_of

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.settings import Mode

CONTROLLER, TWIN = "feedforward_controller", "digital_twin"
RELIABLE = QoSProfile(depth=1000)
STATES_PER_CLOCK = 4
BRAKED = COMMAND_TIMEOUT + 0.2  # [s] after the last command the brakes have stopped the arm
AT_PLACE = 1e-3  # [rad] of the desired position, before an episode begins
PROBE = 1e-6  # [N m] by which the first joint's command is changed to see it obeyed
AT_EASE = 0.02  # share of the effort limits, likewise
LOOK = 0.05  # [s] between two looks at how the nodes are scheduled
STARVED = 0.03  # [s] in such a time that a thread has waited: states_timeout would not be far
WAITS = 4  # parts of RECOVERY, at whose ends we look whether the arm has
PATIENCE = 20.0  # [s] for what must happen


class Bench:
    """A twin, a controller, and all traffic between them.

    Attributes:
        starved: The longest time that a thread of ours had to wait for a processor [s].
    """

    def __init__(self, arm: Arm, domain: int, folder: Path) -> None:
        """Start the nodes."""
        self.arm, self.ros = arm, Ros(domain, folder)
        set_priority(os.getpid(), RUNNING)
        self._dynamics, self._mode, self._process = Dynamics(arm.model), Mode.FEEDFORWARD, 0
        self._processes: dict[str, NodeProcess] = {}
        node = self.ros.node
        self._given = {
            STATES: node.create_publisher(JointState, "/given/joint_states", RELIABLE),
            COMMANDS: node.create_publisher(Float64MultiArray, "/given/commands", RELIABLE),
        }
        self._clock = node.create_publisher(Clock, "/clock", RELIABLE)
        own = f"/{CONTROLLER}"
        self._trajectory = node.create_publisher(JointTrajectory, f"{own}/joint_trajectory", 10)
        self._target = node.create_publisher(PoseStamped, f"{own}/target_pose", 10)
        self._set_state = node.create_publisher(JointState, f"/{TWIN}/set_state", 10)
        for kind, topic, heard in (
            (JointState, "/true/joint_states", self._on_state),
            (Float64MultiArray, "/true/commands", self._on_command),
            (JointState, f"{own}/desired", self._on_desired),
        ):
            node.create_subscription(kind, topic, heard, RELIABLE, raw=True)
        self.starved, self._waited, self._looked = 0.0, {}, 0.0
        self._begin(0)
        self._start(TWIN, arm.home)
        self._start(CONTROLLER)
        for name in (TWIN, CONTROLLER):
            self._await(name)

    def close(self) -> None:
        """Kill the nodes and leave, without a priority.

        A thread of Fast DDS may spin as it leaves; it would take a processor from all others for
        minutes, and processes started later would inherit that.
        """
        set_priority(os.getpid(), 0)
        self.ros.close()

    def _begin(self, seed: int) -> None:
        """Begin with a new record, and links that draw from a seed."""
        random = np.random.default_rng(seed)
        corruption = WireCorruption(random)
        self._links = {
            STATES: FaultyLink(random, corruption.state, shifted, STATE_DAMAGE),
            COMMANDS: FaultyLink(random, corruption.command, shifted, COMMAND_DAMAGE),
        }
        self._forget()

    def _forget(self) -> None:
        self._record, self._numbers = Record(), {}  # of states, by their stamps

    # The nodes.

    def _start(self, name: str, position: Floats | None = None) -> None:
        """Start a node; the twin at a position."""
        parameters = dict(self.arm.robot.parameters[name])
        parameters["robot_description"] = self.arm.robot.text
        states, commands = "given", "true"
        if name == CONTROLLER:
            parameters |= {"use_sim_time": True, "give_up_after": GIVE_UP_AFTER}
            parameters |= {"tip": self.arm.tip, "mode": self._mode.value}
            self._process += 1
        else:
            states, commands = commands, states
            parameters |= {"rate": RATE, "command_timeout": COMMAND_TIMEOUT}
            for joint, value in zip(self.arm.model.joint_names, position, strict=True):
                parameters[f"initial_positions.{joint}"] = float(value)
        topics = ["-r", f"joint_states:=/{states}/joint_states"]
        topics += ["-r", f"~/commands:=/{commands}/commands"]
        process = self.ros.start(f"featherstone_ros.{name}", parameters, *topics)
        set_priority(process.pid, 1)  # not yet RUNNING: it computes for a second
        self._processes[name] = process

    def revive(self) -> list[str]:
        """Start nodes that have ended by themselves anew; return what they last wrote."""
        ended = [name for name, process in self._processes.items() if not process.is_running]
        words = [f"{name} ended: {self._processes[name].output[-2000:]}" for name in ended]
        for name in ended:
            self._start(name, self.arm.home)
        return words

    # Traffic.

    def _on_state(self, payload: bytes) -> None:
        record, now, link = self._record, monotonic(), self._links[STATES]
        number, stamp = len(record.states), stamp_of(payload)
        record.states.append(tuple(rows_of(payload, self.arm.model.n)))
        self._numbers[stamp] = number
        link.push(now, number, payload)
        self._flush(now)
        if number % STATES_PER_CLOCK == 0:
            offset = link.fault.offset if link.fault else 0.0
            self._clock.publish(Clock(clock=ros_time(stamp + round(offset * NANOSECONDS))))

    def _on_command(self, payload: bytes) -> None:
        record, now = self._record, monotonic()
        number, command = len(record.commands), np.frombuffer(payload[-8 * self.arm.model.n :])
        record.commands.append((command, now, len(record.states) - 1, self._process))
        self._links[COMMANDS].push(now, number, payload)
        self._flush(now)

    def _on_desired(self, payload: bytes) -> None:
        # Stamped with the state's stamp; if that was corrupted, it answers the last but one.
        answered = self._numbers.get(stamp_of(payload), max(len(self._record.states) - 2, 0))
        self._record.desired.append((rows_of(payload, self.arm.model.n)[0], answered))

    def _flush(self, now: float) -> None:
        for name, link in self._links.items():
            for delivery in link.pop(now):
                self._given[name].publish(delivery.payload)
                self._record.spoiled += delivery.spoiled
                if name == COMMANDS and not delivery.spoiled:
                    self._record.given.append(len(self._record.states) - 1)

    def _spin_until(self, condition: Callable[[], object], timeout: float) -> bool:
        """Let traffic pass until a condition holds; return whether it does."""
        end = monotonic() + timeout
        while not (met := condition()) and (now := monotonic()) < end:
            due = min(end, now + 0.01, *(link.next_due for link in self._links.values()))
            self.ros.executor.spin_once(timeout_sec=max(due - now, 0.0))
            now = monotonic()
            self._flush(now)
            self._look_for_starvation(now)
        return bool(met)

    def _spin(self, duration: float) -> None:
        self._spin_until(lambda: False, duration)

    def _states_more(self, count: int) -> None:
        """Wait for a number of states of the arm."""
        until = len(self._record.states) + count
        self._spin_until(lambda: len(self._record.states) >= until, PATIENCE)

    def _look_for_starvation(self, now: float) -> None:
        """Note for how long one of our threads has had to wait for a processor at a time."""
        if now < self._looked + LOOK:
            return
        self._looked = now
        last, self._waited = self._waited, {}
        for pid in (os.getpid(), *(process.pid for process in self._processes.values())):
            for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                with contextlib.suppress(OSError):  # it has ended
                    waited = int(thread.read_text().split()[1]) / NANOSECONDS
                    key = pid, thread.parent.name
                    self._waited[key] = waited
                    self.starved = max(self.starved, waited - last.get(key, waited))

    # An episode.

    def judged(self, episode: Episode) -> tuple[Outcome, Traffic | None]:
        """Run an episode and judge it; return its traffic, None if it did not come to its end."""
        self.starved, traffic = 0.0, None
        try:
            traffic = self.run(episode)
            figures = judge_episode(traffic, self.arm, episode, self.run)
        except (Exception, pytest.fail.Exception) as error:
            figures = Figures(recovery=np.inf, faults=[f"{type(error).__name__}: {error}"])
        if figures.faults and self.starved > STARVED:
            figures.faults.append(f"a thread of ours has waited {self.starved:.3f} s meanwhile")
        return Outcome.of(episode, figures), traffic

    def run(self, episode: Episode) -> Traffic:
        """Run an episode; return its traffic.

        Raises:
            TimeoutError: Something that must happen did not; the text says what.
        """
        self._choose_mode(Mode.CARTESIAN_IMPEDANCE if episode.by_hand else Mode.FEEDFORWARD)
        self._prepare(episode.start)
        self._begin(episode.seed)
        self._states_more(2 * STATES_PER_CLOCK)
        self._await_obedience()
        if not episode.at_rest:
            self._send_pose(episode) if episode.by_hand else self._send_trajectory(episode)
        self._spin(episode.onset)
        begin = len(self._record.states) - 1
        self._act(episode)
        end = len(self._record.states) - 1
        arm = self.arm.led(episode.by_hand)
        part, waited = RECOVERY / WAITS, 0.0
        while True:
            self._states_more(round((part + CALM) * RATE))
            waited += part
            traffic = self._record.traffic(begin, end)
            recovered = recovery(traffic, tracked(traffic, arm), arm.period) < arm.recovery
            if recovered or waited >= arm.recovery + coasted(traffic, arm):
                return traffic

    def _prepare(self, start: Floats) -> None:
        """Put the arm at rest at the start, with the controller holding it.

        Without commands the twin's brakes hold the arm meanwhile; its states go on.
        """
        weight = self._dynamics.gravity(start).copy()
        slack = AT_EASE * self.arm.model.effort_limit

        def holds() -> bool:
            record = self._record
            if len(record.commands) < 10 or len(record.desired) < 3:
                return False
            near = np.abs(record.desired[-1][0] - start).max() < AT_PLACE
            return near and bool((np.abs(record.commands[-1][0] - weight) < slack).all())

        state = JointState(name=list(self.arm.model.joint_names), position=start.tolist())
        self._links[COMMANDS].begin(Fault("freeze commands"), 0.0)
        self._spin(BRAKED)
        for silent in (0.0, 0.3, 0.3):
            self._set_state.publish(state)
            if silent:  # so near to where it was that the controller believes it has been moved
                self._links[STATES].begin(Fault("freeze states"), 0.0)
                self._spin(silent)
                self._links[STATES].end()
            self._hold()  # ends a fault
            self._forget()
            if self._spin_until(holds, PATIENCE / 4):
                break
        else:
            last_words = self._processes[CONTROLLER].output[-2000:]
            raise TimeoutError(f"the controller does not hold the arm at rest: {last_words}")
        self._links[COMMANDS].end()
        self._hold()  # brakes that held it against its hand may have been a fault by now

    def _hold(self) -> None:
        self.ros.call(Trigger, f"/{CONTROLLER}/hold", Trigger.Request())

    def _send_trajectory(self, episode: Episode) -> None:
        """Ask for the motion; every other one says when it begins, by ROS time."""
        rest = [0.0] * self.arm.model.n
        point = JointTrajectoryPoint(
            positions=episode.target.tolist(), velocities=rest, accelerations=rest
        )
        duration = ros_time(round(episode.motion_time * NANOSECONDS))
        point.time_from_start.sec, point.time_from_start.nanosec = duration.sec, duration.nanosec
        message = JointTrajectory(joint_names=list(self.arm.model.joint_names), points=[point])
        if episode.seed % 2:
            message.header.stamp = ros_time(max(self._numbers))
        self._trajectory.publish(message)

    def _send_pose(self, episode: Episode) -> None:
        """Lead the hand to where it is at the target."""
        pose = self._dynamics.link_pose(episode.target, self.arm.tip)
        message = PoseStamped()
        point, turn = message.pose.position, message.pose.orientation
        point.x, point.y, point.z = map(float, pose[:3, 3])
        turn.x, turn.y, turn.z, turn.w = map(float, Rotation.from_matrix(pose[:3, :3]).as_quat())
        self._target.publish(message)

    def _choose_mode(self, mode: Mode) -> None:
        """Have the controller lead the arm by its joints or by its hand."""
        if mode is not self._mode:
            (result,) = self.ros.set_parameters(f"/{CONTROLLER}", {"mode": mode.value})
            if not result.successful:
                raise ValueError(result.reason)
            self._mode = mode

    def _act(self, episode: Episode) -> None:
        """Let the fault happen, from beginning to end."""
        fault = episode.fault
        for link in fault.links:
            self._links[link].begin(fault, monotonic() + fault.duration)
        verb, _, name = fault.kind.partition(" ")
        name = CONTROLLER if name.startswith("controller") else TWIN
        if verb == "kill":
            self._kill(name, fault.duration)
            if fault.links:
                self._spin(fault.duration)
        elif verb == "stop":
            self._processes[name].send(signal.SIGSTOP)
            try:
                self._spin(fault.duration)
            finally:
                self._processes[name].send(signal.SIGCONT)
        else:
            self._spin(fault.duration)
        for link in fault.links:
            self._links[link].end()

    def _kill(self, name: str, duration: float) -> None:
        """Kill a node; return when a new one, at the place where the old one left off, speaks."""
        self._processes[name].kill()
        self._spin(duration)
        self._start(name, self._record.states[-1][0])
        self._await(name)
        if self._record.commands:
            self._await_obedience()

    def _await_obedience(self) -> None:
        """Wait until the twin applies commands: DDS has found all its topics."""
        probes: list[Floats] = []  # unlike any command, or what brakes may carry

        def obeys() -> bool:
            effort = self._record.states[-1][2]
            if any(np.array_equal(probe, effort) for probe in probes):
                return True
            probe = self._record.commands[-1][0].copy()
            probe[0] += PROBE * (len(probes) + 1)
            probes.append(probe)
            self._given[COMMANDS].publish(Float64MultiArray(data=probe.tolist()))
            return False

        if not self._spin_until(obeys, PATIENCE):
            raise TimeoutError("the twin does not obey")

    def _await(self, name: str) -> None:
        """Wait until a started node publishes, and give it priority."""
        heard = self._record.commands if name == CONTROLLER else self._record.states
        count = len(heard)
        if not self._spin_until(lambda: len(heard) > count, PATIENCE):
            raise TimeoutError(f"{name} does not come: {self._processes[name].output}")
        set_priority(self._processes[name].pid, RUNNING)


_bench: list[Bench] = []  # the worker's
_kept = contextlib.ExitStack()  # its domain
_keep: list[Path] = []  # folder for the traffic of episodes that fail


def prepare(robot: str, folder: Path, keep: Path) -> None:
    """Start this worker's nodes, which write into a folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    domain = _kept.enter_context(free_domain())
    (folder / str(domain)).mkdir(exist_ok=True)
    _keep[:] = [keep]
    _bench[:] = [Bench(arm(robot), domain, folder / str(domain))]


def outcome_of(seed: int) -> Outcome:
    """Run the episode of a seed and judge it."""
    bench = _bench[0]
    outcome, traffic = bench.judged(draw(seed, bench.arm.model, bench.arm.home))
    outcome.figures.faults += bench.revive()
    if outcome.figures.faults and traffic is not None:
        np.savez_compressed(_keep[0] / f"seed_{seed}.npz", **asdict(traffic))
    return outcome
