"""Where the arm is singular: the bounds of cartesian_impedance.pxd, rule 4, and how near they are.

X = B^-1/2 J M^-1/2 has the singular values s = sqrt(largest inertia / apparent inertia): near 1 are
the postures in which the damping of the pseudo-inverse does most.
"""

import numpy as np
import pytest
from drive_settings import parameters_of
from scipy.linalg import sqrtm
from scipy.spatial.transform import Rotation
from studies import few_or_all

from featherstone_ros import Dynamics, Model
from featherstone_ros.control import CartesianImpedance
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.phases import Phase
from featherstone_ros.model.robots import robot_file
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.simulation.simulated_arm import SimulatedArm

POSTURES = 70
TIPS = {"panda": "panda_hand", "ur5e": "tool0"}
SINGULAR = 0.02  # [m/rad] smallest singular value of the Jacobian
LARGEST = 1e4 * np.array([10.0] * 3 + [1.0] * 3)  # [kg, kg m^2] the default
FORCE, MOMENT = 60.0, 15.0  # [N, N m] max_force and max_torque
MOVING = 300  # steps in which the pose that leads the hand gets fast


class SingularArm:
    """A model, and the law without a spring."""

    def __init__(self, robot: str, **settings):
        self.model = Model.from_file(robot_file(robot))
        self.model = Model.from_file(robot_file(robot), joints=self.model.joint_names[:7])
        self.tip, self.dynamics = TIPS[robot], Dynamics(self.model)
        self.law = CartesianImpedance(self.model, self.tip, limit_margin=0, **settings)

    def postures(self, random):
        """Yield singular postures, most of them a little beside one."""
        lower, upper = np.maximum(self.model.lower, -3), np.minimum(self.model.upper, 3)
        found = 0
        while found < POSTURES:
            q = random.uniform(lower, upper)
            some = random.random(self.model.n) < 0.6
            q[some] = random.choice([0.0, np.pi / 2, -np.pi / 2], some.sum())
            q = np.clip(q, lower, upper)
            q += random.normal(size=self.model.n) * 10 ** random.uniform(-6, -2)
            values = np.linalg.svd(self.dynamics.jacobian(q, self.tip), compute_uv=False)
            if values[-1] < SINGULAR:
                found += 1
                yield q


@pytest.mark.parametrize("robot", TIPS)
def test_null_space_torque_moves_the_hand_no_more_than_the_bound_and_never_grows(robot):
    """sqrt(a^T B^-1 a) <= sqrt(tau0^T M^-1 tau0) / 2, and N makes no torque larger."""
    arm = SingularArm(robot, stiffness=0, posture_stiffness=10)
    shares = []
    for q in arm.postures(np.random.default_rng(0)):
        J, M = arm.dynamics.jacobian(q, arm.tip), arm.dynamics.crba(q)
        root = np.real(sqrtm(M))
        X = (np.sqrt(LARGEST) * (J @ np.linalg.inv(root)).T).T
        _, s, V = np.linalg.svd(X)
        worst = root @ V[np.argmin(np.abs(np.log(s + 1e-300)))]  # the direction with s next to 1
        for tau0 in (worst, *np.random.default_rng(1).normal(size=(3, arm.model.n))):
            arm.law.configure(posture=q + tau0 / 10)
            arm.law.start(q)
            tau = arm.law.torque(q, np.zeros(arm.model.n), 0.0, gravity=False)
            a = J @ np.linalg.solve(M, tau)
            bound = 0.5 * np.sqrt(tau0 @ np.linalg.solve(M, tau0))
            shares.append(np.sqrt(a @ (LARGEST * a)) / bound)
            assert tau @ np.linalg.solve(M, tau) <= tau0 @ np.linalg.solve(M, tau0) * (1 + 1e-9)
    assert max(shares) <= 1 + 1e-3
    assert max(shares) > 0.9, "the bound means something"
    print(f"{robot}: {max(shares):.3f} of the bound, median {np.median(shares):.3f}")


