"""What the command passes to pytest."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    parser.addoption("--quick", action="store_true", help="a moment of each call, on one robot")
    parser.addoption("--robot", action="append", metavar="NAME|PATH", help="instead of the usual")
