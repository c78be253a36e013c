"""Fixtures of the node tests."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support import Ros


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    for path, tests in groupby(items, lambda item: item.path):
        if path.is_relative_to(Path(__file__).parent):
            for test in tests:
                test.add_marker("ros")


@pytest.fixture(scope="module")
def shared_ros(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Ros]":
    """A ROS domain of the module's own, for nodes that its tests share."""
    from support import ros_in_free_domain

    with ros_in_free_domain(tmp_path_factory.mktemp("shared")) as ros:
        yield ros


@pytest.fixture
def ros(tmp_path: Path) -> "Iterator[Ros]":
    """A ROS domain of the test's own, without anything else in it."""
    from support import ros_in_free_domain

    with ros_in_free_domain(tmp_path) as ros:
        yield ros
