"""Mode admittance: a measured wrench moves an arm whose drives take positions."""

from collections import deque
from itertools import product

import cdr_messages
import numpy as np
import pytest
from contact_bench import FORCE, HOME, MODEL, STEP, TIP, ContactBench, moved, press, settings
from control_arm import space
from control_loop import ROS_TIME, WRENCHES, LoopBench
from studies import few_or_all

from featherstone_ros.control.cartesian_impedance import (
    CartesianImpedance,
    Wall,
    contact_damping,
    sensor_poses,
    stiffest_contact,
)
from featherstone_ros.control.controller import TorqueController, compiled_controller
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import TrajectoryError
from featherstone_ros.errors import UnknownNameError
from featherstone_ros.kinematics import pose_error

STILL = {"dead_zone": 0.0}
FREE_Z = (400.0, 400.0, 0.0, 30.0, 30.0, 30.0)


def largest_acceleration(bench):
    """Of the drives' motion, over what a joint may accelerate by."""
    change = np.abs(np.diff(bench.desired, 2, axis=0)) / STEP**2
    return (change / (5.0 * MODEL.velocity_limit)).max()


def on_hand(bench, wrench):
    """Return a wrench (6,) in base axes in those of the hand."""
    R = bench.pose[:3, :3]
    return (np.reshape(wrench, (2, 3)) @ R).reshape(6)


