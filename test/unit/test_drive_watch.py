"""What is told of drives whose own limits bind."""

import numpy as np
import pytest

from featherstone_ros.control.drive_watch import DriveWatch
from featherstone_ros.model.drive_units import DriveUnits

NAMES = ("lift", "elbow", "wrist")
MOTOR = {"torque_constant": 0.1, "resistance": 1.0, "supply_voltage": 24.0, "stiffness": 100.0}
UNITS = DriveUnits(
    NAMES,
    ("current", "duty", "position"),
    max_current=3.0,
    max_duty=0.9,
    continuous_current=[2.0, np.inf, np.inf],
    thermal_time=10.0,
    **MOTOR,
)
NONE = np.zeros(3)
AS_GIVEN = UNITS.compliance, NONE, UNITS.compliance


def test_each_limit_is_named_with_what_it_has_cut_since_the_last_look():
    watch = DriveWatch(UNITS)
    assert watch.update(0.0, NONE, NONE, AS_GIVEN) == {}
    assert watch.update(1.0, np.array([4.0, 2.0, 1.0]), NONE, AS_GIVEN) == {
        "lift": "drives.lift.max_current of 3 A cut 4 commands",
        "elbow": "drives.elbow.max_duty of 0.9 cut 2 commands",
        "wrist": "the joint's position limit cut 1 commands",
    }
    assert watch.update(2.0, np.array([4.0, 2.0, 1.0]), NONE, AS_GIVEN) == {}


def test_a_motor_is_told_of_once_it_is_too_warm():
    watch, current = DriveWatch(UNITS), np.array([4.0, 4.0, 0.0])
    limit = 10.0 * np.log(4.0 / 3.0)  # [s] until 4 A are too much for 2 A
    told = {t: watch.update(t, NONE, t * current**2, AS_GIVEN) for t in np.arange(0.0, 4.0, 0.1)}
    warm = min(t for t, what in told.items() if what)
    assert warm == pytest.approx(limit, abs=0.1)
    assert list(told[warm]) == ["lift"]
    assert "its continuous current of 2 A" in told[warm]["lift"]


def test_a_stiffness_that_is_off_is_named_beside_what_binds_the_drive():
    said = DriveWatch(UNITS).update(
        0.0, np.array([0.0, 0.0, 2.0]), NONE, (UNITS.compliance, 5.0 + NONE, 5.0 * UNITS.compliance)
    )
    limit, stiffness = said.pop("wrist").split("; ")
    assert limit == "the joint's position limit cut 2 commands" and not said
    assert stiffness.startswith("drives.wrist.stiffness of 100 is off by a factor of 2 or more")
    assert "show about 20 " in stiffness
