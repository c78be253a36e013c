"""A twin, its controller, and a listener to both: the rig of all tests that move an arm over DDS.

In lockstep (``pace``) the arm waits, too, while either node waits for a busy machine.
"""

from __future__ import annotations

import math
import subprocess
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation
from support import (
    ATTEMPT,
    PACED,
    SIMULATED,
    STATES,
    Listener,
    NodeProcess,
    Ros,
    point,
    stamp_of,
    swaying,
)

# isort: split
from geometry_msgs.msg import PoseStamped, TwistStamped, Vector3, Wrench, WrenchStamped
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.arrays import Floats
from featherstone_ros.control.joint_space import default_torque_rate
from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_file, robot_parameters

CONTROLLER, TWIN = "/feedforward_controller", "/digital_twin"
OWN_CONTROLLER = "featherstone_ros.feedforward_controller"
OWN_TWIN = "featherstone_ros.digital_twin"
LONGEST_STEP = 0.005  # [s] of torque_rate that one command may use up, see torque_governor.pxd
STANDING = 0.05  # [rad/s] as the controller's own bound, command.pxd
FAST = 0.6  # [rad/s]
SWAY, PERIOD = 0.35, 2.5  # of a fast motion: 0.88 rad/s at most, 0.4 of the Panda's limits
LONG = 60.0  # [s] that it lasts if nothing ends it
STILL = 0.25  # [s] at rest: longer than the turning point of a motion
# Drives keep the last command, as those of forward_command_controller do: an arm that is left alone
# in motion races or falls.
KEEP = {"command_timeout": 0.0}
BRIEF = {"give_up_after": 0.4}  # [s] in place of a second: many tests wait for the end of commands
NUMBER = "publication_sequence_number"


def evaluated(name: str) -> property:
    """Return a figure of a rig, which everything heard so far goes into before it is read."""

    def read(rig: Rig) -> Any:
        rig.evaluate()
        return getattr(rig, f"_{name}")

    return property(read)


