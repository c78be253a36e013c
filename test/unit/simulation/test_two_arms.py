"""Two arms in one twin: commands, brakes and time-outs of their own, and a bar in both hands."""

import importlib.util
from pathlib import Path

import numpy as np
import pushed_twin
import pytest
from arm_pair import ARMS, PAIRS, Bar
from cdr_messages import float64_multi_array, joint_state
from pushed_twin import ARM, START, follow
from test_twin import run
from test_twin_floating_base import BOAT, FRICTIONLESS, momentum

import featherstone_ros as fr
from featherstone_ros._twin import INPUTS, OUTPUTS
from featherstone_ros.message_faults import refusal
from featherstone_ros.simulation import Twin

SHOULDER, ELBOW = len(INPUTS), len(INPUTS) + 1  # inputs of their own
STOPPING_TIME = 0.1  # [s] of a brake


def make(own=(("shoulder",), ("elbow",)), model=None, **settings) -> Twin:
    return pushed_twin.make(model or fr.Model.from_urdf(ARM), own, **settings)


def command(twin: Twin, topic: int, effort: list[float], now: float = 0.0) -> int:
    """Return how many states were published at once."""
    published, records = twin.message(topic, float64_multi_array(effort), round(now * 1e9))
    assert not records
    return sum(output == OUTPUTS["joint_states"] for output, _ in published)


# Nothing is lost on a fixed base.


@pytest.mark.parametrize("which", PAIRS)
def test_what_an_arms_own_model_does_not_know_is_the_others_links(which):
    pair = PAIRS[which]
    for arm, other in (ARMS, ARMS[::-1]):
        one = fr.Model.from_urdf(pair.urdf, joints=pair.joints[arm])
        tips = [one.tree.link_locked[one.link_names.index(pair.tips[a])] for a in (arm, other)]
        assert not tips[0] and tips[1] == set(pair.joints[other])


# Commands and brakes.


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "implicit", "rk4"])
@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_an_arm_moves_while_the_others_brakes_wait_for_its_first_command(integrator, friction):
    twin = make(integrator=integrator, coulomb=friction, viscous=0.1, rate=200.0)
    held = {"shoulder": lambda t: (START[0], 0.0, 0.0)}
    simulator = fr.Simulator(
        twin.model, 0.001, integrator, damping=0.1, friction=friction, prescribed=held
    )
    simulator.reset(START)
    command(twin, ELBOW, [-1.0])
    assert twin.braked.tolist() == [True, False] and not twin.is_braked
    speeds = []
    for _ in range(40):
        twin.advance(0.0)
        simulator.step([0.0, -1.0], 5)
        speeds.append(twin.qd[1])
        np.testing.assert_array_equal(twin.q, simulator.q)
        np.testing.assert_array_equal(twin.qd, simulator.qd)
    assert np.abs(speeds).max() > 0.1
    dynamics = fr.Dynamics(twin.model)
    carried = dynamics.rnea(twin.q, twin.qd, simulator.qdd)[0]
    np.testing.assert_allclose(twin.effort, [carried, -1.0], rtol=1e-9)
    command(twin, SHOULDER, [0.0])
    run(twin, 1)
    assert not twin.braked.any() and twin.qd[0] != 0.0


def test_each_arm_brakes_when_its_own_commands_end():
    twin = make(command_timeout=0.1)
    command(twin, SHOULDER, [5.0])
    command(twin, ELBOW, [1.0])
    run(twin, 100)
    speed = twin.qd
    assert np.abs(speed).min() > 0.05
    speeds = [speed]
    for k in range(150):
        now = 0.11 + 0.001 * k
        command(twin, ELBOW, [1.0], now)
        run(twin, 1, now)
        speeds.append(twin.qd)
    assert twin.braked.tolist() == [True, False]
    steps = np.abs(np.diff(np.array(speeds)[:, 0]))
    assert steps.max() <= 0.001001 * abs(speed[0]) / STOPPING_TIME
    assert twin.qd[0] == 0.0 and twin.qd[1] != 0.0
    command(twin, SHOULDER, [5.0], 0.3)
    run(twin, 1, 0.3)
    assert not twin.braked.any()


