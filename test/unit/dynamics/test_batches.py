"""Batches: the result of a row is that of its state, whatever its place, neighbours and threads."""

import itertools
import os
import signal
import threading
from functools import partial

import numpy as np
import pytest
from at_work import interrupted, is_refused, repeated
from comparison import assert_equal_to_rounding
from each import each
from methods import (
    ALL,
    CALLS,
    INTEGRATORS,
    METHODS,
    MODELS,
    POSITIONS,
    TIP,
    TREE,
    WITH_OUT,
    every_call,
    method_with_out,
    method_with_wrenches,
    parts,
)
from random_trees import random_tree
from refusals import refusals
from studies import study
from urdf_text import joint, link, robot

import featherstone_ros as fr
from featherstone_ros import Dynamics, Model, Simulator, SingularInertiaError, SingularJacobianError
from featherstone_ros._core import get_num_threads, lanes

FEW = 2 * lanes + 1  # two full registers and one that is not
MANY = 1024 + 3  # a share of work for each of seven threads, and a part of one
SIZES = (0, 1, lanes - 1, lanes, lanes + 1, 2 * lanes)  # about whole registers
LARGE = 200 * MANY  # takes longer than it takes to look into another thread
LONG = 100  # [s], reached only when a test fails

same = np.testing.assert_array_equal

ROBOTS = MODELS | {
    "floating with mimic": Model.from_urdf(random_tree(12, 7, mimic=0.4), base="floating"),
    "floating body": Model.from_urdf(TREE, joints=(), base="floating"),
}


@pytest.fixture(params=ROBOTS.values(), ids=ROBOTS)
def dynamics(request):
    return Dynamics(request.param)


@pytest.fixture
def threads():
    """Set the number of threads; afterwards it is 1 again."""
    yield fr.set_num_threads
    fr.set_num_threads(1)


def wrenches(size):
    """One for all states, and one for each."""
    return {"link2": np.arange(6.0), TIP: np.random.default_rng(4).uniform(-9, 9, (size, 6))}


# Rows --------------------------------------------------------------------------------------------


@every_call
def test_row_agrees_with_the_single_call(dynamics, method):
    row = ALL[method]
    given, f_ext = row.states(dynamics, MANY), wrenches(MANY)
    for wanted in (None, f_ext)[: 1 + row.wrenches]:
        batch = row(dynamics, *given, **({"f_ext": wanted} if wanted else {}))
        scale = np.max(np.abs(batch), initial=1.0)  # the mimic's jacobian_derivative is 0
        for k in (*SIZES, *range(FEW, MANY, 197), MANY - 1):
            own = {
                name: wrench if wrench.ndim == 1 else wrench[k] for name, wrench in f_ext.items()
            }
            single = row(dynamics, *(x[k] for x in given), **({"f_ext": own} if wanted else {}))
            assert_equal_to_rounding(batch[k], single, scale, tolerance=1e-12)


@every_call
def test_row_is_the_same_in_a_batch_of_any_size_and_at_any_place(dynamics, method):
    given = ALL[method].states(dynamics, MANY)
    whole = ALL[method](dynamics, *given)
    for size in (*SIZES, FEW):
        same(ALL[method](dynamics, *(x[:size] for x in given)), whole[:size])
    order = np.random.default_rng(5).permutation(MANY)
    same(ALL[method](dynamics, *(x[order] for x in given)), whole[order])


POISONS = (np.nan, np.inf, -np.inf, 1e160, 1e300, 5e-324, -0.0)  # two of them overflow
TURNED = 1e3  # also as a velocity or a torque, from which no integrator of a fixed base may diverge
FAR = (1e5, 1e6, 1e9, 1e15)  # a joint that turns may well be there


@every_call
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_odd_number_stays_in_its_row(model, method):
    """What is no number, or infinite, spreads there to what depends on it alone."""
    row_of, dynamics = ALL[method], Dynamics(model)
    given = row_of.states(dynamics, FEW)
    clean = row_of(dynamics, *given)
    for name, array in zip(row_of.names, given, strict=True):
        turn = array.shape[1] - model.n + 1  # of the second joint
        turned = range(3, 7) if model.floating and name in POSITIONS else ()  # a unit quaternion
        columns = [column for column in range(array.shape[1]) if column not in turned]
        if method in INTEGRATORS:  # which refuse what is, or becomes, not finite
            places = [(30.0 if model.floating else TURNED, turn)]
        else:
            places = [(far, turn) for far in FAR]
            places += [(x, i) for k, x in enumerate(POISONS) for i in columns[k % 2 :: 2]]
        for k, (poison, column) in enumerate(places):
            row = k % FEW
            kept, array[row, column] = array[row, column], poison
            try:
                spoiled = row_of(dynamics, *given)
            except SingularJacobianError:  # of an arm that reaches out without end
                assert abs(poison) >= 1e15
                continue
            finally:
                array[row, column] = kept
            others = np.arange(FEW) != row
            same(spoiled[others], clean[others])
            if not np.isfinite(poison) and method != "hybrid":  # in which half of them count
                changed = spoiled[row] != clean[row]
                assert not np.isfinite(spoiled[row][changed]).any()
                assert changed.any() or column + 1 < array.shape[1]  # the last one always counts


