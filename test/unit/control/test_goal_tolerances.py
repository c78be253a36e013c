"""Goals of FollowJointTrajectory, on a simulated arm: their outcomes, and the arm's motion."""

from types import SimpleNamespace

import numpy as np
import pytest
from control_arm import NAMES, PERIOD, Bench, Q, space
from numpy.testing import assert_allclose
from refusals import refusals
from studies import study

from featherstone_ros import _control
from featherstone_ros.control.goal_tolerances import (
    ErrorCode,
    GoalStatus,
    GoalTracker,
    Tolerances,
    code_of,
    goal_tolerances,
    with_others,
)
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import Point, Trajectory, TrajectoryError

GOAL = Q + np.array([0.4, -0.4])
OFF = np.array([0.0, 0.03])
DURATION = 0.6
ANY = Tolerances(np.zeros((2, 2)), np.zeros((2, 2)))
LOOK = 0.05  # [s] between two looks at a goal


class Goal:
    """A goal that a controller follows, looked at now and then."""

    def __init__(self, bench: Bench, tolerances: Tolerances = ANY, end=GOAL) -> None:
        self.bench = bench
        points = [Point(DURATION, end, [0.0, 0.0])]
        path = Trajectory(NAMES, points, space()).compiled(0.25, tolerances.path)
        causes = bench.controller.snapshot().causes
        assert bench.controller.compiled.apply(_control.FollowRequest(path), bench.now) == 0
        self.tracker = GoalTracker(path.number, tolerances, NAMES, causes)

    def run(self, duration: float, **options: bool) -> GoalStatus:
        """Let time pass; return what has become of the goal."""
        for _ in range(round(duration / LOOK)):
            self.bench.run(LOOK, **options)
            self.update()
        return self.tracker.verdict.status

    def update(self) -> GoalStatus:
        return self.tracker.update(self.bench.controller.snapshot()).status

    def result(self) -> tuple[GoalStatus, ErrorCode]:
        return self.tracker.verdict.status, self.tracker.verdict.code

    def freeze(self, duration: float) -> GoalStatus:
        """Put the brakes on for a while: the arm stands where it is, whatever it is told."""
        bench, place = self.bench, self.bench.arm.q
        for i in range(round(duration / PERIOD)):
            bench.give(place + 1e-9 * (i % 2))  # else it would be a state that repeats
            if i % 50 == 49:
                self.update()
        return self.tracker.verdict.status


def stand(bench: Bench, q) -> None:
    """Move the arm by hand, not too fast to be believed."""
    for _ in range(20):
        bench.arm.set_state(bench.arm.q + 0.2 * (q - bench.arm.q), np.zeros(2))
        bench.run(PERIOD)
    bench.arm.set_state(q, np.zeros(2))


@pytest.fixture
def bench() -> Bench:
    return Bench().start()


def tolerances(path=0.0, goal=0.0, stopped=0.0, goal_time=0.0, speed=0.0) -> Tolerances:
    return Tolerances(
        np.repeat([[path], [speed]], 2, axis=1),
        np.repeat([[goal], [stopped]], 2, axis=1),
        goal_time,
    )


# A goal and what becomes of it


def test_goal_succeeds_at_the_end_of_its_motion_and_the_arm_stays_there(bench):
    goal = Goal(bench, tolerances(path=0.05, goal=0.01, stopped=0.05))
    assert goal.run(DURATION - LOOK) is GoalStatus.RUNNING
    assert goal.run(2 * LOOK) is GoalStatus.SUCCEEDED
    assert goal.tracker.verdict.code is ErrorCode.SUCCESSFUL
    bench.run(0.2)
    assert_allclose(bench.arm.q, GOAL, atol=1e-3)
    assert goal.update() is GoalStatus.SUCCEEDED


