"""Mode cartesian_impedance of the compiled controller, around a simulated Panda."""

from contextlib import suppress

import numpy as np
import pytest
from arm_scene import (
    TIPS,
    Scene,
    braked,
    configured,
    hand_target,
    hold,
    lead,
    load,
    play,
    pushed,
)
from contact_bench import HOME, MODEL, STEP, TIP, moved
from drive_settings import parameters_of
from scipy.linalg import sqrtm
from scipy.spatial.transform import Rotation
from studies import few_or_all

from featherstone_ros import Dynamics, Model
from featherstone_ros.control import CartesianImpedance
from featherstone_ros.control.cartesian_impedance import CartesianSettings
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import TrajectoryError
from featherstone_ros.kinematics import pose_error
from featherstone_ros.model.robots import robot_file
from featherstone_ros.parameter import of_joints

HOME_POSE = Dynamics(MODEL).link_pose(HOME, TIP)
STANDS = 0.3  # [s] in which the arm is taken over
FREE = (0.0,) * 3 + (30.0,) * 3  # stiffness
ANY_RATE = {f"torque_rate.{joint}": 1e6 for joint in MODEL.joint_names}


def led(ask, duration, parameters=None, **more):
    """Play a scene of an arm without friction, of which every state is answered."""
    own = of_joints("torque_rate.{}", MODEL.joint_names, [1000.0] * 7)
    own |= parameters_of(MODEL.joint_names) | {"gains.period": STEP, "gains.delay": 0.0}
    own |= {"mode": "cartesian_impedance", "tip": TIP, **(parameters or {})}
    urdf = robot_file("panda").read_text()
    played = play(Scene(urdf, ask, duration, HOME, own, period=STEP, delay=0.0, **more))
    silent = np.isnan(played.record.command[:, 0])
    assert (played.record.phase[silent] == Phase.OPEN_LOOP).all(), played.loop.controller.rejection
    return played


def far(pose, from_):
    """Return how far a hand is from another place [m]."""
    return np.linalg.norm(pose_error(pose, from_)[:3])


def given(loop, q, qd, count=1):
    """Give states by hand, of an arm that moves on; return the last command, and where it is."""
    for _ in range(count):
        loop.now, q = loop.now + STEP, q + STEP * qd
        command = loop.controller.accept_state(loop.now, q, qd, stamp=loop.now).copy()
    return command, q


def pushed_along_y(force):
    """Push along the base's axis, as the hand stands at home [N]."""
    return pushed(np.append(HOME_POSE[:3, :3].T @ [0.0, force, 0.0], np.zeros(3)))


def test_stale_stream_holds_the_last_pose_and_lets_go_of_twist_and_wrench():
    poses = [moved(HOME_POSE, [0.0, 0.001 * k, 0.0]) for k in range(1, 51)]
    more = [0.0, 0.1, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, -10.0, 0.0, 0.0, 0.0]
    played = led({STANDS + 0.01 * k: hand_target(pose, *more) for k, pose in enumerate(poses)}, 3.3)
    assert np.abs(pose_error(played.hand(0.8), poses[-1]))[2] > 1e-3  # pressed away
    assert played.loop.controller.phase is Phase.HOLDING
    np.testing.assert_allclose(pose_error(played.hand(), poses[-1]), 0.0, atol=1e-3)
    assert played.rate <= 1 + 1e-9


@pytest.mark.parametrize("speed", [0.1, 2.0])
def test_velocities_alone_lead_the_hand_until_they_end(speed):
    """As a joystick does; 2 m/s are more than the hand may be led with."""
    ask = hand_target(None, [0.0, -speed, 0.0, 0.0, 0.0, 0.2])
    played = led({STANDS + 0.01 * k: ask for k in range(100)}, 3.8)
    lasts = 1.0 + played.loop.arm.settings.target_timeout
    way = [0.0, -min(speed, CartesianSettings().max_speed) * lasts, 0.0]
    target = moved(HOME_POSE, way, 0.2 * lasts)
    np.testing.assert_allclose(pose_error(played.hand(), target), 0.0, atol=5e-3)
    assert played.loop.controller.phase is Phase.HOLDING
    assert played.rate <= 1 + 1e-9


