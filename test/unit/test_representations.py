"""What objects say of themselves in a shell, a log or a failure."""

import numpy as np
from control_arm import Bench

import featherstone_ros as fr
from featherstone_ros.control import CartesianImpedance
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.observer import Shadow
from featherstone_ros.observer.shadow_settings import ShadowSettings
from featherstone_ros.simulation import DrivenArm, SimulatorSettings, Twin
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.simulation.drive_bus import DriveBus
from featherstone_ros.simulation.simulated_arm import SimulatedArm

ARM = fr.Model.from_robot("panda", joints=["panda_joint2", "panda_joint4"])
NAME = "<Model 'panda': 2 joints (panda_joint2, panda_joint4)>"


def test_models_and_trees_tell_their_joints():
    assert repr(ARM) == NAME
    tree = fr.Tree("frame", name="lift")
    assert repr(tree) == "<Tree 'lift': 1 links, joints none>"
    tree.add("nut", parent="frame", joint=fr.Screw("spindle", pitch=0.001))
    assert repr(tree) == "<Tree 'lift': 2 links, joints spindle>"


def test_simulations_tell_their_time():
    simulator = fr.Simulator(ARM, 0.002, "rk4")
    assert repr(simulator) == f"<Simulator of {NAME}: rk4, steps of 0.002 s, at 0 s>"
    simulator.reset(np.zeros((3, 2)))
    simulator.step(np.zeros(2), steps=5)
    assert repr(simulator).startswith(f"<Simulator of 3 states of {NAME}")
    assert repr(simulator).endswith("at 0.01 s>")
    assert repr(fr.Simulator.__new__(fr.Simulator)) == "<Simulator without a model>"
    twin = Twin(ARM, SimulatorSettings(time_step=0.001))
    twin.advance(0.0, steps=250)
    assert repr(twin) == f"<Twin of {NAME}, at 0.25 s>"


def test_others_tell_what_they_are_of():
    assert repr(fr.Dynamics(ARM)) == f"<Dynamics of {NAME}>"
    law = CartesianImpedance(ARM, "panda_link4")
    assert repr(law) == f"<CartesianImpedance of 'panda_link4' of {NAME}>"
    assert repr(Shadow(ARM, ShadowSettings())).startswith(f"<Shadow of {NAME}, wrench on 'panda")


def test_an_arm_and_its_loop_tell_what_they_move():
    arm = ControlledArm.of(ARM, {"mode": "computed_torque"})
    assert repr(arm) == f"<ControlledArm of {NAME}: computed_torque>"
    units = DriveUnits(ARM.joint_names, ["position", "current"], stiffness=9.0, torque_constant=1.0)
    driven = DrivenArm(ARM, units, 0.1)
    driven.advance(0.25)
    assert repr(driven) == f"<DrivenArm of {NAME}: position, current, at 0.25 s>"
    bus = DriveBus(ARM, units, driven)
    assert repr(bus) == f"<DriveBus of {NAME}: position, current>"
    plant = SimulatedArm.of(ARM, arm.drives, np.zeros(2))
    assert repr(plant) == f"<SimulatedArm with {plant.simulator!r}>"
    loop = ClosedLoop(arm, plant)
    expected = f"<ClosedLoop of {loop.controller!r} and {plant!r}, at 0 s>"
    assert repr(loop) == expected and "WAITING" in expected


def test_a_timing_tells_duration_and_limits():
    timed = fr.control.retime(ARM, [[0.0, -2.0], [0.5, -1.5]])
    expected = f"<Retimed panda_joint2, panda_joint4: {timed.duration:g} s, "
    assert repr(timed) == expected + f"{len(timed.times)} points; {timed.used()}>"


def test_a_controller_tells_mode_joints_and_phase():
    bench = Bench()
    joints = ", ".join(bench.model.joint_names)
    assert repr(bench.controller) == f"<TorqueController in feedforward, of {joints}: INACTIVE>"
