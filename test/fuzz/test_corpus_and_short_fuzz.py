"""A short run of the fuzzer, and its inputs; `make fuzz` is the long one, under sanitizers."""

from random import Random

import pytest
from fuzzer import LastInput, Outcome, execute, fuzz
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import mutants
from targets import TARGETS, Answer, Target

every_target = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


@every_target
def test_every_seed_is_accepted(target):
    seeds = target.seeds()
    assert len(seeds) >= 4
    answers = [target.read(data) for data in seeds]
    assert [answer for answer in answers if answer.is_refusal] == REFUSED_SEEDS.get(target.name, [])


REFUSED_SEEDS = {"joint_state": [Answer(True, "joints missing: shoulder, elbow")]}  # the empty one


@every_target
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_mutants_are_read_or_refused_in_words(target, seed):
    inputs = mutants(Random(seed), target.seeds(), [], target.changes, target.longest)
    for _ in range(4):
        answer = target.read(next(inputs))
        assert answer.words or not answer.is_refusal


@every_target
@given(data=st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(target, data):
    answer = target.read(data)
    assert answer.words or not answer.is_refusal


def test_the_fuzzer_finds_an_error_and_keeps_its_input(tmp_path):
    def read(data):
        if len(data) % 7 == 3:
            raise IndexError("seven")
        return Answer(len(data) % 2 == 1, "odd" if len(data) % 2 else "even")

    target = Target("joint_state", read, TARGETS[0].changes, 400, True, 1.0)
    outcome = fuzz(target, 2000, Random(1), LastInput(tmp_path / "last", 400))
    assert outcome.executions == 2000 + len(target.seeds())
    ((kind, (trace, data)),) = outcome.findings.items()
    assert kind.startswith("IndexError in read") and "seven" in trace
    assert len(data) % 7 == 3
    assert 0 < outcome.refused < outcome.executions
    assert set(outcome.answers) == {"odd", "even"}


def test_the_input_that_is_read_is_in_a_file(tmp_path):
    path = tmp_path / "last"
    seen = []

    def read(data):
        content = path.read_bytes()
        length = int.from_bytes(content[:4], "little")
        seen.append(content[4 : 4 + length])
        return Answer(False, "")

    target = Target("joint_state", read, TARGETS[0].changes, 400, True, 1.0)
    for data in (b"abc", b"de", b""):
        execute(target, data, Outcome(), LastInput(path, 400))
    assert seen == [b"abc", b"de", b""]
