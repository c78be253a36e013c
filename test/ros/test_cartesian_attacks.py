"""Legal but hostile messages while a Panda's hand is led over DDS: no joint races, it obeys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np
import pytest
from studies import study
from support import ros_in_free_domain  # skips this module where ROS is missing

# isort: split
from geometry_msgs.msg import Quaternion, Twist, TwistStamped, Vector3, Wrench, WrenchStamped
from led import IMPEDANCE, TIPS, Led
from neighbour import CONTROLLER
from scene import Scene
from std_srvs.srv import Trigger

pytestmark = pytest.mark.timeout(600)  # whole seconds of patience add up on a busy machine

STUCK = 0.03  # [m] that dry friction may leave on a spring of 400 N/m, in any posture
ATTACK = 1.5  # [s] of the arm's time, as are all others
PACE = 3.0  # times as fast as real time
HUGE = 1e6


class Attacked(Led):
    """A hand in motion."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.random = np.random.default_rng(0)
        self.twists = self.ros.publisher(TwistStamped, f"{CONTROLLER}/target_twist")
        self.wrenches = self.ros.publisher(WrenchStamped, f"{CONTROLLER}/target_wrench")

    def begin(self) -> None:
        """Bring the arm home and let the hand move."""
        super().begin()
        self.lead_until([0.0, 0.2, 0.0], lambda: self.scene.way > 0.1, "motion")

    def is_at(self, by) -> bool:
        """Say whether the hand is where it began, moved."""
        return bool(np.abs(self.moved() - by).max() < STUCK)

    def every(self, action: Callable[[int], object], period: float = 0.01) -> None:
        """Do something again and again for the time of an attack."""
        for k in range(round(ATTACK / period)):
            action(k)
            self.go_on(period)

    def go_on(self, duration: float) -> None:
        """Let the arm move for a while."""
        self.ros.run_for(duration / PACE)

    def vector(self, size: float) -> Vector3:
        """Return a vector of any direction."""
        x, y, z = map(float, self.random.uniform(-size, size, 3))
        return Vector3(x=x, y=y, z=z)


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[Attacked]:
    with (
        ros_in_free_domain(tmp_path_factory.mktemp("led")) as ros,
        closing(Scene(ros, pace=PACE, rate=100.0, tip=TIPS["panda"])) as scene,
    ):
        yield Attacked(scene)


@pytest.fixture
def led(shared: Attacked) -> Attacked:
    shared.begin()
    return shared


def poses_out_of_reach(led: Attacked) -> None:
    led.every(lambda k: led.lead(led.random.uniform(-1, 1, 3) * 10.0 ** (k % 7)))


def poses_that_flip(led: Attacked) -> None:
    """From side to side, each turned by half a turn about another axis."""
    axes = [Quaternion(**{axis: 1.0, "w": 0.0}) for axis in "xyz"]
    led.every(lambda k: led.lead([0.0, 0.3 * (-1) ** k, 0.0], "", axes[k % 3]), 0.05)


def huge_velocities(led: Attacked) -> None:
    def twist():
        return Twist(linear=led.vector(HUGE), angular=led.vector(HUGE))

    led.every(lambda _: led.twists.publish(TwistStamped(twist=twist())), 0.05)


def huge_wrenches(led: Attacked) -> None:
    def wrench():
        return Wrench(force=led.vector(HUGE), torque=led.vector(HUGE))

    led.every(lambda _: led.wrenches.publish(WrenchStamped(wrench=wrench())), 0.05)


def poses_that_are_none(led: Attacked) -> None:
    """Each is refused, between others that are accepted."""
    nobody, nan = Quaternion(w=0.0), Quaternion(x=float("nan"))

    def mislead(k):
        led.lead([0.0, 0.2, 0.1], "kitchen")
        led.lead([0.0, 0.2, 0.1], "", nobody)
        led.lead([0.0, 0.2, 0.1], "", nan)
        led.lead([0.0, float("inf"), 0.1])
        led.lead([0.0, 0.2 * (-1) ** (k // 50), 0.0], "panda_link0")

    led.every(mislead)


def bursts(led: Attacked) -> None:
    for k in range(3):
        for _ in range(1000):
            led.lead([0.0, 0.3 * (-1) ** k, 0.0])
        led.go_on(0.5)


def changes_of_mode(led: Attacked) -> None:
    """In motion, each while the transfer to the last one goes on."""
    for mode in ("feedforward", "gravity_compensation", "computed_torque") * 4:
        led.set(mode=mode)
        led.go_on(0.05)
        led.set(mode="cartesian_impedance")
        led.lead(led.random.uniform(-0.4, 0.4, 3))
        led.go_on(0.2)


def changes_of_tip(led: Attacked) -> None:
    """The tip stays the one that the controller began with."""
    for tip in ("panda_link5", "panda_link0", "nobody", ""):
        (result,) = led.ros.set_parameters(CONTROLLER, {"tip": tip})
        assert not result.successful
        led.lead(led.random.uniform(-0.3, 0.3, 3))
        led.go_on(0.3)


def changes_of_stiffness(led: Attacked) -> None:
    for k in range(12):
        stiffness = 10.0 ** led.random.uniform([0.0] * 3 + [-1.0] * 3, [3.3] * 3 + [2.0] * 3)
        led.set(stiffness=[float(x) for x in stiffness], inertia_shaping=k % 2 == 0)
        led.lead(led.random.uniform(-0.3, 0.3, 3))
        led.go_on(0.2)


def walls_about_the_hand(led: Attacked) -> None:
    """It finds itself a metre within one, then within the opposite one."""
    for k in range(6):
        led.set(walls=[0.0, (-1.0) ** k, 0.0, 1.0, 1e4, 100.0])
        led.go_on(0.3)


ATTACKS = [
    poses_out_of_reach,
    study(poses_that_flip),
    study(huge_velocities),
    huge_wrenches,
    study(poses_that_are_none),  # test_cartesian_topics.py: each is refused by name
    study(bursts),
    changes_of_mode,
    study(changes_of_tip),
    study(changes_of_stiffness),
    study(walls_about_the_hand),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_no_joint_races_and_the_hand_obeys_afterwards(led, attack):
    attack(led)
    peak = led.scene.peak
    print(led.scene.row(attack.__name__, 0.0))
    led.scene.assert_no_race(peak)
    assert led.scene.controller.is_running
    assert led.ros.state(CONTROLLER) == "active"
    led.set(**IMPEDANCE)
    hold = lambda: led.ros.call(Trigger, f"{CONTROLLER}/hold").success  # noqa: E731
    for _ in range(2):  # what still swings may become a fault, which another hold ends
        led.ros.wait_for(hold, "a hold")  # refused while there are no states
        led.scene.wait_for_rest()
    if attack is poses_that_flip:  # its joints are at their limits: they alone lead back
        led.begin()
    led.scene.watch()
    for way in ([0.0, -0.1, 0.05], [0.0, 0.0, 0.0]):
        led.lead_until(way, lambda way=way: led.is_at(way), "the hand at its target")
    led.scene.assert_no_race(led.scene.peak)
