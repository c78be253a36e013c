"""A payload's intervals cover the truth as often as they say, and are no wider than its errors."""

import pytest
from payload_coverage import ARMS, FIGURES, measure, rated

pytest.importorskip("scipy")
FEW = 9


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
        assert 0.8 < rated(off[:, :1], wide[:, :1])[1] < 1.4
