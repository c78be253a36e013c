"""Runs a test for one value after another as one item, where an item costs more than the test."""

import functools
import inspect

import pytest


def each(name, values):
    """Return a decorator that gives a test every value of an argument, in one item.

    Fixtures are made once for all values. The failure names the value.
    """
    values = list(values)
    assert values, f"no value of {name} to test with"

    def decorate(test):
        @functools.wraps(test)
        def run(**others):
            for value in values:
                try:
                    test(**others, **{name: value})
                except (Exception, pytest.fail.Exception) as error:
                    raise AssertionError(f"with {name} {value!r}: {error}") from error

        signature = inspect.signature(test)
        others = [p for p in signature.parameters.values() if p.name != name]
        run.__signature__ = signature.replace(parameters=others)
        return run

    return decorate
