"""An arm that moves under its controller in plain Python."""

import control_arm
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import featherstone_ros as fr
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.trajectory import Point
from featherstone_ros.simulation.closed_loop import ClosedLoop, Command, JointState
from featherstone_ros.simulation.simulated_arm import SimulatedArm

URDF = control_arm.URDF.replace(
    'effort="20"/>', 'effort="40"/><dynamics damping="0.5" friction="0.3"/>'
)
TIP = fr.Model.from_urdf(URDF).link_names[-1]
START, ZERO = np.array([0.6, 0.5]), np.zeros(2)
GOAL = [Point(1.0, START + 0.4, ZERO)]


@pytest.fixture(scope="module")
def arm():
    return ControlledArm.of(URDF)


@pytest.fixture
def loop(arm):
    return ClosedLoop(arm, SimulatedArm.of(arm.model, arm.drives, START))


def test_a_known_arm_follows_and_what_happened_is_in_the_record(arm, loop):
    record = loop.run(GOAL, rest=0.5)
    count = round(1.5 / arm.timing.period)
    assert repr(record) == f"<Record of {count} samples, from 0.004 to 1.502 s>"
    assert record.q.shape == record.qd.shape == record.command.shape == (count, 2)
    assert record.desired.shape == (count, 3, 2)
    assert_allclose(np.diff(record.time), arm.timing.period)
    assert_array_equal(record.error, record.desired[:, 0] - record.q)
    assert np.abs(record.error).max() < 5e-3
    assert_allclose(record.q[-1], START + 0.4, atol=2e-3)
    assert record.phase[0] == Phase.TRAJECTORY and record.phase[-1] == Phase.HOLDING
    assert_allclose(record.command[-1], fr.Dynamics(arm.model).gravity(record.q[-1]), atol=0.5)


@pytest.mark.parametrize("steps", [0.49, 0.5, 2.5, 4.5])
def test_a_command_that_acts_between_two_steps_of_the_simulation_is_not_lost(arm, steps):
    plant = SimulatedArm.of(arm.model, arm.drives, START, period := 0.005)
    loop = ClosedLoop(arm, plant, steps * plant.simulator.time_step, period)
    assert np.abs(loop.run(GOAL).error).max() < 0.02


@pytest.mark.parametrize(("steps", "first"), [(2.0, 2), (2.49, 2), (2.5, 2), (2.51, 3)])
def test_a_command_acts_from_the_step_nearest_to_its_time(arm, steps, first):
    plant = SimulatedArm.of(arm.model, arm.drives, START)
    h = plant.simulator.time_step
    plant.read(0.0)
    plant.write(steps * h, Command(np.array([20.0, 10.0])))
    has_moved = [bool((plant.read(k * h).q != START).any()) for k in range(6)]
    assert has_moved.index(True) == first + 1


class Bus:
    """Drives that stand, and notes who asked what when."""

    def __init__(self, **measured):
        self.measured, self.calls = measured, []

    def read(self, now):
        self.calls.append(("read", now))
        return JointState(START, ZERO, **self.measured)

    def write(self, at, command):
        self.calls.append(("write", at, command))


@pytest.mark.parametrize("delay", [None, 0.0, 0.003])
def test_each_state_is_answered_by_a_command_that_acts_later(arm, delay):
    bus = Bus()
    loop = ClosedLoop(arm, bus, delay)
    times = [50.0, 50.002, 50.005]
    assert [loop.step(now).time for now in times] == times
    late = arm.timing.delay if delay is None else delay
    assert [call[1] for call in bus.calls] == [t + x for t in times for x in (0.0, late)]
    assert_allclose(bus.calls[-1][2].effort, fr.Dynamics(arm.model).gravity(START))
    assert bus.calls[-1][2].position is None


def test_drives_with_position_loops_get_positions(arm):
    bus = Bus()
    loop = ClosedLoop(arm.with_parameters(output="joint_state"), bus)
    loop.run(GOAL)
    command = bus.calls[-1][2]
    assert_array_equal([command.position, command.velocity], loop.controller.position_command)
    assert np.isfinite(command.effort).all()
    told = [call[2].position[0] for call in bus.calls if call[0] == "write"]
    assert max(told) > START[0] + 0.1 and "away from where" in loop.controller.hold_reason


def test_a_measured_wrench_moves_an_arm_that_yields(arm):
    yielding = arm.with_parameters(mode="admittance", tip=TIP, output="joint_state")
    pushed, still = (
        ClosedLoop(yielding, Bus(wrench=np.array([0.0, 0.0, force, 0.0, 0.0, 0.0])))
        for force in (20.0, 0.0)
    )
    for loop in (pushed, still):
        loop.advance(0.5)
    assert np.abs(pushed.controller.position_command[0] - START).max() > 0.01
    assert_allclose(still.controller.position_command[0], START, atol=1e-6)


def test_without_states_the_arm_is_braked_and_commands_end(loop):
    loop.run(GOAL)
    loop.run([Point(1.0, START, ZERO)], rest=-0.5)
    assert np.abs(loop.plant.qd).max() > 0.3
    loop.plant.measure = lambda state: None
    record = loop.advance(3.0)
    assert {Phase.OPEN_LOOP, Phase.SILENT} <= set(record.phase)
    assert np.isnan(record.command[-1]).all() and np.isnan(record.desired[-1]).all()
    assert np.abs(loop.plant.qd).max() < 0.02
    assert (record.q == record.q[0]).all()  # the last one that came


