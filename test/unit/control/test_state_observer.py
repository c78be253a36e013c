"""What the observer makes of joint states: classes 2 to 4 of docs/faults.md, on random motions.

Two joints, of which the second has no speed limit: 20 rad/s are assumed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from compiled import control_parts
from numpy.testing import assert_allclose
from studies import each_once, few_or_all, study

LIMIT = np.array([2.0, np.inf])
ASSUMED = np.array([2.0, 20.0])  # [rad/s]
Q, ONE, ZERO = np.array([0.5, -0.5]), np.array([1.0, 0.0]), np.zeros(2)
NOT_MEASURED = np.full(2, np.nan)
TIMEOUT = 0.1  # [s]
ACCEPTED, NOT_FINITE, _, JUMPED, TOO_FAST, REPEATED = range(6)
PERIODS = [0.001, 0.005, 0.02]
SEEDS = few_or_all([0, 3], range(4))
State = tuple[np.ndarray, np.ndarray]


class Source:
    """Gives an observer states, the first at Q."""

    def __init__(self, dt: float = 0.005, lower=None, upper=None, **more) -> None:
        self.dt = dt
        self.observer = control_parts.JointObserver(LIMIT, lower, upper, TIMEOUT, **more)
        assert self.give()

    def give(self, q=Q, qd=ZERO, after: float | None = None) -> bool:
        """Give a state; return whether there is an estimate."""
        return self.observer.observe(
            np.array(q, float), np.array(qd, float), self.dt if after is None else after
        )

    def rest(self, count: int = 3) -> Source:
        for _ in range(count):
            assert self.give()
        return self

    def move(self, speed: np.ndarray, count: int = 30) -> np.ndarray:
        """Move on at a speed; return where the next state would be."""
        q = self.observer.q
        for _ in range(count):
            q = q + self.dt * speed
            assert self.give(q, speed)
        return q + self.dt * speed


def motion(seed: int, speed: float = 0.5) -> Callable[[float], State]:
    """Return a smooth random motion from rest at Q: up to a share of the speed limit, and twice
    the limit per second of acceleration.
    """
    random = np.random.default_rng(seed)
    rate = random.uniform(0.5, 1.3, (4, 2)) * 2.0
    size = speed * ASSUMED / 8.0 * random.uniform(0.5, 1.0, (4, 2)) * random.choice([-1, 1], (4, 2))

    def at(t: float) -> State:
        return Q + (size / rate * (1.0 - np.cos(rate * t))).sum(0), (size * np.sin(rate * t)).sum(0)

    return at


def sampled(seed: int, dt: float, duration: float = 1.0, speed: float = 0.5) -> Iterator[State]:
    at = motion(seed, speed)
    return (at(k * dt) for k in range(1, round(duration / dt) + 1))


# Class 2: data that are imprecise


@pytest.mark.parametrize("seed", SEEDS)
def test_true_states_at_changing_rates_with_gaps_are_used_as_they_are(seed):
    """1 kHz to 12.5 Hz, nine of ten states lost now and then."""
    source, at, random = Source(), motion(seed), np.random.default_rng(seed)
    t = 0.0
    for k in range(300):
        after = random.uniform(0.001, 0.02 if k % 20 else 0.08)
        t += after
        assert source.give(*at(t), after)
        assert_allclose(source.observer.estimate(), at(t), rtol=0, atol=1e-12)
        assert source.observer.inconsistent == -1
    assert not any(source.observer.rejected)


@pytest.mark.parametrize("dt", PERIODS)
@pytest.mark.parametrize("seed", SEEDS)
def test_missing_velocities_are_estimated(seed, dt):
    source = Source(dt)
    for k, (q, qd) in enumerate(sampled(seed, dt, 0.8)):
        assert source.give(q, NOT_MEASURED)
        assert_allclose(source.observer.q, q, rtol=0, atol=1e-12)
        if k * dt > 0.1:  # 30 Hz: 5 ms late
            lag = 1.0 / (2.0 * np.pi * 30.0) + dt
            assert (np.abs(source.observer.qd - qd) < ASSUMED * lag * 2.0).all()
    assert not any(source.observer.rejected)


@pytest.mark.parametrize("measured", [0, 1])
def test_a_velocity_is_estimated_for_the_joint_alone_that_has_none(measured):
    source, speed = Source(0.001), np.array([1.0, -0.5])
    given = np.where(np.arange(2) == measured, speed, np.nan)
    for k in range(1, 200):
        assert source.give(Q + k * 0.001 * speed, given)
    assert source.observer.qd[measured] == speed[measured]
    assert_allclose(source.observer.qd, speed, rtol=1e-2)


@pytest.mark.parametrize("cutoff", [10.0, 30.0])
def test_a_missing_velocity_is_a_low_pass_filter_of_the_position(cutoff):
    """63 % of a velocity are seen after one time constant."""
    source = Source(0.001, velocity_cutoff=cutoff).rest()
    q, constant = Q, 1.0 / (2.0 * np.pi * cutoff)
    for k in range(1, round(5 * constant / 0.001)):
        q = q + 0.001 * np.array([0.08, 0.8])
        assert source.give(q, NOT_MEASURED)
        share = source.observer.qd / np.array([0.08, 0.8])
        assert_allclose(share, 1.0 - np.exp(-k * 0.001 / constant), atol=0.02)


@pytest.mark.parametrize("dt", PERIODS)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_noise_of_positions_and_velocities_is_no_fault(seed, missing, dt):
    """2 mrad, and 2 % of the speed limit."""
    source, random = Source(dt), np.random.default_rng(seed)
    for q, qd in sampled(seed, dt, 0.8):
        noisy = q + np.clip(random.normal(0.0, 0.002, 2), -0.005, 0.005)
        velocity = qd + ASSUMED * np.clip(random.normal(0.0, 0.01, 2), -0.02, 0.02)
        assert source.give(noisy, NOT_MEASURED if missing else velocity)
        assert_allclose(source.observer.q, q, rtol=0, atol=0.01)
        assert source.observer.inconsistent == -1
    assert not any(source.observer.rejected)


@pytest.mark.parametrize("dt", PERIODS)
@pytest.mark.parametrize("step", [0.005, 0.0015, 0.0003])
@pytest.mark.parametrize("velocity", ["true", "missing"])
@pytest.mark.parametrize("seed", few_or_all([0], range(2)))
def test_steps_of_an_encoder_are_followed(seed, velocity, step, dt):
    source = Source(dt)
    for q, qd in sampled(seed, dt, 0.8, 0.2):
        assert source.give(step * np.round(q / step), qd if velocity == "true" else NOT_MEASURED)
        assert_allclose(source.observer.q, q, rtol=0, atol=2.5 * step + 0.002)
        assert source.observer.inconsistent == -1
    assert source.observer.oldest < TIMEOUT


@pytest.mark.parametrize(
    ("velocity", "hardware"),
    each_once(["repeated", "zero between", "live", "missing"], [0.02, 0.01, 0.002]),
)
@pytest.mark.parametrize("seed", few_or_all([0], range(2)))
def test_positions_that_a_faster_manager_repeats_follow_the_motion(seed, velocity, hardware):
    """A manager at 1 kHz above hardware at 500, 100 or 50 Hz."""
    source, at, dt = Source(0.001), motion(seed), 0.001
    for k in range(1, 800):
        measured = at(hardware * (k * dt // hardware))
        fresh = k % round(hardware / dt) == 0
        qd = {
            "repeated": measured[1],
            "zero between": measured[1] if fresh else ZERO,
            "live": at(k * dt)[1],
            "missing": NOT_MEASURED,
        }[velocity]
        assert source.give(measured[0], qd)
        true, speed = at(k * dt)
        late = hardware * np.abs(speed) + 1e-3
        if velocity in ("repeated", "live"):
            late *= 0.6
        assert (np.abs(source.observer.q - true) < late + 0.01 * ASSUMED).all()
        assert velocity == "zero between" or source.observer.inconsistent == -1
    assert source.observer.oldest < TIMEOUT


@pytest.mark.parametrize("dt", PERIODS)
@pytest.mark.parametrize("kind", ["late", "filtered"])
@pytest.mark.parametrize("seed", few_or_all([3], range(4)))
def test_velocities_that_are_late_or_filtered_are_no_contradiction(seed, kind, dt):
    """By 25 ms, or with a time constant of 15 ms."""
    source, at, filtered = Source(dt), motion(seed), ZERO
    for k in range(1, round(1.5 / dt)):
        q, qd = at(k * dt)
        filtered = filtered + (1.0 - np.exp(-dt / 0.015)) * (qd - filtered)
        late = at(max(k * dt - 0.025, 0.0))[1]
        assert source.give(q, late if kind == "late" else filtered)
        assert_allclose(source.observer.q, q, rtol=0, atol=1e-12)
        assert source.observer.inconsistent == -1


# Class 3: numbers that are wrong now and then


def wrong_numbers(random: np.random.Generator, true: float) -> float:
    """Return a number of any value."""
    kind = random.integers(9)
    if kind == 0:  # bits flipped
        bits = struct.unpack("<Q", struct.pack("<d", true))[0] ^ (1 << int(random.integers(64)))
        return struct.unpack("<d", struct.pack("<Q", bits))[0]
    if kind == 1:  # any bits
        return struct.unpack("<d", random.bytes(8))[0]
    if kind < 5:  # of each size
        return true + random.choice([-1.0, 1.0]) * 10.0 ** random.uniform(-5.0, 3.0)
    return [np.nan, np.inf * random.choice([-1, 1]), 0.0, -true][kind - 5]


def gate(source: Source, age: float) -> np.ndarray:
    """How far positions and velocities may be from their prediction: (2, n)."""
    return np.array([source.observer.reach(i, age) for i in range(2)]).T


WRONG = ["position", "velocity"]


@pytest.mark.parametrize("dt", PERIODS)
@pytest.mark.parametrize("fields", WRONG)
@pytest.mark.parametrize("in_a_row", [1, 2])
@pytest.mark.parametrize("identical", [False, True])
def test_no_wrong_number_moves_the_estimate_by_more_than_the_gate(identical, in_a_row, fields, dt):
    for seed in range(4):
        random = np.random.default_rng(seed)
        source, wrong, since = Source(dt), {}, 0
        for k, (q, qd) in enumerate(sampled(seed, dt, 60 * dt, 0.5)):
            spoiled = np.array([q, qd])
            is_wrong = k % 15 < in_a_row and k > 5
            if is_wrong:
                since = since + 1
                for i in range(2):
                    for j in range(2):
                        if fields == WRONG[i]:
                            if since == 1 or not identical:
                                wrong[i, j] = wrong_numbers(random, spoiled[i, j])
                            spoiled[i, j] = wrong[i, j]
            elif since:
                since = -3 if since > 0 else since + 1
            source.give(*spoiled)
            error = np.abs(source.observer.estimate() - (q, qd))
            assert np.isfinite(error).all()
            if is_wrong:
                # A wrong one within reach is used, and the next is compared with it.
                bound = in_a_row * gate(source, in_a_row * dt)
                bound[1] += in_a_row * 2.0 * ASSUMED * dt
                bound[0] += in_a_row * dt * (bound[1] + 2.0 * ASSUMED * dt)
                assert (error < bound).all(), (seed, k, error / bound)
            elif since == 0:
                assert (error < 1e-12).all(), (seed, k, error)
        assert source.observer.oldest == 0.0


@pytest.mark.parametrize("dt", PERIODS)
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("in_a_row", [1, 2])
def test_a_wrong_position_within_reach_is_no_velocity(in_a_row, share, dt):
    """Nor does it contradict a velocity that is true."""
    source = Source(dt).rest(60)
    wrong = Q + ONE * share * source.observer.reach(0, dt)[0]
    for k in range(10):
        source.give((wrong if k < in_a_row else Q) + 1e-9 * k)
        assert source.observer.inconsistent == -1
        assert abs(source.observer.qd[0]) < 1e-6


@pytest.mark.parametrize("dt", PERIODS)
@pytest.mark.parametrize("value", [0.0, 0.9, -1.9, 2.5, 1e3, np.nan])
def test_a_last_velocity_that_nothing_shows_is_not_used(value, dt):
    """It may be the last number before silence."""
    source = Source(dt)
    speed = np.array([0.5, 5.0])
    q = source.move(speed, 60)
    source.give(q, np.array([value, 5.0]))
    reach = source.observer.reach(0, dt)[1]
    assert abs(source.observer.qd[0] - 0.5) <= reach + 1e-9
    assert_allclose(source.observer.q, q)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_a_first_state_is_not_begun_with_what_is_no_position(bad):
    observer = control_parts.JointObserver(LIMIT, [-1.0, -1.0], [2.0, 2.0])
    if not np.isfinite(bad):
        assert not observer.observe(np.array([0.5, bad]), ZERO, 0.0)
        assert observer.last[:2] == (NOT_FINITE, 1)
        assert observer.rejected[NOT_FINITE] == 1
        assert observer.observe(Q, ZERO, 0.005)
        assert_allclose(observer.q, Q)
        assert not observer.is_reset
    observer = control_parts.JointObserver(LIMIT)
    observer.observe(Q, np.array([bad, 0.0]), 0.0)
    assert_allclose(observer.estimate(), (Q, ZERO))


# True states after contact


@pytest.mark.parametrize("dt", PERIODS)
@pytest.mark.parametrize(
    ("before", "after"),
    [(0.2, 0.0), (0.5, 0.0), (1.0, 0.0), (0.5, -0.35), (1.0, -0.7), (0.0, 0.3), (0.0, 1.5)],
)
def test_a_hard_stop_a_bounce_or_a_push_is_believed_with_the_third_state(before, after, dt):
    """Speeds in limits. States after it are true: the first two may not be believed."""
    source, velocity = Source(dt), after * ASSUMED
    q = source.move(before * ASSUMED, 60) - dt * before * ASSUMED
    for k in range(1, 11):
        q = q + dt * velocity + 1e-9
        assert source.give(q, velocity)
        if k >= 3:
            assert_allclose(source.observer.estimate(), (q, velocity), atol=1e-6)
    assert before or source.observer.inconsistent == -1


@pytest.mark.parametrize("missing", [False, True])
def test_a_stop_to_the_bit_is_seen_though_the_arm_was_fast(missing):
    source, velocity = Source(0.005), np.array([1.5, 10.0])
    q = source.move(velocity, 60)
    for k in range(60):
        assert source.give(q, NOT_MEASURED if missing else ZERO)
        if k * 0.005 > 0.05:
            assert_allclose(source.observer.q, q, rtol=0, atol=1e-9)
    assert_allclose(source.observer.qd, 0.0, atol=0.02)


# Class 4: states that are wrong for good


@pytest.mark.parametrize("dt", PERIODS)
@pytest.mark.parametrize(
    ("way", "speed"),
    [(0.4, 1e-10), (-1.0, 1e-10), (2.5, 1e-10), (0.9, 0.5), (0.9, -3.0), (0.9, 12.0)],
)
def test_the_third_state_elsewhere_is_the_truth_however_fast_it_moves(way, speed, dt):
    """A restart, an encoder that slipped, or an arm that nobody braked while its states were away.

    The other joint goes on. Speeds in limits.
    """
    source, velocity = Source(dt).rest(), np.array([2.0 * speed, 0.0])
    there = Q + np.array([way, 0.0])
    for k in range(1, 8):
        there = there + dt * velocity
        assert source.give(there, velocity)
        assert source.observer.is_reset == (k == 3)
        assert_allclose(source.observer.q, there if k >= 3 else Q, atol=1e-9)
        assert_allclose(source.observer.qd, velocity if k >= 3 else ZERO, atol=1e-9)
    assert source.observer.rejected[JUMPED] == 2


def test_positions_elsewhere_that_do_not_agree_are_no_truth():
    source, random = Source().rest(), np.random.default_rng(7)
    for _ in range(15):  # longer than there is an estimate
        source.give(Q + ONE * random.uniform(0.4, 3.0) * random.choice([-1.0, 1.0]))
        assert not source.observer.is_reset
        assert_allclose(source.observer.q, Q, atol=1e-9)


def test_positions_far_outside_the_limits_are_no_truth():
    source = Source(lower=[-1.0, -np.inf], upper=[2.0, np.inf]).rest()
    for k in range(1, 30):
        is_there = source.give([2.0 + np.pi + 0.1, -0.5])
        if abs(k * 0.005 - TIMEOUT) > 1e-9:
            assert is_there == (k * 0.005 < TIMEOUT)
    assert source.observer.last[:2] == (JUMPED, 0)
    assert_allclose(source.observer.q, Q)


@pytest.mark.parametrize("dt", PERIODS)
@pytest.mark.parametrize("joints", [[0], [1], [0, 1]])
@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 1.0])
def test_a_frozen_position_beside_a_velocity_is_unusable_after_state_timeout(share, joints, dt):
    """Of an arm that began slowly, as arms do, and so has shown how fine its encoder is."""
    source, speed = Source(dt), share * ASSUMED
    assert source.give(Q + 1e-6)
    q = source.move(speed, max(60, round(0.3 / dt))) - dt * speed
    frozen, t, is_there = q.copy(), 0.0, True
    while is_there and t < 1.0:
        t, q = t + dt, q + dt * speed
        given = q.copy()
        given[joints] = frozen[joints]
        is_there = source.give(given, speed)
        if is_there:  # the prediction goes on meanwhile
            assert (np.abs(source.observer.q - q) < 0.02 * ASSUMED).all()
    assert TIMEOUT - 1e-9 < t < TIMEOUT + dt + 1e-9
    assert source.observer.last[0] == REPEATED and source.observer.last[1] in joints


def test_a_position_that_is_frozen_is_one_again_when_it_changes():
    source = Source()
    q = source.move(np.array([1.0, 1.0]), 60)
    while source.give(q, [1.0, 1.0]):
        pass
    for k in range(20):
        is_there = source.give(q + 0.01 + 1e-6 * k)
    assert is_there
    assert_allclose(source.observer.q, q + 0.01 + 19e-6, atol=1e-6)


def test_an_arm_at_rest_may_repeat_its_position_for_ever():
    source, random = Source(0.001), np.random.default_rng(8)
    for _ in range(1000):
        assert source.give(Q, ASSUMED * random.uniform(-0.01, 0.01, 2))
    assert not any(source.observer.rejected)


@pytest.mark.parametrize("dt", few_or_all(PERIODS[1:], PERIODS))
@pytest.mark.parametrize("factor", [-1.0, 0.0, 57.3, study(1 / 57.3), 0.5, study(2.0)])
@pytest.mark.parametrize("joint", few_or_all([1], [0, 1]))
def test_a_velocity_of_wrong_sign_unit_or_scale_is_contradicted(joint, factor, dt):
    """Then the positions tell it."""
    source, at = Source(dt), motion(3, 0.8)
    wrong = np.where(np.arange(2) == joint, factor, 1.0)
    since = []
    for k in range(1, round(3.0 / dt)):
        q, qd = at(k * dt)
        assert source.give(q, wrong * qd)
        assert source.observer.inconsistent in (-1, joint)
        since += [k * dt] * (source.observer.inconsistent == joint)
        assert_allclose(source.observer.q, q, rtol=0, atol=0.02 * ASSUMED.max())
        if source.observer.inconsistent == joint and abs(qd[joint]) > 0.1 * ASSUMED[joint]:
            assert abs(source.observer.qd[joint] - qd[joint]) < 0.3 * ASSUMED[joint]
    assert since and since[0] < 2.0


# The gate


@pytest.mark.parametrize("age", [0.0, 0.001, 0.02, 0.1, 0.3, 0.39])
@pytest.mark.parametrize("joint", [0, 1])
def test_the_gate_is_noise_and_acceleration_over_the_time_since_a_value_was_used(joint, age):
    position, velocity = Source().observer.reach(joint, age)
    assert velocity == pytest.approx(ASSUMED[joint] * min(0.05 + 5.0 * age, 2.0))
    assert position == pytest.approx(min(velocity * (0.1 + age) + 0.0062, np.pi))


def test_the_gate_opens_by_itself_to_half_a_turn_and_twice_the_speed_limit():
    reach = np.array([Source().observer.reach(1, age) for age in np.linspace(0.0, 10.0, 200)])
    assert (np.diff(reach, axis=0) >= 0.0).all()
    assert_allclose(reach[-1], [np.pi, 40.0])


def after_silence(source: Source, age: float, step: float) -> bool:
    return source.give(Q + ONE * step, after=age) and source.observer.ages()[0, 0] == 0.0


def jump(source: Source, step: float) -> bool:
    source.give(Q + ONE * step)
    return source.observer.ages()[0, 0] == 0.0


def jump_while_not_used(source: Source, step: float) -> bool:
    """After two positions of nowhere."""
    for q in (1.9, -1.9):
        source.give([q, -0.5])
    return jump(source, step)


def gain(source: Source, velocity: float) -> bool:
    source.give(Q + ONE * 1e-9, [velocity, 0.0])
    return source.observer.last[0] == ACCEPTED


def creeps(source: Source, velocity: float) -> bool:
    """Whether a velocity that the positions do not show is used for good."""
    source.dt = 0.001
    for k in range(1500):
        source.give(Q + ONE * 1e-9 * k, [velocity, 0.0])
    return source.observer.inconsistent == -1


def outside(source: Source, place: float) -> bool:
    """Whether three states that agree are believed there."""
    source = Source(lower=[-1.0, -np.inf], upper=[0.5, np.inf]).rest()
    for k in range(3):
        source.give([place + 1e-6 * k, -0.5])
    return source.observer.is_reset


def without_position(source: Source, duration: float) -> bool:
    return source.give(NOT_MEASURED, after=0.5 * duration) and source.give(
        NOT_MEASURED, after=0.5 * duration
    )


STEP = 0.0062  # [rad] of the coarsest encoder, assumed before a joint has shown its own
VELOCITY_REACH = 2.0 * (0.05 + 5.0 * 0.005)
REACH = VELOCITY_REACH * (0.1 + 0.005) + STEP
BOUNDS = {
    "jump": (REACH, jump),
    "jump down": (-REACH, jump),
    "jump, joint not seen for two states": (2.0 * 0.125 * 0.115 + STEP, jump_while_not_used),
    "jump after 50 ms": (2.0 * 0.3 * 0.15 + STEP, lambda s, x: after_silence(s, 0.05, x)),
    "jump after 90 ms": (2.0 * 0.5 * 0.19 + STEP, lambda s, x: after_silence(s, 0.09, x)),
    "velocity": (VELOCITY_REACH, gain),
    "velocity backward": (-VELOCITY_REACH, gain),
    "velocity that the positions do not show": (
        (2.0 * 0.05 * 0.1 + 1e-9) / (0.25 - 0.3 * 0.25), creeps
    ),
    "outside the limits": (0.5 + np.pi, outside),
    "without a position": (TIMEOUT, without_position),
}  # fmt: skip


@pytest.mark.parametrize("bound", BOUNDS)
def test_what_is_just_within_a_bound_is_used_and_just_beyond_is_not(bound):
    value, is_used = BOUNDS[bound]
    assert is_used(Source().rest(), 0.97 * value)
    assert not is_used(Source().rest(), 1.03 * value)


@pytest.mark.parametrize(("duration", "is_used"), [(0.024, False), (0.027, True)])
def test_a_position_that_repeats_for_longer_than_hardware_takes_has_stopped(duration, is_used):
    """Of a joint that stops between two states, however far its prediction has gone."""
    source = Source(0.001)
    source.give(Q + 1e-6)
    q = source.move(np.array([1.5, 0.0]), 60) - 0.001 * np.array([1.5, 0.0])
    for _ in range(round(duration / 0.001)):
        source.give(q)
    assert (source.observer.ages()[0, 0] == 0.0) == is_used


@pytest.mark.parametrize("step", [1e-4, 1e-3, 0.004])
def test_a_fine_encoder_narrows_the_gate(step):
    source = Source().rest()
    for k in range(4):
        assert source.give(Q + step * (k % 2), NOT_MEASURED)
    assert source.observer.reach(0, 0.0)[0] == pytest.approx(2.0 * 0.05 * 0.1 + step)


# Its life


def test_nothing_is_known_before_the_first_state_and_after_forgetting():
    source = Source()
    source.move(np.array([1.0, 1.0]))
    source.observer.forget()
    assert source.give(Q + 1.0)  # anywhere
    assert_allclose(source.observer.estimate(), (Q + 1.0, ZERO))
    assert source.observer.oldest == 0.0


def test_the_estimate_goes_on_between_states_as_the_command_drives_it():
    source, speed, acceleration = Source(), np.array([0.5, 1.0]), np.array([3.0, -2.0])
    q = source.move(speed, 60) - 0.005 * speed
    source.observer.accelerate(acceleration)
    source.observer.predict(0.003)
    expected = q + 0.003 * speed + 0.5 * 0.003**2 * acceleration, speed + 0.003 * acceleration
    assert_allclose(source.observer.estimate(), expected)
    source.give(NOT_MEASURED, NOT_MEASURED)
    expected = q + 0.005 * speed + 0.5 * 0.005**2 * acceleration, speed + 0.005 * acceleration
    assert_allclose(source.observer.estimate(), expected, atol=1e-4)
