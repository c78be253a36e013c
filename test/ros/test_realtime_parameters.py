"""The loop of both nodes: its timing, deadlines and scheduling."""

from __future__ import annotations

import os
import signal

import pytest
from support import status_values  # skips this module where ROS is missing
from test_feedforward_controller import GRAVITY, NODE, PATIENT, ScriptedArm

# isort: split
from diagnostic_msgs.msg import DiagnosticStatus

TWIN = "/digital_twin"
TIMING = (
    "latency p50 [us]",
    "latency p99 [us]",
    "latency max [us]",
    "latency histogram [us]",
    "period jitter p99 [us]",
    "period jitter max [us]",
    "overruns",
    "scheduling",
)


def test_missed_deadlines_are_told_beside_the_timing_and_hold_the_arm_if_wanted(ros):
    arm = ScriptedArm(ros, **PATIENT)
    arm.settle(GRAVITY)
    arm.set(deadline__cycle_time=1e-9)  # nothing is so fast
    arm.answer()
    arm.process.wait_for_output("took longer than deadline.cycle_time 1e-09 s")

    def said(text: str) -> DiagnosticStatus:
        """Send states until the diagnostics say it."""
        find = ros.new_status(text, NODE)

        def found() -> DiagnosticStatus | None:
            arm.answer()
            return find()

        return ros.wait_for(found, text, period=0.01)

    said("commands come too late")
    arm.set(deadline__action="hold")
    assert said("gravity hold").level == DiagnosticStatus.ERROR
    arm.set(deadline__cycle_time=0.0)

    def measured() -> dict[str, str] | None:
        values = status_values(said("running"))
        return values if values["latency p50 [us]"] != "0" else None

    values = ros.wait_for(measured, "latency", period=0.0)
    names = (*TIMING, "states lost", "commands saturated", "governor interventions")
    assert set(names) <= values.keys()
    assert 0.0 < float(values["latency p50 [us]"]) <= float(values["latency max [us]"])
    assert values["states lost"] == "0"
    arm.stop()


def test_commands_by_the_timer_that_come_late_are_overruns(ros):
    timer = {"update_on": "timer", "rate": 200.0, "deadline.cycle_time": 0.02}
    arm = ScriptedArm(ros, **PATIENT, **timer)
    ros.wait_for(lambda: arm.states.publish(arm.message()) or arm.commands, "first command")
    before = int(status_values(ros.status("", NODE))["overruns"])
    for _ in range(5):  # as when something else has the processor
        arm.process.send(signal.SIGSTOP)
        ros.run_for(0.1)
        arm.process.send(signal.SIGCONT)
        ros.run_for(0.1)

    def counted() -> bool:
        return int(status_values(ros.status("", NODE))["overruns"]) >= before + 5

    ros.wait_for(counted, "overruns")
    arm.stop()


@pytest.mark.skipif(os.getuid() != 0, reason="needs the privilege")
def test_scheduling_in_force_is_on_the_diagnostics(ros):
    cpu = min(os.sched_getaffinity(0))
    scheduling = {"realtime.priority": 3, "realtime.cpu_affinity": [cpu]}
    expected = f"FIFO 3, cpu {cpu}, memory locked"
    arm = ScriptedArm(ros, **PATIENT, **scheduling, **{"realtime.lock_memory": True})
    arm.answer()
    assert status_values(ros.status("running", NODE))["scheduling"] == expected
    arm.stop()