@pytest.mark.parametrize("other", [Mode.FEEDFORWARD, Mode.COMPUTED_TORQUE])
@pytest.mark.parametrize("moving", [False, True])
def test_a_law_of_the_joints_holds_the_arm_where_the_hand_left_it(other, moving):
    ask = {STANDS: configured(mode=Mode.CARTESIAN_IMPEDANCE), 1.4: configured(mode=other)}
    if moving:
        ask[0.8] = lead([0.0, -0.3, 0.0])
    played = led(ask, 2.4, {"mode": other})
    assert played.loop.controller.phase is Phase.HOLDING
    assert played.rate < 0.2  # 200 N m/s
    assert far(played.hand(), played.hand(1.4)) < (0.06 if moving else 1e-3)


@pytest.mark.parametrize("blend_time", [0.2, 1.0])
@pytest.mark.parametrize("other", [Mode.GRAVITY_COMPENSATION, Mode.FEEDFORWARD])
def test_hand_that_is_pulled_with_all_force_is_let_go_without_speeding(other, blend_time):
    """What is left of the torque drives the arm on while it fades."""
    pulled = {STANDS: lead([0.0, -2.0, 0.0], [0, -9, 0, 0, 0, 9]), 0.6: configured(mode=other)}
    strong = {"stiffness": (1000.0,) * 3 + (50.0,) * 3, "max_force": 200.0}
    played = led(pulled, 1.1, {"blend_time": blend_time, **strong})
    assert played.speed[played.since(0.6 + STEP)].max() <= 0.86
    assert played.rate <= 1 + 1e-9


def test_drives_that_add_gravity_move_a_hand_at_the_speed_limit_as_others_do():
    """Which somebody drags away faster than joints may be."""
    dynamics, measured = Dynamics(MODEL), []

    def noted(state):
        measured.append(state.q)
        return state

    def adding(at, command):
        return command._replace(effort=command.effort + dynamics.gravity(measured[-1]))

    ask = {STANDS: pushed([60.0, 0.0, 0.0, 0.0, 0.0, 0.0])}
    plain = led(ask, 0.7, ANY_RATE)
    adds = {"hardware_adds_gravity": True, **ANY_RATE}
    others = led(ask, 0.7, adds, state=noted, command=adding)
    count = plain.loop.controller.interventions
    assert count == others.loop.controller.interventions and count > 50
    places = ([dynamics.link_pose(q, TIP) for q in played.q] for played in (plain, others))
    np.testing.assert_allclose(*places, atol=1e-9)


def test_an_arm_that_has_been_let_go_is_braked_by_its_damping_alone():
    """Whoever leads it by hand may be faster than the hand may be led."""
    loop = led({STANDS: configured(mode=Mode.GRAVITY_COMPENSATION)}, 1.0).loop
    assert loop.now > STANDS + loop.arm.settings.blend_time + 0.1
    qd = np.array([0.97, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]) * MODEL.velocity_limit
    loop.configure(ANY_RATE, blend_time=0.0)
    command, q = given(loop, loop.plant.q, qd, 20)
    expected = Dynamics(MODEL).gravity(q) - loop.arm.settings.damping * qd
    np.testing.assert_allclose(command, expected, atol=1e-9)


def test_stiffness_changes_without_a_step():
    ask = {STANDS: pushed_along_y(10.0)}
    for begin, stiffness in ((1.3, 900.0), (2.3, 950.0)):  # where the last one ended
        ask[begin] = configured(stiffness=(stiffness,) * 3 + (50.0,) * 3)
    played = led(ask, 3.3, {"blend_time": 0.0})
    yields = [far(played.hand(end), HOME_POSE) for end in (1.3, 2.3, 3.3)]
    assert yields[2] < yields[1] < 0.6 * yields[0]
    assert np.abs(np.diff(played.record.command[5:], axis=0)).max() < 200.0 * STEP


def test_an_arm_that_brakes_have_stopped_is_not_pulled_on():
    """What the spring had built up is let go."""
    played = led({STANDS: lead([0.0, -0.3, 0.0])}, 0.35)
    loop, commands = played.loop, [*played.record.command[1:]]
    q, qd = loop.plant.q, loop.plant.qd
    while loop.controller.phase is Phase.REFERENCE and loop.now < 10.0:
        command, q = given(loop, q, qd)
        qd = 0.9 * qd * (np.abs(qd).max() > 1e-3)
        commands.append(command)
    assert "does not move at all" in loop.controller.hold_reason
    assert loop.controller.phase is Phase.HOLDING
    commands += [given(loop, q, 0.0 * qd)[0] for _ in range(500)]
    np.testing.assert_allclose(commands[-1], Dynamics(MODEL).gravity(q), atol=1e-6)
    assert (np.abs(np.diff(commands, axis=0)) <= 1000.0 * STEP * (1 + 1e-9)).all()


