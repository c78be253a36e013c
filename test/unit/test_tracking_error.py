"""Diagnostics of an arm that is not where it should be."""

import numpy as np
import pytest

from featherstone_ros.control.diagnostics import STAYS, TrackingWarning, TrackingWatch

NAMES = ("shoulder", "elbow")
TOLERANCE = 0.4


def looks(*errors, tolerance=TOLERANCE):
    """Look once a second; return what is said of each error of the elbow (None: none desired)."""
    watch = TrackingWatch(NAMES)
    return [
        watch.update(100.0 + i, None if e is None else np.array([0.01, e]), tolerance)
        for i, e in enumerate(errors)
    ]


def test_small_errors_are_not_worth_a_word():
    assert looks(0.0, 0.09, -0.09) == [TrackingWarning()] * 3


def test_error_that_passes_is_a_warning():
    first, second, last = looks(0.15, -0.15, 0.05)
    assert "'elbow' is 0.15" in first.text and not first.is_serious
    assert "'elbow' is 0.15" in second.text and not second.is_serious
    assert "for" not in first.text.split() and second.text.endswith(", for 1 s")
    assert last == TrackingWarning()


def test_error_that_stays_becomes_serious():
    said = looks(*[0.15] * (int(STAYS) + 2))
    assert [complaint.is_serious for complaint in said] == [False] * (int(STAYS) + 1) + [True]
    assert f"for {STAYS + 1:.0f} s" in said[-1].text


@pytest.mark.parametrize("errors", [(0.11, 0.2, 0.23), (0.15, 0.2, 0.42)])
def test_error_that_grows_becomes_serious(errors):
    assert [complaint.is_serious for complaint in looks(*errors)] == [False, False, True]


def test_errors_count_anew_after_one_that_passed():
    assert not any(complaint.is_serious for complaint in looks(*[0.15, 0.15, 0.15, 0.0] * 4))
    assert not any(complaint.is_serious for complaint in looks(*[0.15, 0.15, 0.15, None] * 4))


@pytest.mark.parametrize(
    ("error", "said"), [(0.07, (False, False)), (0.08, (True, False)), (0.31, (True, True))]
)
def test_without_a_tolerance_the_usual_one_counts(error, said):
    (complaint,) = looks(error, tolerance=0.0)
    assert (complaint.text != "", complaint.is_serious) == said


def test_without_a_tolerance_an_arm_far_away_is_still_told_of():
    (complaint,) = looks(7.8, tolerance=0.0)
    assert complaint.is_serious


def test_finger_that_is_stuck_is_off_by_a_share_of_its_own_range():
    names, reach = ("shoulder", "finger"), np.array([6.0, 0.04])
    error = np.array([0.06, 0.03])
    assert TrackingWatch(names).update(1.0, error, 0.3) == TrackingWarning()
    watch = TrackingWatch(names, reach)
    assert "'finger' is 0.03 away" in watch.update(1.0, error, 0.3).text
    assert watch.update(1.1 + STAYS, error, 0.3).is_serious
    assert watch.update(7.0, np.array([0.06, 0.009]), 0.3) == TrackingWarning()


def test_joint_without_a_range_is_no_finger():
    watch = TrackingWatch(NAMES, np.array([0.0, np.inf]))
    assert watch.update(1.0, np.array([0.07, 0.07]), 0.3) == TrackingWarning()