@method_with_wrenches
def test_odd_wrench_stays_in_its_row(tree, method):
    given = METHODS[method].states(tree, FEW)
    f_ext = wrenches(FEW)
    clean = METHODS[method](tree, *given, f_ext=f_ext)
    for row, poison in itertools.product(range(FEW), POISONS):
        f_ext = wrenches(FEW)
        f_ext[TIP][row, 4] = poison
        spoiled = METHODS[method](tree, *given, f_ext=f_ext)
        others = np.arange(FEW) != row
        same(spoiled[others], clean[others])


def test_a_regressor_so_large_that_it_goes_row_by_row_is_that_of_its_states():
    model = Model.from_urdf(random_tree(3, 48, ["revolute"]))
    dynamics, random = Dynamics(model), np.random.default_rng(0)
    given = random.normal(size=(3, 11, model.n))
    wrench = {model.link_names[-1]: random.normal(size=6)}
    batch = dynamics.regressor(*given, wrench)
    for k in range(11):
        for one, many in zip(dynamics.regressor(*given[:, k], wrench), batch, strict=True):
            assert_equal_to_rounding(many[k], one)
    out = tuple(np.full_like(x, np.nan) for x in batch)
    assert dynamics.regressor(*given, wrench, out=out)[0] is out[0]
    assert dynamics.regressor(*given, out=out[0]) is out[0]
    for x, y in zip(out, batch, strict=True):
        same(x, y)


# The result's place ------------------------------------------------------------------------------


@method_with_out
@pytest.mark.parametrize("batch", [(), (0,), (1,), (FEW,), (MANY,)], ids=str)
def test_out_receives_the_result(dynamics, method, batch):
    row = METHODS[method]
    given = row.states(dynamics, *batch)
    for more in ({}, {"f_ext": {TIP: np.arange(6.0)}})[: 1 + row.wrenches]:
        result = row.raw(dynamics, *given, **more)
        expected = [x.copy() for x in parts(result)]
        out = tuple(np.full_like(x, np.nan) for x in expected)
        found = row.raw(dynamics, *given, **more, out=out if len(out) > 1 else out[0])
        for x, y, its in zip(parts(found), expected, out, strict=True):
            assert x is its
            same(x, y)


ONE_JOINT = Model.from_urdf(
    robot(link("base"), link("bob", 1, "0.5 0 0"), joint("j", "base", "bob", axis="0 1 0"))
)
PLACES = [(*batch, k) for batch, k in (((), 1), ((MANY,), 1), ((MANY,), 3))]


@each("method", [name for name, row in WITH_OUT.items() if row.out == 1])
@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("model", ["with mimic", "with screws", "one joint"])
def test_out_may_be_one_of_the_inputs(threads, model, method, place):
    """A matrix of one joint, too, can lie where an input lies."""
    *batch, k = place
    threads(k)
    dynamics, row = Dynamics(MODELS.get(model, ONE_JOINT)), METHODS[method]
    for argument in range(len(row.names)):
        given = row.states(dynamics, *batch)
        expected = row(dynamics, *given)
        if expected.size == given[argument].size:
            row(dynamics, *given, out=given[argument].reshape(expected.shape))
            same(given[argument].reshape(expected.shape), expected)


@pytest.mark.parametrize(("k", "batch"), [(1, ()), (1, (MANY,)), (3, (MANY,))])
def test_out_may_be_a_wrench(threads, k, batch):
    threads(k)
    dynamics = Dynamics(Model.from_urdf(random_tree(1, 6)))
    given = METHODS["aba"].states(dynamics, *batch)
    wrench = wrenches(MANY)[TIP] if batch else np.linspace(-9.0, 9.0, 6)
    expected = dynamics.aba(*given, f_ext={"link2": np.arange(6.0), "link6": wrench})
    dynamics.aba(*given, f_ext={"link2": np.arange(6.0), "link6": wrench}, out=wrench)
    same(wrench, expected)


