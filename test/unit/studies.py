"""What `make test` leaves to `make test-all`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def few_or_all(few: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Return values for ``parametrize``: few of them in `make test`, all in `make test-all`.

    Tuples are values of several arguments.
    """
    values = list(values)
    assert all(value in values for value in few)
    return [value if value in few else _study(value) for value in values]


def _study(value: Any) -> Any:
    several = value if isinstance(value, tuple) else (value,)
    return pytest.param(*several, marks=pytest.mark.study)
