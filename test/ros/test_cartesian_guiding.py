"""Hand guiding over DDS: stiffness 0 on some axes, pushed by the twin's ``~/external_wrench``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from studies import study
from support import ros_in_free_domain  # skips this module where ROS is missing

# isort: split
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from led import TIPS, Led, coordinates
from neighbour import TWIN
from scene import Scene

pytestmark = pytest.mark.timeout(600)  # whole seconds of patience add up on a busy machine

PACE = 3.0  # times as fast as real time
FORCE, MOMENT = 30.0, 8.0  # [N, N m]: more than dry friction, less than the springs bear
STIFFNESS = np.array([1000.0] * 3 + [100.0] * 3)  # [N/m, N m/rad]
DAMPING = np.array([60.0] * 3 + [8.0] * 3)  # [N s/m, N m s/rad] of free axes
WAY = np.array([0.06] * 3 + [0.15] * 3)  # [m, rad] that a push moves a free axis
STUCK = np.array([0.02] * 3 + [0.08] * 3)  # [m, rad] that dry friction may leave elsewhere


class Guided(Led):
    """A hand that is pushed."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.pushes = self.ros.publisher(WrenchStamped, f"{TWIN}/external_wrench")

    def free(self, *axes: int) -> None:
        """Let the hand go along these axes, 0 to 5."""
        stiffness, damping = STIFFNESS.copy(), np.zeros(6)
        stiffness[list(axes)], damping[list(axes)] = 0.0, DAMPING[list(axes)]
        self.set(stiffness=stiffness.tolist(), free_damping=damping.tolist())
        self.ros.run_for(0.3)

    def turned(self) -> np.ndarray:
        """Return the rotation vector of the hand from where it began, (3,) [rad]."""
        return (orientation(self.poses[-1].pose) * orientation(self.home).inv()).as_rotvec()

    def way(self) -> np.ndarray:
        """Return by how much the hand has moved and turned, (6,) [m, rad]."""
        return np.concatenate([self.moved(), self.turned()])

    def push(self, wrench) -> None:
        """Push the hand once; base axes (6,). The twin keeps that for its ``wrench_timeout``."""
        axes = orientation(self.poses[-1].pose).inv()
        force, moment = axes.apply(wrench[:3]), axes.apply(wrench[3:])
        message = WrenchStamped(wrench=Wrench(force=vector(force), torque=vector(moment)))
        message.header.frame_id = TIPS[self.scene.arm]
        self.pushes.publish(message)

    def push_until(self, wrench, condition, what: str) -> None:
        """Push the hand until it is somewhere, and let it go."""

        def pushed():
            self.push(wrench)
            return condition()

        self.ros.wait_for(pushed, what)
        self.push(np.zeros(6))


def orientation(pose) -> Rotation:
    """Return that of a pose."""
    return Rotation.from_quat([*coordinates(pose.orientation), pose.orientation.w])


def vector(x) -> Vector3:
    """Return it as a message."""
    return Vector3(**dict(zip("xyz", map(float, x), strict=True)))


@pytest.fixture(scope="module", params=["panda", study("ur5e")])
def shared(request, tmp_path_factory) -> Iterator[Guided]:
    with (
        ros_in_free_domain(tmp_path_factory.mktemp("guided")) as ros,
        closing(Scene(ros, request.param, pace=PACE, rate=100.0, tip=TIPS[request.param])) as scene,
    ):
        yield Guided(scene)


@pytest.fixture
def hand(shared: Guided) -> Iterator[Guided]:
    shared.begin()
    yield shared
    shared.push(np.zeros(6))  # also after a failure: the next test's arm is its own
    shared.scene.assert_no_race(shared.scene.peak)


FREE = {"a plane": (0, 1), "rotation only": (3, 4, 5)}  # along a line: to the wall


@pytest.mark.parametrize("free", [FREE["a plane"], study(FREE["rotation only"])], ids=FREE)
def test_hand_goes_where_it_is_free_and_nowhere_else(hand, free):
    hand.free(*free)
    for pushed in range(6):
        wrench = np.zeros(6)
        wrench[pushed] = (FORCE if pushed < 3 else MOMENT) * (-1) ** pushed
        before = hand.way()
        if pushed in free:
            ahead = np.sign(wrench[pushed]) * WAY[pushed]
            hand.push_until(
                wrench,
                lambda p=pushed, b=before, a=ahead: (hand.way() - b)[p] / a > 1.0,
                f"motion along axis {pushed}",
            )
        else:
            bound = abs(wrench[pushed]) / STIFFNESS[pushed] + STUCK[pushed]
            for _ in range(10):
                hand.push(wrench)
                hand.ros.run_for(0.02)
            hand.ros.wait_for(
                lambda p=pushed, b=before, bound=bound: abs((hand.way() - b)[p]) < bound,
                f"a spring along axis {pushed} that bears the push",
            )
            hand.push(np.zeros(6))
        hand.scene.wait_for_rest()
    stiff = [axis for axis in range(6) if axis not in free]
    back = lambda: (np.abs(hand.way()) < STUCK)[stiff].all()  # noqa: E731
    hand.ros.wait_for(back, "springs that have let go")


def test_hand_stays_where_it_is_let_go(hand):
    hand.free(0, 1, 2)
    wrench = np.array([0.0, FORCE, 0.0, 0.0, 0.0, 0.0])
    hand.push_until(wrench, lambda: hand.way()[1] > WAY[1], "motion")
    hand.scene.wait_for_rest()
    before = hand.way()
    hand.ros.run_for(1.0 / PACE)
    assert np.abs(hand.way() - before)[:3].max() < 5e-3


def test_wall_stops_the_hand_and_lets_it_go(hand):
    hand.free(1)
    wall, stiffness = 0.05, 3000.0  # [m] ahead, [N/m]
    y = hand.home.position.y + wall
    hand.set(walls=[0.0, -1.0, 0.0, -y, stiffness, 50.0])
    wrench = np.array([0.0, FORCE, 0.0, 0.0, 0.0, 0.0])
    hand.push_until(wrench, lambda: hand.moved()[1] > wall - 0.005, "the hand at the wall")
    for _ in range(15):
        hand.push(wrench)
        hand.ros.run_for(0.02)
    hand.ros.wait_for(
        lambda: wall - 0.005 < hand.moved()[1] < wall + FORCE / stiffness + 5e-3, "rest at the wall"
    )
    hand.push_until(-wrench, lambda: hand.moved()[1] < 0.02, "the hand away from the wall")
