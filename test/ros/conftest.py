"""Fixtures of the node tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support import Ros


# The files that take longest, first: what begins late others wait for.
LONG = ("test_findings", "test_teach_and_replay", "test_simulated_time", "test_replay")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, and begin with the longest files."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("ros")
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))


@pytest.fixture
def ros(tmp_path: Path) -> "Iterator[Ros]":
    """A ROS domain of the test's own, without anything else in it."""
    from support import ros_in_free_domain

    with ros_in_free_domain(tmp_path) as ros:
        yield ros
