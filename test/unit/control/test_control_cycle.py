"""What the controller does in a loop: from bytes to bytes, in time, and when Python is gone."""

import time
from typing import Any

import cdr_messages
import numpy as np
import pytest
from control_arm import NAMES, PERIOD, TURNING, Bench, Q
from control_loop import COMMANDS, DESIRED, ERROR, ROS_TIME, LoopBench
from numpy.testing import assert_allclose

from featherstone_ros._control import DeadlineRequest
from featherstone_ros._enumerations import Cause, Event, NoteKind, Phase
from featherstone_ros.control.controller import compiled_controller
from featherstone_ros.control.diagnostics import last_motion
from featherstone_ros.control.settings import Mode, UpdateOn

GOAL = Q + np.array([0.8, -1.0])


@pytest.fixture
def bench() -> LoopBench:
    return LoopBench().start()


def test_bytes_give_the_commands_that_numbers_give():
    """In whatever order the joints are named."""
    called, looped = Bench().start(), LoopBench().start()
    for bench in (called, looped):
        bench.move(GOAL)
        bench.run(0.3)
    assert_allclose(looped.commands[-1][1], called.commands[-1][1], rtol=1e-12)
    for bench in (called, looped):
        bench.pass_time()
    called.state()
    looped.message(looped.encoded(NAMES[::-1]))
    assert_allclose(looped.commands[-1][1], called.commands[-1][1], rtol=1e-12)


def test_state_in_parts_is_answered_when_every_joint_has_come(bench):
    before = len(bench.commands)
    bench.pass_time()
    for name in ("elbow", "elbow"):
        bench.message(bench.encoded((name,)))
        assert len(bench.commands) == before
    bench.message(bench.encoded(("shoulder",)))
    assert len(bench.commands) == before + 1
    bench.pass_time()
    bench.message(bench.encoded(("shoulder",)))
    assert len(bench.commands) == before + 1


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (cdr_messages.joint_state(["finger"], [0.1]), "foreign"),
        (cdr_messages.joint_state(NAMES, [0.1]), "malformed"),
        (cdr_messages.joint_state(NAMES, [0.1, 0.2])[:40], "malformed"),
    ],
    ids=["foreign", "short", "cut off"],
)
def test_message_that_is_none_of_the_arms_is_counted_and_moves_nothing(bench, data, count):
    before, commands = bench.snapshot(), len(bench.commands)
    bench.message(data)
    for counted in ("foreign", "malformed", "states", "accepted"):
        assert getattr(bench.snapshot(), counted) == getattr(before, counted) + (counted == count)
    assert len(bench.commands) == commands


# In time


def test_time_is_told_once_a_period_only_where_no_state_comes(bench):
    bench.ticks.clear()
    bench.run(0.1)
    assert not bench.ticks  # a state does for it
    bench.controller.deactivate(bench.now)
    bench.run(2.0)
    assert bench.controller.phase is Phase.INACTIVE
    bench.run(0.05, states=False)
    assert_allclose(np.diff(bench.ticks), bench.settings.period)


def test_time_is_told_every_millisecond_where_time_alone_gives_commands(bench):
    bench.run(0.3, states=False)
    assert bench.controller.phase is Phase.OPEN_LOOP
    assert_allclose(np.diff(bench.ticks[-50:]), 0.001)  # a motion in coarse steps drifts away


def tick(bench: LoopBench) -> None:
    """Tell the time for as long as the controller wants to know it."""
    while bench.cycle.due <= bench.nanoseconds:
        bench.cycle.tick(bench.nanoseconds)


def test_commands_go_on_after_a_few_missing_periods(bench):
    """10 ms of an arm at 1 kHz; they follow the motion, and end in a stop only later."""
    bench.move(GOAL)
    bench.run(0.2)
    last, count = bench.now, len(bench.commands)
    bench.run(0.1 - PERIOD, states=False)
    told = np.array([time for time, _ in bench.commands[count:]]) - last
    assert told[0] == pytest.approx(0.01)
    assert_allclose(np.diff(told), PERIOD)
    assert bench.controller.phase is Phase.TRAJECTORY
    desired = bench.compiled.desired
    assert_allclose(bench.arm.q, desired[0], atol=1e-3)
    assert_allclose(bench.arm.qd, desired[1], atol=0.02)
    bench.run(2 * PERIOD, states=False)
    assert bench.controller.phase is Phase.OPEN_LOOP