class Rig:
    """Both nodes, and a witness, which has a thread of its own.

    What others publish on the same topics it leaves out: all that is not, but for stamp and
    numbers, like what came first.

    Attributes:
        names: Of the joints.
        home: Where the joints were at first [rad].
        q, qd, effort: Of the arm's last state; ``speed``: of the fastest joint [rad/s].
        now: The time of the arm's last state [s].
        commands: Number of commands; ``command``: the last one.
        is_finite: Whether all of them were.
        peak: Largest speed as a share of its limit, of any joint, since ``watch``.
        way: (N, n) where the joints have been since then [rad].
        deviation: Largest distance of a joint from ``home`` in that time [rad].
        worst_step: Largest change from a command to the next since then, as a share of what is
            allowed; one that got lost on the way here had its own.
    """

    names, home, q, qd, effort = map(evaluated, ("names", "home", "q", "qd", "effort"))
    commands, command, is_finite = map(evaluated, ("commands", "command", "is_finite"))
    now, speed, peak = map(evaluated, ("now", "speed", "peak"))
    worst_step = evaluated("worst_step")

    def __init__(
        self,
        ros: Ros,
        robot: str,
        *arguments: str,
        pace: float = 0.0,
        twin: Mapping[str, Any] | None = None,
        controller: Mapping[str, Any] | None = None,
        states: str = STATES,
        program: str = OWN_CONTROLLER,
        fork: bool = True,
        space: str = "",
    ) -> None:
        """Start both nodes and listen.

        Args:
            ros: Where.
            robot: Its description, or the name of one of ours, with its parameters.
            arguments: Of both nodes.
            pace: In lockstep, at most so many times as fast as real time; 0: as ``twin`` says.
            twin: Its parameters. Where they have lockstep, the controller's time is simulated.
            controller: Its parameters.
            states: Where the twin's joint states are.
            program: The controller's module, which is forked or not.
            space: The namespace of both, with /.
        """
        if "<" not in robot:
            arguments = (*arguments, "--params-file", str(robot_parameters(robot)))
            robot = robot_file(robot).read_text()
        self.ros, self.description = ros, robot
        self._arguments, self._program, self._fork = arguments, program, fork
        paced = {**PACED, "real_time_factor": pace} if pace else {}
        self._of_twin = {"robot_description": robot, **(twin or {}), **paced}
        simulated = SIMULATED if self._of_twin.get("lockstep") else {}
        self._of_controller = {"robot_description": robot, **simulated, **(controller or {})}
        self.control, self.simulation = space + CONTROLLER, space + TWIN  # their names
        names = ("commands", "joint_commands")
        self._meet = [word for t in names for word in ("-r", f"~/{t}:={self.control}/{t}")]
        self._meet += ["-r", f"joint_states:={space + states}"]
        if space:
            self._arguments += ("-r", f"__ns:={space}")

        self._heard: deque[tuple[bool, bytes, dict[str, Any]]] = deque()
        self._first: dict[bool, bytes] = {}  # of states and commands
        self._history: deque[tuple[int, float]] = deque([(0, 0.0)], 4000)  # when sent; speed then
        self._names: list[str] = []
        self._home = self._q = self._qd = self._effort = self._command = np.zeros(0)
        self._way: list[Floats] = []
        self._now = self._speed = self._peak = self._worst_step = 0.0
        self._commands = self._number = self._last_command = 0
        self._is_finite = True
        self._are_positions = self._of_controller.get("output") == "joint_state"
        commands = (Float64MultiArray, f"{self.control}/commands")
        if self._are_positions:
            commands = (JointState, f"{self.control}/joint_commands")
        hear = self._heard.append
        Listener(
            ros,
            "witness",
            (JointState, space + STATES, lambda raw, info: hear((True, raw, info))),
            (*commands, lambda *it: hear((False, *it))),
        )
        self.trajectories = ros.node.create_publisher(
            JointTrajectory, f"{self.control}/joint_trajectory", 10
        )
        self.start_twin()
        self.start_controller()

    def start_twin(self) -> None:
        """Start a twin."""
        self.twin = self.ros.start(OWN_TWIN, self._of_twin, *self._arguments, *self._meet)

    def start_controller(self, stdout: int = subprocess.PIPE) -> None:
        """Start a controller."""
        self.controller = self.ros.start(
            self._program, self._of_controller, *self._arguments, stdout=stdout, fork=self._fork
        )

    @property
    def nodes(self) -> dict[str, NodeProcess]:
        """Both by name."""
        return {"controller": self.controller, "twin": self.twin}

    # What was heard.

    def evaluate(self) -> None:
        """Take what was heard into the figures: many at once, at a tenth of the processor time."""
        while self._heard:
            is_state, raw, info = self._heard.popleft()
            n = len(self._names)
            if is_state and not n:
                self._names = list(deserialize_message(raw, JointState).name)
                n = len(self._names)
            if not n:
                continue
            # A state ends with position, velocity and effort, each (n,) after eight bytes of its
            # length; a command with its values. Read so it costs a third.
            of_state = is_state or self._are_positions
            values = 8 * (3 * n + 2 if of_state else n)
            first = self._first.setdefault(is_state, raw)
            begin = slice(12 if of_state else 0, len(raw) - values)
            if len(raw) != len(first) or raw[begin] != first[begin]:
                continue
            row = np.frombuffer(raw, offset=len(raw) - values)
            if is_state:
                self._take_state(info["source_timestamp"], stamp_of(raw), row)
            else:
                self._take_command(info, row[-n:])

    def _take_state(self, sent: int, stamp: float, row: Floats) -> None:
        n = len(self._names)
        self._now, self._q = stamp, row[:n]
        self._qd, self._effort = row[n + 1 : 2 * n + 1], row[2 * n + 2 :]
        if not len(self._home):
            self._home = self._q.copy()
        speeds = np.abs(self._qd)
        self._speed = float(speeds.max())
        self._peak = max(self._peak, float((speeds / self._limit).max()))
        self._way.append(self._q)
        self._history.append((sent, self._speed))

    def _take_command(self, info: dict[str, Any], command: Floats) -> None:
        self._last_command = info["source_timestamp"]
        self._commands += 1
        self._is_finite &= bool(np.isfinite(command).all())
        assert info[NUMBER] < 1e6, "a middleware that does not count would allow any step"
        if self._commands > 1:
            behind = info[NUMBER] - self._number
            count = behind if behind > 0 else info[NUMBER]  # those of a new process begin at 1
            step = np.abs(command - self._command) / (count * self._largest_step)
            self._worst_step = max(self._worst_step, float(step.max()))
        self._number, self._command = info[NUMBER], command

    @cached_property
    def model(self) -> Model:
        """The arm."""
        return Model.from_urdf(self.description, joints=self._names)

    @cached_property
    def _limit(self) -> Floats:
        limit = self.model.velocity_limit
        return np.where(limit > 0.0, limit, np.inf)

    @cached_property
    def _largest_step(self) -> Floats:
        """A little more for rounding."""
        rate = default_torque_rate(self.model.effort_limit)
        own = [self._of_controller.get(f"torque_rate.{name}", 0.0) for name in self._names]
        return np.where(own, own, rate) * LONGEST_STEP + 1e-9

    @property
    def way(self) -> Floats:
        self.evaluate()
        return np.array(self._way).reshape(-1, len(self._names))

    @property
    def deviation(self) -> float:
        return float(np.abs(self.way - self.home).max(initial=0.0))

    @property
    def speed_at_last_command(self) -> float:
        """The speed that the arm had when the last command was sent, not heard [rad/s]."""
        self.evaluate()
        at = next((past for past in reversed(self._history) if past[0] <= self._last_command), None)
        assert at, f"the last command is older than the last {len(self._history)} states"
        return at[1]

    def watch(self) -> None:
        """Begin to measure."""
        self.evaluate()  # what was before
        self._peak = self._worst_step = 0.0
        self._way.clear()

    def assert_no_race(self) -> None:
        """No joint was faster than its limit since ``watch``."""
        assert self.peak < 1.0

    # What is waited for, and asked.

    def wait_until_held(self) -> None:
        """Wait until the controller holds the arm, and each hears the other, and us."""
        count = self.commands
        self.ros.wait_for(lambda: self.commands > count + 20, "commands")
        self.ros.status(node=self.control, phase="running")
        self.ros.status(node=self.simulation, brakes="off")
        self.ros.wait_for(self.trajectories.get_subscription_count, "a listener")
        self.watch()

    def wait_for_commands(self, more: int) -> None:
        """Wait until there have been more of them."""
        count = self.commands
        self.ros.wait_for(lambda: self.commands > count + more, f"{more} commands")

    def wait_for_motion(self, speed: float = 0.05) -> None:
        """Wait until the arm is as fast [rad/s]."""
        self.ros.wait_for(lambda: self.speed > speed, "motion")

    def wait_for_rest(self) -> None:
        """Wait until the arm has stood for a while."""
        still = self.now

        def stands() -> bool:
            nonlocal still
            if self.speed > STANDING:
                still = self.now
            return self.now - still > STILL

        self.ros.wait_for(stands, "rest")

    def is_at(self, goal: Iterable[float], within: float = 0.01) -> bool:
        """Tell whether the arm is somewhere [rad]."""
        return bool(np.abs(self.q - np.array(list(goal))).max() < within)

    def wait_until_at(self, goal: Iterable[float], within: float = 0.01) -> None:
        """Wait until the arm is somewhere [rad]."""
        self.ros.wait_for(lambda: self.is_at(goal, within), f"arm at {list(goal)}")

    def trajectory(self, size: float = SWAY, period: float = PERIOD) -> JointTrajectory:
        """Return a motion to and fro about home."""
        return swaying(self.names, self.home, size, period, LONG)

    def move(self) -> None:
        """Let the arm move, wait until it moves fast, begin to measure."""
        motion = self.trajectory()
        self._do(lambda: self.trajectories.publish(motion), lambda: self.speed > FAST)
        self.watch()

    def lead(
        self, goal: Iterable[float], duration: float = 1.0, within: float = 0.01, **fields: Any
    ) -> None:
        """Lead the arm to a goal [rad or m], to rest, and wait until it is there.

        ``fields`` are further ones of its point.
        """
        send = lambda: self._send(goal, duration, **fields)  # noqa: E731
        self._do(send, lambda: self.is_at(goal, within))

    def _send(self, goal: Iterable[float], duration: float, **fields: Any) -> None:
        end = point(duration, goal, velocities=[0.0] * len(self.names), **fields)
        self.trajectories.publish(JointTrajectory(joint_names=self.names, points=[end]))

    def _do(self, action: Callable[[], None], reached: Callable[[], bool]) -> None:
        """Do what moves the arm, again after a while that is longer than the way.

        In lockstep once: no busy machine breaks off a motion there.
        """
        period = math.inf if self._of_twin.get("lockstep") else 3.0 * ATTEMPT
        self.ros.do_until(reached, "motion", action, period)

    def recover(self, stdout: int = subprocess.PIPE) -> None:
        """Have a controller hold the arm where it began."""
        if not self.controller.is_running:
            # Its last command may have thrown the arm into its stops: none takes that over.
            self.ros.call(Trigger, f"{self.simulation}/reset")
            self.start_controller(stdout)
            self.wait_until_held()
            return
        self.ros.set_parameters(self.control, {"mode": "feedforward"})

        def go_home() -> None:
            self.ros.call(Trigger, f"{self.control}/hold")  # ends a fault, one since then as well
            far = float(np.abs(self.q - self.home).max())
            self._send(self.home, 0.6 + far / FAST)

        self._do(go_home, lambda: self.is_at(self.home, 0.05))
        self.wait_for_rest()


