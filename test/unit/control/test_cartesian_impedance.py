"""The hand on its spring: what is asked for is what a push, a step and a wall measure."""

from itertools import product

import numpy as np
import pytest
from contact_bench import HOME, MODEL, TIP
from scipy.spatial.transform import Rotation
from studies import few_or_all, study

from featherstone_ros import Dynamics, Simulator, UnknownNameError
from featherstone_ros._control import MAX_WALLS
from featherstone_ros.control import CartesianImpedance, Wall, box
from featherstone_ros.control.cartesian_impedance import CartesianSettings, min_delay_margin
from featherstone_ros.kinematics import inverse_kinematics, pose_error

STEP = 2e-3  # [s]
STIFFNESS = np.array([400, 600, 300, 30, 20, 40.0])
FAR = np.array([0.8, 0.3, -0.4, 0.3, 0.2, -0.3, 0.6])
DELAY = 0.004  # [s], whole periods of 1 kHz and 500 Hz


class ImpedanceArm:
    """A Panda in the simulator, without friction, under the law."""

    def __init__(self, q=HOME, step=STEP, **settings):
        self.dynamics = Dynamics(MODEL)
        self.law = CartesianImpedance(MODEL, TIP, **{"stiffness": STIFFNESS, **settings})
        self.step = step
        self.simulator = Simulator(MODEL, step, damping=0, friction=0)
        self.simulator.reset(q)
        self.law.start(q)
        self.work = 0.0

    @property
    def pose(self):
        return self.dynamics.link_pose(self.simulator.q, TIP)

    @property
    def velocity(self):
        return self.dynamics.link_velocity(self.simulator.q, self.simulator.qd, TIP)

    def move(self, by):
        """Put the hand elsewhere, by a way and a rotation vector (6,) in base axes."""
        away = self.pose
        away[:3, 3] += by[:3]
        away[:3, :3] = Rotation.from_rotvec(by[3:]).as_matrix() @ away[:3, :3]
        there = inverse_kinematics(MODEL, TIP, away, HOME)
        assert there.success
        self.simulator.reset(there.q)

    def run(self, duration, wrench=(0,) * 6):
        """Yield after every step; wrench: of a hand on the tip, base axes."""
        pushed, f_ext = np.any(wrench), None
        for _ in range(round(duration / self.step)):
            if pushed:
                R = self.pose[:3, :3]
                f_ext = {TIP: np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]])}
            tau = self.law.torque(self.simulator.q, self.simulator.qd, self.step)
            self.simulator.step(tau, f_ext=f_ext)
            if pushed:
                self.work += self.step * np.dot(wrench, self.velocity)
            yield tau

    def settle(self, duration, wrench=(0,) * 6):
        for tau in self.run(duration, wrench):
            assert np.isfinite(tau).all()
        return self


def block(R):
    return np.kron(np.eye(2), R)


# Stiffness and damping ---------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["base", "tip"])
def test_stiffness_measured_by_a_push_is_that_asked_for(axes):
    """Along and about all axes at once, by so little that they do not disturb each other."""
    arm = ImpedanceArm(axes=axes)
    frame = block(arm.pose[:3, :3]) if axes == "tip" else np.eye(6)
    push = np.array([1.5, -1.5, 1.5, 0.15, 0.15, -0.15])
    arm.settle(3.0, frame @ push)
    moved = -frame.T @ arm.law.report["error"]
    np.testing.assert_allclose(moved, push / STIFFNESS, rtol=0.02)


@pytest.mark.parametrize("ratio", [0.3, study(0.7)])
@pytest.mark.parametrize("mode", few_or_all([0, 3, 5], range(6)))
def test_damping_ratio_measured_by_the_step_response_is_that_asked_for(mode, ratio):
    """A mode of the hand, let go at rest, overshoots by exp(-pi z / sqrt(1 - z^2))."""
    arm = ImpedanceArm(step=1e-3, damping_ratio=ratio)
    Lambda = arm.dynamics.operational_space_inertia(HOME, TIP)
    frequencies, modes = np.linalg.eig(np.linalg.solve(Lambda, np.diag(STIFFNESS)))
    shape = modes[:, np.argsort(frequencies)[mode]].real
    shape *= 0.01 / np.abs(shape).max()
    arm.move(shape)
    left = [shape @ (STIFFNESS * arm.law.report["error"]) for _ in arm.run(0.7)]
    overshoot = -min(left[1:], key=lambda x: x * np.sign(left[1])) / left[1]
    log = np.log(overshoot)
    assert -log / np.hypot(np.pi, log) == pytest.approx(ratio, rel=0.1)


