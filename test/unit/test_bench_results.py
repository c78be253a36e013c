import json

import pytest

from featherstone_ros.tools.bench.report import BenchReport, duration
from featherstone_ros.tools.bench.results import Result, Target


def a_result(**changes):
    values = {
        "section": "single", "robot": "arm", "n": 7, "algorithm": "rnea", "peer": "Pinocchio",
        "unit": "call", "ours": 2e-7, "theirs": 1e-6, "call": 2e-7, "ratio": 0.2,
        "quartiles": (0.19, 0.21), "rounds": 9, "target": Target(0.2), "instruction_set": "x86-64",
    }  # fmt: skip
    return Result(**values | changes)


@pytest.mark.parametrize(
    ("sense", "bound", "met", "missed"),
    [
        ("at most", 0.2, (0.1, 0.2), (0.21, 5)),
        ("at least", 1.8, (1.8, 2), (1.79, 0)),
        ("within", 0.15, (0.86, 1, 1.14), (0.84, 1.16)),
    ],
)
def test_target_is_met_on_its_side(sense, bound, met, missed):
    target = Target(bound, sense)
    assert all(target.is_met_by(ratio) for ratio in met)
    assert not any(target.is_met_by(ratio) for ratio in missed)
    assert not target.is_met_by(float("nan"))


@pytest.mark.parametrize("target", [Target(0.2), Target(1.8, "at least"), None])
def test_result_survives_json(target):
    result = a_result(target=target)
    assert Result.from_dict(json.loads(json.dumps(result.as_dict()))) == result


def test_json_tells_whether_a_target_is_met():
    assert a_result().as_dict()["met"] is True
    assert a_result(ratio=0.3).as_dict()["met"] is False
    assert a_result(target=None).as_dict()["met"] is None


def test_the_same_race_on_another_instruction_set_is_found():
    wide = a_result(instruction_set="x86-64-v3", ratio=0.1)
    other = a_result(instruction_set="x86-64-v3", algorithm="aba")
    report = BenchReport(results=[a_result(), other, wide])
    assert report.counterpart(a_result(), "x86-64-v3") is wide
    assert report.counterpart(a_result(), "x86-64-v4") is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.00 ns"),
        (9.99e-8, "99.9 ns"),
        (9.996e-7, "1.00 µs"),
        (0.0123, "12.3 ms"),
        (2, "2.00 s"),
    ],
)
def test_a_duration_has_three_digits_that_count(seconds, text):
    assert duration(seconds) == text
