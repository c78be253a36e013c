"""The shadow of a simulated arm: its estimates are right, whatever the joint states are like."""

import re
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy_shadow import NumpyShadow
from studies import few_or_all, study

import featherstone_ros as fr
from featherstone_ros._shadow import MAX_PLAUSIBLE
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.robots import robot_file
from featherstone_ros.observer import Shadow, ShadowSettings
from featherstone_ros.observer.effort_contract import (
    CONTRACTS,
    FULL,
    MOTOR_CURRENT,
    WITHOUT_FRICTION,
    WITHOUT_GRAVITY,
    ContractState,
)
from featherstone_ros.tools.robot_setup import load

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
sys.path.append(str(EXAMPLES))
import shadow_contact  # noqa: E402
from shadow_contact import (  # noqa: E402
    State,
    convergence,
    drive,
    motion_of,
    pulled,
    settings_for,
    untouched,
)

PANDA = load("panda")
MODEL = PANDA.model
READY = PANDA.by_joint("digital_twin", "initial_positions.{}")
GAIN = np.array([5.0, 5.0, -4.0, 4.0, 2.0, 2.0, -2.0])  # torque per current


def nanoseconds(time):
    return round(1e9 * time)


def follow(shadow, states):
    """Return all updates."""
    updates = [shadow.update(nanoseconds(s.time), s.q, s.qd, s.effort) for s in states]
    return [update for update in updates if update is not None]


# Estimates.


@cache
def pulled_at(rate):
    return pulled(PANDA, rate, gain=25.0, speed=0.3)


@pytest.mark.parametrize("rate", [30.0, study(500.0)])
def test_estimate_converges_to_a_hidden_wrench_with_the_gains_time_constant(rate):
    constant, bias = convergence(pulled_at(rate), gain=25.0)
    assert constant == pytest.approx(1 / 25.0, rel=0.1)  # noise
    assert bias < 0.02


@pytest.mark.parametrize("episode", few_or_all(range(1), range(3)))
def test_an_arm_five_percent_heavier_is_no_contact(episode):
    record = untouched(PANDA, 50.0, 0.05, episode)
    assert record.alarms == 0
    limit = MODEL.effort_limit
    assert (np.abs(record.torque).max(axis=0) > 0.005 * limit).all()  # it does see the difference


@pytest.mark.study
def test_study_prints_its_figures_and_draws(tmp_path, capsys):
    arguments = ["--rate", "50", "--minutes", "0.3", "--output", str(tmp_path)]
    assert shadow_contact.main(arguments) == 0
    assert "0 false alarms in 0.01 h" in " ".join(capsys.readouterr().out.split())
    assert (tmp_path / "wrench.png").read_bytes().startswith(b"\x89PNG")


def test_contact_is_reported_while_the_wrench_acts_and_not_after():
    record = pulled_at(30.0)
    during = (record.time > shadow_contact.BEGIN + 0.1) & (record.time < shadow_contact.END)
    before, after = record.time < shadow_contact.BEGIN, record.time > shadow_contact.END + 0.3
    assert record.contact[during].all()
    assert not record.contact[before | after].any()


# Prediction.


def test_prediction_takes_commands_while_they_are_fresh():
    shadow = Shadow(MODEL, ShadowSettings(prediction_effort="commanded", max_gap=0.1))
    zero, command = np.zeros(7), np.full(7, 2.0)
    first = shadow.update(0, READY, zero, zero)
    assert_array_equal(first.prediction.torque, zero)
    shadow.command(command)
    for time, expected in ((0.05, command), (0.1, command), (0.15, zero)):
        update = shadow.update(nanoseconds(time), READY, zero, zero)
        assert_array_equal(update.prediction.torque, expected)
    shadow.command(np.full(7, MAX_PLAUSIBLE))
    with pytest.raises(ValueError, match=r"command of panda_joint1 .*at most 1e\+06"):
        shadow.command(np.full(7, np.nextafter(MAX_PLAUSIBLE, np.inf)))
    with pytest.raises(ValueError, match="command has 2 values, expected 7"):
        shadow.command([1.0, 2.0])


