"""The memory of a result is used again, but never while somebody can see it."""

import gc
import sys
import weakref

import control_arm
import numpy as np
import pytest
from each import each
from memory import growth
from methods import METHODS, MODELS, parts
from studies import few_or_all, study

import featherstone_ros as fr
from featherstone_ros import Dynamics
from featherstone_ros.control.controller import TorqueController
from featherstone_ros.observer.shadow import Shadow
from featherstone_ros.observer.shadow_settings import ShadowSettings
from featherstone_ros.simulation.simulator_settings import SimulatorSettings
from featherstone_ros.simulation.twin import Twin

CALLS = 10  # more than there are kept results
MAX_KEPT = 1 << 22  # numbers that are kept in all

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
KEPT = [name for name in METHODS if name not in ("energy", "operational_space")]
array_method = each("method", KEPT)
batched = pytest.mark.parametrize("batch", [(), (3,)], ids=["one state", "batch"])


@pytest.fixture(params=few_or_all(list(MODELS.values())[-1:], MODELS.values()), ids=MODELS)
def dynamics(request):
    return Dynamics(request.param)


def call(dynamics, method, seed=3, batch=()):
    """Return the last array of a result, at a state or a batch drawn by a seed."""
    row = METHODS[method]
    return parts(row.raw(dynamics, *row.states(dynamics, *batch, seed=seed)))[-1]


@array_method
@batched
def test_what_is_held_stays(tree, method, batch):
    expected = call(tree, method, batch=batch).copy()
    for holder, hold in HOLDERS.items():  # one at a time: few results are kept
        held = hold(call(tree, method, batch=batch))
        for seed in range(CALLS):
            call(tree, method, seed, batch)
        np.testing.assert_array_equal(np.asarray(held).ravel(), expected.ravel(), holder)
        del held


def test_what_is_held_stays_whatever_is_called_and_dropped(dynamics):
    random = np.random.default_rng(9)
    held = []
    for seed in range(1500):
        batch = (2,) if random.random() < 0.3 else ()
        result = call(dynamics, random.choice(KEPT), seed, batch)
        held.append((result[..., :2] if random.random() < 0.5 else result, result.tobytes()))
        del result
        while len(held) > 20 or (random.random() < 0.5 and held):
            part, content = held.pop(random.integers(len(held)))
            whole = part if part.base is None else part.base
            assert whole.tobytes() == content
            del part, whole


@pytest.mark.parametrize("shape", [(7,), (4096, 7)])
def test_a_result_that_is_dropped_is_used_again(tree, shape):
    """That is what keeping is for; if not, the tests here show nothing."""
    first = tree.gravity(np.zeros(shape))
    place = first.ctypes.data
    del first
    assert tree.gravity(np.ones(shape)).ctypes.data == place


def test_memory_of_a_huge_result_is_given_back(tree):
    result = tree.gravity(np.zeros((MAX_KEPT // 7 + 1, 7)))
    memory = weakref.ref(result)
    del result
    assert memory() is None


@pytest.mark.parametrize("share", [0.45, 0.3])
def test_no_more_than_so_much_is_kept_in_all(tree, share):
    rows = int(share * MAX_KEPT / 49)
    results = [weakref.ref(tree.crba(np.zeros((rows + k, 7)))) for k in range(5)]
    kept = [result().size for result in results if result() is not None]
    assert sum(kept) <= MAX_KEPT and len(kept) == int(1 / share)


# What its holder did to a result before dropping it ----------------------------------------------


SPOILS = {
    "other shape": lambda result: setattr(result, "shape", (1, *result.shape)),
    "other type": lambda result: setattr(result, "dtype", np.int64),
    "other byte order": lambda result: setattr(result, "dtype", ">f8"),
    "other strides": lambda result: setattr(result, "strides", (0,) * result.ndim),
    "made smaller": lambda result: result.resize(1, refcheck=False),
    "made larger": lambda result: result.resize(1000, refcheck=False),
    "read-only": lambda result: result.setflags(write=False),
    "called misaligned": lambda result: result.setflags(align=False),
    "filled": lambda result: result.fill(np.nan),
}


@array_method
@batched
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_spoiled_result_does_no_harm(tree, method, batch):
    expected = [call(Dynamics(tree.model), method, seed, batch) for seed in range(CALLS)]
    for name, spoil in SPOILS.items():
        for seed in range(CALLS):
            result = call(tree, method, seed, batch)
            assert result.flags.carray and result.dtype == float, name
            np.testing.assert_array_equal(result, expected[seed], name)
            spoil(result)
            del result


# Lifetime ----------------------------------------------------------------------------------------


def test_a_result_outlives_the_dynamics():
    dynamics = Dynamics(MODELS["tree"])
    result = dynamics.gravity(np.ones(7))
    expected = result.copy()
    del dynamics
    gc.collect()
    np.testing.assert_array_equal(result, expected)
    assert sys.getrefcount(result) == sys.getrefcount(expected)


def test_kept_results_end_with_the_dynamics():
    dynamics = Dynamics(MODELS["tree"])
    results = [weakref.ref(call(dynamics, method)) for method in KEPT]
    assert any(result() is not None for result in results)
    del dynamics
    gc.collect()
    assert not any(result() is not None for result in results)


# What nobody uses any more is freed: compiled objects point to memory and to each other.


MODEL = control_arm.model()
STILL = np.zeros(2)


def controller():
    made = TorqueController(control_arm.space(), MODEL, control_arm.settings())
    made.activate(0.0)
    return made, made.accept_state(0.0, control_arm.Q, STILL, stamp=1.0)


def twin():
    made = Twin(MODEL, SimulatorSettings())
    made.advance(0.01)
    return made, made.position


def shadow():
    made = Shadow(MODEL, ShadowSettings())
    return made, made.update(10**9, control_arm.Q, STILL, STILL)


def made_dynamics():
    made = fr.Dynamics(MODEL)
    return made, made.rnea(control_arm.Q, STILL, STILL), made.crba(control_arm.Q)


def simulator():
    made = fr.Simulator(MODEL)
    return made, made.step(STILL), made.q


@pytest.mark.parametrize("makes", [5, study(60)])
@pytest.mark.parametrize(
    "make", [control_arm.model, made_dynamics, simulator, controller, twin, shadow]
)
def test_what_nobody_uses_any_more_is_freed(make, makes):
    def some(count):
        for _ in range(count):
            make()
        gc.collect()

    gc.freeze()  # what other tests have left need not be looked through
    try:
        # Caches grow a little; one controller has 25,000.
        assert growth(some, 5, makes) < 6_000
    finally:
        gc.unfreeze()
