"""Is the arm where it was asked to go? On simulated arms: what is told, and what is not."""

from dataclasses import replace

import numpy as np
import pytest
import urdf_text
from arm_scene import Scene, lead, load, moved, play, pushed, set_point, trajectory
from control_arm import ARM, LIMITS, NAMES, PERIOD, URDF, Q, with_changes
from drive_settings import parameters_of
from numpy.testing import assert_allclose
from studies import study

import featherstone_ros as fr
from featherstone_ros.control.arrival import SETTLING, ArrivalWatch
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.goal_tolerances import arrival_tolerance
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import Point
from featherstone_ros.model.robots import robot_file
from featherstone_ros.parameter import of_joints
from featherstone_ros.simulation.closed_loop import ClosedLoop, JointState

GOAL = Q + np.array([0.4, -0.4])
DURATION = 0.6
NO_GOAL = np.zeros(2)
STUCK = np.array([3.0, 0.0])  # [N m] friction of the shoulder that the controller does not know


class Watched:
    """An arm in its loop, and somebody who looks at it now and then."""

    def __init__(self, loop: ClosedLoop) -> None:
        self.loop, self.plant, self.controller = loop, loop.plant, loop.controller
        self.model, self.dynamics = loop.arm.model, fr.Dynamics(loop.arm.model)
        self.watch = ArrivalWatch(self.model, loop.arm.tip)
        self.goal = np.zeros(self.model.n)

    def run(self, duration: float) -> None:
        command = self.loop.advance(duration).command
        assert np.isfinite(command).all(), self.controller.rejection

    def lose_states(self) -> None:
        """For so long that the motion is abandoned, until one is believed again."""
        self.plant.measure = lambda state: None
        self.loop.advance(0.2)
        self.plant.measure = lambda state: state
        self.watch.abandon()
        self.loop.advance(0.01)

    def look(self) -> str:
        its, now = self.loop.arm.settings, self.loop.now
        return self.watch.update(now, self.controller.snapshot(), its, self.goal, self.dynamics)

    def looks(self, count: int, step: float = 1.0) -> list[str]:
        said = []
        for _ in range(count):
            self.run(step)
            said.append(self.look())
        return said

    def said(self, looks: int = 3) -> str:
        return self.looks(looks)[-1]

    def follow(self, end=GOAL, duration=DURATION) -> None:
        moved(end, duration)(self.loop)
        self.watch.begin(np.array(end))

    def lead(self, by) -> None:
        lead(by)(self.loop)
        self.watch.begin()

    def put(self, q) -> None:
        """Have the arm stand elsewhere."""
        self.plant.simulator.set_state(q, np.zeros(self.model.n))


def watched(friction=(0.0, 0.0), **gains) -> Watched:
    """Take over two joints with that dry friction, which the controller does not know [N m]."""
    own, stuck = dict(ARM.values), of_joints("friction.{}.coulomb", NAMES, friction)
    for gain, values in gains.items():
        own |= of_joints(f"gains.{{}}.{gain}", NAMES, values)
    scene = Scene(URDF, {}, 0.3, Q, own, twin=stuck, period=PERIOD, delay=0.0)
    return Watched(play(scene).loop)


def test_arm_that_friction_keeps_from_its_goal_is_named_until_it_arrives():
    bench = watched(friction=STUCK)
    bench.follow()
    assert bench.looks(2, 0.25) == ["", ""]  # on its way
    *_, said = bench.looks(3)
    error = bench.controller.compiled.desired[0] - bench.plant.q
    assert abs(error[0]) > 0.01
    assert said == f"did not arrive: shoulder {1e3 * abs(error[0]):.1f} mrad (expected 3)"
    bench.put(GOAL)  # pushed there
    assert bench.looks(2) == ["", ""]


def test_arm_that_creeps_in_is_given_time():
    bench = watched(p=(40.0, 8.0), d=(10.0, 2.0))  # a fourth of a second
    bench.follow()
    bench.run(DURATION)
    bench.put(GOAL + np.array([0.02, 0.0]))
    assert bench.looks(8, SETTLING / 2) == [""] * 8


