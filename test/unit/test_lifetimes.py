"""What nobody uses any more is freed: compiled objects point to memory and to each other."""

import gc

import control_arm
import numpy as np
import pytest
from memory import growth
from studies import few_or_all

import featherstone_ros as fr
from featherstone_ros.control.controller import TorqueController
from featherstone_ros.observer.shadow import Shadow
from featherstone_ros.observer.shadow_settings import ShadowSettings
from featherstone_ros.simulation.simulator_settings import SimulatorSettings
from featherstone_ros.simulation.twin import Twin

MODEL = control_arm.model()
STILL = np.zeros(2)


def controller():
    made = TorqueController(control_arm.space(), MODEL, control_arm.settings())
    made.activate(0.0)
    return made, made.accept_state(0.0, control_arm.Q, STILL, stamp=1.0)


def twin():
    made = Twin(MODEL, SimulatorSettings())
    made.advance(0.01)
    return made, made.position


def shadow():
    made = Shadow(MODEL, ShadowSettings())
    return made, made.update(10**9, control_arm.Q, STILL, STILL)


def dynamics():
    made = fr.Dynamics(MODEL)
    return made, made.rnea(control_arm.Q, STILL, STILL), made.crba(control_arm.Q)


def simulator():
    made = fr.Simulator(MODEL)
    return made, made.step(STILL), made.q


@pytest.mark.parametrize("makes", few_or_all([10], [10, 60]))
@pytest.mark.parametrize("make", [control_arm.model, dynamics, simulator, controller, twin, shadow])
def test_what_nobody_uses_any_more_is_freed(make, makes):
    def some(count):
        for _ in range(count):
            make()
        gc.collect()

    gc.freeze()  # what other tests have left need not be looked through
    try:
        # Caches grow a little; one controller has 25,000.
        assert growth(some, makes // 2, makes) < 12_000
    finally:
        gc.unfreeze()
