"""Mode cartesian_impedance of the compiled controller, around a simulated Panda."""

from contextlib import suppress
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from contact_bench import HOME, MODEL, STEP, TIP, moved
from drive_settings import parameters_of
from scipy.linalg import sqrtm
from scipy.spatial.transform import Rotation
from studies import few_or_all

from featherstone_ros import Dynamics, Model
from featherstone_ros.control import CartesianImpedance
from featherstone_ros.control.cartesian_impedance import CartesianSettings
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import TrajectoryError
from featherstone_ros.kinematics import pose_error
from featherstone_ros.model.robots import robot_file
from featherstone_ros.parameter import of_joints
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.simulation.simulated_arm import SimulatedArm

NOTHING = np.zeros(7)


@cache
def arm():
    return ControlledArm.of(
        MODEL,
        parameters_of(MODEL.joint_names)
        | of_joints("torque_rate.{}", MODEL.joint_names, [1000.0] * 7)
        | {"mode": "cartesian_impedance", "tip": TIP, "gains.period": STEP, "gains.delay": 0.0},
    )


class Drives(SimulatedArm):
    """Of which some add an effort by themselves, as ``added`` says at a command's beginning."""

    added = staticmethod(np.zeros_like)

    def write(self, at, command):
        super().write(at, command._replace(effort=command.effort + self.added(self.q)))


class Bench(ClosedLoop):
    """The loop around an arm without friction, and all that went by."""

    def __init__(self, q=HOME, **parameters):
        plant = Drives.of(MODEL, arm().drives, q)
        super().__init__(arm().with_parameters(**parameters), plant, delay=0.0, period=STEP)
        self.dynamics = Dynamics(MODEL)
        self.commands, self.poses = [self.dynamics.gravity(q)], [self.pose]

    @property
    def pose(self):
        return self.dynamics.link_pose(self.plant.q, TIP)

    @property
    def phase(self):
        return self.controller.phase

    def run(self, duration, wrench=None, states=True):
        self.plant.wrenches = None if wrench is None else lambda q, qd: {TIP: wrench}
        self.plant.measure = lambda state: state if states else None
        for sample in self.steps(duration):
            if not np.isnan(sample.command[0]):
                self.commands.append(sample.command)
            elif states:  # the first after silence has to be confirmed
                assert self.phase is Phase.OPEN_LOOP, self.controller.rejection
            self.poses.append(self.pose)
        return self

    def error(self, target):
        return pose_error(self.pose, target)

    def largest_step(self):
        """Of a command, over what the rate limit allows."""
        return (
            np.abs(np.diff(self.commands, axis=0)) / (self.arm.settings.torque_rate * STEP)
        ).max()


def test_stale_stream_holds_the_last_pose_and_lets_go_of_twist_and_wrench():
    bench = Bench().run(0.3)
    pose = bench.pose
    for _ in range(50):
        pose = moved(pose, [0.0, 0.001, 0.0])
        twist = [0.0, 0.1, 0.0, 0.0, 0.0, 0.0]
        bench.controller.set_target(bench.now, pose, twist, [0.0, 0.0, -10.0, 0.0, 0.0, 0.0])
        bench.run(0.01)
    assert np.abs(bench.error(pose))[2] > 1e-3  # pressed away
    bench.run(2.5)
    assert bench.phase is Phase.HOLDING
    np.testing.assert_allclose(bench.error(pose), 0.0, atol=1e-3)
    assert bench.largest_step() <= 1 + 1e-9


@pytest.mark.parametrize("speed", [0.1, 2.0])
def test_velocities_alone_lead_the_hand_until_they_end(speed):
    """As a joystick does; 2 m/s are more than the hand may be led with."""
    bench = Bench().run(0.3)
    start = bench.pose
    for _ in range(100):
        twist = [0.0, -speed, 0.0, 0.0, 0.0, 0.2]
        bench.controller.set_target(bench.now, twist=twist)
        bench.run(0.01)
    led = min(speed, CartesianSettings().max_speed) * (1.0 + bench.arm.settings.target_timeout)
    bench.run(2.5)
    target = moved(start, [0.0, -led, 0.0], 0.2 * (1.0 + bench.arm.settings.target_timeout))
    np.testing.assert_allclose(bench.error(target), 0.0, atol=5e-3)
    assert bench.phase is Phase.HOLDING
    assert bench.largest_step() <= 1 + 1e-9


@pytest.mark.parametrize("other", [Mode.FEEDFORWARD, Mode.COMPUTED_TORQUE])
@pytest.mark.parametrize("moving", [False, True])
def test_a_law_of_the_joints_holds_the_arm_where_the_hand_left_it(other, moving):
    bench = Bench(mode=other).run(0.3)
    bench.configure(mode=Mode.CARTESIAN_IMPEDANCE)
    bench.run(0.5)
    if moving:
        bench.controller.set_target(bench.now, moved(bench.pose, [0.0, -0.3, 0.0]))
        bench.run(0.6)
    before = bench.pose
    bench.configure(mode=other)
    bench.run(1.0)
    assert bench.phase is Phase.HOLDING
    assert np.abs(np.diff(bench.commands, axis=0)).max() < 200.0 * STEP  # [N m]
    assert np.linalg.norm(bench.error(before)[:3]) < (0.06 if moving else 1e-3)