def test_a_new_stiffness_is_taken_up_without_a_step():
    arm = ImpedanceArm().settle(1.0, (8, 0, 0, 0, 0, 0))
    before = arm.law.torque(arm.simulator.q, arm.simulator.qd, STEP)
    arm.law.configure(stiffness=4 * STIFFNESS, transition_time=0.1)
    torques = np.array([before, *arm.run(0.3, (8, 0, 0, 0, 0, 0))])
    assert np.abs(np.diff(torques, axis=0)).max() < 0.5
    arm.settle(2.0, (8, 0, 0, 0, 0, 0))
    np.testing.assert_allclose(arm.law.report["stiffness"], 4 * STIFFNESS)
    assert arm.law.report["error"][0] == pytest.approx(-8 / 1600, rel=0.02)


@pytest.mark.parametrize("rate", [1000, 500])
@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_the_delay_margin_is_where_the_arm_becomes_unstable(ratio, rate):
    """Wrists are light: with their stiffness some milliseconds of delay are too much."""
    loose = {"step": 1e-3, "damping_ratio": ratio, "posture_stiffness": 0, "limit_margin": 0}
    for share, settles in ((0.8, True), (1.25, False)):
        arm = ImpedanceArm(**loose)
        arm.law.torque(HOME, np.zeros(7), STEP)
        margin = arm.law.report["delay_margin"]  # of which the delay is to be that share
        soft = STIFFNESS * (share * margin / (DELAY + 0.5 / rate)) ** 2
        arm = ImpedanceArm(**loose, stiffness=soft)
        speed = delayed(arm, DELAY, rate)
        assert (speed[-200:].max() < speed[:200].max()) == settles


def test_the_least_margin_is_below_that_of_any_posture_and_grows_with_softness_and_armature():
    settings = CartesianSettings(stiffness=STIFFNESS)
    least = min_delay_margin(MODEL, TIP, settings)
    arm = ImpedanceArm()
    for q in np.random.default_rng(1).uniform(MODEL.lower, MODEL.upper, (20, 7)):
        arm.law.start(q)
        arm.law.torque(q, np.zeros(7), 0.0)
        assert least < 1.05 * arm.law.report["delay_margin"]
    softer = CartesianSettings(stiffness=STIFFNESS / 4)
    assert min_delay_margin(MODEL, TIP, softer) == pytest.approx(2 * least, rel=1e-3)
    assert min_delay_margin(MODEL, TIP, settings, 0.1) > 1.5 * least


def delayed(arm, delay, rate):
    """Return the joints' speed after a nudge, torques arriving late and held for a period."""
    every, waiting = round(1 / arm.step / rate), [np.zeros(7)] * round(delay * rate)
    arm.simulator.reset(HOME, 0.02 * np.ones(7))
    speed = []
    for _ in range(round(1.0 * rate)):
        q, qd = arm.simulator.q, arm.simulator.qd
        late = waiting.pop(0)
        waiting.append(arm.law.torque(q, qd, 1 / rate, gravity=False))
        for _ in range(every):
            arm.simulator.step(late + arm.dynamics.gravity(arm.simulator.q))
        speed.append(np.linalg.norm(qd))
        if speed[-1] > 10:
            break
    return np.array(speed)