def test_arm_off_the_path_of_a_goal_is_stopped_by_the_loop_whether_anybody_looks_or_not(bench):
    goal = Goal(bench, tolerances(path=0.03))
    place = bench.arm.q
    for i in range(300):
        bench.give(place + 1e-9 * (i % 2))  # else it would be a frozen state
    assert bench.controller.phase is Phase.HOLDING
    assert_allclose(bench.compiled.desired[0], place, atol=1e-8)
    assert goal.update() is GoalStatus.ABORTED
    assert goal.tracker.verdict.code is ErrorCode.PATH_TOLERANCE_VIOLATED
    assert "is 0.03" in goal.tracker.verdict.text


def test_tolerance_of_the_velocity_on_the_way(bench):
    goal = Goal(bench, tolerances(speed=0.2))
    goal.freeze(0.3)
    assert goal.result() == (GoalStatus.ABORTED, ErrorCode.PATH_TOLERANCE_VIOLATED)
    assert "than it should be" in goal.tracker.verdict.text


def test_tolerances_of_a_goal_do_not_outlive_it(bench):
    goal = Goal(bench, tolerances(path=0.05))
    assert goal.run(DURATION + 2 * LOOK) is GoalStatus.SUCCEEDED
    bench.arm.set_state(GOAL + 0.08, np.zeros(2))
    bench.run(0.01)
    assert not any("away from where it should be" in note for note in bench.notes)


def test_goal_waits_for_the_arm_and_is_given_up_after_goal_time(bench):
    goal = Goal(bench, tolerances(goal=0.02, goal_time=0.4))
    goal.run(DURATION - LOOK)
    stand(bench, GOAL + OFF)
    assert goal.freeze(0.4) is GoalStatus.RUNNING
    assert goal.freeze(0.15) is GoalStatus.ABORTED
    assert goal.tracker.verdict.code is ErrorCode.GOAL_TOLERANCE_VIOLATED
    assert "joint 'elbow' is 0.03 from its goal (goal tolerance 0.02)" in goal.tracker.verdict.text
    assert bench.controller.phase is Phase.HOLDING
    assert_allclose(bench.compiled.desired[0], GOAL)  # where it is asked to be, and stays


def test_goal_without_goal_time_waits_for_ever(bench):
    goal = Goal(bench, tolerances(goal=0.02))
    goal.run(DURATION - LOOK)
    stand(bench, GOAL + OFF)
    assert goal.freeze(5.0) is GoalStatus.RUNNING
    assert goal.run(1.0) is GoalStatus.SUCCEEDED


def test_goal_is_not_reached_while_the_arm_still_moves(bench):
    goal = Goal(bench, tolerances(stopped=1e-4))
    goal.run(DURATION)
    bench.arm.set_state(bench.arm.q, np.array([0.3, 0.0]))
    assert goal.run(LOOK) is GoalStatus.RUNNING
    assert goal.run(2.0) is GoalStatus.SUCCEEDED


def test_cancelled_goal_ends_once_the_arm_has_come_to_rest_without_a_step(bench):
    goal = Goal(bench)
    goal.run(0.3)
    speed = np.abs(bench.arm.qd).max()
    bench.controller.hold(bench.now)
    goal.tracker.cancel()
    assert goal.update() is GoalStatus.RUNNING
    assert goal.run(0.35) is GoalStatus.CANCELED
    assert speed > 0.5
    assert_allclose(bench.arm.qd, 0.0, atol=0.05)
    assert bench.largest_rate() <= 1.0


def test_cancelled_goal_whose_request_the_loop_has_not_read_yet_goes_on(bench):
    goal = Goal(bench)
    goal.run(0.2)
    goal.tracker.cancel()
    assert goal.update() is GoalStatus.RUNNING


def test_cancelled_goal_ends_if_the_arm_cannot_be_seen(bench):
    goal = Goal(bench)
    goal.run(0.2)
    bench.controller.hold(bench.now)
    goal.tracker.cancel()
    bench.run(0.2, states=False)
    assert goal.update() is GoalStatus.CANCELED


