"""The view in a browser: what a person sees, in a real Chromium without a window."""

import io
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import Ros  # skips this module where ROS is missing

# isort: split
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

import featherstone_ros as fr

Image = pytest.importorskip("PIL.Image", reason="pillow is not installed: pip install pillow")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
# WebGL by the processor.
OPTIONS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "browser_view.py"
NAMES = list(fr.Model.from_robot("panda").joint_names)
WIDTH, PANEL = 1200, 340  # [pixels]; the texts are on the right, before the scene
RIGHT, LEFT = 0.78, -2.36  # [rad] of the first joint: the arm points there, as the camera sees it


@pytest.fixture
def page() -> Iterator[Any]:
    pytest.importorskip("viser", reason="viser is not installed: pip install viser")
    sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    if not CHROMIUM:
        pytest.skip("there is no chromium: apt install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser.new_page(viewport={"width": WIDTH, "height": 700})
        browser.close()


def columns(page: Any) -> dict[str, np.ndarray]:
    """Return where in the picture, from the left, pixels of each colour are."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    scene = np.asarray(image, int)[150:600, : WIDTH - PANEL]  # without notices and axes
    red, green, blue = np.moveaxis(scene, 2, 0)
    found = {
        "blue": (blue > green + 30) & (green > red + 30),
        "orange": (red > green + 30) & (green > blue + 30),
        "pink": (red > green + 30) & (blue > green + 30),
    }
    return {name: np.nonzero(pixels)[1] for name, pixels in found.items()}


@pytest.mark.alone  # a browser without a graphics card keeps a processor from the others
def test_both_postures_the_force_and_the_error_are_seen(ros: Ros, page: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ros.run([sys.executable, str(EXAMPLE), "panda", "--shadow", "shadow", "--port", str(port)])
    measured = ros.publisher(JointState, "/joint_states")
    predicted = ros.publisher(JointState, "/shadow/predicted_joint_states")
    error = ros.publisher(JointState, "/feedforward_controller/error")
    wrench = ros.publisher(WrenchStamped, "/shadow/external_wrench_estimate")
    page.goto(f"http://127.0.0.1:{port}")
    page.get_by_text("Blue: measured. Orange: predicted.").wait_for()

    def posture(first: float) -> JointState:
        return JointState(name=NAMES, position=[first, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8])

    def seen(first: float) -> dict[str, np.ndarray]:
        """Publish for a while with the measured arm turned so far; return the colours."""
        push = WrenchStamped()
        push.header.frame_id = "panda_hand"
        push.wrench.force.x, push.wrench.force.y = 30.0, 40.0
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            measured.publish(posture(first))
            predicted.publish(posture(LEFT))
            error.publish(JointState(name=NAMES, position=[0.001, -0.0125, *[0.0] * 5]))
            wrench.publish(push)
            ros.run_for(0.05)
        page.get_by_text("Force from outside: 50.0 N").wait_for()
        page.get_by_text("Largest tracking error: 12.50 mrad, mm").wait_for()
        return columns(page)

    middle = WIDTH / 2
    before, after = seen(RIGHT), seen(LEFT)
    assert len(before["pink"]) > 50
    assert np.mean(before["blue"]) > middle + 10 > middle - 10 > np.mean(before["orange"])
    assert np.mean(after["blue"]) < middle - 10