# The simulated arm


def stepped(arm, efforts):
    """Return where a simulator ends, with an effort for each millisecond."""
    simulator = fr.Simulator(arm.model, 0.001, "implicit", **arm.drives.of_simulator)
    simulator.reset(START)
    for effort in efforts:
        simulator.step(effort)
    return simulator


def test_a_command_acts_from_its_time_on_until_the_next_one_does(arm):
    plant = SimulatedArm.of(arm.model, arm.drives, START)
    one, two = np.array([20.0, 5.0]), np.array([-3.0, 9.0])
    assert_array_equal(plant.read(7.0).q, START)
    plant.write(7.002, Command(one))
    plant.write(7.005, Command(two))
    assert_array_equal(plant.read(7.002).q, START)  # it stands until the first one
    plant.advance(7.010)
    expected = stepped(arm, [one] * 3 + [two] * 5)
    assert_array_equal(plant.read(7.010).q, expected.q)
    assert_array_equal(plant.qd, expected.qd)


def test_time_steps_add_up_to_periods_that_they_do_not_divide(arm):
    plant = SimulatedArm.of(arm.model, arm.drives, START)
    plant.read(0.0)
    plant.write(0.0, Command(np.array([20.0, 5.0])))
    for k in range(1, 301):
        plant.advance(k / 300)
    assert plant.simulator.time == pytest.approx(1.0, abs=1e-6)
    assert SimulatedArm.of(arm.model, arm.drives, START, 1 / 300).simulator.time_step == (
        pytest.approx(1 / 1200)
    )


def test_drives_do_no_more_than_they_can_and_pushes_come_on_top(arm):
    plant = SimulatedArm.of(arm.model, arm.drives, START)
    plant.push = np.array([3.0, -2.0])
    plant.read(0.0)
    plant.write(0.0, Command(np.array([1e3, -1e3])))
    plant.advance(0.02)
    assert_array_equal(plant.q, stepped(arm, [np.array([43.0, -42.0])] * 20).q)


def test_a_blocked_arm_stands_and_goes_on_from_there(arm):
    plant = SimulatedArm.of(arm.model, arm.drives, START)
    plant.read(0.0)
    plant.write(0.0, Command(np.array([20.0, 5.0])))
    plant.advance(0.01)
    q = plant.q
    assert np.abs(plant.qd).max() > 0.1
    plant.blocked = True
    plant.advance(0.02)
    assert_array_equal([plant.q, plant.qd], [q, ZERO])
    plant.blocked = False
    plant.advance(0.021)
    assert (plant.q != q).all() and np.abs(plant.q - q).max() < 1e-3


def test_parameters_change_without_a_step(loop):
    before = loop.advance(0.2).command[-1]
    loop.configure({"damping.elbow": 0.7}, mode="gravity_compensation")
    record = loop.advance(0.3)
    assert loop.arm.settings.damping[1] == 0.7 and loop.controller.phase is Phase.FLOATING
    assert np.abs(np.diff(np.vstack([before, record.command]), axis=0)).max() < 0.05
    with pytest.raises(ValueError, match=r"^mode is 'sleep', expected one of "):
        loop.configure(mode="sleep")
    assert loop.arm.settings.mode == "gravity_compensation"


def test_wrenches_act_on_links_as_they_say_at_each_step(arm):
    force = np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0])
    plant = SimulatedArm.of(arm.model, arm.drives, START)
    seen = []
    plant.wrenches = lambda q, qd: seen.append((q, qd)) or {TIP: force}
    plant.read(0.0)
    effort = fr.Dynamics(arm.model).gravity(START)
    plant.write(0.0, Command(effort))
    plant.advance(0.01)
    simulator = stepped(arm, [])
    for q, qd in seen:
        assert_array_equal([q, qd], [simulator.q, simulator.qd])
        simulator.step(effort, f_ext={TIP: force})
    assert len(seen) == 10
    assert_array_equal(plant.q, simulator.q)


def test_a_batch_moves_as_its_arms_do(arm):
    starts = START + np.array([[0.0, 0.0], [0.1, -0.2], [0.3, 0.1]])
    efforts = np.array([[20.0, 5.0], [10.0, 2.0], [0.0, 0.0]])
    batch = SimulatedArm.of(arm.model, arm.drives, starts)
    batch.read(0.0)
    batch.write(0.001, Command(efforts))
    batch.advance(0.05)
    for k, (start, effort) in enumerate(zip(starts, efforts, strict=True)):
        one = SimulatedArm.of(arm.model, arm.drives, start)
        one.read(0.0)
        one.write(0.001, Command(effort))
        one.advance(0.05)
        assert_allclose(batch.simulator.q[k], one.simulator.q, rtol=1e-12)


@pytest.mark.parametrize("ahead", [0.05, 0.17, 0.4])
def test_a_clock_that_is_set_ahead_does_not_throw_the_arm(loop, ahead):
    """Class 1 of docs/faults.md: the motion must not be ahead of the arm."""
    loop.advance(0.3)  # how long states are on their way is known
    begin = loop.now + 0.5
    loop.plant.measure = lambda state: state._replace(
        stamp=state.stamp + (ahead if loop.now > begin else 0.0)
    )
    record = loop.run(GOAL, rest=0.5)
    assert np.abs(record.qd).max() < 0.3 * 3.0
    assert np.abs(record.error).max() < 0.02
    assert_allclose(record.q[-1], GOAL[0].positions, atol=0.01)
