"""Calls that are raced compute the same; a benchmark of different computations says nothing."""

from importlib.util import find_spec

import numpy as np
import pytest
from urdf_text import joint, link, robot

from featherstone_ros.model import Model
from featherstone_ros.tools.bench.case import Case, DisagreementError
from featherstone_ros.tools.bench.chain import chain
from featherstone_ros.tools.bench.race import TimedCall
from featherstone_ros.tools.bench.robots import (
    BenchRobot,
    chosen_robot,
    example_robots,
    standard_robots,
)
from featherstone_ros.tools.bench.sections import NODES, SECTIONS, Workload, single_calls

LIMIT = '<limit lower="-9" upper="9" effort="99" velocity="9"/>'
MIMIC = '<mimic joint="a" multiplier="-2" offset="0.1"/>'
RACED = [name for name in SECTIONS if name != NODES]


@pytest.fixture(scope="module")
def setting():
    return Workload(standard_robots(), example_robots(), batch=5, large_batch=9)


@pytest.mark.parametrize("section", [SECTIONS[name] for name in RACED], ids=RACED)
def test_timed_calls_agree(section, setting):
    if section.lacks:
        pytest.skip(f"{section.lacks} is not installed")
    for case in section.cases(setting):
        case.check()


def test_robots_with_followers_and_locked_joints_agree_with_pinocchio():
    pytest.importorskip("pinocchio")
    text = robot(
        *(link(f"link{k}", 1 + k) for k in range(5)),
        joint("a", "link0", "link1", "continuous"),
        joint("b", "link1", "link2", "revolute", LIMIT + MIMIC),
        joint("c", "link2", "link3", "prismatic", LIMIT),
        joint("d", "link3", "link4", "revolute", LIMIT),
    )
    model = Model.from_urdf(text, locked={"d": 0.3})
    for case in single_calls(Workload([BenchRobot("odd", text, model)])):
        case.check()


def test_what_differs_is_not_raced():
    def timed_call(value):
        return TimedCall("value", {"value": np.array([value])})

    case = Case(
        "one and two", (timed_call(1.0), timed_call(2.0)), lambda seconds: [], lambda: [0.5]
    )
    with pytest.raises(DisagreementError, match=r"one and two.*differ by 0.5"):
        case.check()


def test_not_a_number_is_not_raced():
    with pytest.raises(DisagreementError):
        Case("lost", (), lambda seconds: [], lambda: [float("nan")]).check()


@pytest.mark.skipif(not find_spec("pinocchio"), reason="Pinocchio is not installed")
def test_ratio_is_ours_over_theirs_per_unit():
    case = next(SECTIONS["batch"].cases(Workload([chosen_robot("panda")], batch=100)))
    (result,) = case.judge(np.array([[3.0, 0.1], [2.0, 0.1], [1.0, 0.1]]))
    assert result.ours == pytest.approx(0.02) and result.theirs == pytest.approx(0.1)
    assert result.call == pytest.approx(2) and result.ratio == pytest.approx(0.2)
    assert result.quartiles == pytest.approx((0.15, 0.25)) and result.rounds == 3


def test_growth_is_measured_without_the_call():
    case = next(SECTIONS["growth"].cases(Workload([])))
    links = np.array([1, 10, 30, 100, 300, 1000])
    results = case.judge(np.tile(100 + 2.0 * links, (3, 1)))
    assert [r.n for r in results] == links[1:].tolist()
    assert all(r.ours == pytest.approx(2) and r.ratio == pytest.approx(1) for r in results)
    longer = case.judge(np.tile(100 + 2.0 * links + 0.001 * links**2, (3, 1)))
    assert not longer[-1].is_met


@pytest.mark.parametrize("links", [1, 10])
def test_chain_has_its_links(links):
    assert Model.from_urdf(chain(links)).n == links
