"""What the compiled controller is asked for: refused by phase, mode and place, without effect."""

from collections.abc import Callable

import numpy as np
import pytest
from control_arm import NAMES, PERIOD, Bench, Q, space
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from studies import study

from featherstone_ros import _control
from featherstone_ros._enumerations import Refusal
from featherstone_ros.control.controller import target_request
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import Point, Trajectory

START_TOLERANCE, SPEED = 0.2, 3.0  # rad, rad/s
X = np.array([0.0, 1.0])


def path(*points: Point) -> _control.CompiledPath:
    return Trajectory(NAMES, points, space(), True).compiled(0.25)


def trajectory() -> _control.ControlRequest:
    return _control.FollowRequest(path(Point(1.0, Q)))


def set_point() -> _control.ControlRequest:
    return _control.SetPointRequest(np.array([Q, *np.zeros((3, 2))]))


def target() -> _control.ControlRequest:
    return target_request(twist=np.full(6, 0.1))


def hold() -> _control.ControlRequest:
    return _control.HOLD_REQUEST


REACH: dict[Phase, Callable[[Bench], object]] = {
    Phase.INACTIVE: lambda bench: bench.controller.deactivate(bench.now) or bench.run(1.5),
    Phase.WAITING: lambda bench: (
        bench.controller.deactivate(bench.now) or bench.run(1.5),
        bench.controller.activate(bench.now),
    ),
    Phase.FLOATING: lambda bench: bench.configure(mode=Mode.GRAVITY_COMPENSATION),
    Phase.DAMPED: lambda bench: bench.controller.fall_back(bench.now),
    Phase.FAULT: Bench.fail,
    Phase.OPEN_LOOP: lambda bench: bench.run(0.3, states=False),
    Phase.SILENT: lambda bench: bench.run(2.0, states=False),
    Phase.STOPPING: lambda bench: bench.controller.deactivate(bench.now),
}


@pytest.mark.parametrize("mode", [study(Mode.FEEDFORWARD), Mode.CARTESIAN_IMPEDANCE])
@each("request_of", [trajectory, set_point, target, hold])
@pytest.mark.parametrize("phase", REACH, ids=lambda phase: phase.name)
def test_nothing_can_be_asked_for_in_a_phase_that_follows_nothing(phase, request_of, mode):
    bench = Bench(mode=mode).start()
    REACH[phase](bench)
    assert bench.controller.phase is phase
    desired = bench.compiled.desired
    answer = bench.compiled.apply(request_of(), bench.now)
    if request_of is hold and phase is Phase.FAULT:  # that is how a fault ends
        assert answer == Refusal.GRANTED
        assert bench.controller.phase is Phase.HOLDING
        assert_allclose(bench.compiled.desired[0], bench.compiled.q, rtol=1e-15)
        return
    others = {Phase.FAULT: Refusal.IN_FAULT, Phase.FLOATING: Refusal.FOLLOWS_NOTHING}
    assert answer == bench.compiled.refusal == others.get(phase, Refusal.NOT_RUNNING)
    assert bench.controller.phase is phase
    assert_array_equal(bench.compiled.desired, desired)


@pytest.mark.parametrize("phase", [Phase.DAMPED, Phase.FAULT, Phase.OPEN_LOOP])
def test_to_activate_what_is_active_changes_nothing(phase):
    bench = Bench().start()
    REACH[phase](bench)
    reason = bench.controller.snapshot().hold
    assert reason.code
    bench.controller.activate(bench.now)
    assert bench.controller.phase is phase and bench.controller.snapshot().hold == reason


def test_an_arm_that_somebody_moves_while_it_settles_is_held_where_it_is_activated():
    bench = Bench().start()
    bench.controller.deactivate(bench.now)
    bench.run(0.5)
    qd = np.array([0.1, 0.0])
    for k in range(100):
        bench.give(Q + k * PERIOD * qd, qd)
    assert bench.controller.phase is Phase.SETTLING
    bench.controller.activate(bench.now)
    assert bench.controller.phase is Phase.HOLDING
    assert_allclose(bench.compiled.desired[0], bench.compiled.q, atol=1e-12)


@pytest.mark.parametrize(
    ("mode", "request_of", "answer"),
    [
        (Mode.FEEDFORWARD, target, Refusal.FOLLOWS_NO_POSES),
        (Mode.COMPUTED_TORQUE, target, Refusal.FOLLOWS_NO_POSES),
        (Mode.CARTESIAN_IMPEDANCE, trajectory, Refusal.FOLLOWS_POSES),
        (Mode.CARTESIAN_IMPEDANCE, set_point, Refusal.FOLLOWS_POSES),
        (Mode.ADMITTANCE, target, Refusal.NO_WRENCH),
        (Mode.FEEDFORWARD, trajectory, Refusal.GRANTED),
        (Mode.COMPUTED_TORQUE, set_point, Refusal.GRANTED),
        (Mode.CARTESIAN_IMPEDANCE, target, Refusal.GRANTED),
    ],
)
def test_a_mode_follows_its_own_kind_of_motion(mode, request_of, answer):
    bench = Bench(mode=mode).start()
    assert bench.compiled.apply(request_of(), bench.now) == answer
    moves = bench.controller.phase in (Phase.TRAJECTORY, Phase.REFERENCE)
    assert moves == (answer == Refusal.GRANTED)


# A trajectory against the arm at the moment at which it is taken