@pytest.mark.parametrize("pace", [0.1, 0.5, 3.0])
def test_an_arm_that_moves_by_another_clock_is_not_led_on_by_this_one(pace):
    """A simulation without use_sim_time, whose stamps go on at another pace: it may stand."""
    bench = LoopBench()
    bench.controller.activate(bench.now)
    for _ in range(300):
        bench.stamp += (pace - 1.0) * PERIOD
        bench.run(PERIOD)
    count = len(bench.commands)
    bench.run(0.1 - PERIOD, states=False)
    assert len(bench.commands) == count
    bench.run(0.05, states=False)
    assert bench.controller.phase is Phase.OPEN_LOOP


@pytest.mark.parametrize("late", [0.001, 0.004, 0.008])
def test_states_that_come_a_little_late_have_one_command_each(bench, late):
    """By less than 10 ms at 500 Hz, each in its turn; time is told meanwhile."""
    bench.move(GOAL, 5.0)
    random, arrivals = np.random.default_rng(0), 0.0
    count, states = len(bench.commands), 0
    for k in range(1, 400):
        arrivals = max(bench.now, 100.3 + 0.002 * k + random.uniform(0.0, late), arrivals)
        while bench.now < arrivals - 1e-9:
            bench.now = min(bench.now + PERIOD, arrivals)
            tick(bench)
        bench.arm.step(bench.applied(), 2)
        bench.stamp += 0.002
        bench.state()
        states += 1
    assert len(bench.commands) == count + states


@pytest.mark.parametrize("period", [0.001, 0.004, 0.01, 0.02, 0.05, 0.09])
def test_in_lockstep_each_state_has_one_answer_and_time_none(period):
    """Time goes on with a state alone, however long its period is: there is no gap to be filled,
    and the twin takes no command for an answer that is none.
    """
    bench = LoopBench()
    bench.controller.activate(bench.now)
    for k in range(100):
        bench.now, bench.stamp = bench.now + period, bench.stamp + period
        if k > 1:  # also where another clock's message overtakes a state: it is not overdue
            tick(bench)
        bench.state()
        bench.state()  # repeated: the answer was lost, or had not come yet
        tick(bench)
        assert len(bench.commands) == k + 1


def test_commands_by_the_timer_come_at_its_rate_whether_states_do_or_not():
    bench = LoopBench(update_on=UpdateOn.TIMER, rate=250.0).start()
    bench.commands.clear()
    bench.run(0.05)
    bench.run(0.05, states=False)
    assert_allclose(np.diff([time for time, _ in bench.commands]), 0.004, rtol=1e-6)
    assert len(bench.commands) == 25


TICK = 4_000_000  # [ns] of a timer at 250 Hz


@pytest.mark.parametrize(
    ("late", "next_after"), [(0, TICK), (TICK - 1, 1), (TICK, TICK), (250 * TICK + 7, TICK)]
)
def test_ticks_that_were_missed_are_not_made_up_for(late, next_after):
    """The timer keeps its pace, and begins anew where it would have to hurry."""
    bench = LoopBench(update_on=UpdateOn.TIMER, rate=250.0).start()
    now = bench.cycle.due + late
    bench.cycle.tick(now)
    assert bench.cycle.due == now + next_after


# Whose clock


def test_clocks_may_be_set_while_nothing_is_commanded():
    """By then a state seems to have been on its way for 5 s."""
    bench = LoopBench(state_timeout=1.0)

    def states(seconds: float, late: float) -> None:
        for _ in range(round(seconds / PERIOD)):
            bench.pass_time()
            bench.arm.step(bench.applied())
            bench.message(bench.encoded(), sent=ROS_TIME - round(late * 1e9))

    bench.controller.activate(bench.now)
    states(0.2, 0.0)
    bench.controller.deactivate(bench.now)
    states(2.0, 0.0)
    assert bench.controller.phase is Phase.INACTIVE
    bench.now, bench.stamp = bench.now + 10.0, bench.stamp + 10.0
    bench.controller.activate(bench.now)
    states(PERIOD, 5.0)
    assert bench.controller.phase is Phase.HOLDING
    assert not bench.controller.refused


# On the way out


def test_a_loop_that_is_to_end_stops_the_arm_first(bench):
    bench.move(GOAL)
    bench.run(0.4)
    assert np.abs(bench.arm.qd).max() > 1.0
    bench.stop()
    while not bench.is_safe_to_end:
        bench.run(PERIOD)
        assert bench.now < 110.0
    assert bench.controller.phase is Phase.INACTIVE
    assert np.abs(bench.arm.qd).max() < 0.05
    assert bench.now - bench.commands[-1][0] <= 2.0 * PERIOD


