"""How an arm comes to rest: within its range."""

import control_arm
import numpy as np
import pytest
from control_arm import NAMES, PERIOD, Bench

from featherstone_ros.control.trajectory import Point


@pytest.mark.parametrize("stop", ["deactivate", "hold", "states"])
def test_a_stop_before_a_limit_stays_within_the_range(stop):
    """Near the end of a motion that ends near a limit, with a stop_time that would lead beyond."""
    bench = Bench(stop_time=10.0).start()
    upper = control_arm.space().upper
    goal = upper - 0.02
    bench.controller.set_trajectory(bench.now, NAMES, [Point(2.5, goal, np.zeros(2), np.zeros(2))])
    while (goal - bench.compiled.desired[0]).max() > 0.15:
        bench.run(PERIOD)
    assert bench.arm.qd.max() > 0.2
    states = stop != "states"
    if stop == "deactivate":
        bench.controller.deactivate(bench.now)
    elif stop == "hold":
        bench.controller.hold(bench.now)
    count = len(bench.desired)
    bench.run(3.0, states=states)
    asked = np.array(bench.desired[count:])
    assert (asked <= upper + 1e-9).all()
    if states:  # without friction no stop is exact that nobody sees
        assert (np.array(bench.positions) < upper + 0.01).all()
    assert (asked >= asked[0] - 1e-3).all()  # it does not swing back either


# Settings that ask for more than there is


@pytest.mark.parametrize(
    ("change", "is_taken"),
    [
        ({"coulomb": 300.0}, False),
        ({"viscous": 300.0}, False),
        ({"p": 1e4}, False),
        ({"d": 1e3}, False),
        ({"offset": 300.0}, False),
        ({"coulomb": 0.5}, True),
        ({"viscous": 0.5}, True),
        ({"p": 120.0}, True),
    ],
)
def test_settings_that_ask_for_more_effort_than_there_is_are_not_taken_in_motion(change, is_taken):
    """All summands of the law count, as they would act now."""
    bench = Bench().start()
    goal = bench.arm.q + np.array([0.8, -0.8])
    bench.move(goal, 1.0)
    bench.run(0.4)
    bench.arm.set_state(bench.arm.q + 5e-3, bench.arm.qd + 0.03)
    bench.run(PERIOD)
    ((name, value),) = change.items()
    settings = bench.settings.drives if hasattr(bench.settings.drives, name) else bench.settings
    values = getattr(settings, name).copy()
    values[1] = value
    if is_taken:
        bench.configure(**{name: values})
        return
    with pytest.raises(ValueError, match="joint 'elbow' would need"):
        bench.configure(**{name: values})
