"""Times every call beside its peer's, by turns; pytest-benchmark does the timing.

On a machine that does other things too only the ratio of two times means something that were taken
one right after the other, and only as a median over many turns. The clock is the thread's processor
time, which stops while another process has the processor; threads go by wall-clock time.
"""

import time
from functools import cache

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import featherstone_ros as fr
from benchmarks.cases import Case, cases

TURNS, LENGTH, BLOCK = 7, 0.03, 5e-4  # how many, about how long each and each timing in it [s]
REPEATED = 100  # short calls within what is timed, so that the timing's own cost does not count


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let the contenders of a case take turns, in reverse order every second time."""
    quick = metafunc.config.getoption("quick")
    found = _cases(quick, *metafunc.config.getoption("robot") or ())
    if "turn" not in metafunc.fixturenames:
        metafunc.parametrize("case", found, ids=str)
        return
    metafunc.parametrize(
        ("case", "contender", "turn"),
        [
            pytest.param(
                *(case, contender, turn),
                id=f"{case}, {contender}, {turn}",
                marks=pytest.mark.benchmark(
                    timer=time.perf_counter if case.section == "threads" else time.thread_time,
                    min_rounds=1 if quick else 5,
                    max_time=1e-6 if quick else LENGTH,
                    min_time=BLOCK,
                    disable_gc=True,
                ),
            )
            for case in found
            for turn in range(1 if quick else TURNS)
            for contender in list(case.calls)[:: -1 if turn % 2 else 1]
        ],
    )


@cache
def _cases(quick: bool, *robots: str) -> list[Case]:
    return list(cases(quick, list(robots)))


def test_same_result(case: Case) -> None:
    """Calls that compute something else are no peers."""
    case.check()


def test_time(benchmark: BenchmarkFixture, case: Case, contender: str, turn: int) -> None:
    """Time a block of calls."""
    fr.set_num_threads(1)
    call = case.calls[contender]()
    count = REPEATED if call.units == 1 else 1
    benchmark.extra_info.update(
        section=case.section, robot=case.robot, method=case.method, contender=contender, turn=turn,
        units=count * call.units, instruction_set=fr._core.instruction_set,
    )  # fmt: skip
    benchmark(call.timer.timeit, count)