def test_an_activation_begins_with_a_state_newer_than_itself():
    """One that was on its way while a simulation was reset shows where the arm was before."""
    bench = LoopBench()
    bench.controller.activate(bench.now)
    was = bench.arm.q.copy()
    for late, commands in ((0.05, 0), (PERIOD / 2, 1)):
        bench.pass_time()
        bench.arm.reset(was + 1.0 if late > PERIOD else was)
        bench.message(bench.encoded(), sent=ROS_TIME - round(late * 1e9))
        assert len(bench.commands) == commands
    assert bench.controller.phase is Phase.HOLDING
    np.testing.assert_array_equal(bench.compiled.q, was)


@pytest.mark.parametrize("update_on", UpdateOn)
def test_a_state_that_standing_time_repeats_is_answered_by_the_same_command(update_on):
    """Its owner waits for the answer, which may have been lost; it changes nothing else."""
    repeated, other = (LoopBench(update_on=update_on, rate=1 / PERIOD).start() for _ in range(2))
    before = time.time_ns()
    for bench in (repeated, other):
        bench.move(GOAL)
        bench.run(0.3)
    last, count = repeated.published[-1], len(repeated.published)
    repeated.message(repeated.encoded(), written=before)  # before the answer
    assert len(repeated.published) == count
    for _ in range(2):
        repeated.message(repeated.encoded(), written=time.time_ns())
    assert repeated.published[count:] == [last, last]
    for bench in (repeated, other):
        bench.run(0.3)
    assert repeated.published[-1] == other.published[-1]


class Lockstep(LoopBench):
    """A simulation that waits for the answer to each state, and repeats it until there is one.

    Attributes:
        nanoseconds: Simulated time, by which all goes.
        asked: How often it has asked for the last answer.
    """

    nanoseconds = 0

    def __init__(self, begin: int, **changes: Any) -> None:
        super().__init__(**changes)
        self.at(begin)

    def at(self, nanoseconds: int) -> None:
        self.nanoseconds = self.ros_time = nanoseconds
        self.now = self.stamp = nanoseconds / 1e9

    def encoded(self, names: tuple[str, ...] = NAMES) -> bytes:
        stamp = divmod(self.nanoseconds, 10**9)
        return cdr_messages.joint_state(names, self.arm.q, self.arm.qd, stamp=stamp)

    def ask(self, times: int = 3) -> bool:
        """Whether a state is answered; time stands meanwhile."""
        count = len(self.commands)
        for self.asked in range(1, times + 1):
            self.message(self.encoded(), written=time.time_ns())
            if self.cycle.due <= self.nanoseconds:
                self.cycle.tick(self.nanoseconds)
            if len(self.commands) > count:
                return True
        return False

    def periods(self, count: int) -> bool:
        """Let time go on from answer to answer; whether it does."""
        for _ in range(count):
            if not self.ask():
                return False
            self.arm.step(self.applied(), 10)
            self.at(self.nanoseconds + 10_000_000)
        return True


@pytest.mark.parametrize("begin", [0, 1_790_000_000], ids=["from 0", "by the wall"])
@pytest.mark.parametrize("update_on", UpdateOn)
def test_lockstep_goes_on_after_an_activation_at_any_time(begin, update_on):
    """The state that its owner repeats is of the very time of the activation."""
    loop = Lockstep(begin * 10**9, update_on=update_on, rate=100.0, give_up_after=0.0)
    random = np.random.default_rng(1)
    for _ in range(40):
        loop.controller.activate(loop.nanoseconds * 1e-9)
        assert loop.periods(random.integers(1, 12))
        loop.controller.deactivate(loop.nanoseconds * 1e-9)
        if random.random() < 0.7:
            while loop.ask():
                loop.at(loop.nanoseconds + 10_000_000)
            assert loop.controller.phase is Phase.INACTIVE


def test_an_arm_that_could_not_be_taken_over_is_looked_at_again():
    """Time stands: no state but this one will come, also when what was wrong with it has gone."""
    loop = Lockstep(10**9, effort_limit=[0.1, 0.1])
    loop.controller.activate(loop.now)
    assert not loop.ask()
    assert loop.snapshot().hold[0] == Cause.CANNOT_HOLD
    loop.configure(effort_limit=[20.0, 20.0])
    assert loop.periods(10)


def test_a_repetition_that_is_read_before_the_tick_gets_no_older_command():
    """A process that stood still finds both waiting; the command for the state is still to come."""
    loop = Lockstep(10**9, update_on=UpdateOn.TIMER, rate=100.0)
    loop.controller.activate(loop.now)
    assert loop.periods(3)
    count = len(loop.published)
    for _ in range(3):
        loop.message(loop.encoded(), written=time.time_ns())
    assert len(loop.published) == count
    assert loop.ask(1)