@pytest.mark.parametrize("size", [1, FEW, MANY])
def test_out_that_overlaps_an_input_otherwise_is_refused(tree, size):
    n = tree.model.n
    q, qd, tau = METHODS["aba"].states(tree, size)
    memory = np.zeros((size + 1, n))
    memory[1:] = qd
    shifted, far = memory.ravel()[n - 1 : -1].reshape(size, n), np.zeros((2 * size + 1, n))
    with pytest.raises(ValueError, match=r"^out: .* it overlaps qd$"):
        tree.aba(q, memory[1:], tau, out=shifted)
    far[:size] = tau
    same(  # beside an input, in the same memory
        tree.aba(q, qd, far[:size], out=far[size : 2 * size]), tree.aba(q, qd, tau)
    )
    inertia = np.zeros((size, n, n))
    with pytest.raises(ValueError, match=r"^out: .* it overlaps q$"):
        tree.crba(inertia.reshape(-1, n)[:size], out=inertia)
    derivatives = np.zeros((3, size, n, n))
    with pytest.raises(ValueError, match=r"^out: .* it overlaps q$"):
        tree.aba_derivatives(derivatives[1].reshape(-1, n)[:size], qd, tau, out=(*derivatives,))
    wrench = np.zeros((size + 1) * max(n, 6))
    f_ext = {TIP: wrench[: 6 * size].reshape(size, 6)}
    with pytest.raises(ValueError, match=r"^out: .* it overlaps a wrench in f_ext$"):
        tree.aba(q, qd, tau, f_ext, out=wrench[1 : 1 + n * size].reshape(size, n))


ONE = np.empty((7, 7))
test_out_of_several_arrays_that_do_not_fit_is_refused = refusals(
    *((said, partial(getattr(Dynamics(MODELS["tree"]), method), *np.ones((3, 7)), out=out))
      for method in ("rnea_derivatives", "aba_derivatives")
      for said, out in (
        ("^out: expected 3 arrays, got ndarray", np.empty((3, 7, 7))),
        ("^out: expected 3 arrays, got 2", [ONE, np.empty((7, 7))]),
        ("^out: expected arrays apart from each other", [ONE] * 3),
        (r"^out: expected shape \(7, 7\), got \(2, 2\)", [np.empty((2, 2))] * 3))),
    error=ValueError,
)  # fmt: skip


# Singular inertia --------------------------------------------------------------------------------

# Nothing resists the turn about the vertical when the point mass hangs below.
ON_A_ROD = Model.from_urdf(
    robot(
        link("base"), link("ring", None), link("bob", 2, "0 0 -0.5", (0, 0, 0)),
        joint("turn", "base", "ring", xyz="0 0 0"),
        joint("swing", "ring", "bob", xyz="0 0 0", axis="1 0 0"),
    )
)  # fmt: skip
SOLVERS = (
    "aba", "minv", "aba_derivatives", "hybrid", "articulated_inertias", "log_det_inertia",
    "impulse_response",
)  # fmt: skip


def solve(method, dynamics, q):
    """Call a method with one array for all that it takes."""
    more = {"prescribed": [False, True]} if method == "hybrid" else {}
    return CALLS[method](dynamics, *[q] * len(CALLS[method].names), **more)


def swinging(size, hanging=None):
    q = np.full((size, 2), 0.7)
    q[hanging] = 0
    return q


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize("k", [1, 3])
def test_batch_raises_if_one_state_of_it_is_singular(threads, method, k):
    threads(k)
    dynamics = Dynamics(ON_A_ROD)
    for size in (FEW, MANY):
        for row in (*range(FEW), size - 1):
            with pytest.raises(SingularInertiaError, match="joint 'turn' moves no inertia"):
                solve(method, dynamics, swinging(size, hanging=row))
        assert np.isfinite(solve(method, dynamics, swinging(size, hanging=[]))).all()


ON_A_RAIL = Model.from_urdf(
    robot(
        link("base"), link("rail"), link("slider"),
        joint("turn", "base", "rail"), joint("slide", "rail", "slider", "prismatic", axis="1 0 0"),
    )
)  # fmt: skip