ENDS = {
    "another trajectory": (
        lambda bench: bench.controller.set_trajectory(bench.now, NAMES, [Point(1.0, Q)]),
        "another trajectory",
    ),
    "set-points": (
        lambda bench: bench.set_point(Point(0.0, bench.compiled.desired[0])),
        "set-points",
    ),
    "hold": (lambda bench: bench.controller.hold(bench.now), "asked to hold"),
    "mode": (lambda bench: bench.configure(mode=Mode.GRAVITY_COMPENSATION), "gravity_compensation"),
    "deactivation": (lambda bench: bench.controller.deactivate(bench.now), "deactivated"),
    "no states": (lambda bench: bench.run(0.2, states=False), "no usable joint state"),
    "late commands": (lambda bench: bench.controller.fall_back(bench.now), "unexpected exception"),
}


@pytest.mark.parametrize("end", ENDS)
def test_goal_is_aborted_with_the_reason_when_its_motion_ends(bench, end):
    goal = Goal(bench)
    goal.run(0.2)
    act, reason = ENDS[end]
    act(bench)
    assert goal.update() is GoalStatus.ABORTED
    lost = end == "no states"  # as there: the last state is soon off the path
    code = ErrorCode.PATH_TOLERANCE_VIOLATED if lost else ErrorCode.INVALID_GOAL
    assert goal.tracker.verdict.code is code
    assert reason in goal.tracker.verdict.text
    before = goal.tracker.verdict
    goal.run(0.3)
    assert goal.tracker.verdict is before


def test_old_causes_are_not_why_a_goal_ends(bench):
    bench.run(0.2, states=False)
    bench.run(0.3)
    bench.arm.set_state(Q, np.zeros(2))
    bench.run(0.5)
    goal = Goal(bench)
    goal.run(0.2)
    bench.controller.hold(bench.now)
    goal.update()
    assert "asked to hold" in goal.tracker.verdict.text


def disobey(bench: Bench, times: int) -> None:
    """Give trajectories that the arm does not follow, too seldom to be a fault by their rate."""
    for _ in range(times):
        goal = Goal(bench, end=bench.arm.q + np.array([0.4, -0.4]))
        assert goal.freeze(2.5) is GoalStatus.ABORTED


def arrive(bench: Bench) -> None:
    disobey(bench, 2)
    assert Goal(bench, end=bench.arm.q).run(DURATION + LOOK) is GoalStatus.SUCCEEDED


def fail_otherwise(bench: Bench) -> None:
    disobey(bench, 2)
    while bench.controller.phase is not Phase.FAULT:
        bench.arm.set_state(bench.arm.q, np.array([0.0, 4.5]))
        bench.run(PERIOD)
    bench.run(4.0)  # or it would be one motion too many within ten seconds
    bench.controller.hold(bench.now)


def float_meanwhile(bench: Bench) -> None:
    disobey(bench, 3)
    assert bench.controller.phase is Phase.FAULT
    bench.configure(mode=Mode.GRAVITY_COMPENSATION)
    bench.configure(mode=Mode.FEEDFORWARD)


@pytest.mark.parametrize("meanwhile", [arrive, fail_otherwise, study(float_meanwhile)])
def test_trajectories_in_a_row_are_counted_anew_after_one_that_arrives_and_after_a_fault(meanwhile):
    bench = Bench(path_tolerance=0.1).start()
    meanwhile(bench)
    disobey(bench, 2)
    assert bench.controller.phase is Phase.HOLDING
    disobey(bench, 1)
    assert bench.controller.phase is Phase.FAULT
    assert "3 trajectories in a row" in bench.controller.hold_reason


def test_narrow_tolerances_of_goals_are_no_disobedience():
    bench = Bench(path_tolerance=0.3).start()
    for _ in range(4):
        goal = Goal(bench, tolerances(path=0.02))
        assert goal.freeze(0.3) is GoalStatus.ABORTED
    assert bench.controller.phase is Phase.HOLDING


# Tolerances


def tolerance(name, position=0.0, velocity=0.0, acceleration=0.0):
    return SimpleNamespace(
        name=name, position=position, velocity=velocity, acceleration=acceleration
    )


