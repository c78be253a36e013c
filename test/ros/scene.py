"""A Panda moved over DDS, and a witness of its states and commands.

The twin's drives keep the last command, as those of forward_command_controller do: an arm that is
left alone in motion races or falls. Twin and controller go in lockstep: while either waits for a
busy machine, the arm waits, too.
"""

from __future__ import annotations

import subprocess
from collections import deque
from typing import Any

import numpy as np
from support import (
    PACED,
    SIMULATED,
    STATES,
    Listener,
    NodeProcess,
    Ros,
    seconds,
    stamp_of,
    swaying,
)

# isort: split
from neighbour import CONTROLLER, TWIN
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_file, robot_parameters

PANDA = robot_file("panda").read_text()
RATE = 200.0  # [Hz]
STANDING = 0.05  # [rad/s] as the controller's own bound, command.pxd
SWAY, PERIOD = 0.35, 2.5  # of the motion: 0.88 rad/s at most, 0.4 of the Panda's limits
FAST = 0.6  # [rad/s]
LONG = 60.0  # [s] that it lasts if nothing ends it
STILL = 0.25  # [s] at rest: longer than the turning point of a motion
HELD = 0.4  # [s] of commands after a stop, in place of a second: many tests wait for their end


def evaluated(name: str) -> property:
    """Return a figure of a scene, which everything heard so far goes into before it is read."""

    def read(scene: Scene) -> Any:
        scene.evaluate()
        return getattr(scene, f"_{name}")

    return property(read)


class Scene:
    """Twin, controller, and a witness, which has a thread of its own.

    Attributes:
        now: The time of the arm's last state [s].
        peak: Largest speed as a share of its limit, of any joint, since ``watch``.
        speed: Largest speed of any joint now [rad/s].
        commands: Number of commands.
        q: Where the joints are [rad].
        names: Of the joints.
    """

    commands = evaluated("commands")
    q, names, speed = evaluated("q"), evaluated("names"), evaluated("speed")
    peak, now = evaluated("peak"), evaluated("now")

    def __init__(self, ros: Ros, pace: float, rate: float = RATE, **parameters: Any) -> None:
        """Start all of them and wait until the arm is held.

        Args:
            ros: Where.
            pace: At most so many times as fast as real time.
            rate: Of the states [Hz]. None may get lost or be refused: time would stand still.
            parameters: Of the controller.
        """
        self.ros = ros
        self._file = ("--params-file", str(robot_parameters("panda")))
        self._parameters = {"robot_description": PANDA, "give_up_after": HELD, **SIMULATED}
        self._parameters |= parameters
        self._heard: deque[tuple[bytes, int]] = deque()  # no bytes: command; when it was sent
        self._commands = self._last_command = 0  # how many; when the controller sent the last
        # When the twin sent a state; speed then.
        self._history: deque[tuple[int, float]] = deque([(0, 0.0)], 4000)
        self._q = self.home = np.zeros(0)
        self._names: list[str] = []
        self._peak = self._speed = self._now = 0.0
        self.limit = np.zeros(0)
        Listener(
            ros,
            "witness",
            (JointState, STATES, lambda raw, info: self._hear(raw, info)),
            (Float64MultiArray, f"{CONTROLLER}/commands", lambda _, info: self._hear(b"", info)),
        )
        self.twin = ros.start(
            "featherstone_ros.digital_twin",
            {
                **{"robot_description": PANDA, "rate": rate, "command_timeout": 0.0},
                **{**PACED, "real_time_factor": pace},
            },
            *self._file,
            *("-r", f"~/commands:={CONTROLLER}/commands"),
        )
        ros.wait_for(lambda: len(self.q), "the arm's state")
        self.home = self.q.copy()
        self.limit = Model.from_urdf(PANDA, joints=self.names).velocity_limit
        self.trajectories = ros.node.create_publisher(
            JointTrajectory, f"{CONTROLLER}/joint_trajectory", 10
        )
        self.controller = self.start_controller()
        self.watch()

    def _hear(self, raw: bytes, info: dict[str, Any]) -> None:
        self._heard.append((raw, info["source_timestamp"]))

    def evaluate(self) -> None:
        """Take what was heard into the figures: many at once, at a tenth of the processor time."""
        while self._heard:
            raw, sent = self._heard.popleft()
            if raw:
                self._take_state(sent, raw)
            else:
                self._last_command = sent
                self._commands += 1

    def _take_state(self, sent: int, raw: bytes) -> None:
        if not self._names:
            self._names = list(deserialize_message(raw, JointState).name)
        # A message ends with position, velocity and effort, each (n,) after eight bytes of its
        # length: read so it costs a third.
        n = len(self._names)
        row = np.frombuffer(raw, offset=len(raw) - 8 * (3 * n + 2))
        self._now, self._q, speeds = stamp_of(raw), row[:n], np.abs(row[n + 1 : 2 * n + 1])
        self._speed = float(speeds.max())
        if len(self.limit):
            self._peak = max(self._peak, float((speeds / self.limit).max()))
        self._history.append((sent, self._speed))

    @property
    def speed_at_last_command(self) -> float:
        """The speed that the arm had when the last command was sent, not heard [rad/s]."""
        self.evaluate()
        at = next((past for past in reversed(self._history) if past[0] <= self._last_command), None)
        assert at, f"the last command is older than the last {len(self._history)} states"
        return at[1]

    def start_controller(self, stdout: int = subprocess.PIPE) -> NodeProcess:
        """Start a controller; wait until it holds the arm."""
        process = self.ros.start(
            "featherstone_ros.feedforward_controller", self._parameters, *self._file, stdout=stdout
        )
        self.wait_for_hold()
        return process

    def wait_for_hold(self) -> None:
        """Wait until commands come, the twin hears them, and trajectories would be heard."""
        count = self.commands
        self.ros.wait_for(lambda: self.commands > count + 20, "commands")
        self.ros.status(brakes="off")  # the twin hears them
        self.ros.wait_for(lambda: self.trajectories.get_subscription_count() > 0, "a listener")

    def watch(self) -> None:
        """Begin to measure."""
        self.evaluate()  # what was before
        self._peak = 0.0

    def assert_no_race(self) -> None:
        """No joint was faster than its limit since ``watch``."""
        assert self.peak < 1.0

    def trajectory(self) -> JointTrajectory:
        """Return a motion to and fro about home."""
        return swaying(self.names, self.home, SWAY, PERIOD, LONG)

    def wait_for_rest(self, since: float = 0.0) -> None:
        """Wait until the arm has stood for a while, since a time [s] that others may have heard."""
        still = max(self.now, since)

        def stands() -> bool:
            nonlocal still
            if self.speed > STANDING:
                still = self.now
            return self.now - still > STILL

        self.ros.wait_for(stands, "rest")

    def move(self) -> None:
        """Let the arm move, wait until it moves fast, begin to measure."""
        self.ros.ask(self.trajectories, self.trajectory(), lambda: self.speed > FAST, "motion")
        self.watch()

    def recover(self, stdout: int = subprocess.PIPE) -> None:
        """Have a controller hold the arm where it began."""
        if not self.controller.is_running:
            # Its last command may have thrown the arm into its stops: none takes that over.
            self.ros.call(Trigger, f"{TWIN}/reset")
            self.controller = self.start_controller(stdout)
            return
        self.ros.set_parameters(CONTROLLER, {"mode": "feedforward"})
        self.ros.call(Trigger, f"{CONTROLLER}/hold")
        self.wait_for_rest()
        there = self.ros.move(self.names, self.home, 0.6, within=0.05)
        self.wait_for_rest(seconds(there.header.stamp))