# Effort contracts.


@pytest.fixture(scope="module")
def swing():
    """Joint states at rest, then in a motion that is slow, both ways, at 100 Hz."""
    motion = motion_of(PANDA, 0.3)
    still = replace(motion, amplitude=0.0 * motion.amplitude, duration=1.5)
    rest = list(drive(PANDA, still, 100.0, seed=1))
    moves = [s._replace(time=s.time + 1.5) for s in drive(PANDA, motion, 100.0, seed=2)]
    return rest + moves


def emulate(states, contract, gain=GAIN):
    """Return the states as an arm under a contract would send them."""
    settings = settings_for(PANDA, effort_contract=contract, effort_gain=gain)
    field = NumpyShadow(MODEL, settings, "panda_link7")
    sent = []
    for s in states:
        field.follow(0.01, s.q)
        sent.append(s._replace(effort=field.effort(s.effort, s.q, s.qd)))
    return sent


@pytest.mark.parametrize(
    ("configured", "sent"),
    few_or_all(
        [*pairwise([*CONTRACTS, CONTRACTS[0]]), (CONTRACTS[0], CONTRACTS[0])],
        product(CONTRACTS, CONTRACTS),
    ),
)
def test_every_mismatch_of_contracts_is_found_and_named(swing, configured, sent):
    contract = {"effort_contract": configured, "effort_gain": GAIN}
    settings = settings_for(PANDA, prediction_horizon=0.0, **contract)
    shadow = Shadow(MODEL, settings)
    updates = follow(shadow, emulate(swing, sent))
    said = [update.verdict for update in updates if update.verdict is not None]
    if configured == sent:
        assert shadow.verdict.finding is ContractState.KEPT
        assert {verdict.finding for verdict in said} == {ContractState.KEPT}
    else:
        assert shadow.verdict.finding is ContractState.BROKEN
        assert f"effort is {configured}, but" in shadow.verdict.text
        assert sent in shadow.verdict.text.partition("the effort fits ")[2]
        assert any(verdict.finding is ContractState.BROKEN for verdict in said)


def test_friction_is_judged_by_each_motion_anew(swing):
    wrong = emulate(swing[150:], WITHOUT_FRICTION)
    motions = enumerate([wrong, wrong, swing[150:]])
    states = [s._replace(time=s.time + 20.0 * k) for k, motion in motions for s in motion]
    shadow = Shadow(MODEL, settings_for(PANDA))
    said = [update.verdict for update in follow(shadow, states) if update.verdict]
    *before, last = [verdict.finding for verdict in said if "in motion" in verdict.text]
    assert set(before) == {ContractState.BROKEN} and last is ContractState.KEPT


@pytest.mark.parametrize("factors", [(0.3, 1, 1, 1, 1, 1, 1), (0, 0, 0, 0, 0, 0, 1)])
def test_friction_that_is_wrong_in_some_joints_is_no_other_contract(swing, factors):
    settings = settings_for(PANDA)
    coulomb, viscous = np.multiply(factors, [settings.drives.coulomb, settings.drives.viscous])
    drives = replace(settings.drives, coulomb=coulomb, viscous=viscous)
    shadow = Shadow(MODEL, replace(settings, drives=drives))
    follow(shadow, swing[150:])
    assert shadow.judge.in_motion.finding is ContractState.KEPT


def test_current_taken_for_torque_is_reported_with_the_gains_that_would_fit(swing):
    gain = np.abs(GAIN)
    shadow = Shadow(MODEL, settings_for(PANDA))
    follow(shadow, emulate(swing[:140], MOTOR_CURRENT, gain))
    assert shadow.verdict.finding is ContractState.UNEXPLAINED
    assert "current with torque_constant" in shadow.verdict.text
    assert "panda_joint4 4" in shadow.verdict.text.replace("3.9", "4.0")


