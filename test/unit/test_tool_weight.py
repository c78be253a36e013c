"""The weight of a tool, from what a sensor reads in several postures."""

import numpy as np
import pytest
from contact_bench import HOME, MODEL, PANDA, TIP, Arm, ContactBench
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from featherstone_ros import _control
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.tool_weight import SensorZeros, ToolWeight

BIAS = np.array([6.0, -4.0, 8.0, 0.3, -0.2, 0.1])  # [N, N m]
MASS, COM = 0.95, np.array([0.01, -0.02, 0.06])
G = np.array([0.0, 0.0, -9.81])
TURNS = [Rotation.from_euler("xyz", a) for a in ([0, 0, 0], [0.6, 0, 0], [0, 0.7, 0.3], [2, 1, 0])]


def reading(rotation, mass=MASS, com=COM):
    force = mass * rotation.T @ G
    return BIAS + np.concatenate([force, np.cross(com, force)])


def weight_of(turns, noise=0.0):
    weight, random = ToolWeight(), np.random.default_rng(0)
    for turn in turns:
        size = noise * np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])
        zero = reading(turn.as_matrix()) + size * random.normal(size=6)
        weight.add(zero, turn.as_matrix().T @ G)
    return weight


@pytest.mark.parametrize("count", [3, 4])
def test_the_tool_and_the_offset_are_found(count):
    tool = weight_of(TURNS[:count]).find()
    assert tool.mass == pytest.approx(MASS)
    assert_allclose(tool.moment, MASS * COM, atol=1e-12)
    assert_allclose(tool.offset, BIAS, atol=1e-12)
    assert max(tool.misfit) < 1e-12


def test_the_deviation_is_that_of_many_tries():
    random, errors, deviations = np.random.default_rng(1), [], []
    turns = Rotation.random(5, random_state=3)
    for _ in range(300):
        weight = ToolWeight()
        for turn in turns.as_matrix():
            noise = 0.2 * np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])
            weight.add(reading(turn) + noise * random.normal(size=6), turn.T @ G)
        tool = weight.find()
        errors.append(tool.mass - MASS)
        deviations.append(tool.deviation)
    assert np.mean(deviations) == pytest.approx(np.std(errors), rel=0.15)
    assert abs(np.mean(errors)) < 0.3 * np.std(errors)


def test_postures_that_do_not_tell_are_not_asked():
    about_x = [Rotation.from_euler("x", a) for a in (0.0, 0.4, 0.8)]
    upright = [Rotation.from_euler("z", a) for a in (0.0, 1.0, 2.0)]
    for turns in (TURNS[:2], upright, [TURNS[0]] * 5):
        assert weight_of(turns).find() is None
    assert weight_of([*about_x, TURNS[2]]).find().mass == pytest.approx(MASS)


def arm(**payload):
    values = {f"payload.{name}": value for name, value in payload.items()}
    return ControlledArm.of(MODEL, {"tip": TIP, **values})


def told(known, turns=TURNS, mass=MASS, com=COM):
    """Return the answer to the last of zeros; the known payload's weight is not in them."""
    zeros, text = SensorZeros(), ""
    values = known.values
    for turn in turns:
        rotation = turn.as_matrix()
        zero = reading(rotation, mass, com)
        if values["payload.mass"]:
            zero = zero - reading(rotation, values["payload.mass"], values["payload.com"]) + BIAS
        text = zeros.note(zero, rotation, known)
    return text


def test_the_answer_has_the_parameters_to_set():
    text = told(arm())
    assert "the zeros of 4 postures show another tool than is known" in text
    assert "payload.link panda_hand, payload.mass 0.950" in text
    assert "payload.com [0.0100, -0.0200, 0.0600]" in text


def test_a_known_payload_counts_and_one_that_is_right_is_not_told_again():
    half = arm(link=TIP, mass=0.5, com=[0.0, 0.0, 0.1])
    assert "payload.mass 0.950" in told(half)
    assert "payload.com [0.0100, -0.0200, 0.0600]" in told(half)
    right = arm(link=TIP, mass=MASS, com=COM.tolist())
    assert "show no more weight than is known" in told(right)
    assert "payload.mass 0, not 0.95" in told(right, mass=0.0)
    aside = arm(link=TIP, mass=MASS, com=[0.01, -0.02, 0.0])
    assert "payload.com [0.0100, -0.0200, 0.0600]" in told(aside)


def test_a_sensor_with_other_signs_and_zeros_of_no_tool_are_named():
    assert "the sensor's signs are wrong" in told(arm(), mass=-MASS)
    zeros, known = SensorZeros(), arm()
    for turn, push in zip(TURNS, (0.0, 9.0, 0.0, 0.0), strict=True):
        rotation = turn.as_matrix()
        text = zeros.note(reading(rotation) + push, rotation, known)
        if "scatter by" in text:
            break
    assert "something touched it, or it was changed" in text


def test_another_payload_begins_anew():
    zeros = SensorZeros()
    for k, turn in enumerate(TURNS):
        known = arm(link=TIP, mass=0.1 * (k == 3), com=[0.0, 0.0, 0.1])
        text = zeros.note(reading(turn.as_matrix()), turn.as_matrix(), known)
    assert not text


def test_a_controller_in_three_postures_tells_its_tool():
    zeros, known = SensorZeros(), arm()
    for change in ([0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0.7, 0], [0, 0, 0, 0, 0.8, 0, 0.3]):
        bench = ContactBench(mode=Mode.FEEDFORWARD, arm=Arm(MODEL, PANDA.tip, HOME + change))
        bench.run(1.0, felt=reading(bench.pose[:3, :3]))
        request = _control.ZeroRequest()
        bench.controller.ask(request, bench.now)
        assert_allclose(request.rotation, bench.pose[:3, :3], atol=1e-3)
        text = zeros.note(request.offset, request.rotation, known)
    assert "payload.mass 0.950" in text or "payload.mass 0.949" in text
