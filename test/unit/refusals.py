"""A table of refusals: what is raised, what its text names, and who asks for it."""

import pytest


def refusals(*rows, error=None):
    """Return a test of rows (error, pattern of its text, call without arguments).

    Rows are without the first, where all have the same ``error``.
    """
    rows = rows if error is None else [(error, *row) for row in rows]

    @pytest.mark.parametrize(("error", "text", "call"), rows, ids=[text for _, text, _ in rows])
    def test(error, text, call):
        with pytest.raises(error, match=text):
            call()

    return test