def test_drives_follow_positions_beside_an_arm_on_its_brakes():
    twin = make(viscous=0.1)
    follow(twin, [1.0], joints=[1])
    run(twin, 2000)
    assert twin.braked.tolist() == [True, False]
    np.testing.assert_allclose(twin.q[1], 1.0, atol=0.01)
    assert twin.q[0] == START[0]
    command(twin, SHOULDER, [0.0])  # and the drive holds on
    run(twin, 5)
    np.testing.assert_allclose(twin.q[1], 1.0, atol=0.01)


def test_brakes_of_one_joint_leave_the_momentum_of_a_floating_base():
    boat = fr.Model.from_urdf(BOAT, gravity=(0, 0, 0), base="floating")
    twin = make(model=boat, integrator="rk4", **FRICTIONLESS)
    assert twin.base_is_held
    command(twin, ELBOW, [0.5])
    assert not twin.base_is_held
    for _ in range(300):
        twin.advance(0.0)
    assert twin.q[0] == START[0] and abs(twin.qd[1]) > 0.1
    assert np.abs(twin.base_velocity).max() > 0.01
    assert np.abs(momentum(twin)).max() < 1e-8


def test_zero_efforts_from_one_arms_manager_do_not_let_go_of_its_brakes():
    twin = make()
    command(twin, ELBOW, [1.0])
    idle = joint_state(["shoulder"], [], [], [0.0])
    twin.message(INPUTS["joint_commands"], idle, 0)
    assert twin.braked.tolist() == [True, False]


def test_in_lockstep_a_period_is_over_when_every_arm_has_answered():
    twin = make(lockstep=True)
    twin.start(0.0)
    assert command(twin, ELBOW, [1.0]) == 0
    assert command(twin, ELBOW, [2.0]) == 0
    assert command(twin, SHOULDER, [3.0]) == 1
    np.testing.assert_array_equal(twin.effort, [3.0, 2.0])
    assert command(twin, SHOULDER, [4.0]) == 0
    twin.reset()
    assert command(twin, ELBOW, [1.0]) == 0  # nothing is left of the run before
    assert command(twin, INPUTS["commands"], [1.0, 1.0]) == 1


def test_a_command_that_does_not_fit_its_topic_is_refused_with_its_joints():
    twin = make()
    for data, reason in (
        (float64_multi_array([1.0, 2.0]), "command has 2 values, expected 1"),
        (float64_multi_array([np.nan]), "command of elbow is nan"),
    ):
        _, ((_, index, _, value, _),) = twin.message(ELBOW, data, 0)
        number, text = refusal(index, value, ["elbow"])
        assert number == ELBOW and reason in text
    assert twin.is_braked


def test_more_topics_than_there_is_room_for_are_refused():
    with pytest.raises(ValueError, match="got 13, expected at most 12"):
        make(own=[["elbow"]] * 13)


# A bar in both hands.


def test_the_bar_is_carried_and_the_left_arm_stays_when_the_rights_controller_dies():
    """As docs/two_arms.md says of two turns; here it dies in the first one."""
    path = Path(__file__).resolve().parents[3] / "docs" / "two_arms.py"
    spec = importlib.util.spec_from_file_location("page_of_two_arms", path)
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    page.DEAD = page.START + 0.25 * page.TURN
    page.END = page.DEAD + 1.0
    time, hands, wanted, force, speed, effort = page.carry(400.0, 0.0, Bar(5000.0, 20.0))
    on = page.during(time, page.START, page.DEAD)
    assert 0.1 < np.abs(force[on]).mean() < 1.0
    assert np.abs(force[on]).max() < 2.0
    assert np.linalg.norm(hands[on].mean(axis=1) - wanted[on], axis=1).max() < 0.03
    dead = time >= page.DEAD
    assert 5.0 < np.abs(force[dead]).max() < 40.0  # what the left arm pulls at the one that stands
    assert np.abs(speed[dead]).max() < 1.5 * np.abs(speed[on]).max()
    assert (speed[-1, 7:] == 0.0).all()
    steps = np.abs(np.diff(effort[:, :7], axis=0)).max(axis=0)
    assert (steps < 0.02 * page.PANDA.model.effort_limit).all()