def test_tolerances_of_the_goal_replace_the_defaults():
    defaults = tolerances(path=0.1, goal=0.2, stopped=0.01, goal_time=1.0)
    own = goal_tolerances(
        defaults, NAMES, [tolerance("elbow", 0.3, 0.5)], [tolerance("shoulder", -1.0, -1.0)], -1.0
    )
    assert_allclose(own.path, [[0.1, 0.3], [0.0, 0.5]])
    assert_allclose(own.goal, [[0.0, 0.2], [0.0, 0.01]])
    assert own.goal_time == 0.0
    same = goal_tolerances(defaults, NAMES, [], [tolerance("elbow", acceleration=-1.0)], 0.0)
    assert_allclose(same.path, defaults.path)
    assert_allclose(same.goal, defaults.goal)
    assert same.goal_time == 1.0


test_tolerances_that_mean_nothing_are_refused = refusals(
    ("path_tolerance: unknown joint 'wrist'", {"path": [tolerance("wrist", 0.1)]}),
    ("joint 'elbow': position is -0.5", {"goal": [tolerance("elbow", -0.5)]}),
    ("velocity is nan", {"goal": [tolerance("elbow", 0.1, float("nan"))]}),
    ("goal_time_tolerance is -2", {"time": -2.0}),
    ("accelerations are not measured", {"path": [tolerance("elbow", acceleration=3.0)]}),
    ("acceleration is -3", {"goal": [tolerance("elbow", acceleration=-3.0)]}),
    ("no joint is named", lambda: with_others([], [Point(0.5, [])], NAMES, Q)),
    error=TrajectoryError,
    of=lambda path=(), goal=(), time=0.0: goal_tolerances(ANY, NAMES, path, goal, time),
)  # fmt: skip


# Trajectories


@pytest.mark.parametrize(
    ("names", "times", "delay", "code"),
    [
        (["shoulder"], [1.0], 0.0, ErrorCode.INVALID_JOINTS),
        (["shoulder", "wrist"], [1.0], 0.0, ErrorCode.INVALID_JOINTS),
        (["shoulder", "shoulder"], [1.0], 0.0, ErrorCode.INVALID_JOINTS),
        (NAMES, [1.0, 0.5], 0.0, ErrorCode.INVALID_GOAL),
        (NAMES, [], 0.0, ErrorCode.INVALID_GOAL),
        (NAMES, [1.0], -2.0, ErrorCode.OLD_HEADER_TIMESTAMP),
    ],
)
def test_refused_trajectories_have_a_code(bench, names, times, delay, code):
    with pytest.raises(TrajectoryError) as refusal:
        bench.controller.set_trajectory(bench.now, names, [Point(t, Q) for t in times], delay=delay)
    assert code_of(refusal.value) is code


def test_joints_that_are_not_named_stay(bench):
    names, points = with_others(["elbow"], [Point(0.5, [0.2], [0.0])], NAMES, Q)
    bench.controller.set_trajectory(bench.now, names, points)
    bench.run(1.0)
    assert_allclose(bench.arm.q, [Q[0], 0.2], atol=2e-3)


def test_a_velocity_that_is_no_number_is_no_goal_reached():
    nothing = np.zeros((2, 2))
    bounds = Tolerances(nothing, np.array([[0.0, 0.0], [0.1, 0.1]]))
    moment = SimpleNamespace(
        phase=int(Phase.HOLDING),
        path=1,
        since_end=0.1,
        hold=(0, -1, 0.0, 0.0),
        causes=0,
        q=Q,
        qd=np.array([0.0, np.nan]),
        desired=np.array([Q, 0 * Q]),
    )
    tracker = GoalTracker(1, bounds, NAMES, 0)
    assert tracker.update(moment).status is GoalStatus.RUNNING
    moment.qd = np.zeros(2)
    assert tracker.update(moment).status is GoalStatus.SUCCEEDED