# Energy ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["base", "tip"])
def test_all_damping_takes_energy_out_and_is_bounded_by_the_modes(axes):
    """-d tau / d qd is symmetric, >= 0, and no faster than stiffness and inertia explain."""
    random = np.random.default_rng(3)
    law = CartesianImpedance(MODEL, TIP, stiffness=STIFFNESS, axes=axes, limit_margin=0)
    dynamics = Dynamics(MODEL)
    stretched = np.zeros(7)
    for q in [stretched, *random.uniform(MODEL.lower, MODEL.upper, (100, 7))]:
        law.start(q)
        # The law is linear in qd where no stop or wall is near.
        rest, M = law.torque(q, np.zeros(7), 0.0), dynamics.crba(q)
        D = np.column_stack([rest - law.torque(q, column, 0.0) for column in np.eye(7)])
        scale = np.abs(D).max()
        assert np.abs(D - D.T).max() < 1e-9 * scale
        assert np.linalg.eigvalsh(D).min() > -1e-9 * scale
        rates = np.linalg.eigvals(np.linalg.solve(M, D)).real
        J = dynamics.jacobian(q, TIP)
        frame = block(dynamics.link_pose(q, TIP)[:3, :3]) if axes == "tip" else np.eye(6)
        K = J.T @ frame @ np.diag(STIFFNESS) @ frame.T @ J
        hand = np.linalg.eigvals(np.linalg.solve(M, K)).real.max()
        posture = 5.0 * np.diag(np.linalg.inv(M)).max()
        slack = np.linalg.eigvals(np.linalg.solve(M, np.diag(np.diag(M)))).real.max()
        assert rates.max() <= 2 * np.sqrt(hand) * 1.01 + 2 * np.sqrt(posture) * slack


@pytest.mark.parametrize(  # 15 pushes each
    ("axes", "seed"), few_or_all([("base", 0), ("tip", 1)], product(["base", "tip"], range(40)))
)
def test_no_closed_push_gains_energy(axes, seed):
    """A hand pushes at random and lets go: at no time has it got more than it has given."""
    random = np.random.default_rng(seed)
    arm = ImpedanceArm(
        np.clip(HOME + random.uniform(-0.4, 0.4, 7), MODEL.lower + 0.15, MODEL.upper - 0.15),
        axes=axes,
        stiffness=10 ** random.uniform([1.5] * 3 + [0.5] * 3, [3.0] * 3 + [1.5] * 3),
        damping_ratio=random.uniform(0.2, 1.5),
        posture_stiffness=10,
        max_force=20,
    )
    for _ in range(5):
        for _ in range(3):
            wrench = random.normal(size=6) * (15, 15, 15, 1.5, 1.5, 1.5)
            for _ in arm.run(0.15, wrench):
                assert arm.work > -1e-6
        arm.settle(0.6)
    assert arm.work > 0


def test_the_spring_about_a_point_is_a_potential():
    """Around closed paths of the hand, far into saturation, the spring alone does no work.

    A rotation vector times an unequal stiffness would: the law takes it through the derivative.
    """
    random = np.random.default_rng(2)
    law = CartesianImpedance(
        MODEL, TIP, stiffness=STIFFNESS, damping_ratio=0, posture_stiffness=0, limit_margin=0,
        max_force=30, max_torque=40,
    )  # fmt: skip
    dynamics = Dynamics(MODEL)
    law.start(HOME)
    a, b = random.uniform(-0.8, 0.8, (2, 7))
    angles = np.linspace(0, 2 * np.pi, 2001)
    work, size = 0.0, 0.0
    for angle in angles[:-1]:
        q = HOME + a * np.sin(angle) + b * (1 - np.cos(angle))
        qd = a * np.cos(angle) + b * np.sin(angle)
        power = qd @ (law.torque(q, np.zeros(7), 0.0, gravity=False))
        work += power * (angles[1] - angles[0])
        size += abs(power) * (angles[1] - angles[0])
    assert (
        np.linalg.norm(pose_error(dynamics.link_pose(HOME + a, TIP), law.report["desired"])) > 0.3
    )
    assert abs(work) < 1e-6 * size  # what the quadrature leaves at the kinks of saturation


# A shaped inertia --------------------------------------------------------------------------------

SHAPED = np.array([4, 6, 5, 0.05, 0.04, 0.06])


