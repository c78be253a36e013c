import pytest
from each import each


def test_every_value_is_tested_and_a_failure_names_its_own():
    seen = []

    @each("value", [1, 2, 3])
    def check(value):
        seen.append(value)
        assert value < 3

    with pytest.raises(AssertionError, match="with value 3: "):
        check()
    assert seen == [1, 2, 3]
