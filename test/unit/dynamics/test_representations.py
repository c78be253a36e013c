"""What objects say of themselves in a shell, a log or a failure."""

import numpy as np
import pytest
from control_arm import Bench
from driven_arm import DrivenArm

import featherstone_ros as fr
from featherstone_ros.control import CartesianImpedance
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.observer import Shadow
from featherstone_ros.observer.shadow_settings import ShadowSettings
from featherstone_ros.simulation import SimulatorSettings, Twin
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.simulation.simulated_arm import SimulatedArm

ARM = fr.Model.from_robot("panda", joints=["panda_joint2", "panda_joint4"])
NAME = "<Model 'panda': 2 joints (panda_joint2, panda_joint4)>"
UNITS = DriveUnits(ARM.joint_names, ["position", "current"], stiffness=9.0, torque_constant=1.0)
CONTROLLED = ControlledArm.of(ARM, {"mode": "computed_torque"})


def lift(joints=0):
    tree = fr.Tree("frame", name="lift")
    if joints:
        tree.add("nut", parent="frame", joint=fr.Screw("spindle", pitch=0.001))
    return tree


def stepped():
    simulator = fr.Simulator(ARM, 0.002, "rk4")
    simulator.reset(np.zeros((3, 2)))
    simulator.step(np.zeros(2), steps=5)
    return simulator


def advanced(one, *duration, **steps):
    one.advance(*duration, **steps)
    return one


TOLD = [
    (lambda: ARM, NAME),
    (lift, "<Tree 'lift': 1 links, joints none>"),
    (lambda: lift(1), "<Tree 'lift': 2 links, joints spindle>"),
    (lambda: fr.Simulator(ARM, 0.002, "rk4"),
     f"<Simulator of {NAME}: rk4, steps of 0.002 s, at 0 s>"),
    (stepped, f"<Simulator of 3 states of {NAME}: rk4, steps of 0.002 s, at 0.01 s>"),
    (lambda: fr.Simulator.__new__(fr.Simulator), "<Simulator without a model>"),
    (lambda: advanced(Twin(ARM, SimulatorSettings(time_step=0.001)), 0.0, steps=250),
     f"<Twin of {NAME}, at 0.25 s>"),
    (lambda: fr.Dynamics(ARM), f"<Dynamics of {NAME}>"),
    (lambda: CartesianImpedance(ARM, "panda_link4"),
     f"<CartesianImpedance of 'panda_link4' of {NAME}>"),
    (lambda: Shadow(ARM, ShadowSettings()), f"<Shadow of {NAME}, wrench on 'panda_"),
    (lambda: CONTROLLED, f"<ControlledArm of {NAME}: computed_torque>"),
    (lambda: advanced(DrivenArm(ARM, UNITS, 0.1), 0.25),
     f"<DrivenArm of {NAME}: position, current, at 0.25 s>"),
    (lambda: Bench().controller, "<TorqueController in feedforward, of shoulder, elbow: INACTIVE>"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "text"), TOLD, ids=[text for _, text in TOLD])
def test_an_object_tells_what_it_is_of(make, text):
    assert repr(make()).startswith(text)


def test_a_loop_tells_what_it_moves_and_a_timing_its_duration_and_limits():
    plant = SimulatedArm.of(ARM, CONTROLLED.drives, np.zeros(2))
    assert repr(plant) == f"<SimulatedArm with {plant.simulator!r}>"
    loop = ClosedLoop(CONTROLLED, plant)
    expected = f"<ClosedLoop of {loop.controller!r} and {plant!r}, at 0 s>"
    assert repr(loop) == expected and "WAITING" in expected
    timed = fr.control.retime(ARM, [[0.0, -2.0], [0.5, -1.5]])
    expected = f"<Retimed panda_joint2, panda_joint4: {timed.duration:g} s, "
    assert repr(timed) == expected + f"{len(timed.times)} points; {timed.used()}>"