@pytest.mark.parametrize("axis", range(6), ids="x y z rx ry rz".split())
@pytest.mark.parametrize("axes", [study("base"), "tip"])
def test_each_axis_of_a_shaped_hand_swings_alone_at_its_own_frequency(axes, axis):
    ratio, moved = 0.4, np.zeros(6)
    arm = ImpedanceArm(axes=axes, inertia_shaping=True, shaped_inertia=SHAPED, damping_ratio=ratio)
    frame = block(arm.pose[:3, :3]) if axes == "tip" else np.eye(6)
    moved[axis] = 0.005
    arm.move(frame @ moved)
    errors = np.array([frame.T @ arm.law.report["error"] for _ in arm.run(0.6)]) / -0.005
    w = np.sqrt(STIFFNESS[axis] / SHAPED[axis])
    t = STEP * np.arange(len(errors))
    damped = w * np.sqrt(1 - ratio**2)
    wanted = np.exp(-ratio * w * t) * (np.cos(damped * t) + ratio * w / damped * np.sin(damped * t))
    np.testing.assert_allclose(errors[:, axis], wanted, atol=0.06)
    units = np.where(np.arange(6) < 3, 0.25, 1.0) / (0.25 if axis < 3 else 1.0)  # m beside rad
    others = np.delete(errors / units, axis, axis=1)
    assert np.abs(others).max() < 0.06


def test_a_push_against_a_shaped_hand_meets_its_inertias_ratio():
    arm = ImpedanceArm(inertia_shaping=True, shaped_inertia=SHAPED)
    push = 0.1 * np.array([3.0, -2.0, 4.0, 0.02, 0.03, -0.01])  # turns the hand by little
    arm.settle(4.0, push)
    error = arm.law.report["error"]
    Lambda = arm.dynamics.operational_space_inertia(arm.simulator.q, TIP)
    met = -Lambda @ (STIFFNESS / SHAPED * error)
    np.testing.assert_allclose(met, push, rtol=0.02, atol=2e-4)


def test_a_shaped_hand_stays_bounded_at_singular_postures():
    arm = ImpedanceArm(np.array([0, 0, 0, -0.07, 0, 0.0, 0]), inertia_shaping=True)
    target = arm.pose
    target[2, 3] += 0.3  # beyond the arm's reach
    arm.law.set_target(target)
    effort = list(arm.run(6.0))
    assert np.isfinite(effort).all()
    assert np.abs(arm.velocity).max() < 0.05
    wrench = arm.law.report["wrench"]
    assert np.linalg.norm(wrench[:3]) < 1.1 * arm.law.settings.max_force
    assert (np.abs(effort) <= MODEL.effort_limit).all()


# Targets -----------------------------------------------------------------------------------------


def test_a_far_target_is_approached_with_bounded_force_speed_and_acceleration():
    arm = ImpedanceArm(
        max_speed=0.2, max_acceleration=1.0, max_turn_rate=0.8, max_force=30, max_torque=5
    )
    goal = arm.dynamics.link_pose(HOME + FAR, TIP)
    arm.law.set_target(goal)
    desired = [arm.law.report["desired"]]
    for _ in arm.run(6.0):
        desired.append(arm.law.report["desired"])
    steps = pose_error(desired[:-1], desired[1:]) / STEP
    assert np.linalg.norm(steps[:, :3], axis=1).max() <= 0.2 * (1 + 1e-9)
    assert np.linalg.norm(steps[:, 3:], axis=1).max() <= 0.8 * (1 + 1e-9)
    assert np.linalg.norm(np.diff(steps[:, :3], axis=0), axis=1).max() <= STEP * (1 + 1e-6)
    error = pose_error(arm.pose, goal)
    assert np.linalg.norm(error[:3]) < 1e-4 and np.linalg.norm(error[3:]) < 5e-4
    # Nor numbers too small to compute with quickly.
    assert not arm.law.report["desired_velocity"].any()


def test_a_hand_held_far_from_its_target_is_pulled_with_bounded_force():
    arm = ImpedanceArm(max_force=30, max_torque=5, damping_ratio=0)
    far = HOME + np.array([1.5, 0.5, 0, 0.5, 1.0, -1.0, 2.0])
    arm.law.torque(far, np.zeros(7), STEP)
    wrench = arm.law.report["wrench"]
    assert 20 < np.linalg.norm(wrench[:3]) <= 30 * (1 + 1e-9)
    assert 1 < np.linalg.norm(wrench[3:]) <= 5 * (1 + 1e-9)