@pytest.mark.parametrize("robot", few_or_all(["ur5e"], TIPS))
def test_torque_at_a_singular_posture_is_bounded_by_that_of_force_and_moment(robot):
    """|tau_i| <= 2 (|J_i| max_force + |J_i| max_torque), linear and angular, with D as large."""
    arm = SingularArm(robot, posture_stiffness=0)
    random = np.random.default_rng(2)
    shares = []
    for q in arm.postures(random):
        arm.law.start(q)
        target = arm.dynamics.link_pose(q, arm.tip)
        target[:3, 3] += random.normal(size=3)
        target[:3, :3] = Rotation.random(None, random).as_matrix() @ target[:3, :3]
        arm.law.set_target(target, random.normal(size=6), 100.0 * random.normal(size=6))
        J = arm.dynamics.jacobian(q, arm.tip)
        bound = 2 * FORCE * np.linalg.norm(J[:3], axis=0) + 2 * MOMENT * np.linalg.norm(
            J[3:], axis=0
        )
        for _ in range(MOVING):
            tau = arm.law.torque(q, np.zeros(arm.model.n), 1e-3, gravity=False)
            shares.append((np.abs(tau) / bound).max())
    assert max(shares) <= 1 + 1e-9
    assert max(shares) > 1 / 3, "the bound means something"
    print(f"{robot}: {max(shares):.3f} of the bound")


# Postures from which the way in a direction leads through others in which the wrist is singular.
THROUGH = {
    400.0: ([0.30, -1.62, 1.58, -1.10, -1.59, -0.85], [-1.0, 2.7, -0.8]),
    1500.0: ([-2.18, -2.08, 0.04, 0.99, 1.68, -2.46], [1.1, 1.9, -2.0]),
}


@pytest.mark.parametrize("stiffness", few_or_all([1500.0], THROUGH))
def test_arm_that_is_led_through_singular_postures_does_not_swing(stiffness):
    """With all of D V_d, also along what no joint can do, it ended in a fault."""
    model = Model.from_file(robot_file("ur5e"))
    q, way = THROUGH[stiffness]
    bare = parameters_of(model.joint_names)
    led = {"mode": "cartesian_impedance", "tip": "tool0"}
    arm = ControlledArm.of(model, {**bare, **led, "stiffness": [stiffness] * 3 + [30.0] * 3})
    loop = ClosedLoop(arm, SimulatedArm.of(model, arm.drives, q))
    loop.advance(0.3)
    target = Dynamics(model).link_pose(loop.plant.q, "tool0")
    target[:3, 3] += way
    loop.controller.set_target(loop.now, target)
    record = loop.advance(20.0)
    speeds = np.abs(record.qd) / model.velocity_limit
    assert loop.controller.phase is Phase.HOLDING and not loop.controller.hold_reason
    assert speeds.max() < 0.8
    assert speeds[-1].max() < 0.001


def modes(law: CartesianImpedance, M: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of an arm with mass matrix M under the law, about a posture."""
    n, h, rest = len(q), 1e-6, np.zeros(len(q))

    def slope(of_rates: bool) -> np.ndarray:
        def torque(x: np.ndarray) -> np.ndarray:
            where = (q, x) if of_rates else (q + x, rest)
            return law.torque(*where, 0.0, gravity=False).copy()

        return np.transpose([(torque(h * e) - torque(-h * e)) / (2 * h) for e in np.eye(n)])

    position, rate = (np.linalg.solve(M, slope(of_rates)) for of_rates in (False, True))
    return np.linalg.eigvals(np.block([[np.zeros((n, n)), np.eye(n)], [position, rate]]))


@pytest.mark.parametrize(
    ("robot", "q"),
    [("panda", [0.0, 0.0, 0.0, -0.08, 0.0, 1.6, 0.0]), ("ur5e", [0.3, -1.0, 0.05, 0.1, 0.4, 0.0])],
)
def test_arm_that_a_far_target_has_stretched_does_not_swing_on_it(robot, q):
    """The force of the spring turns its own lever arms: without damping of that .1 and .4."""
    arm, q = SingularArm(robot), np.array(q)
    arm.law.configure(max_speed=10.0, max_acceleration=100.0)
    M, pose = arm.dynamics.crba(q), arm.dynamics.link_pose(q, arm.tip)
    for way in ([3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 3.0]):
        arm.law.start(q)
        far = pose.copy()
        far[:3, 3] += way
        arm.law.set_target(far)
        for _ in range(20):  # the desired pose gets there
            arm.law.torque(q, 0.0 * q, 0.1)
        found = modes(arm.law, M, q)
        swings = found[np.abs(found.imag) > 1.0]
        assert (-swings.real > 0.5 * np.abs(swings)).all()
