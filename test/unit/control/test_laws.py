"""What a mode asks of the drives is its formula, whatever they need beside what moves the links."""

import numpy as np
import pytest
from control_arm import PERIOD, Bench, Q, law, model
from numpy.testing import assert_allclose

import featherstone_ros as fr
from featherstone_ros.control.settings import Mode, Terms

DYNAMICS = fr.Dynamics(model())
AT_ONCE = {"torque_rate": np.full(2, 1e6), "blend_time": 0.0, "path_tolerance": 0.0}
DRIVES = {
    "bare": {},
    "standing": {"offset": np.array([0.5, -1.0]), "stiffness": np.array([2.0, 3.0])},
    "rotors": {"armature": np.array([0.2, 0.1])},
    "friction": {
        "coulomb": np.array([1.5, 0.5]),
        "viscous": np.array([0.3, 0.1]),
        "thinning": np.array([0.8, 0.4]),
    },
}
MODES = [
    (Mode.GRAVITY_COMPENSATION, Terms.FULL),
    *((Mode.FEEDFORWARD, terms) for terms in Terms),
    (Mode.COMPUTED_TORQUE, Terms.FULL),
]


def held(**changes):
    """Return a bench that has seen its arm stand at Q for a while, whatever was commanded."""
    bench = Bench(**AT_ONCE, **changes)
    bench.controller.activate(bench.now)
    stand(bench, 300)
    return bench


def stand(bench, count, period=PERIOD):
    for k in range(count):
        command = bench.give(Q + 1e-9 * (k % 2), period=period)
    return command


@pytest.mark.parametrize("drives", DRIVES)
@pytest.mark.parametrize(("mode", "terms"), MODES)
def test_a_command_is_the_formula_of_its_mode(mode, terms, drives):
    bench = held(mode=mode, feedforward_terms=terms, **DRIVES[drives])
    if mode is not Mode.GRAVITY_COMPENSATION:
        bench.move(Q + np.array([0.8, -1.0]), 0.6)
    for _ in range(200):  # whatever is commanded, the arm is a little behind
        desired, velocity = bench.compiled.desired[:2]
        command = bench.give(desired - 3e-3 * np.sign(velocity), velocity - 0.03)
    seen = bench.compiled
    expected = law(bench.settings, DYNAMICS, seen.q, seen.qd, seen.desired)
    assert_allclose(command, expected, rtol=1e-9, atol=1e-9)
    assert np.abs(bench.compiled.qd).min() > 0.5 or mode is Mode.GRAVITY_COMPENSATION


@pytest.mark.parametrize("mode", [Mode.FEEDFORWARD, Mode.COMPUTED_TORQUE])
def test_feedback_of_a_slow_loop_is_that_for_the_errors_while_it_acts(mode):
    bench, period = Bench(mode=mode, **AT_ONCE, **DRIVES["rotors"]), 0.02
    bench.controller.activate(bench.now)
    stand(bench, 30, period)
    q, qd = Q, np.array([0.05, -0.03])
    for _ in range(10):
        q = q + period * qd
        command = bench.give(q, qd, period)
    seen = bench.compiled
    expected = law(bench.settings, DYNAMICS, seen.q, seen.qd, seen.desired, period)
    assert_allclose(command, expected, rtol=1e-6)
    assert (
        np.abs(command - law(bench.settings, DYNAMICS, seen.q, seen.qd, seen.desired)).min() > 0.01
    )


def test_a_payload_is_taken_on_linearly_also_where_another_one_interrupts_it():
    bench = held(mode=Mode.GRAVITY_COMPENSATION)
    light, heavy = model(), model().with_payload("link2", 1.0, (0.0, 0.0, 0.2))
    moon = model().with_gravity((0.0, 0.0, -1.62))
    light, loaded, lunar = (fr.Dynamics(one).gravity(Q) for one in (light, heavy, moon))

    bench.controller.change_model(bench.now, heavy, 1.0)
    assert_allclose(stand(bench, 250), light + 0.25 * (loaded - light), rtol=1e-6)
    bench.controller.change_model(bench.now, moon, 1.0)
    assert_allclose(
        stand(bench, 500), light + 0.125 * (loaded - light) + 0.5 * (lunar - light), rtol=0.1
    )
    assert_allclose(stand(bench, 600), lunar, rtol=1e-6)


@pytest.mark.parametrize("mode", Mode)
def test_an_arm_that_stands_is_held_with_all_that_its_drives_need(mode):
    bench = held(mode=mode, **DRIVES["standing"])
    it = bench.settings.drives
    expected = DYNAMICS.gravity(Q) + it.offset + it.stiffness * Q
    assert_allclose(bench.commands[-1][1], expected, atol=1e-3)