def test_a_hand_that_moves_when_the_mode_begins_is_not_stopped_dead():
    """The law begins at the hand's velocity, so that no damper works against it."""
    loop = led({}, STANDS, {"mode": Mode.FEEDFORWARD, "blend_time": 0.0}).loop
    loop.configure(ANY_RATE)
    qd = np.array([0.5, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0])
    _, q = given(loop, loop.plant.q, qd, 3)  # one alone might be wrong
    loop.configure(mode=Mode.CARTESIAN_IMPEDANCE)
    command, q = given(loop, q, qd)
    np.testing.assert_allclose(command, Dynamics(MODEL).gravity(q), atol=1.0)


def test_an_arm_that_stands_may_be_given_a_strong_spring_at_once():
    """The first states after it are still those of the arm that stands."""
    strong = {name: getattr(CartesianSettings(), name) for name in ("max_force", "max_torque")}
    target = moved(HOME_POSE, [0.0, -0.3, 0.0])
    ask = {STANDS: braked(True), STANDS + STEP: hand_target(target)}
    ask |= {2.3: configured(**strong), 2.3 + STEP: braked(False)}
    played = led(ask, 5.3, dict.fromkeys(strong, 1.0))
    assert played.loop.controller.hold_reason == ""
    np.testing.assert_allclose(pose_error(played.hand(), target), 0.0, atol=1e-3)


def test_a_free_axis_may_be_led_on_while_the_arm_stands():
    """Dry friction may hold it to the last bit: nothing is wrong with its states."""
    ask = {STANDS: braked(True), STANDS + STEP: lead([0.0, -0.4, 0.0])}
    played = led(ask, 2.3, {"stiffness": FREE})
    assert played.loop.controller.phase is Phase.HOLDING
    assert played.loop.controller.hold_reason == ""


def test_a_hand_that_is_free_stays_where_it_is_let_go():
    parameters = {"stiffness": FREE, "free_damping": [60.0] * 3 + [0.0] * 3}
    played = led({STANDS: pushed_along_y(15.0), 0.8: pushed(None)}, 3.8, parameters)
    assert far(played.hand(2.8), HOME_POSE) > 0.03
    assert far(played.hand(), played.hand(2.8)) < 5e-3


ATTACKS = {  # each every 50 ms: in turn, in a direction (6,)
    "poses that flip": lambda k, d: [moved(HOME_POSE, [0, 0.3 * (-1) ** k, 0], np.pi * k)],
    "poses out of reach": lambda k, d: [moved(HOME_POSE, 10.0 ** (k % 7) * d[:3])],
    "huge velocities": lambda k, d: [HOME_POSE, 1e6 * d],
    "huge wrenches": lambda k, d: [HOME_POSE, None, 1e6 * d],
    "changes of mode": lambda k, d: [moved(HOME_POSE, 0.4 * d[:3])],
}


def unless_refused(ask):
    def asked(loop):
        with suppress(TrajectoryError):
            ask(loop)

    return asked


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_joint_races_and_the_hand_obeys_afterwards(attack):
    random, ask, at = np.random.default_rng(0), {}, STANDS
    for k in range(20):
        if attack == "changes of mode":
            for mode in (list(Mode)[k % 3], Mode.CARTESIAN_IMPEDANCE):
                ask[at] = configured(mode=mode)
                at += 0.02
        ask[at] = unless_refused(hand_target(*ATTACKS[attack](k, random.uniform(-1, 1, 6))))
        at += 0.05
    target = moved(HOME_POSE, [0.0, -0.1, 0.05])
    played = led(ask | {at: hold, at + 0.5: hand_target(target)}, at + 3.0)
    assert played.speed[played.record.time < at].max() < 1.0
    np.testing.assert_allclose(pose_error(played.hand(), target), 0.0, atol=5e-3)


# Where the arm is singular: the bounds of cartesian_impedance.pxd, rule 4, and how near they are.


POSTURES = 70
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
    q, way = THROUGH[stiffness]
    own = parameters_of(load("ur5e").model.joint_names) | {"tip": "tool0"}
    own |= {"mode": "cartesian_impedance", "stiffness": [stiffness] * 3 + [30.0] * 3}
    played = play(Scene(robot_file("ur5e").read_text(), {STANDS: lead(way)}, 20.3, q, own))
    controller = played.loop.controller
    assert controller.phase is Phase.HOLDING and not controller.hold_reason
    assert played.speed[played.since(STANDS)].max() < 0.8
    assert played.speed[-1] < 0.001


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
