"""Shows an arm in a browser: measured, predicted, the wrench on it, and the tracking error, live.

Needs rclpy and viser (``pip install viser``). The page is on this machine only, --host opens it to
others. Links are drawn as lines between their frames: a URDF need not have shapes.

Examples:
  ros2 launch featherstone_ros twin_and_controller.launch.py robot:=panda
  python examples/browser_view.py panda
  python examples/browser_view.py arm.urdf --shadow shadow --port 8081
"""

from __future__ import annotations

import argparse
import signal
import threading
import time
from collections import deque
from collections.abc import Sequence

import numpy as np
import rclpy
import viser
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from viser import uplot

import featherstone_ros as fr
from featherstone_ros.arrays import Floats
from featherstone_ros.model import read_description
from featherstone_ros.model.robots import robot_file
from featherstone_ros.model.urdf import parse

RATE = 20.0  # [Hz] of the picture
SHOWN = 200  # errors in the plot
MEASURED, PREDICTED, FORCE = (40, 90, 150), (230, 140, 40), (205, 65, 180)
FORCE_SCALE = 0.01  # [m/N], as torque_markers draws it


class Arm:
    """Lines between the frames of an arm's links, seen once it is known where it is."""

    def __init__(
        self, scene: viser.SceneApi, name: str, text: str, colour: tuple[int, ...], thickness: float
    ) -> None:
        """Prepare to draw the robot of a URDF text in lines, red, green, blue from 0 to 255."""
        self.model = fr.Model.from_urdf(text)
        self._dynamics = fr.Dynamics(self.model)
        self._links = [(joint.parent, joint.child) for joint in parse(text).joints]
        self._q, self.is_known = np.zeros(self.model.n), False
        self._lines = scene.add_line_segments(
            name, self._ends(), colour, thickness=thickness, visible=False
        )

    def move(self, message: JointState) -> None:
        """Take the positions of the joints that a message names."""
        for name, position in zip(message.name, message.position, strict=False):
            if name in self.model.joint_names and np.isfinite(position):
                self._q[self.model.joint_names.index(name)] = position
                self.is_known = True

    def draw(self) -> None:
        """Draw it where it is."""
        self._lines.points, self._lines.visible = self._ends(), self.is_known

    def pose(self, link: str) -> Floats:
        """Return the pose (4, 4) of a link."""
        return self._dynamics.link_pose(self._q, link)

    def _ends(self) -> Floats:
        return np.array([[self.pose(link)[:3, 3] for link in ends] for ends in self._links])


class BrowserView(Node):  # type: ignore[misc]
    """Draws what it hears."""

    def __init__(self, server: viser.ViserServer, text: str, shadow: str, controller: str) -> None:
        """Listen to the nodes named, and draw the robot of a URDF text."""
        super().__init__("browser_view")
        self._scene = server.scene
        self._scene.add_grid("/floor", 2.0, 2.0)
        server.initial_camera.position = (1.4, -1.4, 1.0)
        server.initial_camera.look_at = (0.0, 0.0, 0.4)
        self._arm = Arm(self._scene, "/measured", text, MEASURED, 0.03)
        self._ahead = Arm(self._scene, "/predicted", text, PREDICTED, 0.015)
        self._wrench = WrenchStamped(wrench=Wrench(force=Vector3(x=np.nan)))  # none has come
        self._errors: deque[tuple[float, float]] = deque([(0.0, np.nan)], SHOWN)
        self._begin = time.monotonic()
        self._text = server.gui.add_markdown("Waiting for joint states.")
        error = uplot.Series(label="largest error [mrad, mm]", stroke="red")
        series = uplot.Series(label="s"), error
        scales = {"x": uplot.Scale(time=False)}
        self._plot = server.gui.add_uplot(self._history(), series, scales=scales, aspect=1.5)
        for kind, topic, take in (
            (JointState, "joint_states", self._arm.move),
            (JointState, f"{shadow}/predicted_joint_states", self._ahead.move),
            (JointState, f"{controller}/error", self._take_error),
            (WrenchStamped, "external_wrench_estimate", self._take_wrench),
            (WrenchStamped, f"{shadow}/external_wrench_estimate", self._take_wrench),
        ):
            self.create_subscription(kind, topic, take, qos_profile_sensor_data)
        self.create_timer(1.0 / RATE, self._draw)

    def _take_wrench(self, message: WrenchStamped) -> None:
        self._wrench = message

    def _take_error(self, message: JointState) -> None:
        largest = float(np.max(np.abs(message.position), initial=0.0)) * 1e3
        self._errors.append((time.monotonic() - self._begin, largest))

    def _history(self) -> tuple[Floats, ...]:
        return tuple(np.array(self._errors).T)

    def _draw(self) -> None:
        self._arm.draw()
        self._ahead.draw()
        self._plot.data = self._history()
        force = self._wrench.wrench.force
        vector, link = np.array([force.x, force.y, force.z]), self._wrench.header.frame_id
        size, error, is_seen = np.linalg.norm(vector), self._errors[-1][1], self._arm.is_known
        if is_seen and link in self._arm.model.link_names and np.isfinite(size):
            pose = self._arm.pose(link)
            tip = pose[:3, 3] + pose[:3, :3] @ vector * FORCE_SCALE
            self._scene.add_arrows("/wrench", np.array([[pose[:3, 3], tip]]), FORCE)
        told = {
            "Blue: measured." if is_seen else "Waiting for joint states.": True,
            "Orange: predicted.": self._ahead.is_known,
            f"Force from outside: {size:.1f} N": np.isfinite(size),
            f"Largest tracking error: {error:.2f} mrad, mm": np.isfinite(error),
        }
        self._text.content = "\n\n".join(text for text, is_known in told.items() if is_known)


def main(argv: Sequence[str] | None = None) -> None:
    """Show the arm until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("robot", help="URDF or xacro file, or a robot of the package's")
    parser.add_argument("--shadow", default="digital_twin", help="node that predicts")
    parser.add_argument("--controller", default="feedforward_controller", help="its node")
    parser.add_argument("--host", default="127.0.0.1", help="address of the page")
    parser.add_argument("--port", type=int, default=8080, help="its port")
    args = parser.parse_args(argv)
    text = read_description(robot_file(args.robot))
    stopping = threading.Event()  # to interrupt rclpy makes errors of it
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    server = viser.ViserServer(args.host, args.port, "featherstone_ros")
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        executor = SingleThreadedExecutor()
        executor.add_node(BrowserView(server, text, args.shadow, args.controller))
        while not stopping.is_set():
            executor.spin_once()
    finally:
        server.stop()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