def test_push_meets_the_stiffness():
    bench = ContactBench(**STILL, stiffness=[1600.0] * 3 + [30.0] * 3)
    start = bench.pose
    bench.run(3.0, [0.0, 8.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(-pose_error(bench.led, start)[:3], [0, 8 / 1600, 0], atol=2.5e-5)


def test_push_meets_the_virtual_mass():
    """At first the acceleration is F / M, in every direction of a posture."""
    for axis in range(3):
        bench = ContactBench(**STILL, contact_stiffness=1.0, stiffness=0.0, max_force=1000.0)
        before, force = bench.pose[:3, 3], np.zeros(6)
        force[axis] = 8.0
        bench.run(0.1, force)  # of which the sensor is late by 12 ms
        travelled = bench.led[:3, 3] - before
        expected = 0.5 * 8.0 / 4.0 * (0.1 - 0.012) ** 2
        assert travelled[axis] == pytest.approx(expected, rel=0.1)
        assert np.abs(np.delete(travelled, axis)).max() < 0.1 * expected


def test_damping_is_that_of_the_contact():
    """Led by the hand against no spring, the speed is F / D."""
    bench = ContactBench(**STILL, stiffness=FREE_Z)
    bench.run(0.5, [0, 0, -20, 0, 0, 0])
    least = contact_damping(1e4, 4.0, 0.011)
    assert np.diff(bench.heights[-20:]).mean() / STEP == pytest.approx(-20.0 / least, rel=0.02)


@pytest.mark.parametrize("stiffness", few_or_all([1e5], [1e3, 1e4, 1e5]))
def test_contact_neither_chatters_nor_overshoots(stiffness):
    """20 N on a plane that is 20 mm away, and as stiff as it may be."""
    bench = ContactBench(
        **STILL,
        stiffness=FREE_Z,
        contact_stiffness=(stiffness, 100.0),
        shaped_inertia=[6.0] * 3 + [0.05] * 3,
    )
    bench.stiffness, bench.height = stiffness, bench.pose[2, 3] - 0.02
    force = press(bench, 6.0)
    touched = int(np.argmax(force > 0.0))
    assert force[touched:].min() > 0.0  # it does not lose contact again
    assert force.max() < 1.2 * FORCE
    np.testing.assert_allclose(force[-200:], FORCE, rtol=0.01)


@pytest.mark.parametrize("delay", [0.005, 0.02])
def test_edge_of_stability_is_where_it_is_said_to_be(delay):
    """In the simulated arm, with drives that are not ideal."""
    damping, inertia = 300.0, 4.0
    bench_settings = settings(
        delay,
        stiffness=FREE_Z,
        damping=(damping,) * 3 + (5.0,) * 3,
        contact_stiffness=0.0,
        max_force=100.0,  # impacts are no fault here
        **STILL,
    )
    edge = stiffest_contact(inertia, damping, delay + 0.001)
    for share, is_stable in ((0.6, True), (1.6, False)):
        bench = ContactBench(bench_settings, delay)
        bench.stiffness, bench.height = share * edge, bench.pose[2, 3] - 0.001
        force = press(bench, 2.0)[-300:]
        assert (np.ptp(force) < 1.0) == is_stable, (share, np.ptp(force))


def test_hand_that_hammers_on_a_contact_is_stopped():
    """The sensor is forty times as late as the law was told."""
    bench = ContactBench(settings(0.001, **STILL, stiffness=FREE_Z), delay=0.04)
    bench.stiffness, bench.height = 1e5, bench.pose[2, 3] - 0.005
    for _ in range(30):
        if bench.phase in (Phase.HOLDING, Phase.REFERENCE):
            bench.controller.set_target(bench.now, wrench=[0, 0, -20, 0, 0, 0])
        bench.run(0.1)
    assert bench.phase is Phase.FAULT
    assert "loses its contact and meets it again" in bench.controller.hold_reason
    assert np.ptp(bench.forces[-200:]) < 0.1
    assert np.abs(bench.arm.qd).max() < 0.05


@pytest.mark.parametrize(
    ("apart", "between", "fault"),
    [(0.4, 0.0, 3), (0.6, 0.0, 4), (1.1, 0.0, None), (0.4, 0.5, None)],
    ids=["three", "four", "one a second", "never apart"],
)
def test_hard_impacts_are_a_fault_from_the_third_on_unless_one_a_second(apart, between, fault):
    """Each is forgotten within a second: those 0.6 s apart count 1, 1.4, 1.8, 2.2."""
    bench = ContactBench(stiffness=400.0)
    bound = bench.settings.impedance["max_wrench"][0]
    felt, noise = np.zeros(6), np.random.default_rng(0)
    for impact in range(1, 6):
        for force in [between * bound] * round(apart / STEP - 30) + [1.5 * bound] * 30:
            felt[2] = -force + noise.normal()
            bench.run(STEP, felt=felt)
        assert (bench.phase is Phase.FAULT) == (impact == fault), impact
        if impact == fault:
            assert "loses its contact and meets it again" in bench.controller.hold_reason
            break


@pytest.mark.parametrize("delay", [0.0, 1e-3, 0.05])
@pytest.mark.parametrize("stiffness", [1.0, 1e3, 1e6])
def test_damping_gives_the_phase_margin(stiffness, delay):
    damping = contact_damping(stiffness, 3.0, delay)
    w = np.geomspace(1e-4, 1e6, 200_001)
    loop = stiffness * np.exp(-1j * w * delay) / (1j * w * (3j * w + damping))
    crossover = np.argmax(np.abs(loop) < 1.0)
    phase = np.angle(loop[crossover] * np.exp(1j * w[crossover] * delay)) - w[crossover] * delay
    assert np.pi + phase == pytest.approx(np.pi / 3, abs=1e-3)


def test_sensor_that_is_off_by_less_than_the_dead_zone_moves_nothing():
    bench = ContactBench(stiffness=0.0, dead_zone=(2.0, 0.2))
    start = bench.pose
    bench.run(5.0, felt=[1.0, -1.0, 1.0, 0.1, 0.1, 0.0])
    np.testing.assert_allclose(pose_error(bench.pose, start), 0.0, atol=1e-4)
    bench.run(1.0, felt=[4.0, -1.0, 1.0, 0.1, 0.1, 0.0])
    assert np.abs(pose_error(bench.pose, start)).max() > 1e-3


@pytest.mark.parametrize(
    ("size", "driver"),
    few_or_all([(59.0, 5), (70.0, 1), (1000.0, 5)], product([59.0, 70.0, 1000.0], [1, 5])),
)
def test_numbers_that_are_wrong_now_and_then_move_nothing(size, driver):
    """From a sensor of 100 Hz, as it measures or five times each; states come at 500 Hz."""
    random = np.random.default_rng(0)
    bench, wrong = ContactBench(stiffness=0.0), 0
    start, states = bench.pose, 5 // driver
    for k in range(220):
        wrong = wrong + 1 if k > 20 and random.random() < 0.1 and wrong < 2 else 0
        felt = 0.01 * random.normal(size=6)
        if wrong:
            felt[random.integers(6)] = random.choice([-1.0, 1.0]) * size
        for _ in range(driver):
            bench.run(STEP, felt=felt)
            bench.run((states - 1) * STEP, sensor=False)
    assert bench.phase is not Phase.FAULT, bench.controller.hold_reason
    np.testing.assert_allclose(pose_error(bench.pose, start), 0.0, atol=1e-4)
    bench.run(1.0, felt=[5.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert np.abs(pose_error(bench.pose, start)).max() > 1e-3


def test_payload_that_the_sensor_feels_moves_nothing():
    """Wherever the hand is turned to."""
    mass, com, gravity = 2.0, np.array([0.03, -0.02, 0.1]), np.array([0.0, 0.0, -9.81])
    loaded = MODEL.with_payload(TIP, mass, com)
    bench = ContactBench(
        model=loaded, stiffness=0.0, weight=mass * gravity, weight_at=com, dead_zone=(0.1, 0.01)
    )
    poses = []
    for _ in range(550):
        R = bench.pose[:3, :3]
        force = R.T @ (mass * gravity)
        bench.run(0.002, felt=np.concatenate([force, np.cross(com, force)]))
        poses.append(bench.led)
    # The sensor felt nothing before.
    np.testing.assert_allclose(pose_error(poses[-1], poses[50]), 0.0, atol=1e-3)
    bench.run(1.0, felt=np.zeros(6))  # as if something bore it
    assert np.abs(pose_error(bench.led, poses[-1])).max() > 0.01


def test_without_wrench_the_hand_comes_to_rest_and_follows_nothing():
    bench = ContactBench()
    target = moved(bench.pose, [0.2, 0.0, 0.0])
    bench.controller.set_target(bench.now, pose=target)
    bench.run(0.6)
    bench.run(3.0, sensor=False)
    assert bench.phase is Phase.HOLDING
    assert "no wrench on ~/wrench" in bench.controller.hold_reason
    assert np.abs(bench.arm.qd).max() < 2e-3
    with pytest.raises(TrajectoryError, match="no wrench comes"):
        bench.controller.set_target(bench.now, pose=target)
    place = bench.pose
    bench.run(0.5)
    np.testing.assert_allclose(pose_error(bench.pose, place), 0.0, atol=1e-3)
    bench.controller.set_target(bench.now, pose=target)
    bench.run(8.0)
    np.testing.assert_allclose(pose_error(bench.pose, target), 0.0, atol=2e-3)
    assert largest_acceleration(bench) <= 1.01  # no jump


def test_wrenches_before_the_activation_count_as_the_last_of_them():
    """Time stands until then, and the sensor says the same again and again, or had said nothing."""

    def led_after(*heard):
        bench = ContactBench(delay=0.0)
        bench.controller = TorqueController(bench.controller._space, MODEL, bench.settings, tip=TIP)
        for wrench in heard:
            bench.controller.take_wrench(bench.now, wrench, TIP)
        bench.controller.activate(bench.now)
        bench.measured = deque([push])
        return bench.run(0.05, felt=push).desired[-25:]

    nothing, push = np.zeros(6), np.array([3.0, 8.0, 0.0, 0.0, 0.0, 0.0])
    expected = led_after(push)
    assert np.abs(expected[-1] - expected[0]).max() > 1e-5
    for heard in ([nothing, push], [nothing] * 4 + [push] * 2, [push] * 5):
        np.testing.assert_array_equal(led_after(*heard), expected)


def test_wall_stops_the_hand():
    start = ContactBench().pose[2, 3]
    wall = Wall((0, 0, 1), start - 0.02, 5000.0, 100.0)
    bench = ContactBench(stiffness=FREE_Z, walls=(wall,))
    bench.run(4.0, [0, 0, -30, 0, 0, 0])
    assert bench.led[2, 3] == pytest.approx(start - 0.02 - 29.0 / 5000.0, abs=1e-4)


@pytest.mark.parametrize("seed", few_or_all([0], range(4)))
def test_hostile_wrenches_stay_within_the_limits(seed):
    """Of any size, in any direction: positions and speeds of the drives' motion are bounded."""
    rng = np.random.default_rng(seed)
    bench = ContactBench(stiffness=rng.choice([0.0, 400.0]))
    for _ in range(40):
        size = 10.0 ** rng.uniform(0, 5)
        bench.run(0.05, felt=size * rng.normal(size=6))
    desired = np.array(bench.desired)
    assert np.isfinite(desired).all()
    speed = np.abs(np.diff(desired, axis=0)) / STEP
    assert (speed <= MODEL.velocity_limit * (1 + 1e-9)).all()
    assert (desired >= MODEL.lower).all()
    assert (desired <= MODEL.upper).all()


@pytest.mark.parametrize("joint", few_or_all([1], range(7)))
def test_joint_that_meets_its_stop_brakes_as_drives_can(joint):
    bench = ContactBench(stiffness=0.0, contact_stiffness=(1e3, 10.0))
    for _ in range(300):
        axis = bench.dynamics.jacobian(bench.arm.q, TIP)[:, joint]
        bench.run(0.02, felt=on_hand(bench, 10.0 * axis / np.linalg.norm(axis)))
    desired = np.array(bench.desired)
    assert (desired >= MODEL.lower - 1e-9).all()
    assert (desired <= MODEL.upper + 1e-9).all()
    assert largest_acceleration(bench) <= 1.01
    assert bench.controller.refused == {}


def test_hand_without_wrench_stops_though_hardly_damped():
    bench = ContactBench(stiffness=0.0, contact_stiffness=(100.0, 1.0))
    bench.run(1.0, felt=on_hand(bench, [0.0, 10.0, 0, 0, 0, 0]))
    assert np.abs(bench.arm.qd).max() > 0.2
    bench.run(0.5, sensor=False)
    assert np.abs(bench.arm.qd).max() < 0.05


def test_stiffer_spring_in_contact_keeps_the_damping():
    bench = ContactBench(**STILL, stiffness=FREE_Z)
    bench.stiffness, bench.height = 1e4, bench.pose[2, 3] - 0.003
    for k in range(20):
        if k == 1:
            stiffer = settings(**STILL, stiffness=(400.0, 400.0, 8000.0, 30.0, 30.0, 30.0))
            bench.configure(impedance=stiffer.impedance)
        bench.controller.set_target(bench.now, wrench=[0, 0, -20, 0, 0, 0])
        bench.run(0.02)
    assert max(bench.forces) < 1.2 * 20.0
    assert bench.forces[-1] < 15.0  # it acts


def test_wrench_is_that_of_the_link_on_which_it_is_measured():
    """The same wrench, measured at the flange or at the hand, moves the arm alike."""
    offset = np.eye(4)
    poses = sensor_poses(MODEL, TIP, offset)
    assert "panda_link8" in poses
    assert "panda_link6" not in poses
    flange, force = poses["panda_link8"], np.array([3.0, -2.0, 5.0, 0.2, 0.1, -0.3])
    on_flange = np.concatenate(
        [
            flange[:3, :3].T @ force[:3],
            flange[:3, :3].T @ (force[3:] - np.cross(flange[:3, 3], force[:3])),
        ]
    )
    ends = []
    for link, wrench in ((TIP, force), ("panda_link8", on_flange)):
        bench = ContactBench(**STILL)
        for _ in range(100):
            bench.controller.take_wrench(bench.now, wrench, link)
            bench.run(0.002, sensor=False)
        ends.append(bench.arm.q.copy())
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)
    assert np.abs(ends[0] - HOME).max() > 1e-3


def test_a_frame_that_is_no_links_means_one_link_or_is_refused():
    """As drivers publish: tool0_controller, or nothing."""
    bench = LoopBench(mode=Mode.ADMITTANCE)
    tip = bench.model.link_names[-1]
    for link, is_taken in (("", False), (tip, True)):
        bench.controller.compiled = compiled_controller(
            space(), bench.model, bench.settings, tip, np.eye(4), wrench_link=link
        )
        bench.connect()
        for frame in ("", "tool0_controller"):
            bench.now += 0.01
            bench.message(cdr_messages.wrench_stamped(frame, np.ones(6)), to=WRENCHES)
            assert (bench.controller.snapshot().wrench_at > bench.now - 0.005) is is_taken
    with pytest.raises(ValueError, match="wrench_link is 'base', expected one that is rigidly"):
        compiled_controller(
            space(), bench.model, bench.settings, tip, np.eye(4), wrench_link="base"
        )


def test_wrench_that_was_longer_on_its_way_than_others_counts_with_its_age():
    """By its stamp, if that is of the system's clock; without one, or by another clock, at once."""
    bench = LoopBench(mode=Mode.ADMITTANCE)
    bench.run(0.01)

    def age(stamp, after=0.3):
        """Return how old a wrench with that stamp is said to be, after a time [s]."""
        bench.now += after
        seconds = divmod(round(stamp * 1e9), 1_000_000_000)
        link = bench.model.link_names[-1]
        bench.message(cdr_messages.wrench_stamped(link, np.ones(6), stamp=seconds), to=WRENCHES)
        return bench.now - bench.controller.snapshot().wrench_at

    for stamp in (0.0, 1000.0, 1001.0):
        assert age(stamp) == pytest.approx(0.0, abs=1e-9)
    now = 1e-9 * ROS_TIME
    for _ in range(4):
        assert age(now) == pytest.approx(0.0, abs=1e-6)
    assert age(now - 0.2) == pytest.approx(0.2, abs=1e-6)
    assert age(now) == pytest.approx(0.0, abs=1e-6)
    assert age(now - 0.2, after=0.25) == pytest.approx(0.2, abs=1e-6)


def test_refusals_name_what_is_wrong():
    bench = ContactBench()
    with pytest.raises(UnknownNameError, match="panda_link6"):
        bench.controller.take_wrench(bench.now, np.zeros(6), "panda_link6")
    with pytest.raises(ValueError, match="wrench"):
        bench.controller.take_wrench(bench.now, [0, np.nan, 0, 0, 0, 0], TIP)
    bench.controller.take_wrench(bench.now, [0, 1e6, 0, 0, 0, 0], TIP)
    for absurd in (1e7, 1e300):
        with pytest.raises(ValueError, match=r"expected at most 1e\+06"):
            bench.controller.take_wrench(bench.now, [0, absurd, 0, 0, 0, 0], TIP)
    with pytest.raises(ValueError, match="'panda_link0', which none of the joints moves"):
        TorqueController(JointSpace.of(MODEL), MODEL, bench.settings, tip="panda_link0")
    with pytest.raises(ValueError, match="force_axes: expected '', got 'z'"):
        CartesianImpedance(MODEL, TIP, force_axes="z")
    with pytest.raises(ValueError, match="axis 2 has no damping"):
        settings(stiffness=FREE_Z, contact_stiffness=0.0)
    with pytest.raises(ValueError, match=r"shaped_inertia of axis 0 is 0\.1"):
        settings(shaped_inertia=0.1)
