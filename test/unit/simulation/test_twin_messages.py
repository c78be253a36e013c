"""Messages as bytes to a twin: taken by name, or refused for a reason and without effect."""

from dataclasses import replace

import numpy as np
import pytest
import urdf_text
from cdr_messages import float64_multi_array, joint_state, wrench_stamped
from compiled import codec
from pushed_twin import ARM, START

import featherstone_ros as fr
from featherstone_ros._twin import INPUTS, OUTPUTS, RECORDS
from featherstone_ros.message_faults import refusal
from featherstone_ros.model.drives import Drives
from featherstone_ros.simulation import SimulatorSettings, Twin
from featherstone_ros.simulation.simulator_settings import Noise

FINGER = urdf_text.link("finger", 0.1, "0 0 0", (1e-3,) * 3) + urdf_text.joint(
    "claw", "tool", "finger", xyz="0 0 0", axis="0 1 0",
    inside='<limit lower="-1" upper="1" velocity="1" effort="1"/>'
    '<mimic joint="elbow" multiplier="0.1"/>',
)  # fmt: skip
MODEL = fr.Model.from_urdf(ARM.replace("</robot>", f"{FINGER}</robot>"))


@pytest.fixture
def twin() -> Twin:
    twin = Twin(MODEL, SimulatorSettings(initial_positions=START))
    twin.command([3.0, 2.0], now=0.0)
    return twin


def send(twin: Twin, topic: str, data: bytes, now: float = 1.0) -> list[str]:
    """Send a message; return why it was refused, as the node would say it."""
    records = twin.message(INPUTS[topic], data, round(now * 1e9))[1]
    names = [*MODEL.joint_names, *MODEL.mimics]
    assert all(kind == RECORDS["refused"] for kind, *_ in records)
    return [refusal(index, value, names, MODEL.link_names)[1] for _, index, _, value, _ in records]


def effort_of(twin: Twin) -> list[float]:
    twin.advance(0.0)
    return list(twin.effort)


@pytest.mark.parametrize("big_endian", [False, True])
def test_commands_and_joint_commands_are_taken_in_either_byte_order(twin, big_endian):
    assert send(twin, "commands", float64_multi_array([4.0, 1.0], big_endian=big_endian)) == []
    assert effort_of(twin) == [4.0, 1.0]
    message = joint_state(["elbow", "claw", "shoulder"], [], [], [1.5, 9.0, 2.5])
    assert send(twin, "joint_commands", message) == []
    assert effort_of(twin) == [2.5, 1.5]
    assert send(twin, "joint_commands", joint_state(["elbow"], [], [], [-50.0])) == []
    assert effort_of(twin) == [2.5, -10.0]
    assert twin.saturated == 1


@pytest.mark.parametrize(
    ("topic", "data", "reason"),
    [
        ("commands", float64_multi_array([1.0]), "command has 1 values, expected 2"),
        ("commands", float64_multi_array([np.nan, 1.0]), "command of shoulder is nan, expected a"),
        ("commands", float64_multi_array([1.0, np.inf]), "command of elbow is inf"),
        ("commands", float64_multi_array([1.0, 2.0])[:-4], "ends within data"),
        (
            "joint_commands",
            joint_state(["elbow", "knee"], [], [], [1.0, 1.0]),
            "unknown joints: knee; valid names: shoulder, elbow",
        ),
        (
            "joint_commands",
            joint_state(["elbow", "k" * 40], [], [], [1.0, 1.0]),
            f"unknown joints: {'k' * 32}…",
        ),
        ("joint_commands", joint_state(["elbow"], [], [], []), "effort has 0 values, expected 1"),
        ("joint_commands", joint_state(["elbow"], [np.nan]), "position of elbow is nan"),
        ("joint_commands", joint_state(["elbow"], [1.0], [np.inf]), "velocity of elbow is inf"),
        ("joint_commands", joint_state(["elbow"], [1.0], [1e6]), "velocity of elbow is 1e+06"),
        ("joint_commands", joint_state(["claw"], [], [], [1.0]), "no joint named"),
        ("joint_commands", joint_state([], []), "no joint named"),
        ("set_state", joint_state(["elbow"], [np.nan]), "position of elbow is nan"),
        ("set_state", joint_state(["elbow"], [0.0], [1e6]), "expected at most 10000"),
        ("set_state", joint_state(["elbow"], []), "position has 0 values, expected 1"),
        ("external_wrench", wrench_stamped("hand", np.ones(6)), "no link 'hand'; valid names"),
        ("external_wrench", wrench_stamped("tool", [0, 0, 0, 0, np.nan, 0]), "wrench of ty is nan"),
        ("external_wrench", wrench_stamped("tool", np.ones(5)), "ends within torque"),
    ],
)
def test_bad_message_is_refused_with_a_reason_and_changes_nothing(twin, topic, data, reason):
    before = np.r_[twin.q, twin.qd]
    (told,) = send(twin, topic, data)
    assert reason in told
    np.testing.assert_array_equal(np.r_[twin.q, twin.qd], before)
    assert effort_of(twin) == [3.0, 2.0]  # the command from before
    assert twin.wrenches == {}
    assert twin.refused == 1