@pytest.mark.parametrize("offset", [np.nan, np.inf])
def test_a_target_that_is_none_is_refused_and_changes_nothing(offset):
    arm = ImpedanceArm()
    wrong = arm.pose
    wrong[0, 3] += offset
    with pytest.raises(ValueError, match=r"pose is .*, expected finite numbers"):
        arm.law.set_target(wrong)
    with pytest.raises(ValueError, match="pose: expected a quaternion"):
        arm.law.set_target([0.4, 0, 0.5, 0, 0, 0, 0.5])
    with pytest.raises(ValueError, match=r"twist is .*, expected finite"):
        arm.law.set_target(arm.pose, twist=[offset, 0, 0, 0, 0, 0])
    arm.settle(0.1)
    np.testing.assert_allclose(arm.pose, arm.dynamics.link_pose(HOME, TIP), atol=1e-9)


# Null space, singular postures, limits, walls ----------------------------------------------------


def test_the_posture_is_reached_without_moving_the_hand():
    elbow = HOME + 0.2 * np.linalg.svd(Dynamics(MODEL).jacobian(HOME, TIP))[2][-1]
    arm = ImpedanceArm(posture=elbow, posture_stiffness=20, posture_energy=5)
    before = np.linalg.norm(arm.simulator.q - elbow)
    there, off = arm.pose, []
    for _ in arm.run(4.0):
        off.append(np.abs(pose_error(arm.pose, there)).max())
    assert max(off) < 2e-3 and off[-1] < 1e-4
    assert np.linalg.norm(arm.simulator.q - elbow) < 0.3 * before


def test_random_postures_and_targets_give_finite_torques_and_bounded_wrenches():
    random = np.random.default_rng(0)
    law = CartesianImpedance(MODEL, TIP)
    law.start(HOME)
    angles = np.array([[0, np.pi / 2, -np.pi / 2]]).T
    special = np.clip(angles, MODEL.lower, MODEL.upper).T  # (7, 3)
    for k in range(1200):
        if k % 10 == 0:
            q = random.uniform(-2, 2, 3)
            law.set_target([*q, *Rotation.random(None, random).as_quat()])
        q = random.uniform(MODEL.lower, MODEL.upper)
        singular = random.uniform(size=7) < 0.5
        q[singular] = special[singular, random.integers(0, 3)]
        tau = law.torque(q, random.uniform(-2, 2, 7), STEP)
        assert np.isfinite(tau).all()
        assert 0 <= law.report["tank"] <= 0.5
        law.torque(q, np.zeros(7), STEP)
        wrench = law.report["wrench"]
        assert np.linalg.norm(wrench[:3]) <= 2 * 60 + 1e-9
        assert np.linalg.norm(wrench[3:]) <= 2 * 15 + 1e-9


def test_a_joint_is_kept_off_its_stop_without_oscillation():
    near = HOME.copy()
    near[5] = MODEL.upper[5] - 0.3
    arm = ImpedanceArm(
        q=near, stiffness=[100, 100, 100, 40, 40, 40], limit_margin=0.1, limit_torque=20
    )
    away = near.copy()
    away[5] = MODEL.upper[5] + 0.1
    arm.law.set_target(arm.dynamics.link_pose(away, TIP))
    path = np.array([arm.simulator.q[5] for _ in arm.run(4.0)])
    assert path.max() < MODEL.upper[5]
    assert path.max() - path[-1] < 0.02 and np.ptp(path[-250:]) < 1e-3


