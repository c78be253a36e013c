"""The benchmarks of calls: what is timed, that peers compute the same, and a run of a moment."""

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import featherstone_ros as fr
from benchmarks import report
from benchmarks.cases import ARGUMENTS, BASIC, OURS, Call, Case, DisagreementError, cases

ROOT = Path(__file__).resolve().parents[2]


@cache
def quick():
    return list(cases(quick=True))


def test_every_public_method_of_dynamics_is_timed():
    found = {name: it for name, it in vars(fr.Dynamics).items() if name[0] != "_" and callable(it)}
    methods = {name for name, it in found.items() if it.__name__ == name}  # without other names
    assert methods == set(ARGUMENTS)
    assert {case.method for case in quick() if case.section == "single"} == methods
    compared = {case.method for case in quick() if case.peer == "Pinocchio"}
    assert len(compared) > 15 and compared > set(BASIC)


def test_peers_compute_the_same():
    missing = {case.peer for case in quick() if case.peer and len(case.calls) < 2}
    for case in quick():
        if case.peer not in missing:
            case.check()
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed")


@pytest.mark.parametrize("other", [[1.0, 2.1], [np.nan, 2.0], [1.0]])
def test_what_differs_is_refused(other):
    def make(values):
        return Call("", "np.array(values)", {"np": np, "values": values})

    case = Case("single", "none", "none", lambda: make([1.0, 2.0]), "peer", lambda: make(other))
    with pytest.raises(DisagreementError, match="single, none, none"):
        case.check()


def test_ratio_is_the_median_of_those_of_neighbouring_turns():
    def timing(contender, turn, seconds, units):
        about = {"section": "batch", "robot": "a", "method": "b", "instruction_set": "c"}
        about |= {"contender": contender, "turn": turn, "units": units}
        return {"extra_info": about, "stats": {"median": seconds}}

    ours = [timing(OURS, turn, seconds, 10) for turn, seconds in enumerate((1.0, 40.0, 3.0))]
    theirs = [timing("peer", turn, seconds, 1) for turn, seconds in enumerate((0.4, 8.0, 1.0))]
    (row,) = report.rows([*ours, *theirs])
    assert (row.ours, row.peer, row.theirs) == (pytest.approx(0.3), "peer", 1.0)
    assert row.ratio == pytest.approx(0.3)
    (alone,) = report.rows(ours)
    assert np.isnan(alone.ratio) and not alone.peer


@pytest.mark.study
@pytest.mark.skipif(
    not importlib.util.find_spec("pytest_benchmark"), reason="pytest-benchmark is not installed"
)
@pytest.mark.skipif(
    Path(fr.__file__).parents[1] != ROOT, reason="benchmarks run what is compiled beside them"
)
def test_a_quick_run_prints_draws_and_writes(tmp_path):
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(ROOT))))
    command = [sys.executable, "-m", "benchmarks", "--only=calls", "--quick", "-k", "aba or step"]
    done = subprocess.run(
        [*command, "--output=out"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path, "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    written = json.loads((tmp_path / "out/report.json").read_text())
    assert {row["instruction_set"] for row in written["calls"]} == set(fr._core.supported())
    found = {row["section"] for row in written["calls"]}
    assert found >= {"single", "batch", "threads", "simulation", "chain"}
    for row in written["calls"]:
        assert 1e-9 < row["ours"] < 1e-2
        assert not row["peer"] or row["ratio"] > 0
    assert "aba_derivatives" in done.stdout and "step, batch" in done.stdout
    if importlib.util.find_spec("matplotlib"):
        assert (tmp_path / "out/calls.png").read_bytes().startswith(b"\x89PNG")


def test_times_of_nodes_are_compared_with_the_period_and_the_newest_state():
    """That all of the benchmark of nodes runs: `make bench ARGS=--quick`."""
    from benchmarks.nodes.loops import deviations, reactions  # skips this test without ROS

    ms = 1_000_000
    assert deviations([0, ms, 3 * ms, 4 * ms]) == pytest.approx([0.0, 1e-3, 0.0])
    states, commands = [10 * ms, 20 * ms, 30 * ms], [9 * ms, 11 * ms, 32 * ms]
    assert reactions(states, commands) == pytest.approx([1e-3, 2e-3])
