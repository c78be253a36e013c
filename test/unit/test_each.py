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


def test_a_skip_drops_no_other_value_and_is_told():
    seen = []

    @each("value", [1, 2, 3])
    def check(value):
        if value == 2:
            pytest.skip("it is even")
        seen.append(value)

    with pytest.raises(pytest.skip.Exception, match="with value 2: it is even"):
        check()
    assert seen == [1, 3]


def test_a_skip_hides_no_failure():
    @each("value", [1, 2])
    def check(value):
        if value == 1:
            pytest.skip("it is odd")
        pytest.fail("it is even")

    with pytest.raises(AssertionError, match="with value 2: it is even"):
        check()
