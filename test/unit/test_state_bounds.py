"""Where each bound of the state validator stands: just within a state is believed, just beyond not.

The bounds are those of cython_core/control/state_*.pxd, for a joint whose speed limit is
2 rad/s and one without.
"""

import numpy as np
import pytest
from compiled._control_parts import JointStateValidator
from numpy.testing import assert_allclose

from featherstone_ros.control.events import REJECTIONS

STEP = 0.001  # [s] from state to state
Q = np.array([0.5, -0.5])
ONE, OTHER = np.eye(2)
TURN = 2.0 * np.pi
JUMPED, ABSURD, TOO_FAST = 3, 4, 5
NOT_NEWER, REPEATED, CONTRADICTORY, LATE = 2, 7, 8, 9


def validator() -> JointStateValidator:
    limits = [2.0, np.inf], [-1.0, -np.inf], [2.0, np.inf]
    return JointStateValidator(*map(np.array, limits))


class Source:
    """Feeds a validator that has believed one state at Q, with stamp 5."""

    def __init__(self) -> None:
        self.validator, self.now = validator(), 10.0
        assert self.give(Q, np.zeros(2), 5.0)

    def give(self, q=Q, qd=None, stamp=0.0, after=STEP, **more) -> bool:
        self.now += after
        qd = qd if qd is None else np.asarray(qd, float)
        return self.validator.accept(self.now, stamp, np.asarray(q, float), qd, **more)

    def rejections(self) -> set[int]:
        return {k for k, count in enumerate(self.validator.rejected) if count}


def first(source: Source, q: np.ndarray) -> bool:
    """Whether a position is believed that follows on nothing."""
    source.validator = validator()
    return source.give(q)


def after_a_gap(source: Source, step: float) -> bool:
    source.validator.forget()
    return source.give(Q + step * ONE, after=0.5)


def repeated(source: Source, speed: float, duration: float, **more) -> bool:
    """Whether Q is believed again for so long beside a velocity, after the first that has one."""
    count = 1 + round(duration / STEP)
    return all(source.give(Q, [speed, 0.0], **more) for _ in range(count))


def pushed(source: Source, encoder_step: float, way: float) -> bool:
    """Whether a position is believed again although the joint has been pushed, after one step."""
    there = Q + encoder_step
    assert source.give(there)
    return source.give(there, pushed=-way * OTHER)


def creeping(source: Source, speed: float) -> bool:
    """Whether a velocity is believed for two seconds that the positions do not show."""
    return all(source.give(Q + 1e-7 * k, [speed, 0.0]) for k in range(2000))


def late(source: Source, on_its_way: float) -> bool:
    for k in range(3):
        assert source.give(Q + 1e-6 * k, on_its_way=-37.0)
    return source.give(on_its_way=on_its_way - 37.0)


BOUNDS = {
    "far above the range": (2.0 + TURN, ABSURD, lambda s, x: first(s, [x, 0.0])),
    "far below the range": (1.0 + TURN, ABSURD, lambda s, x: first(s, [-x, 0.0])),
    "jump": (0.1 + 4.0 * STEP, JUMPED, lambda s, x: s.give(Q + x * ONE)),
    "jump down": (0.1 + 4.0 * STEP, JUMPED, lambda s, x: s.give(Q - x * ONE)),
    "jump of a joint without a limit": (
        0.1 + 40.0 * STEP,
        JUMPED,
        lambda s, x: s.give(Q + x * OTHER),
    ),
    "jump by the arrival": (0.3, JUMPED, lambda s, x: s.give(Q + x * ONE, None, 5.001, 0.05)),
    "jump by the stamp": (0.3, JUMPED, lambda s, x: s.give(Q + x * ONE, None, 5.05)),
    "jump after a gap": (0.1 + 4.0 * 0.5, JUMPED, after_a_gap),
    "speed": (2.0 * 2.0 + 1.0, TOO_FAST, lambda s, x: s.give(qd=[x, 0.0])),
    "speed backward": (2.0 * 2.0 + 1.0, TOO_FAST, lambda s, x: s.give(qd=[-x, 0.0])),
    "speed without a limit": (2.0 * 20.0 + 1.0, TOO_FAST, lambda s, x: s.give(qd=[0.0, x])),
    "moved without a new position": (0.02, REPEATED, lambda s, x: repeated(s, 1.0, x)),
    "velocity that is none": (0.02, REPEATED, lambda s, x: repeated(s, x, 1.5)),
    "asked to move": (
        0.2,
        REPEATED,
        lambda s, x: s.give(desired=Q) and s.give(desired=Q - x * OTHER),
    ),
    "pushed, encoder unknown": (1.5 * 0.0062, REPEATED, lambda s, x: pushed(s, 0.0, x)),
    "pushed, fine encoder": (0.005, REPEATED, lambda s, x: pushed(s, 1e-4, x)),
    "pushed, coarse encoder": (1.5 * 0.004, REPEATED, lambda s, x: pushed(s, 0.004, x)),
    "pushed, coarser than any": (1.5 * 0.0062, REPEATED, lambda s, x: pushed(s, 0.05, x)),
    "velocity without a way": (0.1 / (0.25 - 0.3 * 0.25), CONTRADICTORY, creeping),
    "on the way": (0.1, LATE, late),
}