def test_a_flood_of_bad_messages_is_counted_but_told_now_and_then(twin):
    bad = float64_multi_array([1.0])
    told = [send(twin, "commands", bad, now=1.0 + 0.0001 * k) for k in range(10_000)]
    assert twin.refused == 10_000
    assert 20 <= sum(map(len, told)) <= 40


def test_wrench_acts_on_the_link_that_its_frame_names(twin):
    assert send(twin, "external_wrench", wrench_stamped("tool", [1, 2, 3, 4, 5, 6])) == []
    assert send(twin, "external_wrench", wrench_stamped("upper", np.ones(6))) == []
    assert send(twin, "external_wrench", wrench_stamped("tool", [1, 2, 3, 4, 5, 7])) == []
    assert {link: list(wrench) for link, wrench in twin.wrenches.items()} == {
        "tool": [1, 2, 3, 4, 5, 7],
        "upper": [1] * 6,
    }


def test_a_frame_that_is_no_links_means_one_link_or_is_refused(twin):
    """As drivers publish: tool0_controller, or nothing."""
    assert "no link" in send(twin, "external_wrench", wrench_stamped("", np.ones(6)))[0]
    meant = Twin(MODEL, SimulatorSettings(initial_positions=START), wrench_link="tool")
    for k, frame in enumerate(("", "tool0_controller"), 1):
        assert send(meant, "external_wrench", wrench_stamped(frame, k * np.ones(6))) == []
        assert {link: list(w) for link, w in meant.wrenches.items()} == {"tool": [k] * 6}
    assert send(meant, "external_wrench", wrench_stamped("upper", np.ones(6))) == []
    assert set(meant.wrenches) == {"tool", "upper"}


def test_wrenches_on_more_links_than_there_is_room_for_are_refused():
    links = "".join(
        urdf_text.link(f"l{k}", None) + urdf_text.joint(f"f{k}", "tool", f"l{k}", "fixed")
        for k in range(70)
    )
    model = fr.Model.from_urdf(ARM.replace("</robot>", links + "</robot>"))
    twin = Twin(model, SimulatorSettings())
    for k in range(64):
        twin.message(INPUTS["external_wrench"], wrench_stamped(f"l{k}", np.ones(6)), 0)
    _, records = twin.message(INPUTS["external_wrench"], wrench_stamped("l65", np.ones(6)), 0)
    assert len(twin.wrenches) == 64
    ((_, index, _, value, _),) = records
    assert "64 links" in refusal(index, value, model.joint_names, model.link_names)[1]
    twin.advance(0.0)
    assert not twin.fault


def test_effort_beyond_all_bounds_is_a_fault_and_never_published():
    settings = SimulatorSettings(initial_positions=START, real_time_factor=0.0)
    stiff = Drives.of_model(MODEL, stiffness=[0.0, 1.7e308])
    twin = Twin(MODEL, replace(settings, drives=stiff))
    assert twin.is_braked and not twin.fault
    before = list(twin.effort)
    assert states_of(twin) == 1
    twin.message(INPUTS["set_state"], joint_state(["elbow"], [2.0], [], []), 0)
    assert states_of(twin) == 0
    assert "effort of elbow" in twin.fault
    assert list(twin.effort) == before


