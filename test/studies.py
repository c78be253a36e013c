"""What `make test` leaves to `make test-all`."""

import os
from collections.abc import Collection, Iterable, Sequence
from itertools import product
from typing import Any

import pytest

# Drawn motions of each kind and robot; SWEEP=200 make test-all tries more.
SWEEP = int(os.environ.get("SWEEP", "20"))


def study(*values: Any) -> Any:
    """Return values of a test's arguments that repeat what its others show."""
    return pytest.param(*values, marks=pytest.mark.study)


def few_or_all(few: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Return values for ``parametrize``: few of them in `make test`, all in `make test-all`.

    Tuples are values of several arguments.
    """
    values = list(values)
    assert all(value in values for value in few)
    several = (value if isinstance(value, tuple) else (value,) for value in values)
    return [v if v in few else study(*s) for v, s in zip(values, several, strict=True)]


def each_once(*arguments: Sequence[Any]) -> list[Any]:
    """Return all combinations for ``parametrize``; in `make test` so few that no value is left out.

    In these, the values of each argument come in turn.
    """
    turns = range(max(map(len, arguments)))
    few = [tuple(values[k % len(values)] for values in arguments) for k in turns]
    return few_or_all(few, product(*arguments))
