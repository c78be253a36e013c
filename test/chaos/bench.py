"""Controller and twin as processes, with this process between them, which may corrupt messages."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from time import monotonic

import numpy as np
from arm import COMMAND_TIMEOUT, GIVE_UP_AFTER, RATE, RECOVERY, Arm
from builtin_interfaces.msg import Duration, Time
from checks import CALM, Traffic, coasted, recovery, tracked
from corruption import NANOSECONDS, Corruption, shifted
from episodes import COMMAND_DAMAGE, COMMANDS, STATE_DAMAGE, STATES, Episode, Fault
from faulty_link import FaultyLink
from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from support import RUNNING, STARTING, NodeProcess, Ros, set_priority
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from featherstone_ros import Dynamics
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
        self.arm = arm
        self.ros = Ros(domain, folder)
        set_priority(os.getpid(), RUNNING)
        self._dynamics = Dynamics(arm.model)
        self._record = Record()
        self._process = 0
        self._mode = Mode.FEEDFORWARD
        self._processes: dict[str, NodeProcess] = {}
        node = self.ros.node
        self._given = {
            STATES: node.create_publisher(JointState, "/given/joint_states", RELIABLE),
            COMMANDS: node.create_publisher(Float64MultiArray, "/given/commands", RELIABLE),
        }
        self._clock = node.create_publisher(Clock, "/clock", RELIABLE)
        self._trajectory = node.create_publisher(
            JointTrajectory, f"/{CONTROLLER}/joint_trajectory", 10
        )
        self._target = node.create_publisher(PoseStamped, f"/{CONTROLLER}/target_pose", 10)
        self._set_state = node.create_publisher(JointState, f"/{TWIN}/set_state", 10)
        node.create_subscription(
            JointState, "/true/joint_states", self._on_state, RELIABLE, raw=True
        )
        node.create_subscription(
            Float64MultiArray, "/true/commands", self._on_command, RELIABLE, raw=True
        )
        node.create_subscription(
            JointState, f"/{CONTROLLER}/desired", self._on_desired, RELIABLE, raw=True
        )
        self.starved, self._waited, self._looked = 0.0, {}, 0.0
        self._make_links(0)
        self._start(TWIN, arm.home)
        self._start(CONTROLLER)
        for name in (TWIN, CONTROLLER):
            self._await(name)

    def close(self) -> None:
        """Kill the nodes and leave."""
        self.ros.close()

    def _make_links(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        corruption = Corruption(random)
        self._links = {
            STATES: FaultyLink(random, corruption.state, shifted, STATE_DAMAGE),
            COMMANDS: FaultyLink(random, corruption.command, shifted, COMMAND_DAMAGE),
        }

    # The nodes.

    def _start(self, name: str, position: np.ndarray | None = None) -> None:
        """Start a node; the twin at a position."""
        parameters = dict(self.arm.robot.parameters[name])
        parameters["robot_description"] = self.arm.robot.text
        topics = ["-r", "joint_states:=/given/joint_states", "-r", "~/commands:=/true/commands"]
        if name == CONTROLLER:
            parameters |= {"use_sim_time": True, "give_up_after": GIVE_UP_AFTER}
            parameters |= {"tip": self.arm.tip, "mode": self._mode.value}
            self._process += 1
        else:
            topics = ["-r", "joint_states:=/true/joint_states", "-r", "~/commands:=/given/commands"]
            parameters |= {"rate": RATE, "command_timeout": COMMAND_TIMEOUT}
            for joint, value in zip(self.arm.model.joint_names, position, strict=True):
                parameters[f"initial_positions.{joint}"] = float(value)
        process = self.ros.start(f"featherstone_ros.{name}", parameters, *topics)
        set_priority(process.pid, STARTING)
        self._processes[name] = process

    def revive(self) -> list[str]:
        """Start nodes that have ended by themselves anew; return what they last wrote."""
        last_words = []
        for name, process in list(self._processes.items()):
            if not process.is_running:
                last_words.append(f"{name} ended: {process.output[-2000:]}")
                self._start(name, self.arm.home)
        return last_words

    # Traffic.

    def _on_state(self, payload: bytes) -> None:
        record, now = self._record, monotonic()
        number = len(record.states)
        record.states.append(payload)
        link = self._links[STATES]
        link.push(now, number, payload)
        self._flush(now)
        if number % STATES_PER_CLOCK == 0:
            offset = link.fault.offset if link.fault else 0.0
            stamp = stamp_of(payload) + round(offset * NANOSECONDS)
            self._clock.publish(Clock(clock=ros_time(stamp)))

    def _on_command(self, payload: bytes) -> None:
        record, now = self._record, monotonic()
        number = len(record.commands)
        record.commands.append((payload, now, len(record.states) - 1, self._process))
        self._links[COMMANDS].push(now, number, payload)
        self._flush(now)

    def _on_desired(self, payload: bytes) -> None:
        self._record.desired.append((payload, len(self._record.states) - 1))

    def _flush(self, now: float) -> None:
        for name, link in self._links.items():
            for delivery in link.pop(now):
                self._given[name].publish(delivery.payload)
                self._record.spoiled += delivery.spoiled
                if name == COMMANDS and not delivery.spoiled:
                    self._record.given.append(len(self._record.states) - 1)

    def _spin_until(self, condition, timeout: float) -> bool:
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
                    self._waited[pid, thread.parent.name] = waited
                    starved = waited - last.get((pid, thread.parent.name), waited)
                    self.starved = max(self.starved, starved)

    # An episode.

    def run(self, episode: Episode) -> Traffic:
        """Run an episode; return its traffic.

        Raises:
            TimeoutError: Something that must happen did not; the text says what.
        """
        self._choose_mode(Mode.CARTESIAN_IMPEDANCE if episode.by_hand else Mode.FEEDFORWARD)
        self._prepare(episode.start)
        self._make_links(episode.seed)
        self._record = Record()
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

    def _prepare(self, start: np.ndarray) -> None:
        """Put the arm at rest at the start, with the controller holding it.

        Without commands the twin's brakes hold the arm meanwhile; its states go on.
        """
        weight = self._dynamics.gravity(start).copy()
        slack = AT_EASE * self.arm.model.effort_limit

        def holds() -> bool:
            record = self._record
            if len(record.commands) < 10 or len(record.desired) < 3:
                return False
            desired = np.array(deserialize_message(record.desired[-1][0], JointState).position)
            command = np.array(deserialize_message(record.commands[-1][0], Float64MultiArray).data)
            near = np.abs(desired - start).max() < AT_PLACE
            return near and bool((np.abs(command - weight) < slack).all())

        state = JointState(name=list(self.arm.model.joint_names), position=start.tolist())
        self._links[COMMANDS].begin(Fault("freeze commands"), 0.0)
        self._spin(BRAKED)
        for silent in (0.0, 0.3, 0.3):
            self._set_state.publish(state)
            if silent:  # so near to where it was that the controller believes it has been moved
                self._links[STATES].begin(Fault("freeze states"), 0.0)
                self._spin(silent)
                self._links[STATES].end()
            self.ros.call(Trigger, f"/{CONTROLLER}/hold", Trigger.Request())  # ends a fault
            self._record = Record()
            if self._spin_until(holds, PATIENCE / 4):
                break
        else:
            last_words = self._processes[CONTROLLER].output[-2000:]
            raise TimeoutError(f"the controller does not hold the arm at rest: {last_words}")
        self._links[COMMANDS].end()
        # Brakes that held the arm against its hand may have been a fault after several episodes.
        self.ros.call(Trigger, f"/{CONTROLLER}/hold", Trigger.Request())

    def _send_trajectory(self, episode: Episode) -> None:
        """Ask for the motion; every other one says when it begins, by ROS time."""
        n = self.arm.model.n
        point = JointTrajectoryPoint(
            positions=episode.target.tolist(), velocities=[0.0] * n, accelerations=[0.0] * n
        )
        nanoseconds = round(episode.motion_time * NANOSECONDS)
        point.time_from_start = Duration(
            sec=nanoseconds // NANOSECONDS, nanosec=nanoseconds % NANOSECONDS
        )
        message = JointTrajectory(joint_names=list(self.arm.model.joint_names), points=[point])
        if episode.seed % 2:
            message.header.stamp = ros_time(stamp_of(self._record.states[-1]))
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
        if verb == "kill":
            name = CONTROLLER if name.startswith("controller") else TWIN
            self._kill(name, fault.duration)
            if fault.links:
                self._spin(fault.duration)
        elif verb == "stop":
            process = self._processes[CONTROLLER if name == "controller" else TWIN]
            process.send(signal.SIGSTOP)
            try:
                self._spin(fault.duration)
            finally:
                process.send(signal.SIGCONT)
        else:
            self._spin(fault.duration)
        for link in fault.links:
            self._links[link].end()

    def _kill(self, name: str, duration: float) -> None:
        """Kill a node; return when a new one, at the place where the old one left off, speaks."""
        self._processes[name].kill()
        self._spin(duration)
        last = deserialize_message(self._record.states[-1], JointState)
        self._start(name, np.array(last.position))
        self._await(name)
        if self._record.commands:
            self._await_obedience()

    def _await_obedience(self) -> None:
        """Wait until the twin applies commands: DDS has found all its topics."""

        probes: list[np.ndarray] = []  # unlike any command, or what brakes may carry

        def obeys() -> bool:
            effort = np.array(deserialize_message(self._record.states[-1], JointState).effort)
            if any(np.array_equal(probe, effort) for probe in probes):
                return True
            command = deserialize_message(self._record.commands[-1][0], Float64MultiArray)
            command.data[0] += PROBE * (len(probes) + 1)
            probes.append(np.array(command.data))
            self._given[COMMANDS].publish(command)
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


class Record:
    """The traffic seen, in order of arrival."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.states: list[bytes] = []
        self.commands: list[tuple[bytes, float, int, int]] = []
        self.given: list[int] = []
        self.desired: list[tuple[bytes, int]] = []
        self.spoiled = 0

    def traffic(self, begin: int, end: int) -> Traffic:
        """Return it as arrays; the fault lasted from one state to another."""
        states = [deserialize_message(payload, JointState) for payload in self.states]
        numbers = {stamp_of(payload): number for number, payload in enumerate(self.states)}
        commands = [deserialize_message(c[0], Float64MultiArray) for c in self.commands]
        desired = [deserialize_message(payload, JointState) for payload, _ in self.desired]
        n = len(states[0].position)
        return Traffic(
            q=np.array([state.position for state in states]),
            qd=np.array([state.velocity for state in states]),
            effort=np.array([state.effort for state in states]),
            command=np.array([command.data for command in commands]).reshape(-1, n),
            command_time=np.array([c[1] for c in self.commands]),
            command_index=np.array([c[2] for c in self.commands], int),
            command_process=np.array([c[3] for c in self.commands]),
            given_index=np.array(self.given, int),
            desired=np.array([message.position for message in desired]).reshape(-1, n),
            # Stamped with the state's stamp; if that was corrupted, it answers the last but one.
            desired_index=np.array(
                [numbers.get(stamp_of(p), max(number - 1, 0)) for p, number in self.desired], int
            ),
            fault_begin=begin,
            fault_end=end,
            spoiled=self.spoiled,
        )


def stamp_of(payload: bytes) -> int:
    """Return the time stamp of a serialised message that begins with its header [ns]."""
    seconds, nanoseconds = np.frombuffer(payload, "<i4", 2, 4)
    return int(seconds) * NANOSECONDS + int(nanoseconds)


def ros_time(nanoseconds: int) -> Time:
    """Return a time as message."""
    nanoseconds = max(nanoseconds, 0)
    return Time(sec=nanoseconds // NANOSECONDS, nanosec=nanoseconds % NANOSECONDS)