@pytest.mark.parametrize("bound", BOUNDS)
def test_state_just_within_is_believed_and_just_beyond_is_not(bound):
    value, reason, is_believed = BOUNDS[bound]
    source = Source()
    share = 0.06
    assert is_believed(source, (1.0 - share) * value)
    assert source.rejections() == set()
    source = Source()
    assert not is_believed(source, (1.0 + share) * value)
    assert source.rejections() == {reason}, [REJECTIONS[k] for k in source.rejections()]


@pytest.mark.parametrize(("leap", "dt"), [(0.47, 0.47), (0.53, STEP), (-0.53, STEP)])
def test_stamps_within_half_a_second_are_of_one_clock(leap, dt):
    source = Source()
    assert source.give(stamp=5.0 + leap)
    assert source.validator.dt == pytest.approx(dt, abs=1e-9)
    assert source.validator.time == pytest.approx(dt, abs=1e-9)


def test_stamps_within_half_a_second_before_are_old():
    source = Source()
    assert not source.give(stamp=4.53)
    assert source.rejections() == {NOT_NEWER}


@pytest.mark.parametrize("after", [0.1 * STEP, 10.0 * STEP])
def test_velocities_are_compared_with_positions_by_the_stamps(after):
    """A simulation may be faster than the clock on the wall, or slower."""
    source = Source()
    for k in range(1, 500):
        assert source.give(Q + k * STEP, [1.0, 1.0], 5.0 + k * STEP, after)


def test_a_stamp_is_old_after_one_that_was_refused_too():
    source = Source()
    assert not source.give(Q + 1.0, stamp=5.010)
    assert not source.give(stamp=5.005)
    assert source.rejections() == {JUMPED, NOT_NEWER}
    assert source.give(stamp=5.011)


@pytest.mark.parametrize(("likely", "is_believed"), [(0.009, True), (0.011, False)])
def test_a_position_that_ought_to_have_moved_stays_frozen_though_the_velocity_ends(
    likely, is_believed
):
    """By half of what the velocities say; else they may have been wrong."""
    source, moved = Source(), np.array([likely, 0.0])
    assert not repeated(source, 1.0, 0.03, likely=moved)
    assert source.give(Q, np.zeros(2), likely=moved) == is_believed
    assert source.give(Q + 1e-9, np.zeros(2))


def moving(speed: float = 0.2) -> tuple[Source, np.ndarray]:
    """Return a source that has moved at a speed, and where it is to be next."""
    source, dt = Source(), 0.005
    for k in range(1, 12):
        assert source.give(Q + k * dt * speed, np.full(2, speed), after=dt)
    return source, Q + 12 * dt * speed


@pytest.mark.parametrize(("velocity", "believed"), [(-0.78, 0.2), (-0.82, -0.82)])
def test_a_velocity_four_times_what_the_positions_show_is_not_against_them(velocity, believed):
    source, q = moving()
    assert source.give(q, np.full(2, velocity), after=0.005)
    assert_allclose(source.validator.qd, believed, rtol=1e-3)


UNLIKELY = 2.0 * (0.05 + 5.0 * 0.005)  # rad/s that the first joint gains in 5 ms, at most
STEP = 0.2 * 0.005  # rad from state to state so far, which an encoder may have


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize(("share", "is_kept"), [(0.95, True), (1.05, False)])
def test_the_estimate_leaves_out_a_velocity_that_the_arm_cannot_have_gained(share, is_kept, sign):
    source, q = moving()
    velocity = 0.2 + sign * share * UNLIKELY
    assert source.give(q, np.array([velocity, 0.2]), after=0.005)
    expected = velocity if is_kept else 0.2
    assert_allclose(source.validator.best_estimate(), [q, [expected, 0.2]], atol=1e-4)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize(("share", "is_kept"), [(0.95, True), (1.05, False)])
def test_the_estimate_leaves_out_a_position_that_the_arm_cannot_have_come_to(share, is_kept, sign):
    """In a tenth of a second at that speed, and by more than a step that it has made before."""
    source, q = moving()
    step = np.array([sign * share * (UNLIKELY * 0.1 + STEP), 0.0])
    assert source.give(q + step, np.full(2, 0.2), after=0.005)
    expected = q + step if is_kept else q
    assert_allclose(source.validator.best_estimate()[0], expected, atol=1.01 * STEP)