@pytest.mark.parametrize("rate", [50.0, 30.0])
def test_a_state_without_a_command_of_its_own_gets_the_last_one_when_it_is_repeated(rate):
    """The timer is slower than the states: the drives have what they have."""
    loop = Lockstep(10**9, update_on=UpdateOn.TIMER, rate=rate)
    loop.controller.activate(loop.now)
    asked = [loop.periods(1) * loop.asked for _ in range(30)]
    assert {1, 2} == set(asked)
    assert asked.count(1) == pytest.approx(0.3 * rate, abs=1)


# Without Python


@pytest.mark.parametrize("states", [True, False], ids=["by states", "by the timer"])
@pytest.mark.parametrize("executor_timeout", [0.3, 0.0])
def test_motion_ends_when_python_gives_no_sign_of_life(executor_timeout, states):
    update_on = UpdateOn.STATE if states else UpdateOn.TIMER
    bench = LoopBench(executor_timeout=executor_timeout, update_on=update_on, rate=500.0).start()
    bench.move(GOAL, 3.0)
    bench.heartbeat = last = bench.now
    bench.run(0.29)
    assert bench.controller.phase is Phase.TRAJECTORY
    bench.run(0.02)
    if executor_timeout == 0.0:  # it may be gone for as long as it likes
        assert bench.controller.phase is Phase.TRAJECTORY
        return
    assert bench.controller.phase is Phase.HOLDING
    assert "no sign of life" in bench.controller.hold_reason
    phases = [index for kind, index, _ in bench.records if kind == NoteKind.PHASE]
    assert phases[-1] == Event.ABANDON  # the arm is not where it was to go
    bench.run(0.4)
    assert bench.now > last + 0.3
    assert np.abs(bench.arm.qd).max() < 0.02
    assert bench.largest_rate() <= 1.0


def test_signs_of_life_keep_a_motion_going_and_a_hold_needs_none(bench):
    bench.heartbeat = bench.now
    bench.run(1.5)
    assert not bench.controller.hold_reason
    bench.move(GOAL, 5.0)
    for _ in range(15):
        bench.heartbeat = bench.now
        bench.run(0.1)
    assert bench.controller.phase is Phase.TRAJECTORY


# Deadlines

LONG_AGO, IN_TIME = 1, 0  # when the middleware took a state in, by the system clock; 0: unknown


def late_states(bench: LoopBench, count: int, late: int) -> None:
    """Give states a millisecond apart; of ``late``, spread over them, the command is late."""
    for k in range(count):
        bench.pass_time()
        bench.arm.step(bench.applied())
        is_late = (k + 1) * late // count > k * late // count
        bench.message(bench.encoded(), received=LONG_AGO if is_late else IN_TIME)


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize(("late", "is_too_many"), [(5, False), (6, True)])
def test_more_late_commands_within_a_second_than_are_allowed(bench, late, is_too_many, holds):
    bench.compiled.apply(DeadlineRequest(0.002, 5, holds), bench.now)
    late_states(bench, 400, late)
    assert bench.snapshot().is_late == is_too_many
    assert (bench.controller.phase is Phase.DAMPED) == (is_too_many and holds)
    late_states(bench, 1100, 0)
    assert not bench.snapshot().is_late
    late_states(bench, 300, 0)
    assert bench.controller.phase is Phase.HOLDING


def test_late_commands_without_a_hold_are_told_of_once_as_long_as_they_go_on(bench):
    bench.compiled.apply(DeadlineRequest(0.002, 5, False), bench.now)
    for _ in range(2):
        bench.records.clear()
        late_states(bench, 400, 100)
        causes = [values[0] for kind, _, values in bench.records if kind == NoteKind.CAUSE]
        assert causes == [Cause.LATE_COMMANDS]
        late_states(bench, 1100, 0)


def test_late_commands_more_than_a_second_apart_are_not_counted_together(bench):
    bench.compiled.apply(DeadlineRequest(0.002, 5, True), bench.now)
    for _ in range(2):
        late_states(bench, 1100, 5)
        late_states(bench, 1000, 0)
    assert not bench.snapshot().is_late
    assert not bench.controller.hold_reason


def test_without_a_deadline_no_command_is_late(bench):
    late_states(bench, 100, 100)
    assert not bench.snapshot().is_late


# Several publishers


def heard(bench: LoopBench, sequences: list[int]) -> bool:
    for sequence in sequences:
        bench.now, bench.stamp = bench.now + 0.005, bench.stamp + 0.005
        bench.message(bench.encoded(), sequence)
    return bench.snapshot().has_several_publishers


