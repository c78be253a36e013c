"""The benchmark of nodes: what it makes of times and numbers, a short run of all."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import free_domain  # skips this module where ROS is missing

from benchmarks.nodes.loops import deviations, reactions, unanswered
from featherstone_ros.tools.processes import node_environment

ROOT = Path(__file__).resolve().parents[2]


def test_times_of_publications_are_compared_with_the_period_and_the_newest_state():
    ms = 1_000_000
    assert deviations([0, ms, 3 * ms, 4 * ms]) == pytest.approx([0.0, 1e-3, 0.0])
    states, commands = [10 * ms, 20 * ms, 30 * ms], [9 * ms, 11 * ms, 32 * ms]
    assert reactions(states, commands) == pytest.approx([1e-3, 2e-3])


def test_states_without_a_command_are_counted_also_if_nobody_saw_them():
    states = SimpleNamespace(sent=[10, 20, 40, 50], number=[4, 5, 7, 8])  # that at 30 unseen
    commands = SimpleNamespace(sent=[11, 21, 51], number=[1, 2, 5])
    assert unanswered(states, commands) == 0
    commands.number[-1] = 3
    assert unanswered(states, commands) == 2


def nodes_of(domain):
    """Return the process ids of nodes in a domain."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (folder / "cmdline").read_text()
            environment = (folder / "environ").read_text().split("\0")
            if "--ros-args" in command and f"ROS_DOMAIN_ID={domain}" in environment:
                found.append(int(folder.name))
    return found


@pytest.mark.study
@pytest.mark.timeout(600)  # it starts a dozen nodes
def test_a_quick_run_measures_real_loops(tmp_path):
    with free_domain() as domain:
        environment = node_environment(domain, "LOCALHOST", tmp_path) | {"COLUMNS": "160"}
        path = filter(None, (environment.get("PYTHONPATH"), str(ROOT)))
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks", "--quick", "--only=nodes", "--output=out"],
            cwd=tmp_path,
            env=environment | {"PYTHONPATH": os.pathsep.join(path)},
            capture_output=True,
            text=True,
        )
        assert nodes_of(domain) == []
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    found = json.loads((tmp_path / "out/report.json").read_text())["nodes"]
    figures = {(it["what"], it["who"]): it for it in found}
    for condition in ("alone", "busy interpreter", "beside 2000 messages a second"):
        what = f"reaction, {condition}"
        assert {"p50 ratio", "p99 ratio", "processor ratio"} < set(figures[what, "floor"])
        assert what in output
    assert {"controller", "floor", "rclpy echo"} < {it["who"] for it in found}
    assert figures["jitter", "sleeping loop"]["p99 ratio"] > 0
    assert figures["control cycle, bytes to bytes", "tight loop"]["p50"] < 1e-3
    assert ("closed loop at 1 kHz", "controller") in figures
    for it in found:
        assert 0 < it["p50"] <= it["p99"] <= it["longest"]
    if (tmp_path / "out/nodes.png").exists():
        assert (tmp_path / "out/nodes.png").read_bytes().startswith(b"\x89PNG")
