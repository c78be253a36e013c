"""What is fuzzed: each target reads bytes, and says how they were refused if they were."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
from compiled import codec
from mutations import OF_CDR, OF_XML, Change

import featherstone_ros as fr
from featherstone_ros.errors import MessageError, ModelError
from featherstone_ros.inspection.doctor import examine

CORPUS = Path(__file__).resolve().parent / "corpus"
NAMES = ("shoulder", "elbow")  # of the joint states in the corpus


class Answer(NamedTuple):
    """What a reader says to an input: why it is refused, or what kind of thing it has read."""

    is_refusal: bool
    words: str


class Target(NamedTuple):
    """A reader of bytes from the network.

    Attributes:
        name: Also of the corpus's folder.
        read: Reads an input. Any exception is a finding.
        changes: That suit its inputs.
        longest: Input [byte].
        is_binary: Whether inputs are messages of words rather than text.
        share: Of all executions, since these take very different times.
    """

    name: str
    read: Callable[[bytes], Answer]
    changes: Sequence[Change]
    longest: int
    is_binary: bool
    share: float

    def seeds(self) -> list[bytes]:
        """Return the inputs that are kept with the tests."""
        return [path.read_bytes() for path in sorted((CORPUS / self.name).iterdir())]


_other_names = (CORPUS / "joint_state" / "other_order.cdr").read_bytes()
_accepted = count()


@cache
def _decoders() -> Sequence[codec.JointStateDecoder]:
    return codec.JointStateDecoder(NAMES), codec.JointStateDecoder(NAMES)


@cache
def _command_decoder() -> codec.Float64MultiArrayDecoder:
    return codec.Float64MultiArrayDecoder(None)


def _values(decoder: codec.JointStateDecoder) -> tuple[object, ...]:
    arrays = decoder.position.base.tobytes()  # of all three
    return arrays, decoder.sec, decoder.nanosec, decoder.has_velocity, decoder.has_effort


def read_joint_state(data: bytes) -> Answer:
    """A refused message changes nothing; known names make no difference to an accepted one."""
    learnt, fresh = _decoders()
    before = _values(learnt)
    try:
        learnt.decode(data)
    except MessageError as error:
        assert _values(learnt) == before, "a refused message has changed values"
        return Answer(True, str(error))
    if next(_accepted) % 16 == 0:
        fresh.decode(_other_names)
        fresh.decode(data)
        assert _values(learnt) == _values(fresh), "known names make a difference"
    return Answer(False, f"velocity: {learnt.has_velocity}, effort: {learnt.has_effort}")


def read_commands(data: bytes) -> Answer:
    """A refused message changes nothing."""
    commands = _command_decoder()
    before = commands.values.tobytes()
    try:
        commands.decode(data)
    except MessageError as error:
        assert commands.values.tobytes() == before, "a refused message has changed values"
        return Answer(True, str(error))
    return Answer(False, "values" if len(commands.values) else "no values")


def read_urdf(data: bytes) -> Answer:
    """A model that is accepted has finite figures, and dynamics at rest; the doctor never fails."""
    inspection = examine(data)
    json.dumps(inspection.as_dict(), allow_nan=False)
    try:
        model = fr.Model.from_urdf(data)
    except ModelError as error:
        return Answer(True, str(error))
    q = np.zeros(model.n)
    fr.Dynamics(model).rnea(q, q, q)
    assert np.isfinite(model.inertial_parameters).all(), "inertial parameters are not finite"
    return Answer(False, " ".join(sorted({f.rule.name for f in inspection.findings})))


TARGETS = (
    Target("joint_state", read_joint_state, OF_CDR, 400, True, 0.6),
    Target("float64_multi_array", read_commands, OF_CDR, 400, True, 0.39),
    Target("urdf", read_urdf, OF_XML, 20_000, False, 0.01),
)