@pytest.mark.parametrize("method", [*SOLVERS, *INTEGRATORS])
def test_state_that_overflows_is_not_taken_for_singular(method):
    """When one simulation diverges, the others of the batch go on."""
    dynamics = Dynamics(ON_A_RAIL)
    q = swinging(FEW)
    clean = solve(method, dynamics, q)
    q[lanes, 1] = 1e160
    others = np.arange(FEW) != lanes
    same(solve(method, dynamics, q)[others], clean[others])


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("k", [1, 3])
def test_simulator_stays_where_it_is_if_one_state_is_singular(threads, integrator, k):
    threads(k)
    simulator = Simulator(ON_A_ROD, integrator=integrator)
    q = swinging(MANY, hanging=MANY // 2)
    simulator.reset(q)
    with pytest.raises(SingularInertiaError, match="joint 'turn' moves no inertia"):
        simulator.step(q)
    same(simulator.q, q)
    assert not simulator.qd.any() and not simulator.qdd.any() and simulator.time == 0


# Threads -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [study("tree"), "with mimic", "floating"])
def test_number_of_threads_does_not_matter(threads, name):
    """Every thread has the wrenches of its rows, too."""
    dynamics = Dynamics(MODELS[name])
    f_ext = wrenches(MANY)
    calls = {
        f"{method} {with_}": (row, row.states(dynamics, MANY), more)
        for method, row in ALL.items()
        for with_, more in (("", {}), ("with wrenches", {"f_ext": f_ext}))[: 1 + row.wrenches]
    }
    expected = {name: row(dynamics, *given, **more) for name, (row, given, more) in calls.items()}
    threads(7)
    for name, (row, given, more) in calls.items():
        same(row(dynamics, *given, **more), expected[name], name)


WRONG = [(k, ValueError, rf"^k: expected .* threads from 1 to 1024, got {k}$")
         for k in (0, -1, 1025, 2**40)]  # fmt: skip
WRONG += [(k, TypeError, "integer") for k in (2.0, 2.5, "2", None, [2])]


@pytest.mark.parametrize(("k", "error", "said"), WRONG, ids=repr)
def test_a_wrong_number_of_threads_is_refused_and_the_last_one_kept(threads, k, error, said):
    threads(3)
    with pytest.raises(error, match=said):
        threads(k)
    assert get_num_threads() == 3


def is_at_work(dynamics):
    """Tell whether another call is under way."""
    return is_refused(lambda: dynamics.gravity(np.zeros(dynamics.model.n)))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
@pytest.mark.parametrize("k", [1, 2])
def test_child_forked_in_the_middle_of_a_batch_computes(threads, tree, k):
    """Whoever was at work in the parent is not in the child, nor its threads: who waits for them
    hangs.
    """
    given = METHODS["aba"].states(tree, MANY)
    expected = tree.aba(*given)
    threads(k)
    batch = METHODS["aba"].states(tree, LARGE // 3)
    with repeated(lambda: tree.aba(*batch)):
        while True:
            here, there = os.pipe()
            busy = is_at_work(tree)
            child = os.fork()
            if child == 0:
                signal.alarm(LONG)  # ends a child that hangs
                right = get_num_threads() == 1 and not is_at_work(tree)
                threads(k)
                right = right and np.array_equal(tree.aba(*given), expected)
                os.write(there, b"right" if right else b"wrong")
                os._exit(0)
            os.close(there)
            answer = os.read(here, 5)
            os.close(here)
            os.waitpid(child, 0)
            assert answer == b"right"
            if busy:
                break
    assert get_num_threads() == k
    same(tree.aba(*given), expected)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("method", ["aba", "crba", "momentum"])
def test_ctrl_c_ends_a_batch(threads, tree, method, k):
    """In its middle: the handler finds the batch under way."""
    given = METHODS[method].states(tree, LARGE)
    threads(k)
    with interrupted(lambda: is_at_work(tree)):
        while True:
            METHODS[method](tree, *given)
    assert not is_at_work(tree)
    few = [x[:FEW] for x in given]
    same(METHODS[method](tree, *few), METHODS[method](Dynamics(tree.model), *few))


@pytest.mark.parametrize("k", [1, 2])
def test_two_callers_with_their_own_dynamics_get_the_results_of_one(threads, k):
    model = MODELS["with mimic"]
    given = METHODS["aba"].states(Dynamics(model), MANY)
    expected = Dynamics(model).aba(*given)
    threads(k)
    results = []
    together = threading.Barrier(2)

    def work():
        dynamics = Dynamics(model)
        together.wait()
        results.extend(dynamics.aba(*given) for _ in range(10))

    callers = [threading.Thread(target=work) for _ in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(results) == 20
    for result in results:
        same(result, expected)