@pytest.mark.parametrize("wait", [0.0, 0.5])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize(("share", "answer"), [(0.99, 0), (1.01, Refusal.STARTS_TOO_FAR)])
def test_a_trajectory_begins_where_the_arm_may_come_in_time(wait, sign, share, answer):
    bench = Bench().start()
    allowed = START_TOLERANCE + SPEED * wait
    place = bench.compiled.q + sign * share * allowed * X
    request = _control.FollowRequest(path(Point(wait, place), Point(wait + 1.0, place)))
    assert bench.compiled.apply(request, bench.now) == answer
    assert bench.compiled.objects == (1 if answer else 2)  # the model, and what is followed
    if answer:
        assert_allclose(request.why(answer)[1:], [1, share * allowed, allowed])


@pytest.mark.parametrize(("share", "answer"), [(0.99, 0), (1.01, Refusal.STARTS_TOO_FAR)])
def test_a_trajectory_that_is_under_way_has_no_time_to_be_reached(share, answer):
    bench = Bench().start()
    place = bench.compiled.q
    off = share * START_TOLERANCE * X
    points = [Point(0.0, place - off), Point(1.0, place + off), Point(2.0, place - 3.0 * off)]
    request = _control.FollowRequest(path(*points), bench.controller.snapshot().time - 1.0)
    assert bench.compiled.apply(request, bench.now) == answer


@pytest.mark.parametrize(("ago", "answer"), [(0.99, 0), (1.01, Refusal.ENDED)])
def test_a_trajectory_that_is_over_is_refused(ago, answer):
    bench = Bench().start()
    place = bench.compiled.q
    points = [Point(0.0, place), Point(1.0, place)]
    request = _control.FollowRequest(path(*points), bench.controller.snapshot().time - ago)
    assert bench.compiled.apply(request, bench.now) == answer
    if answer:
        assert request.why(answer).found == pytest.approx(ago - 1.0)


def test_what_a_request_changes_is_told_with_its_time():
    bench = Bench().start()
    bench.compiled.records()
    assert bench.compiled.apply(hold(), bench.now + 0.5 * PERIOD) == Refusal.GRANTED
    times = [time for _, _, time, *_ in bench.compiled.records()]
    assert times == [round(1e9 * (bench.now + 0.5 * PERIOD))]


def test_a_trajectory_right_after_a_hold_begins_where_the_arm_is():
    bench = Bench().start()
    assert bench.compiled.apply(hold(), bench.now) == Refusal.GRANTED
    request = _control.FollowRequest(path(Point(0.0, Q), Point(1.0, Q)))
    assert bench.compiled.apply(request, bench.now) == Refusal.GRANTED


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize(("share", "answer"), [(0.99, 0), (1.01, Refusal.SET_POINT_TOO_FAR)])
def test_a_set_point_is_near_what_is_asked_for(share, sign, answer):
    bench = Bench().start()
    state = bench.compiled.desired
    state[0] += sign * share * START_TOLERANCE * X
    request = _control.SetPointRequest(state)
    assert bench.compiled.apply(request, bench.now) == answer
    if answer:
        assert_allclose(request.why(answer)[1:], [1, share * START_TOLERANCE, START_TOLERANCE])


# What is said of a state that is not believed


@pytest.mark.parametrize(
    ("step", "velocity", "words"),
    [
        (0.5, 0.0, "position out of reach: joint 'elbow', 0.5, bound 0.0"),
        (-0.5, 0.0, "position out of reach: joint 'elbow', 0.5, bound 0.0"),
        (0.0, 8.0, "velocity out of reach: joint 'elbow', 8, bound "),
        (0.0, -8.0, "velocity out of reach: joint 'elbow', -8, bound "),
        (np.nan, 0.0, "not finite: joint 'elbow', nan"),
        (0.0, np.inf, "velocity out of reach: joint 'elbow', inf"),
    ],
)
def test_a_state_that_is_not_believed_is_told_of_with_its_figures(step, velocity, words):
    bench = Bench()
    assert bench.controller.rejection == ""  # no state has come yet
    bench.start()
    assert bench.controller.rejection == ""
    q, qd = bench.compiled.q, np.array([0.0, velocity])
    q[1] += step
    command = bench.controller.accept_state(bench.now + PERIOD, q, qd)
    assert_allclose(command, bench.commands[-1][1], atol=1e-2)
    assert words in bench.controller.rejection


def test_effort_of_a_set_point_is_its_own_alone_and_ends_with_a_hold():
    """Not that of the way to a trajectory's first point, which had been growing."""
    bench = Bench(reference_timeout=1.0).start()
    bench.controller.set_trajectory(bench.now, NAMES, [Point(1.0, Q, effort=[5.0, 0.0])])
    bench.run(0.3)
    assert_allclose(bench.compiled.desired[3], [1.5, 0.0], atol=0.01)
    state = np.array([bench.compiled.desired[0], *np.zeros((2, 2)), [0.5, 0.0]])
    assert bench.compiled.apply(_control.SetPointRequest(state), bench.now) == Refusal.GRANTED
    for _ in range(3):
        bench.run(0.1)
        assert_allclose(bench.compiled.desired[3], [0.5, 0.0])
    bench.controller.hold(bench.now)
    bench.run(0.3)
    assert_allclose(bench.compiled.desired[3], 0.0, atol=1e-12)
    assert bench.largest_rate() <= 1.0