@pytest.mark.parametrize("quantity", ["position", "velocity", "effort"])
def test_what_noise_makes_of_a_state_is_a_fault_if_it_is_not_finite(quantity):
    noise = Noise(**{quantity: 1.7e308}, seed=1)
    settings = SimulatorSettings(initial_positions=START, noise=noise, real_time_factor=0.0)
    twin = Twin(MODEL, settings)
    for _ in range(20):
        if states_of(twin):
            assert np.isfinite([twin.position, twin.velocity, twin.effort]).all()
    assert "measures is not finite" in twin.fault
    assert states_of(twin) == 0


def states_of(twin: Twin) -> int:
    """Tick; return how many joint states were published."""
    return sum(output == OUTPUTS["joint_states"] for output, _ in twin.tick(0)[0])


def test_states_say_what_is_measured(twin):
    decoder = codec.JointStateDecoder(MODEL.joint_names)
    twin.advance(0.05)
    (state,) = (data for output, data in twin.tick(0)[0] if output == OUTPUTS["joint_states"])
    decoder.decode(state)
    for field in ("position", "velocity", "effort"):
        value = getattr(twin, field)
        assert np.abs(value).min() > 0.0
        np.testing.assert_array_equal(getattr(decoder, field), value)


HUGE = "expected at most 1000000"


@pytest.mark.parametrize("value", [1e300, -1e300, 1.0001e6])
def test_absurd_wrenches_and_states_are_refused_and_the_arm_goes_on(twin, value):
    other = Twin(MODEL, SimulatorSettings(initial_positions=START))
    other.command([3.0, 2.0], now=0.0)
    for field in range(6):
        wrench = np.where(np.arange(6) == field, value, 0.0)
        (reason,) = send(twin, "external_wrench", wrench_stamped("tool", wrench))
        assert reason.endswith(f" is {value:g}, {HUGE}") and "wrench of" in reason
    (reason,) = send(twin, "set_state", joint_state(["elbow"], [value], [], []))
    assert reason == f"position of elbow is {value:g}, {HUGE}"
    (reason,) = send(twin, "set_state", joint_state(["elbow"], [0.0], [value], []))
    assert reason == f"velocity of elbow is {value:g}, expected at most 10000"
    (reason,) = send(twin, "joint_commands", joint_state(["elbow"], [value], [], []))
    assert reason == f"position of elbow is {value:g}, {HUGE}"
    assert not twin.wrenches and twin.refused == 9
    for _ in range(10):
        twin.advance(0.0)
        other.advance(0.0)
    assert not twin.fault and twin.time == other.time
    np.testing.assert_array_equal(twin.q, other.q)


@pytest.mark.parametrize("value", [100.0, -1e6])
def test_states_outside_the_limits_are_taken(twin, value):
    assert send(twin, "set_state", joint_state(["elbow"], [value], [], [])) == []
    assert twin.q[1] == value


def test_the_largest_wrench_is_taken(twin):
    assert send(twin, "external_wrench", wrench_stamped("tool", [1e6] * 6)) == []
    assert list(twin.wrenches["tool"]) == [1e6] * 6


def test_zero_efforts_before_any_controller_is_active_do_not_let_go_of_the_brakes():
    """As topic_based_ros2_control sends them from its activation on."""
    twin = Twin(MODEL, SimulatorSettings(initial_positions=START))
    names = ["shoulder", "elbow"]
    assert send(twin, "joint_commands", joint_state(names, [], [], [0.0, 0.0])) == []
    assert twin.is_braked
    assert send(twin, "joint_commands", joint_state(names, [], [], [0.0, 0.1])) == []
    assert not twin.is_braked
    assert send(twin, "joint_commands", joint_state(names, [], [], [0.0, 0.0])) == []
    assert not twin.is_braked and effort_of(twin) == [0.0, 0.0]


def test_positions_of_zero_are_a_command():
    twin = Twin(MODEL, SimulatorSettings(initial_positions=START))
    assert send(twin, "joint_commands", joint_state(["elbow"], [0.0], [], [])) == []
    assert not twin.is_braked