def test_a_wall_pushes_back_and_never_pulls():
    floor = Wall(
        normal=(0, 0, 2), offset=ImpedanceArm().pose[2, 3] - 0.02, stiffness=3000, damping=100
    )
    arm = ImpedanceArm(stiffness=[400, 400, 0, 30, 30, 30], walls=(floor,))
    arm.settle(2.0, (0, 0, -15, 0, 0, 0))
    assert arm.pose[2, 3] == pytest.approx(floor.offset - 15 / 3000, abs=2e-4)
    forces = []
    for _ in arm.run(0.5, (0, 0, 30, 0, 0, 0)):
        forces.append(arm.law.report["wrench"][2])
    assert min(forces) >= -1e-6


def test_a_wall_that_is_put_up_about_the_hand_does_not_throw_it_out():
    """It pushes with three times max_force, however deep and stiff."""
    arm = ImpedanceArm()
    wall = Wall((0.0, 0.0, 1.0), arm.pose[2, 3] + 1.0, stiffness=1e5)
    arm.law.configure(walls=(wall,), max_force=20.0)
    arm.law.torque(HOME, np.zeros(7), 0.0)
    np.testing.assert_allclose(arm.law.report["wrench"][:3], [0.0, 0.0, 60.0], atol=1e-9)
    arm.law.configure(walls=MAX_WALLS * (wall,))
    with pytest.raises(ValueError, match=f"at most {MAX_WALLS}, got {MAX_WALLS + 1}"):
        arm.law.configure(walls=(MAX_WALLS + 1) * (wall,))


def test_a_box_keeps_the_tip_inside():
    centre = ImpedanceArm().pose[:3, 3]
    arm = ImpedanceArm(stiffness=[0, 0, 0, 30, 30, 30], damping=[20] * 3 + [0] * 3,
              walls=box(centre - 0.03, centre + 0.03))  # fmt: skip
    for direction in np.vstack([np.eye(3), -np.eye(3)]):
        arm.settle(0.8, (*(10 * direction), 0, 0, 0))
        assert np.abs(arm.pose[:3, 3] - centre).max() < 0.03 + 10 / 2000 + 2e-3
    with pytest.raises(ValueError, match="lower < upper"):
        box((0, 0, 0), (1, 0, 1))


def test_the_hand_may_be_led_by_a_point_of_its_own():
    offset = np.eye(4)
    offset[:3, 3] = 0, 0, 0.1034
    here, there = (
        CartesianImpedance(MODEL, *at) for at in ((TIP, None, offset), ("panda_hand_tcp",))
    )
    here.start(HOME), there.start(HOME)
    q = HOME + 0.02
    np.testing.assert_allclose(here.torque(q, q, STEP), there.torque(q, q, STEP), atol=1e-9)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"stiffness": -1}, "stiffness: expected numbers >= 0"),
        ({"stiffness": (1, 2)}, "stiffness: expected a number or 6 of them"),
        ({"axes": "world"}, "axes: expected one of base, tip, got 'world'"),
        ({"max_force": 0}, "max_force: expected a number > 0"),
        ({"posture": np.zeros(3)}, "posture: expected a number or 7 of them"),
        ({"stifness": 1}, "no setting 'stifness'"),
        ({"walls": (Wall((0, 0, 0), 1),)}, "a normal other than zero"),
        ({"damping": np.nan}, "damping is nan, expected finite numbers"),
    ],
)
def test_a_wrong_setting_is_named_and_changes_nothing(setting, message):
    arm = ImpedanceArm().settle(0.01)
    before = arm.law.settings
    with pytest.raises(ValueError, match=message):
        arm.law.configure(**setting)
    assert arm.law.settings is before
    np.testing.assert_array_equal(arm.law.report["stiffness"], STIFFNESS)


def test_wrong_states_are_refused():
    law = CartesianImpedance(MODEL, TIP)
    with pytest.raises(RuntimeError, match=r"^call start\(q\) first: "):
        law.torque(HOME, HOME, STEP)
    law.start(HOME)
    with pytest.raises(ValueError, match=r"qd is .*, expected finite"):
        law.torque(HOME, np.full(7, np.nan), STEP)
    for dt in (-1.0, np.inf):
        with pytest.raises(ValueError, match="dt: expected a time >= 0"):
            law.torque(HOME, HOME, dt)
    with pytest.raises(UnknownNameError, match="no link 'hand'"):
        CartesianImpedance(MODEL, "hand")