@pytest.mark.parametrize("blend_time", [0.2, 1.0])
@pytest.mark.parametrize("other", [Mode.GRAVITY_COMPENSATION, Mode.FEEDFORWARD])
def test_hand_that_is_pulled_with_all_force_is_let_go_without_speeding(other, blend_time):
    """What is left of the torque drives the arm on while it fades."""
    strong = {"stiffness": (1000.0,) * 3 + (50.0,) * 3, "max_force": 200.0}
    bench = Bench(blend_time=blend_time, **strong).run(0.3)
    bench.controller.set_target(bench.now, moved(bench.pose, [0.0, -2.0, 0.0]), [0, -9, 0, 0, 0, 9])
    bench.run(0.3)
    bench.configure(mode=other)
    for _ in range(250):
        bench.run(STEP)
        assert (np.abs(bench.plant.qd) <= 0.86 * MODEL.velocity_limit).all()
    assert bench.largest_step() <= 1 + 1e-9


def test_drives_that_add_gravity_move_a_hand_at_the_speed_limit_as_others_do():
    """Which somebody drags away faster than joints may be."""
    plain, adding = (Bench(hardware_adds_gravity=adds) for adds in (False, True))
    adding.plant.added = adding.dynamics.gravity
    for bench in (plain, adding):
        bench.configure({f"torque_rate.{joint}": 1e6 for joint in MODEL.joint_names})
        bench.run(0.3).run(0.4, np.array([60.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    count = plain.controller.interventions
    assert count == adding.controller.interventions and count > 50
    np.testing.assert_allclose(adding.poses, plain.poses, atol=1e-9)


def test_an_arm_that_has_been_let_go_is_braked_by_its_damping_alone():
    """Whoever leads it by hand may be faster than the hand may be led."""
    bench = Bench().run(0.3)
    bench.configure(mode=Mode.GRAVITY_COMPENSATION)
    bench.run(bench.arm.settings.blend_time + 0.1)
    qd = np.array([0.97, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]) * MODEL.velocity_limit
    bench.configure({f"torque_rate.{joint}": 1e6 for joint in MODEL.joint_names}, blend_time=0.0)
    q = bench.plant.q
    for _ in range(20):
        bench.now, q = bench.now + STEP, q + STEP * qd
        command = bench.controller.accept_state(bench.now, q, qd, stamp=bench.now)
    expected = bench.dynamics.gravity(q) - bench.arm.settings.damping * qd
    np.testing.assert_allclose(command, expected, atol=1e-9)


def test_stiffness_changes_without_a_step():
    bench = Bench(blend_time=0.0).run(0.3)
    start = bench.pose
    force = start[:3, :3].T @ np.array([0.0, 10.0, 0.0])
    push = np.concatenate([force, np.zeros(3)])
    bench.run(1.0, push)
    yields = [np.linalg.norm(bench.error(start)[:3])]
    for stiffness in (900.0, 950.0):  # each change begins where the last one ended
        bench.configure(stiffness=(stiffness,) * 3 + (50.0,) * 3)
        yields.append(np.linalg.norm(bench.run(1.0, push).error(start)[:3]))
    assert yields[2] < yields[1] < 0.6 * yields[0]
    assert np.abs(np.diff(bench.commands[5:], axis=0)).max() < 200.0 * STEP


def test_an_arm_that_brakes_have_stopped_is_not_pulled_on():
    """What the spring had built up is let go."""
    bench = Bench().run(0.3)
    bench.controller.set_target(bench.now, moved(bench.pose, [0.0, -0.3, 0.0]))
    bench.run(0.05)
    q, qd = bench.plant.q.copy(), bench.plant.qd.copy()
    while bench.phase is Phase.REFERENCE and bench.now < 10.0:
        bench.now += STEP
        q, qd = q + STEP * qd, 0.9 * qd * (np.abs(qd).max() > 1e-3)
        bench.commands.append(
            bench.controller.accept_state(bench.now, q, qd, stamp=bench.now).copy()
        )
    assert "does not move at all" in bench.controller.hold_reason
    assert bench.phase is Phase.HOLDING
    for _ in range(500):
        bench.now += STEP
        bench.commands.append(
            bench.controller.accept_state(bench.now, q, NOTHING, stamp=bench.now).copy()
        )
    np.testing.assert_allclose(bench.commands[-1], bench.dynamics.gravity(q), atol=1e-6)
    assert bench.largest_step() <= 1 + 1e-9


def test_a_hand_that_moves_when_the_mode_begins_is_not_stopped_dead():
    """The law begins at the hand's velocity, so that no damper works against it."""
    bench = Bench(mode=Mode.FEEDFORWARD, blend_time=0.0).run(0.3)
    bench.configure({f"torque_rate.{joint}": 1e6 for joint in MODEL.joint_names})
    q, qd = bench.plant.q, np.array([0.5, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0])
    for k in range(4):  # one alone might be wrong
        if k == 3:
            bench.configure(mode=Mode.CARTESIAN_IMPEDANCE)
        bench.now, q = bench.now + STEP, q + STEP * qd
        command = bench.controller.accept_state(bench.now, q, qd, stamp=bench.now)
    np.testing.assert_allclose(command, bench.dynamics.gravity(q), atol=1.0)


def test_an_arm_that_stands_may_be_given_a_strong_spring_at_once():
    """The first states after it are still those of the arm that stands."""
    bench = Bench(max_force=1.0, max_torque=1.0).run(0.3)
    target = moved(bench.pose, [0.0, -0.3, 0.0])
    bench.controller.set_target(bench.now, target)
    bench.plant.blocked = True
    bench.run(2.0)
    bench.configure(
        max_force=CartesianSettings().max_force, max_torque=CartesianSettings().max_torque
    )
    bench.plant.blocked = False
    bench.run(3.0)
    assert bench.controller.hold_reason == ""
    np.testing.assert_allclose(bench.error(target), 0.0, atol=1e-3)


def test_a_free_axis_may_be_led_on_while_the_arm_stands():
    """Dry friction may hold it to the last bit: nothing is wrong with its states."""
    bench = Bench(stiffness=(0.0,) * 3 + (30.0,) * 3).run(0.3)
    bench.controller.set_target(bench.now, moved(bench.pose, [0.0, -0.4, 0.0]))
    bench.plant.blocked = True
    bench.run(2.0)
    assert bench.phase is Phase.HOLDING
    assert bench.controller.hold_reason == ""


def test_a_hand_that_is_free_stays_where_it_is_let_go():
    bench = Bench(stiffness=(0.0,) * 3 + (30.0,) * 3, free_damping=[60.0] * 3 + [0.0] * 3).run(0.3)
    start = bench.pose
    bench.run(0.5, np.concatenate([start[:3, :3].T @ [0.0, 15.0, 0.0], np.zeros(3)])).run(2.0)
    there = bench.pose
    assert np.linalg.norm(bench.error(start)[:3]) > 0.03
    bench.run(1.0)
    assert np.linalg.norm(bench.error(there)[:3]) < 5e-3


ATTACKS = {  # each every 50 ms
    "poses that flip": lambda x: {"pose": moved(x.home, [0, 0.3 * (-1) ** x.k, 0], np.pi * x.k)},
    "poses out of reach": lambda x: {"pose": moved(x.home, 10.0 ** (x.k % 7) * x.direction[:3])},
    "huge velocities": lambda x: {"pose": x.home, "twist": 1e6 * x.direction},
    "huge wrenches": lambda x: {"pose": x.home, "wrench": 1e6 * x.direction},
    "changes of mode": lambda x: {"pose": moved(x.home, 0.4 * x.direction[:3])},
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_joint_races_and_the_hand_obeys_afterwards(attack):
    bench, random = Bench().run(0.3), np.random.default_rng(0)
    home = bench.pose
    for k in range(20):
        if attack == "changes of mode":
            for mode in (list(Mode)[k % 3], Mode.CARTESIAN_IMPEDANCE):
                bench.configure(mode=mode)
                bench.run(0.02)
        now = SimpleNamespace(home=home, k=k, direction=random.uniform(-1, 1, 6))
        with suppress(TrajectoryError):
            bench.controller.set_target(bench.now, **ATTACKS[attack](now))
        bench.run(0.05)
        assert (np.abs(bench.plant.qd) < MODEL.velocity_limit).all()
    bench.controller.hold(bench.now)
    bench.run(0.5)
    target = moved(home, [0.0, -0.1, 0.05])
    bench.controller.set_target(bench.now, target)
    bench.run(2.5)
    np.testing.assert_allclose(bench.error(target), 0.0, atol=5e-3)


# Where the arm is singular: the bounds of cartesian_impedance.pxd, rule 4, and how near they are.


POSTURES = 70
TIPS = {"panda": "panda_hand", "ur5e": "tool0"}
SINGULAR = 0.02  # [m/rad] smallest singular value of the Jacobian
LARGEST = 1e4 * np.array([10.0] * 3 + [1.0] * 3)  # [kg, kg m^2] the default
FORCE, MOMENT = 60.0, 15.0  # [N, N m] max_force and max_torque
MOVING = 120  # steps in which the pose that leads the hand gets fast


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


@pytest.mark.parametrize("robot", few_or_all(["panda"], TIPS))
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
