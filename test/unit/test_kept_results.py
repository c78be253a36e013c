"""The memory of a small result is used again, but never while somebody can see it."""

import gc
import sys
import weakref

import numpy as np
import pytest
from methods import METHODS, MODELS, arrays

from featherstone_ros import Dynamics

MANY_CALLS = 30  # far more than there are kept results

HOLDERS = {
    "variable": lambda result: result,
    "list": lambda result: [result],
    "view": lambda result: result.view(),
    "slice": lambda result: result[:],
    "slice of a slice": lambda result: result[:][:],
    "transpose of a transpose": lambda result: result.T.T,
    "other type of the same bytes": lambda result: result.view(np.int64).view(float),
    "memoryview": memoryview,
    "slice of a memoryview": lambda result: memoryview(result)[:],
    "buffer": np.frombuffer,
    "flat iterator": lambda result: result.flat,
    "DLPack": np.from_dlpack,
}
array_method = pytest.mark.parametrize("method", [m for m in METHODS if m != "energy"])


@pytest.fixture(params=MODELS.values(), ids=MODELS)
def dynamics(request):
    return Dynamics(request.param)


@pytest.fixture
def tree():
    return Dynamics(MODELS["tree"])


def call(dynamics, method, seed=None):
    """Call a method, with the usual arrays or with other ones."""
    given = arrays(method, dynamics)
    if seed is not None:
        given = np.random.default_rng(seed).uniform(-2, 2, np.shape(given))
    return METHODS[method](dynamics, *given)


@array_method
@pytest.mark.parametrize("holder", HOLDERS)
def test_what_is_held_stays(tree, method, holder):
    expected = call(tree, method).copy()
    held = HOLDERS[holder](call(tree, method))
    for seed in range(MANY_CALLS):
        call(tree, method, seed)
    np.testing.assert_array_equal(np.asarray(held).ravel(), expected.ravel())


def test_what_is_held_stays_whatever_is_called_and_dropped(dynamics):
    random = np.random.default_rng(9)
    held = []
    for seed in range(3000):
        result = call(dynamics, random.choice(list(METHODS)), seed)
        held.append((result[..., :2] if random.random() < 0.5 else result, result.tobytes()))
        del result
        while len(held) > 20 or (random.random() < 0.5 and held):
            part, content = held.pop(random.integers(len(held)))
            whole = part if part.base is None else part.base
            assert whole.tobytes() == content
            del part, whole


@array_method
def test_operands_of_one_expression_do_not_share_memory(tree, method):
    zero, one, two = (call(tree, method, seed).copy() for seed in range(3))
    total = call(tree, method, 0) + call(tree, method, 1) * call(tree, method, 2)
    np.testing.assert_array_equal(total, zero + one * two)


def test_a_result_that_is_dropped_is_used_again(tree):
    """That is what keeping is for; if not, the tests here show nothing."""
    first = tree.gravity(np.zeros(5))
    place = first.ctypes.data
    del first
    assert tree.gravity(np.ones(5)).ctypes.data == place


# What its holder did to a result before dropping it ----------------------------------------------


def set_shape(result):
    result.shape = (1, *result.shape)


def set_type(result):
    result.dtype = np.int64


def set_byte_order(result):
    result.dtype = ">f8"


def set_strides(result):
    result.strides = (0,) * result.ndim


SPOILS = {
    "other shape": set_shape,
    "other type": set_type,
    "other byte order": set_byte_order,
    "other strides": set_strides,
    "made smaller": lambda result: result.resize(1, refcheck=False),
    "made larger": lambda result: result.resize(1000, refcheck=False),
    "read-only": lambda result: result.setflags(write=False),
    "called misaligned": lambda result: result.setflags(align=False),
    "filled": lambda result: result.fill(np.nan),
}


@array_method
@pytest.mark.parametrize("spoil", SPOILS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_spoiled_result_does_no_harm(tree, method, spoil):
    expected = Dynamics(tree.model)
    for seed in range(MANY_CALLS):
        result = call(tree, method, seed)
        assert result.flags.carray and result.dtype == float
        np.testing.assert_array_equal(result, call(expected, method, seed).copy())
        SPOILS[spoil](result)
        del result


# Lifetime ----------------------------------------------------------------------------------------


def test_a_result_outlives_the_dynamics():
    dynamics = Dynamics(MODELS["tree"])
    result = dynamics.gravity(np.ones(5))
    expected = result.copy()
    del dynamics
    gc.collect()
    np.testing.assert_array_equal(result, expected)
    assert sys.getrefcount(result) == sys.getrefcount(expected)


def test_kept_results_end_with_the_dynamics():
    dynamics = Dynamics(MODELS["tree"])
    results = [weakref.ref(call(dynamics, method)) for method in METHODS if method != "energy"]
    assert any(result() is not None for result in results)
    del dynamics
    gc.collect()
    assert not any(result() is not None for result in results)
