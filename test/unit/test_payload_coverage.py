"""A payload's intervals cover the truth as often as they say, and are no wider than its errors."""

import pytest
from payload_coverage import ARMS, FIGURES, measure, rated

pytest.importorskip("scipy")
FEW = 9


def test_friction_that_changed_between_two_recordings_is_in_the_deviation():
    """Warmed by 5 %: ignored, the masses are off by 1.9 deviations, RMS."""
    off, wide = measure("ur5e", FEW, ["difference"], warm=0.05)["difference"]
    share, ratio = rated(off[:, FIGURES["mass"]], wide[:, FIGURES["mass"]])
    assert share > 0.8 and ratio > 0.8


@pytest.mark.study
@pytest.mark.parametrize("warm", [0.0, 0.05])
@pytest.mark.parametrize("arm", ["ur5e", "panda"])
def test_a_difference_covers_95_percent_whether_friction_changed_or_not(arm, warm):
    off, wide = measure(arm, 30, ["difference"], warm=warm)["difference"]
    share, ratio = rated(off[:, FIGURES["mass"]], wide[:, FIGURES["mass"]])
    assert share > 0.83 and 0.75 < ratio < 1.8  # three deviations of such a share are 12 %


@pytest.mark.study  # test_identification_steps.py has one load
def test_intervals_are_of_the_size_of_the_errors():
    """Nine loads do not tell a share of 95 % from one of 85 %."""
    for off, wide in measure("ur5e", FEW).values():
        share, ratio = rated(off[:, FIGURES["mass"]], wide[:, FIGURES["mass"]])
        assert share > 0.7 and 0.5 < ratio < 2.0


@pytest.mark.study
def test_intervals_hold_the_moments_of_slender_loads():
    """Six moments and products of each; 77 and 78 % of their size before several widths."""
    for off, wide in measure("ur5e", 2 * FEW, slender=True).values():
        share, ratio = rated(off[:, FIGURES["inertia"]], wide[:, FIGURES["inertia"]])
        assert share > 0.9 and ratio > 0.85


@pytest.mark.study
@pytest.mark.parametrize("arm", ARMS)
def test_nominal_95_percent_cover_the_truth(arm):
    """60 loads: three deviations of such a share are 8 %."""
    for off, wide in measure(arm, 60).values():
        for those in FIGURES.values():
            assert rated(off[:, those], wide[:, those])[0] > 0.87
        # Friction that may have changed between two recordings, and has not, makes it wide.
        assert 0.8 < rated(off[:, :1], wide[:, :1])[1] < 1.6