@pytest.mark.parametrize(("joint", "factor"), [(3, 0.09), (3, 0.5), (1, 3.0), (1, -1.0)])
def test_one_joint_in_another_unit_is_named_whatever_the_others_carry(swing, joint, factor):
    scale = np.where(np.arange(7) == joint, factor, 1.0)
    shadow = Shadow(MODEL, settings_for(PANDA))
    follow(shadow, [s._replace(effort=s.effort * scale) for s in swing[:140]])
    assert shadow.verdict.finding is ContractState.UNEXPLAINED
    named = [name for name in MODEL.joint_names if name in shadow.verdict.text]
    assert named == [f"panda_joint{joint + 1}"]


def test_a_last_joint_that_carries_is_judged_as_the_others():
    model = fr.Model.from_file(robot_file("panda"), joints=MODEL.joint_names[:4])
    q, zero = READY[:4], np.zeros(4)
    shadow = Shadow(model, ShadowSettings())
    effort = fr.Dynamics(model).gravity(q).copy()
    creep = np.array([0.0, 0.0, 0.0, 0.1])  # [rad/s], of which the velocities say nothing
    follow(shadow, [State(0.01 * k, q + 0.01 * k * creep, zero, effort) for k in range(200)])
    assert shadow.verdict.finding is ContractState.UNDECIDED
    follow(shadow, [State(2.0 + 0.01 * k, q, zero, effort) for k in range(200)])
    assert shadow.verdict.finding is ContractState.KEPT


@pytest.mark.parametrize("factor", [0.09, 0.05])
def test_a_small_unit_that_all_joints_share_is_not_called_torque_without_gravity(swing, factor):
    shadow = Shadow(MODEL, settings_for(PANDA))
    follow(shadow, [s._replace(effort=s.effort * factor) for s in swing[:140]])
    verdict = shadow.verdict
    assert verdict.finding is ContractState.UNEXPLAINED
    gains = re.findall(r"panda_joint\d ([\d.]+)", verdict.text)
    assert_allclose(np.array(gains, dtype=float), 1.0 / factor, rtol=0.05)
    assert len(gains) > 1 and "or torque without gravity, under another load" in verdict.text


def test_a_wrench_at_rest_does_not_unsettle_a_contract_found_kept(swing):
    shadow = Shadow(MODEL, settings_for(PANDA))
    rest = swing[:140]
    follow(shadow, rest)
    assert shadow.verdict.finding is ContractState.KEPT
    pushed = [s._replace(time=s.time + 2.0, effort=s.effort + 8.0) for s in rest]
    follow(shadow, pushed)
    assert shadow.verdict.finding is ContractState.KEPT
    changed = [s._replace(time=s.time + 4.0) for s in emulate(rest, WITHOUT_GRAVITY)]
    follow(shadow, changed)
    assert shadow.verdict.finding is ContractState.BROKEN


def test_a_rest_is_judged_without_the_motion_before_it(swing):
    rest = [s._replace(time=s.time + 11.5) for s in swing[:60]]
    shadow = Shadow(MODEL, settings_for(PANDA, effort_contract=WITHOUT_GRAVITY))
    follow(shadow, swing[250:1150])
    assert shadow.verdict.finding is ContractState.UNDECIDED
    follow(shadow, rest)
    assert shadow.verdict.finding is ContractState.BROKEN


def test_a_pose_without_load_decides_nothing():
    shadow = Shadow(MODEL.with_gravity([0, 0, 0]), settings_for(PANDA))
    zero = np.zeros(7)
    for k in range(200):
        shadow.update(k * 10_000_000, READY, zero, zero)
    assert shadow.verdict.finding is ContractState.UNDECIDED