class Hand(Rig):
    """A Panda that is held, what its controller says of its hand, and somebody who pushes that."""

    TIP = "panda_hand"

    def __init__(self, ros: Ros, controller: Mapping[str, Any], **options: Any) -> None:
        """Start it; options are those of a rig."""
        super().__init__(ros, "panda", controller={"tip": self.TIP, **controller}, **options)
        self.wait_until_held()
        self.poses = ros.collect(PoseStamped, f"{CONTROLLER}/current_pose", 1)
        self.twists = ros.collect(TwistStamped, f"{CONTROLLER}/current_twist", 1)
        self.pushes = ros.publisher(WrenchStamped, f"{TWIN}/external_wrench")

    @property
    def position(self) -> Floats:
        """Where the hand is (3,) [m]."""
        return coordinates(self.poses[-1].pose.position)

    @property
    def velocity(self) -> Floats:
        """How fast it moves (3,) [m/s]."""
        return coordinates(self.twists[-1].twist.linear)

    def turned(self, force: Any) -> Floats:
        """Return a force (3,) in the base's axes in those of the hand."""
        turn = self.poses[-1].pose.orientation
        return Rotation.from_quat([*coordinates(turn), turn.w]).inv().apply(force)

    def push(self, force: Any) -> None:
        """Push the hand, in its axes (3,) [N]. The twin keeps that for its timeout."""
        self.pushes.publish(self.wrench(force))

    def wrench(self, force: Any) -> WrenchStamped:
        """Return a force on the hand, in its axes, as a message."""
        vector = Vector3(**dict(zip("xyz", map(float, force), strict=True)))
        return WrenchStamped(header=Header(frame_id=self.TIP), wrench=Wrench(force=vector))


def coordinates(message: Any) -> Floats:
    """Return x, y, z (3,)."""
    return np.array([message.x, message.y, message.z])


def held_panda(
    ros: Ros,
    pace: float,
    rate: float = 200.0,
    program: str = OWN_CONTROLLER,
    fork: bool = True,
    space: str = "",
    **parameters: Any,
) -> Rig:
    """Return a Panda in lockstep that is held; parameters are the controller's.

    No state may get lost: time would stand still.
    """
    twin, own = {"rate": rate, **KEEP}, {**BRIEF, **parameters}
    start = {"program": program, "fork": fork, "space": space}
    rig = Rig(ros, "panda", pace=pace, twin=twin, controller=own, **start)
    rig.wait_until_held()
    return rig
