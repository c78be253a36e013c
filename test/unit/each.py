"""Runs a test for one value after another as one item, where an item costs more than the test."""

import functools
import inspect

import pytest


def each(name, values):
    """Return a decorator that gives a test every value of an argument, in one item.

    Fixtures are made once for all values. The failure names the value. If the test is skipped for
    some, the item is, after all others, and names them.
    """
    values = list(values)
    assert values, f"no value of {name} to test with"

    def decorate(test):
        @functools.wraps(test)
        def run(**others):
            skipped = []
            for value in values:
                try:
                    test(**others, **{name: value})
                except pytest.skip.Exception as reason:
                    skipped.append(f"with {name} {value!r}: {reason}")
                except (Exception, pytest.fail.Exception) as error:
                    raise AssertionError(f"with {name} {value!r}: {error}") from error
            if skipped:
                pytest.skip("; ".join(skipped))

        signature = inspect.signature(test)
        others = [p for p in signature.parameters.values() if p.name != name]
        run.__signature__ = signature.replace(parameters=others)
        return run

    return decorate