@pytest.mark.parametrize("kind", ["hold", "reference"])
def test_every_kind_of_motion_is_compared_with_where_it_ends(kind):
    bench = watched(friction=STUCK)

    def go_on() -> None:
        if kind == "reference":  # a stream of set-points at rest, far enough to stick on the way
            set_point(Q + np.array([0.02, 0.0]), [0.0, 0.0])(bench.loop)
            bench.watch.begin()
        for _ in range(10):  # shaken, since a position that stays the same to the bit is frozen
            bench.put(bench.plant.q + 1e-9 * (-1) ** (bench.loop.now // 0.005 % 2))
            bench.run(0.005)

    if kind == "hold":
        bench.follow(Q + np.array([0.3, 0.0]), 1.5)
        bench.run(1.0)
        bench.controller.hold(bench.loop.now)
        bench.watch.begin()
    said = []
    for k in range(80):
        go_on()
        if k % 20 == 19:
            said.append(bench.look())
    assert said[-1].startswith("did not arrive: shoulder")


def test_person_who_holds_the_arm_off_is_seen_and_a_short_push_is_not():
    bench = watched()
    bench.follow()
    bench.run(2.0)
    assert bench.look() == ""
    away = GOAL + np.array([0.0, 0.05])
    for _ in range(20):
        bench.put(bench.plant.q + 0.2 * (away - bench.plant.q))
        bench.run(PERIOD)
    assert bench.look() == ""
    bench.run(1.0)
    assert bench.look() == ""  # it went back by itself
    for k in range(1000):
        bench.put(bench.plant.q + 0.02 * (away - bench.plant.q))
        bench.run(PERIOD)
        if k == 300:
            assert bench.look() == ""
    assert bench.look().startswith("did not arrive: elbow")


def test_stop_on_the_way_is_not_where_a_trajectory_ends():
    bench = watched()
    middle = Q + np.array([0.2, -0.2])
    points = [(0.6, middle), (3.0, middle), (3.6, GOAL)]
    points = [Point(time, q, [0.0, 0.0], [0.0, 0.0]) for time, q in points]
    trajectory(points)(bench.loop)
    bench.watch.begin(GOAL)
    assert bench.looks(2) == ["", ""]
    bench.lose_states()
    said = bench.looks(3)
    assert_allclose(bench.plant.q, middle, atol=0.02)
    assert said[-1].startswith("did not arrive: ") and bench.watch.is_abandoned


@pytest.mark.parametrize("moves", [True, False])
def test_gap_in_the_states_counts_only_if_the_arm_is_not_where_it_was_to_be(moves):
    bench = watched()
    if moves:
        bench.follow()
        bench.run(DURATION / 2)
    else:
        assert bench.looks(2) == ["", ""]
    bench.lose_states()
    bench.run(0.5)
    assert bench.controller.phase is Phase.HOLDING
    assert (
        np.abs(bench.controller.compiled.desired[0] - bench.plant.q).max() < 1e-3
    )  # looks excellent
    said = bench.looks(2)
    assert [text != "" for text in said] == [False, moves]
    assert bench.watch.is_abandoned == moves
    if moves:
        far = 1e3 * np.abs(GOAL - bench.plant.q)
        assert f" {far.max():.1f} mrad (expected 3)" in said[-1]
        bench.follow()
        assert bench.looks(2)[-1] == "" and not bench.watch.is_abandoned


def test_motion_whose_end_is_unknown_stays_abandoned():
    bench = watched()
    bench.watch.begin()
    bench.watch.abandon()
    bench.looks(3)
    assert bench.watch.is_abandoned


def test_nothing_is_expected_of_an_arm_in_gravity_compensation():
    bench = watched(friction=STUCK)
    bench.follow()
    assert bench.looks(4)[-1]
    bench.loop.configure(mode=Mode.GRAVITY_COMPENSATION)
    assert bench.looks(3) == [""] * 3


@pytest.mark.parametrize("own", [False, True])
def test_goal_tolerance_that_is_set_is_what_is_expected(own):
    bench = watched(friction=STUCK)
    bench.follow()
    bench.run(DURATION)
    wide = np.array([0.1, 0.0])
    if own:
        bench.watch.begin(GOAL, wide)
    else:
        bench.goal = wide
    assert bench.looks(3) == [""] * 3
    bench.goal = np.array([0.001, 0.0])
    assert ("(expected 1)" in bench.looks(3)[-1]) == (not own)


# The tolerance


def tolerance(settings, goal=NO_GOAL, slides=(False, False)):
    dynamics = fr.Dynamics(ARM.model)
    return arrival_tolerance(np.asarray(goal), settings, dynamics, Q, np.array(slides))


def test_tolerance_is_what_feedback_leaves_of_unknown_friction_up_to_what_is_seen():
    p, coulomb = np.array([100.0, 100.0]), np.array([1.0, 30.0])
    settings = with_changes(ARM.settings, p=p, coulomb=coulomb)
    assert_allclose(tolerance(settings), [0.003 + 0.3 * 1.0 / 100.0, 0.010])
    assert_allclose(tolerance(settings, slides=[True, True]), [0.003, 0.003])
    assert_allclose(tolerance(settings, goal=[0.0, 0.2]), [0.006, 0.2])


def test_joint_without_feedback_of_ours_may_be_as_far_away_as_is_never_seen():
    settings = replace(ARM.settings, p=np.zeros(2))
    assert_allclose(tolerance(settings), 0.010)


def test_in_computed_torque_the_inertia_makes_the_stiffness():
    settings = with_changes(
        ARM.settings,
        mode=Mode.COMPUTED_TORQUE,
        p=np.full(2, 400.0),
        coulomb=np.full(2, 0.5),
        armature=np.array([0.1, 0.2]),
    )
    stiffness = 400.0 * (np.diag(fr.Dynamics(ARM.model).crba(Q)) + settings.drives.armature)
    assert_allclose(tolerance(settings), np.minimum(0.003 + 0.15 / stiffness, 0.01))


def test_the_largest_errors_are_named_in_the_units_of_their_joints():
    names = [f"joint{k}" for k in range(1, 5)]
    arm = urdf_text.chain(*names, inside=LIMITS)
    finger = urdf_text.joint("finger", "link4", "tip", "prismatic", LIMITS)  # and it is stuck
    arm = arm.replace("</robot>", f"{urdf_text.link('tip')}{finger}</robot>")
    model = fr.Model.from_urdf(arm)
    watch, n = ArrivalWatch(model), model.n
    settings = replace(
        ControlledArm.of(model, known(model.joint_names)).settings, p=np.full(n, 100.0)
    )
    q = np.linspace(0.02, 0.05, n)

    class Moment:
        phase = int(Phase.HOLDING)
        desired = np.zeros((4, n))
        hand = np.zeros((4, 6))

    Moment.q = q
    for now in (0.0, 1.0):
        said = watch.update(now, Moment(), settings, np.zeros(n), fr.Dynamics(model))
    assert said.startswith("did not arrive: finger 50.0 mm (expected 1), ")
    assert said.endswith(f", {n - 3} more")


# The hand


def known(joints, coulomb=0.0) -> dict:
    """Return the parameters of an arm of 300 N m whose friction is believed to be that."""
    limits = of_joints("effort_limit.{}", joints, np.full(len(joints), 300.0))
    return parameters_of(joints, 0.1, coulomb=coulomb) | limits


# As an iiwa stands at 0: seven joints along one line, turned by a quarter from one to the next.
STRAIGHT = urdf_text.robot(
    urdf_text.link("base"),
    *(urdf_text.link(f"link{k}") for k in range(1, 8)),
    *(
        urdf_text.joint(f"joint{k}", f"link{k - 1}" if k > 1 else "base", f"link{k}",
                        inside=LIMITS, axis="0 1 0" if k % 2 == 0 else "0 0 1", xyz="0 0 0.2")
        for k in range(1, 8)
    ),
)  # fmt: skip
UPWARDS = {
    "iiwa": (STRAIGHT, "link7", np.zeros(7)),
    "ur5e": (robot_file("ur5e").read_text(), "wrist_1_link", np.array([0, -np.pi / 2, 0, 0, 0, 0])),
}


def led(robot, tip, q, friction=0.0, told=None, **parameters) -> Watched:
    """Take over a hand that is led; the controller may have been told of another friction."""
    joints = load(robot).model.joint_names
    own = known(joints, friction if told is None else told)
    own |= {"mode": "cartesian_impedance", "tip": tip} | parameters
    true = parameters_of(joints, 0.1, 1.0, friction)
    arm = Watched(play(Scene(robot, {}, 0.5, q, own, twin=true, period=0.004, delay=0.0)).loop)
    arm.look()
    return arm


PANDA = fr.Model.from_robot("panda")


def panda(q, **options) -> Watched:
    return led(robot_file("panda").read_text(), "panda_hand", np.array(q), **options)


HOME = np.pi / 4 * np.array([0.0, -1.0, 0.0, -3.0, 0.0, 2.0, 1.0])


@pytest.mark.parametrize("robot", UPWARDS)
@pytest.mark.parametrize("friction", [study(0.0), 0.5])
def test_arm_that_is_stretched_upwards_says_that_its_posture_is_singular(robot, friction):
    urdf, tip, q = UPWARDS[robot]
    arm = led(urdf, tip, q, friction)
    arm.lead([0.0, 0.0, 0.05])
    said = arm.said()
    assert said.startswith(
        "did not arrive: end effector 50.0 mm and 0.0 deg from its target (expected "
    )
    assert ": singular posture or out of reach" in said


@pytest.mark.parametrize("friction", [study(0.0), 0.25])
@pytest.mark.parametrize("by", [[0.6, 0.0, 0.0], study([0.0, 0.0, 0.8])])
def test_target_out_of_reach_is_told_also_where_the_spring_pulls_with_all_its_force(by, friction):
    arm = panda(HOME, friction=friction)
    arm.lead(by)
    assert ": singular posture or out of reach" in arm.said(7)
    assert arm.controller.snapshot().strain > 0.9


@pytest.mark.parametrize("stiffness", [study(400.0), 1500.0])
@pytest.mark.parametrize("way", [study([3.0, 0.0, 0.0]), [2.0, 1.0, -1.0]])
def test_arm_is_not_led_to_where_its_weight_takes_more_than_its_drives_have(way, stiffness):
    """Stretched forwards this arm needs 1.1 times the effort limit of its second joint."""
    stiffness = [stiffness] * 3 + [30.0] * 3
    arm = panda(HOME, stiffness=stiffness, **{"effort_limit.panda_joint2": 45.0})
    arm.lead(way)
    for _ in arm.loop.steps(12.0):
        assert (np.abs(arm.plant.qd) < 0.6 * PANDA.velocity_limit).all()
        assert abs(arm.dynamics.gravity(arm.plant.q)[1]) < 0.9 * 45.0
    said = arm.said(4)
    assert arm.controller.phase is Phase.HOLDING and not arm.controller.hold_reason
    assert (np.abs(arm.plant.qd) < 0.005 * PANDA.velocity_limit).all()
    assert abs(arm.dynamics.gravity(arm.plant.q)[1]) > 0.8 * 45.0  # as far as it may
    assert said.endswith("the effort limit of panda_joint2 (45) lets the spring pull no harder")


def test_posture_that_is_heavy_is_held_and_left():
    """Nothing is taken from a spring that does not pull, nor from one that pulls back."""
    q = HOME.copy()
    q[1], q[3] = 1.0, -0.9
    limit = abs(fr.Dynamics(PANDA).gravity(q)[1]) / 0.88
    arm = panda(q, **{"effort_limit.panda_joint2": limit})
    arm.looks(1, 2.0)
    assert_allclose(arm.plant.q, q, atol=1e-3)
    arm.lead([-0.1, 0.0, -0.05])
    assert arm.said() == ""


@pytest.mark.parametrize(("place", "way"), [(3.6, 0.6), (0.13, -0.6)])  # limits: 3.75, -0.0175
def test_hand_that_a_joints_limit_stops_names_the_joint(place, way):
    q = HOME.copy()
    q[5] = place
    arm = panda(q, stiffness=[400.0] * 3 + [30.0] * 3)
    pose = arm.dynamics.link_pose(arm.plant.q, arm.loop.arm.tip)
    turned = arm.dynamics.link_pose(arm.plant.q + way * np.eye(7)[5], arm.loop.arm.tip)
    target = np.eye(4)
    target[:3, :3], target[:3, 3] = turned[:3, :3], pose[:3, 3]
    arm.controller.set_target(arm.loop.now, turned)
    arm.watch.begin()
    said = arm.said()
    assert "panda_joint6 is at its limit" in said and " deg from its target" in said


def test_hand_that_is_held_says_so():
    arm = panda(HOME)
    assert arm.said() == ""
    pushed([8.0, 0.0, 0.0, 0.0, 0.0, 0.0])(arm.loop)  # 20 mm on a spring of 400 N/m
    said = arm.said()
    assert ": something holds it: a contact" in said
    far = float(said.split("end effector ")[1].split(" mm")[0])
    assert far == pytest.approx(20.0, rel=0.1)
    pushed(None)(arm.loop)
    assert arm.said() == ""


@pytest.mark.parametrize("known", [True, False])
def test_known_friction_explains_a_hand_that_is_near_its_target_and_unknown_does_not(known):
    arm = panda(HOME, friction=0.4, told=None if known else 0.0)
    arm.lead([0.05, 0.1, -0.05])
    said = arm.said(6)
    assert np.abs(arm.controller.snapshot().end_effector[1]).max() < 1e-3
    away = np.linalg.norm(arm.controller.snapshot().end_effector[:2].sum(axis=0)[:3])
    assert 0.002 < away < 0.01
    assert (said == "") == known


class Yielding:
    """Drives of a Panda that follow at once, by a share, and a sensor of a push along y [N]."""

    def __init__(self) -> None:
        self.force, self.share, self.sensor = 0.0, 1.0, True
        self.dynamics, self.state = fr.Dynamics(PANDA), np.array([HOME, np.zeros(7)])

    def read(self, now) -> JointState:
        axes = self.pose[:3, :3]
        wrench = np.append(axes.T @ [0.0, self.force, 0.0], np.zeros(3))
        return JointState(*self.state, None, now, wrench if self.sensor else None)

    def write(self, at, command) -> None:
        led = np.array([command.position - HOME, command.velocity])
        self.state = [HOME, np.zeros(7)] + self.share * led

    @property
    def pose(self):
        return self.dynamics.link_pose(self.state[0], "panda_hand")


def yielding(push=0.0) -> Watched:
    """Take over an arm that yields to its sensor."""
    own = known(PANDA.joint_names) | {"mode": "admittance", "output": "joint_state"}
    arm, plant = ControlledArm.of(PANDA, own | {"tip": "panda_hand"}), Yielding()
    plant.force = push
    loop = ClosedLoop(arm, plant, delay=0.0, period=0.004)
    loop.advance(0.5)
    return Watched(loop)


def test_hand_that_yields_to_its_sensor_says_to_what_and_goes_back():
    arm = yielding(push=20.0)
    arm.looks(1, 1.0)
    assert arm.said(5).endswith("it yields to 19.0 N and 0.00 N m on ~/wrench")
    arm.plant.force = 0.0
    arm.looks(1, 5.0)
    assert arm.said() == ""


def test_gaps_in_the_wrench_do_not_move_where_the_hand_is_held():
    arm = yielding()
    held = arm.plant.pose[:3, 3]
    arm.plant.force = 20.0
    for _ in range(10):
        arm.plant.sensor = True
        arm.looks(1, 0.3)
        arm.plant.sensor = False
        arm.looks(1, 0.1)
    assert np.linalg.norm(arm.plant.pose[:3, 3] - held) > 0.01
    arm.plant.sensor, arm.plant.force = True, 0.0
    arm.looks(1, 7.0)
    assert_allclose(arm.plant.pose[:3, 3], held, atol=1e-3)


def test_drives_that_do_not_follow_the_virtual_arm_are_named():
    arm = yielding()
    arm.looks(1, 1.0)
    arm.plant.share, arm.plant.force = 0.5, 20.0
    arm.looks(1, 2.0)
    assert "panda_joint" in arm.said(5)


def test_hand_that_a_gap_in_the_states_interrupts_is_compared_with_where_it_was_to_stand():
    arm = yielding()
    arm.looks(1, 1.0)
    arm.watch.abandon()
    assert arm.said() == "" and not arm.watch.is_abandoned
    arm.watch.abandon()
    arm.plant.force = 20.0
    arm.looks(1, 1.0)
    said = "did not arrive: end effector 47.4 mm and 0.0 deg from where it was to stand"
    assert arm.said(5).startswith(said) and arm.watch.is_abandoned


def test_a_spring_that_the_controller_has_softened_is_said_before_what_holds_it():
    """It knows of no rotors; the arm's joints have some, and friction."""
    for armature, names_it in ((0.0, True), (0.1, False)):
        rotors = {f"armature.{joint}": armature for joint in PANDA.joint_names}
        arm = panda(HOME, friction=1.0, stiffness=[400.0] * 3 + [60.0] * 3, **rotors)
        arm.lead([0.0, 0.1, 0.0])
        said, left = arm.said(), arm.controller.snapshot().spring_left
        assert (left < 0.5) == names_it and bool(said) == names_it
        remedy = "set armature.<joint>, rotor times gear ratio squared (0 of all joints)"
        assert (f"its spring is softened to {left:.2g} here" in said) == names_it
        assert (remedy in said) == names_it == (remedy in arm.loop.arm.without_margin)
