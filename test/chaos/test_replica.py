"""Chaos without ROS: keeps the bounds, repeats for the same seed, and detects violations."""

from dataclasses import astuple
from functools import partial
from itertools import cycle, product

import numpy as np
import pytest
import replica
from arm import arm
from episodes import KINDS, KINDS_IN_CONTACT, draw
from studies import each_once, few_or_all, study

from featherstone_ros.control.settings import Mode

panda = partial(arm, "panda")


def outcome_of(seed, by_hand):
    return replica.replica_of("panda").judge(seed, by_hand)


def traffic_of(seed, by_hand=None):
    return replica.replica_of("panda").run([draw(seed, panda().model, panda().home, by_hand)])[0]


BY_TURNS = False, True, True, False  # faults come in pairs: of states, of commands


@pytest.mark.parametrize(
    ("kind", "by_hand"),
    few_or_all(list(zip(KINDS, cycle(BY_TURNS), strict=False)), product(KINDS, [False, True])),
)
@pytest.mark.parametrize("who", [["panda"], study(["ur5e"]), study(["ur5e", Mode.ADMITTANCE])])
def test_arm_stays_within_the_bounds(kind, by_hand, who):
    outcome = replica.replica_of(*who).judge(list(KINDS).index(kind), by_hand)
    assert outcome.episode.fault.kind == kind
    assert outcome.figures.faults == []


ONCE_BEYOND = (
    # States so far apart that feedback swung the arm up: 2.7, 4.3, 2.5 times the speed limit.
    *(100985, study(1510), study(4700)),
    # A wrong position was taken for a speed, or believed after a gap: 3.3, 3.1, 4.1 times.
    *(102508, study(1798), 5367),
    # So were two wrong velocities in a row: 3.8 and 2.1 times.
    *(13908, study(16408)),
    # An open-loop stop began at a wrong position: 3.4 times.
    21833,
    # The first state of all had a wrong velocity: 2.2 times.
    500223,
    # Stamps that leapt were taken for an arm that does not obey, which is a fault.
    501158,
    # Drives that stood still themselves, and that lost up to nine of ten commands; 101901 and
    # 9705451 lost 89 % of them, which docs/faults.md does not promise anything for.
    *(100620, study(101601), study(4301), 112051, study(9725676)),
    # Brakes carried a joint into its stop, which its velocities did not show: taken for frozen.
    *(7006686, study(7007291)),
    # Bits flipped in every state: one in ten is readable, some of these wrong: 2.1 and 2.6 times.
    *(study(5019710), 9606385),
    # A velocity of the wrong sign counted as none, and the damper pushed: 2.0 and 2.1 times.
    *(study(9701292), 9714158),
    # A wrong number pushed a joint for .12 s, as no good state came after it: 2.0 times.
    *(11032642, study(12043283)),
    # What one wrong position had caused was carried on by the transfer after it, which pushed for
    # as long as no state came: 3.8, 2.6 times. So was what moved an arm as states came back: 2.1.
    *(14045860, study(14359260), 14045035),
    # The first state after a gap, or of a new process, was wrong: 3.6 times; 2.2 steps.
    *(14686135, 14028873),
    # Brakes that still stopped the arm carried more than a measured effort is believed for.
    12005946,
)


@pytest.mark.parametrize("seed", ONCE_BEYOND)
def test_arm_stays_within_bounds_that_it_once_left(seed):
    assert outcome_of(seed, by_hand=False).figures.faults == []


HAND_BEYOND = (
    # It would be behind without a fault, and may be so with one.
    *(102287, study(104542), study(104707), study(104877)),
    202241,  # It was thrown far.
)


@pytest.mark.parametrize("seed", HAND_BEYOND)
def test_hand_stays_within_bounds_that_it_once_left(seed):
    assert outcome_of(seed, by_hand=True).figures.faults == []


CONTACT = list(KINDS_IN_CONTACT)
SENSOR = CONTACT[len(KINDS) :]
MODES = [mode for mode in Mode if mode.leads_end_effector]


@pytest.mark.parametrize(("mode", "kind"), each_once(MODES, SENSOR))
def test_hand_that_presses_stays_within_its_bounds_whatever_its_sensor_says(mode, kind):
    outcome = replica.replica_of("panda", mode, True).judge(CONTACT.index(kind))
    assert outcome.figures.faults == []
    assert 10.0 < outcome.figures.force < 80.0


@pytest.mark.parametrize("seed", [610000019, study(610000225)])
def test_open_loop_stop_knows_what_the_hand_touches(seed):
    """It braked an arm that the plane held back, and pushed it to .96 of its limit."""
    outcome = replica.replica_of("panda", Mode.CARTESIAN_IMPEDANCE, True).judge(seed)
    assert outcome.figures.faults == []
    assert outcome.figures.speed < 0.5


def test_one_of_two_arms_goes_on_while_the_others_controller_is_dead():
    both = replica.Replica(panda(), arms=2)
    seed = list(KINDS).index("kill controller")
    assert both.judge(seed).figures.faults == []
    left, right = both.run(both.draw(seed))
    assert set(left.command_process) == {1, 2} and set(right.command_process) == {1}
    ready = round(replica.READY / panda().period)  # the new process commands already
    dead = np.arange(left.fault_begin + 1, left.fault_end - ready)
    assert not np.isin(dead, left.command_index).any()
    assert np.isin(dead, right.command_index).all()


def test_both_arms_see_the_same_spoiled_states():
    both = replica.Replica(panda(), Mode.ADMITTANCE, arms=2)
    assert both.judge(list(KINDS).index("corrupt states")).figures.faults == []


@pytest.mark.parametrize("by_hand", [study(False), True])
def test_same_seed_gives_the_same_traffic_bit_for_bit(by_hand):
    first, second = (traffic_of(24, by_hand) for _ in range(2))  # all at once
    for one, other in zip(astuple(first), astuple(second), strict=True):
        np.testing.assert_array_equal(one, other)


def test_faults_do_reach_controller_and_twin():
    """Of a frozen link nothing comes out; of a spoiled one, something else."""
    traffic = traffic_of(list(KINDS).index("freeze commands"))
    assert np.diff(traffic.given_index).max() * panda().period > 0.04
    traffic = traffic_of(list(KINDS).index("drop states"))
    assert len(np.unique(traffic.command_index)) < 0.95 * len(traffic.q)


@pytest.mark.parametrize(("seed", "by_hand"), [(0, False), study(0, True), (104877, True)])
def test_arm_that_is_let_go_is_seen_to_fall(monkeypatch, seed, by_hand):
    run, send = replica.Replica.run, replica.Replica._send

    def let_go(self, episodes):
        self.goes_limp = episodes[0].fault.kind != "none"
        return run(self, episodes)

    def limp(self, side, command):
        late = self.goes_limp and self._now > replica.BEGIN + 0.5
        send(self, side, None if command is None else np.array(command) * (0.0 if late else 1.0))

    monkeypatch.setattr(replica.Replica, "run", let_go)
    monkeypatch.setattr(replica.Replica, "_send", limp)
    assert any("sag" in fault for fault in outcome_of(seed, by_hand).figures.faults)