def test_numbers_that_fall_back_again_and_again_are_those_of_several_publishers(bench):
    assert not heard(bench, list(range(1, 100)))
    assert not heard(bench, [-1] * 10)  # unknown
    assert not heard(bench, [1, 2, 3])  # it was started again
    assert not heard(bench, [2, 4])
    assert heard(bench, [3])
    bench.now += 2.1
    assert not bench.snapshot().has_several_publishers


def test_publishers_that_began_together_are_several(bench):
    assert not heard(bench, [1, 2, 2])
    assert heard(bench, [3, 3, 4, 4])


# What is shown


def test_motion_is_shown_at_its_rate_to_whoever_watches():
    bench = LoopBench().start()
    bench.move(GOAL)
    bench.run(0.3)
    assert {output for output, *_ in bench.published} == {COMMANDS}
    bench.watched = {ERROR}  # one of the two is enough for both
    begin = len(bench.published)
    bench.run(0.3)
    shown = [(out, time, data) for out, time, data in bench.published[begin:] if out != COMMANDS]
    times = [time for output, time, _ in shown if output == DESIRED]
    assert_allclose(np.diff(times), 0.02, atol=1e-6)
    assert times == [time for output, time, _ in shown if output == ERROR]


def rows_of(data: bytes) -> list[np.ndarray]:
    """Position, velocity and effort at the end of a JointState of two joints."""
    ends = len(data), len(data) - 24, len(data) - 48  # each: its length, padding, two numbers
    return [np.frombuffer(data[end - 16 : end]) for end in reversed(ends)]


@pytest.mark.parametrize("adds_gravity", [False, True])
def test_what_is_shown_adds_up_to_the_effort_that_acts(adds_gravity):
    bench = LoopBench(hardware_adds_gravity=adds_gravity).start()
    bench.move(GOAL)
    bench.watched = {DESIRED}
    bench.run(0.3)
    while bench.published[-1][0] != ERROR:
        bench.run(PERIOD)
    rows = np.array([rows_of(data) for _, _, data in bench.published[-2:]])
    expected = bench.controller.desired()
    assert_allclose(rows[0], [expected.position, expected.velocity, expected.effort])
    errors = [expected.position_error, expected.velocity_error, expected.effort_error]
    assert_allclose(rows[1], errors, atol=1e-9)
    believed = [bench.compiled.q, bench.compiled.qd, bench.applied()]
    assert_allclose(rows[0] - [[1.0], [1.0], [-1.0]] * rows[1], believed, rtol=1e-6)


# Drives with loops of their own


def test_drives_are_told_positions_of_the_turn_on_which_they_measure():
    bench = LoopBench(urdf=TURNING)
    bench.controller.compiled = compiled_controller(
        bench.controller._space, bench.model, bench.settings, "", np.eye(4), sends_joints=True
    )
    bench.connect()
    bench.arm.reset([3.0, 0.0])
    bench.start()
    bench.configure(mode=Mode.GRAVITY_COMPENSATION)
    told, measured = [], []
    for speed in 2.5 * np.sin(np.arange(0.0, 2 * np.pi, 4 * PERIOD)):  # [rad/s], to and fro
        bench.give(bench.arm.q + PERIOD * np.array([speed, 0.0]), [speed, 0.0])
        told.append(rows_of(bench.published[-1][2])[0])
        measured.append(bench.measured)
    assert_allclose(told, measured, atol=1e-9)


# Whether an arm stood when its commands ended.


FAR = np.array([0.0, 3.0])


@pytest.mark.parametrize(("off", "velocity", "text"), [
    (None, None, ""),
    (0.0, [0.1, -0.2], f"{NAMES[1]} at 0.2 rad/s, {NAMES[0]} at 0.1 rad/s"),  # fastest first
    (FAR, [0.0, 1.8e3], f"{NAMES[1]} at 1.8e+03 rad/s"),  # not believed, and seen to move
    (FAR, [np.nan, np.nan], ""),  # refused, without velocities: nothing new
])  # fmt: skip
def test_joints_that_moved_when_commands_ended_are_named(bench, off, velocity, text):
    if velocity:
        bench.pass_time()
        stamp = divmod(round(bench.stamp * 1e9), 10**9)
        bench.message(cdr_messages.joint_state(NAMES, bench.arm.q + off, velocity, stamp=stamp))
    assert bench.snapshot().rejection[0] or off is not FAR
    bench.now += 0.3
    seen = last_motion(bench.snapshot(), bench.model, bench.now)
    assert seen.text == text
    assert seen.age == pytest.approx(0.3)  # of the last state, a refused one too