def test_five_percent_of_mass_do_not_break_a_contract():
    states = list(drive(PANDA, motion_of(PANDA, 0.3), 100.0, seed=3, mass_error=0.05))
    for contract in (FULL, WITHOUT_FRICTION):
        settings = settings_for(PANDA, effort_contract=contract, prediction_horizon=0.0)
        shadow = Shadow(MODEL, settings)
        follow(shadow, emulate(states, contract))
        assert shadow.verdict.finding is ContractState.KEPT, contract


# Joint states as they come.


@pytest.mark.parametrize(
    ("what", "index", "value"),
    [("position", 1, np.nan), ("velocity", 2, np.inf), ("effort", 3, 1e300)],
)
def test_absurd_figures_are_refused_by_name_and_change_nothing(swing, what, index, value):
    shadow, clean = (Shadow(MODEL, settings_for(PANDA)) for _ in range(2))
    bad = list(swing[3])
    bad[index] = np.where(np.arange(7) == 2, value, bad[index])
    follow(shadow, swing[:3])
    with pytest.raises(ValueError, match=f"{what} of panda_joint3 is"):
        shadow.update(nanoseconds(bad[0]), *bad[1:])
    after = follow(shadow, swing[4:10])[-1]
    expected = follow(clean, swing[:3] + swing[4:10])[-1]
    assert_array_equal(after.residual.torque, expected.residual.torque)


def test_nothing_that_comes_out_is_ever_nan():
    random = np.random.default_rng(9)
    settings = settings_for(PANDA, prediction_horizon=0.5)
    shadow = Shadow(MODEL, settings)
    time, lost, seen = 0, 0, Counter()
    with np.errstate(all="ignore"):
        for _ in range(500):
            time += int(random.choice([0, 1, 10**5, 10**7, 10**8, 10**9, -(10**6), -(10**10)]))
            scale = 10.0 ** random.uniform(-300, 6.0, (3, 1))
            update = shadow.update(time, *(scale * random.uniform(-1, 1, (3, 7))))
            if update is None:
                continue
            lost += bool(update.restart_reason)
            for told in filter(None, (update.prediction, update.residual)):
                assert all(np.isfinite(values).all() for values in vars(told).values())
                seen[type(told).__name__] += 1
    assert lost and seen["Prediction"] and seen["Residual"]


# Settings.


def test_wrong_settings_are_refused_and_the_old_ones_stay():
    shadow = Shadow(MODEL, ShadowSettings())
    for change, message in (
        ({"wrench_link": "tail"}, "wrench_link: no link 'tail'"),
        ({"effort_contract": "half"}, "effort_contract: expected one of torque"),
        ({"prediction_effort": "guessed"}, "prediction_effort: expected one of measured"),
        ({"time_step": 0.0}, "time_step"),
    ):
        with pytest.raises(ValueError, match=message):
            shadow.prepare(replace(shadow.settings, **change))
    assert shadow.settings == ShadowSettings()
    assert shadow.wrench_link == "panda_link7"


def test_at_rest_dry_friction_balances_what_it_can():
    """The external torque is the least that explains the effort; a start of motion tells more."""
    drives = Drives(0.0, viscous=0.0, coulomb=3.0)
    settings = ShadowSettings(drives=drives, observer_gain=100.0, contact_threshold=100.0)
    shadow = Shadow(MODEL, settings)
    torque, push = fr.Dynamics(MODEL).gravity(READY), np.linspace(-6.0, 6.0, MODEL.n)
    for k in range(500):
        update = shadow.update(k * 1_000_000 + 1, READY, np.zeros(MODEL.n), torque - push)
    assert_allclose(update.residual.torque, push - np.clip(push, -3.0, 3.0), atol=1e-9)
    moving = np.full(MODEL.n, 0.05)  # every gear turns forward now, against its friction
    for k in range(500, 1000):
        q = READY + 0.001 * (k - 499) * moving
        held = fr.Dynamics(MODEL).bias(q, moving) + 3.0 - push
        update = shadow.update(k * 1_000_000 + 1, q, moving, held)
    assert_allclose(update.residual.torque, push, atol=0.05)
