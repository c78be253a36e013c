"""What the methods of Dynamics take and return: arrays, batches, out, errors, threads."""

import copy
import itertools
import pickle
import time
import tracemalloc

import numpy as np
import pytest
from at_work import is_refused, repeated
from each import each
from memory import growth
from methods import (
    CALLS,
    INTEGRATORS,
    METHODS,
    MODELS,
    TIP,
    WITH_OUT,
    WITH_WRENCHES,
    N,
    arrays,
    names_of_arrays,
    read_only,
)
from urdf_text import chain, joint, link, robot

from featherstone_ros import (
    Dynamics,
    FeatherstoneError,
    Model,
    Simulator,
    SingularInertiaError,
)

every_method = each("method", METHODS)
method_with_wrenches = each("method", WITH_WRENCHES)
method_with_out = each("method", WITH_OUT)


@pytest.fixture(params=MODELS.values(), ids=MODELS)
def dynamics(request):
    return Dynamics(request.param)


@pytest.fixture
def tree():
    return Dynamics(MODELS["tree"])


# Inputs ------------------------------------------------------------------------------------------

KINDS_OF_INPUT = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "read-only": read_only,
    "every second": lambda x: np.repeat(x, 2)[::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "column of a matrix": lambda x: np.stack([x, x], axis=1)[:, 1],
    "big-endian": lambda x: x.astype(">f8"),
    "misaligned": lambda x: misaligned(x),
    "subclass": lambda x: x.view(np.recarray),
}


def misaligned(x):
    shifted = np.zeros(x.nbytes + 1, dtype=np.uint8)[1:].view(float)
    shifted[:] = x
    return shifted


@every_method
@pytest.mark.parametrize("kind", KINDS_OF_INPUT)
def test_input_of_any_kind_gives_the_same_bits(tree, method, kind):
    given = arrays(method, tree)
    converted = map(KINDS_OF_INPUT[kind], given)
    expected = METHODS[method](tree, *given)
    np.testing.assert_array_equal(METHODS[method](tree, *converted), expected)


@every_method
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int8", "bool"])
def test_input_of_other_numbers_is_converted(tree, method, dtype):
    given = [x.astype(dtype) for x in arrays(method, tree)]
    expected = METHODS[method](tree, *(x.astype(float) for x in given))
    np.testing.assert_array_equal(METHODS[method](tree, *given), expected)


@every_method
def test_inputs_are_not_modified(dynamics, method):
    for batch in ((), (3,)):
        given = arrays(method, dynamics, *batch)
        before = [x.tobytes() for x in given]
        METHODS[method](dynamics, *given)
        assert [x.tobytes() for x in given] == before


@method_with_wrenches
def test_wrenches_are_not_modified(tree, method):
    f_ext = {"link3": np.arange(6.0), TIP: np.ones(6)}
    WITH_WRENCHES[method](tree, f_ext, *arrays(method, tree))
    np.testing.assert_array_equal(f_ext["link3"], np.arange(6))
    np.testing.assert_array_equal(f_ext[TIP], np.ones(6))
    assert list(f_ext) == ["link3", TIP]


@method_with_wrenches
def test_no_wrenches_are_no_change(tree, method):
    given = arrays(method, tree)
    expected = METHODS[method](tree, *given)
    np.testing.assert_array_equal(WITH_WRENCHES[method](tree, None, *given), expected)
    np.testing.assert_array_equal(WITH_WRENCHES[method](tree, {}, *given), expected)
    np.testing.assert_array_equal(WITH_WRENCHES[method](tree, {TIP: [0] * 6}, *given), expected)


@every_method
@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_not_a_number_gives_not_a_number(dynamics, method, poison):
    given = arrays(method, dynamics)
    clean = METHODS[method](dynamics, *given)
    given[0] = np.full(dynamics.model.n, poison)
    assert np.isnan(METHODS[method](dynamics, *given)).any()
    given = arrays(method, dynamics)
    np.testing.assert_array_equal(METHODS[method](dynamics, *given), clean)


def test_model_without_joints_has_empty_results():
    fixed = joint("weld", "base", TIP, "fixed")
    dynamics = Dynamics(Model.from_urdf(robot(link("base"), link(TIP), fixed)))
    shapes = {
        method: METHODS[method](dynamics, *arrays(method, dynamics)).shape for method in METHODS
    }
    assert shapes == {
        "rnea": (0,), "aba": (0,), "bias": (0,), "gravity": (0,), "crba": (0, 0),
        "link_pose": (4, 4), "jacobian": (6, 0), "link_velocity": (6,), "centre_of_mass": (3,),
        "energy": (2,), "coriolis": (0, 0), "hybrid": (0,), "joint_wrenches": (0, 6),
        "momentum": (6,), "regressor": (0, 20), "minv": (0, 0), "rnea_derivatives": (3, 0, 0),
        "aba_derivatives": (3, 0, 0), "jacobian_at_a_point": (6, 0), "jacobian_derivative": (6, 0),
        "link_acceleration": (6,), "centroidal_momentum_matrix": (6, 0),
        "centre_of_mass_jacobian": (3, 0),
    }  # fmt: skip


@pytest.mark.parametrize("method", [m for m in CALLS if "qd" in names_of_arrays(m)])
@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist], ids=["arrays", "lists"])
def test_single_state_beside_a_batch_holds_for_all_its_rows(dynamics, method, kind):
    singles, batches = arrays(method, dynamics), arrays(method, dynamics, 3)
    for chosen in itertools.product([False, True], repeat=len(singles)):
        if not any(chosen):
            continue
        if method in INTEGRATORS and chosen == (False, False, True):
            continue  # a simulator of one state takes no batch of torques
        given = [b if many else a for a, b, many in zip(singles, batches, chosen, strict=True)]
        repeated = [np.broadcast_to(x, (3, dynamics.model.n)).copy() for x in given]
        expected = CALLS[method](dynamics, *repeated)
        np.testing.assert_array_equal(CALLS[method](dynamics, *map(kind, given)), expected)


@pytest.mark.parametrize("single", ["q", "qd", "tau"])
def test_single_state_of_a_floating_base_holds_for_a_batch(single):
    floating = Dynamics(Model.from_urdf(chain("a", "b"), base="floating"))
    given = {
        "q": np.tile(floating.model.neutral, (3, 1)),
        "qd": np.ones((3, floating.model.nv)),
        "tau": np.ones((3, floating.model.nv)),
    }
    expected = floating.aba(**given)
    given[single] = given[single][0]
    np.testing.assert_array_equal(floating.aba(**given), expected)


def test_names_that_other_libraries_use(tree):
    q = arrays("crba", tree)[0]
    np.testing.assert_array_equal(tree.mass_matrix(q), tree.crba(q))
    np.testing.assert_array_equal(tree.forward_kinematics(q, TIP), tree.link_pose(q, TIP))


# Outputs -----------------------------------------------------------------------------------------


@method_with_out
@pytest.mark.parametrize("batch", [(), (0,), (1,), (4,)], ids=["single", "B=0", "B=1", "B=4"])
def test_out_receives_the_result(dynamics, method, batch):
    given = arrays(method, dynamics, *batch)
    expected = METHODS[method](dynamics, *given)
    out = np.full_like(expected, np.nan)
    assert WITH_OUT[method](dynamics, out, *given) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("argument", [0, 1, 2])
@pytest.mark.parametrize("method", ["rnea", "aba"])
@pytest.mark.parametrize("batch", [(), (3,)], ids=["single", "batch"])
def test_out_may_be_one_of_the_inputs(dynamics, method, batch, argument):
    given = arrays(method, dynamics, *batch)
    expected = METHODS[method](dynamics, *given)
    WITH_OUT[method](dynamics, given[argument], *given)
    np.testing.assert_array_equal(given[argument], expected)


def test_result_is_a_new_array_every_time(tree):
    for method in METHODS:
        given = arrays(method, tree)
        first, second = METHODS[method](tree, *given), METHODS[method](tree, *given)
        assert not np.shares_memory(first, second)
        assert not any(np.shares_memory(first, x) for x in given)


@method_with_out
@pytest.mark.parametrize(
    "spoil",
    [
        lambda right: np.empty(right.shape, dtype=np.float32),
        lambda right: np.empty(right.shape, dtype=np.int64),
        lambda right: np.empty(right.shape, dtype=">f8"),
        lambda right: np.empty((*right.shape, 2))[..., 0],
        lambda right: np.empty((*right.shape[:-1], right.shape[-1] + 1)),
        lambda right: np.empty((1, *right.shape)),
        lambda right: np.empty(right.shape[:-1]),
        lambda right: read_only(right),
        lambda right: right.tolist(),
    ],
    ids=[
        "float32", "int64", "big-endian", "not contiguous", "too long", "batch", "too few axes",
        "read-only", "list",
    ],
)  # fmt: skip
def test_out_raises_if_it_is_not_the_right_array(tree, method, spoil):
    given = arrays(method, tree)
    with pytest.raises(ValueError, match=r"^out: expected .*shape \(5,"):
        WITH_OUT[method](tree, spoil(METHODS[method](tree, *given)), *given)


# Errors ------------------------------------------------------------------------------------------


@every_method
@pytest.mark.parametrize("shape", [(4,), (6,), (), (2, 4), (5, 1), (1, 2, 5), (0,)], ids=str)
def test_shape_that_does_not_fit_raises_and_is_named(tree, method, shape):
    for k, name in enumerate(names_of_arrays(method)):
        given = arrays(method, tree)
        given[k] = np.zeros(shape)
        with pytest.raises(ValueError) as error:
            METHODS[method](tree, *given)
        message = str(error.value)
        assert message.startswith(f"{name}: expected shape (5,)")
        assert message.endswith(f"got {shape}")


@pytest.mark.parametrize("method", [m for m in METHODS if "qd" in names_of_arrays(m)])
def test_batches_of_different_size_raise(tree, method):
    given = arrays(method, tree, 3)
    given[1] = given[1][:2]
    with pytest.raises(ValueError, match=r"^qd: expected shape \(5,\) or \(3, 5\).* got \(2, 5\)$"):
        METHODS[method](tree, *given)


@pytest.mark.parametrize("text", ["abc", None, {"a": 1}, [[1, 2], [3]], 1j], ids=repr)
def test_what_is_no_array_of_numbers_raises(tree, text):
    with pytest.raises(ValueError, match=r"^q: expected "):
        tree.gravity(text)
    with pytest.raises(ValueError, match=r"^qd: expected "):
        tree.bias(np.zeros(N), text)


NO_NUMBERS = {
    "text": ["1"] * N,
    "bytes": [b"1"] * N,
    "None": [None] * N,
    "one None": [0.0] * (N - 1) + [None],
    "complex": np.ones(N) + 0j,
    "one complex": [0.0] * (N - 1) + [1 + 0j],
    "dates": np.zeros(N, "datetime64[s]"),
    "times": np.zeros(N, "timedelta64[s]"),
    "records": np.zeros(N, "f8, f8"),
}


@pytest.mark.parametrize("method", [m for m in METHODS if m != "hybrid"])
@pytest.mark.parametrize("values", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_what_converts_to_numbers_but_is_none_raises(tree, method, values):
    """NumPy would make 1.0 of '1', NaN of None, 1.0 of 1 + 2j."""
    given = arrays(method, tree)
    for k, name in enumerate(names_of_arrays(method)):
        spoilt = [*given[:k], values, *given[k + 1 :]]
        with pytest.raises(ValueError, match=f"^{name}: expected an array of numbers: got "):
            METHODS[method](tree, *spoilt)


@pytest.mark.parametrize("values", NO_NUMBERS.values(), ids=NO_NUMBERS)
@pytest.mark.parametrize("name", ["q", "qd", "qdd", "tau", "prescribed"])
def test_hybrid_raises_for_what_converts_to_numbers_but_is_none(tree, name, values):
    given = dict.fromkeys(("q", "qd", "qdd", "tau", "prescribed"), np.zeros(N)) | {name: values}
    with pytest.raises(ValueError, match=f"^{name}: expected an array of numbers: got "):
        tree.hybrid(**given)


@method_with_wrenches
@pytest.mark.parametrize("values", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_wrench_that_converts_to_numbers_but_is_none_raises(tree, method, values):
    wrench = [*values, values[0]]
    message = f"^f_ext\\['{TIP}'\\]: expected an array of numbers: got "
    with pytest.raises(ValueError, match=message):
        WITH_WRENCHES[method](tree, {TIP: wrench}, *arrays(method, tree))


@method_with_wrenches
@pytest.mark.parametrize("shape", [(5,), (7,), (), (2, 6), (1, 1, 6)], ids=str)
def test_wrench_raises_if_its_shape_does_not_fit(tree, method, shape):
    with pytest.raises(ValueError) as error:
        WITH_WRENCHES[method](tree, {TIP: np.zeros(shape)}, *arrays(method, tree, 3))
    message = str(error.value)
    assert message.startswith(f"f_ext['{TIP}']: expected shape (6,) or (")
    assert message.endswith(f"got {shape}")


@pytest.mark.parametrize("method", ["link_pose", "jacobian", "link_velocity"])
def test_unknown_link_raises_with_the_valid_names(tree, method):
    given = arrays(method, tree)
    with pytest.raises(KeyError) as error:
        getattr(tree, method)(*given, "gripper")
    assert isinstance(error.value, FeatherstoneError)
    assert str(error.value) == (
        "no link 'gripper'; valid names: link0, link1, link2, link3, link4, link5"
    )


@pytest.mark.parametrize("method", WITH_WRENCHES)
def test_wrenches_without_links_raise(tree, method):
    with pytest.raises(TypeError, match=r"f_ext: expected a mapping from link names .* got list"):
        WITH_WRENCHES[method](tree, [np.zeros(6)], *arrays(method, tree))


@method_with_wrenches
def test_wrench_on_unknown_link_raises_with_the_valid_names(tree, method):
    with pytest.raises(KeyError, match="no link 'gripper'; valid names: link0, link1, "):
        WITH_WRENCHES[method](tree, {"gripper": np.zeros(6)}, *arrays(method, tree))


def test_dynamics_works_on_after_an_error(tree):
    given = arrays("aba", tree)
    expected = tree.aba(*given)
    with pytest.raises(KeyError):
        tree.aba(*given, f_ext={"gripper": np.zeros(6)})
    with pytest.raises(ValueError, match="tau"):
        tree.aba(*given[:2], [1, 2])
    np.testing.assert_array_equal(tree.aba(*given), expected)


# Singular inertia --------------------------------------------------------------------------------


def on_the_axis(axis="0 0 1", com="0 0 0.2", rpy="0 0 0"):
    """Return an arm whose wrist carries a point mass on its own axis."""
    return robot(
        link("base"), link("upper"), link("tip", 1.5, com, (0, 0, 0)),
        joint("elbow", "base", "upper", axis="0 1 0"),
        joint("wrist", "upper", "tip", rpy=rpy, axis=axis),
    )  # fmt: skip


SINGULAR = {
    "point mass on the axis": (on_the_axis(), "wrist"),
    "on an oblique axis": (on_the_axis("1 2 3", "0.1 0.2 0.3", "0.3 0.4 0.5"), "wrist"),
    "coaxial joints": (
        robot(
            link("base"), link("ring", None), link("rotor", 2, "0.3 0.1 0"),
            joint("outer", "base", "ring", rpy="0.4 0.5 0.6"), joint("inner", "ring", "rotor"),
        ),
        "outer",
    ),
    "coaxial slides": (
        robot(
            link("base"), link("ring", None), link("slider", 3),
            joint("coarse", "base", "ring", "prismatic", rpy="0.4 0.5 0.6"),
            joint("fine", "ring", "slider", "prismatic"),
        ),
        "coarse",
    ),
    "followers that cancel": (
        robot(
            link("base"), link("wheel", None), link("rim", 1, "0.2 0 0"),
            joint("turn", "base", "wheel", xyz="0 0 0"),
            joint("back", "wheel", "rim", "revolute",
                  '<mimic joint="turn" multiplier="-1"/>', xyz="0 0 0"),
        ),
        "turn",
    ),
}  # fmt: skip


@pytest.mark.parametrize("method", ["aba", "minv", "aba_derivatives"])
@pytest.mark.parametrize("text, culprit", SINGULAR.values(), ids=SINGULAR)
def test_raises_if_a_joint_moves_no_inertia(method, text, culprit):
    dynamics = Dynamics(Model.from_urdf(text))
    for seed in range(5):
        shape = (len(names_of_arrays(method)), dynamics.model.n)
        given = np.random.default_rng(seed).uniform(-2, 2, shape)
        with pytest.raises(SingularInertiaError, match=f"joint '{culprit}' moves no inertia"):
            METHODS[method](dynamics, *given)


def test_small_inertia_is_not_taken_for_none():
    """The fingers of real hands move 1e-9 kg m^2."""
    text = robot(
        link("base"), link("arm", 30, "0.5 0 0"), link("finger", 1e-7, "0 0 0", (1e-12,) * 3),
        joint("shoulder", "base", "arm", axis="0 1 0"),
        joint("knuckle", "arm", "finger", xyz="1 0 0", axis="0 0 1"),
    )  # fmt: skip
    dynamics = Dynamics(Model.from_urdf(text))
    q, qd, qdd = np.random.default_rng(6).uniform(-1, 1, (3, 2))
    np.testing.assert_allclose(dynamics.aba(q, qd, dynamics.rnea(q, qd, qdd)), qdd, rtol=1e-3)


def test_rnea_does_not_mind_singular_inertia():
    dynamics = Dynamics(Model.from_urdf(on_the_axis()))
    assert np.isfinite(dynamics.rnea([0.1, 0.2], [1, 2], [3, 4])).all()


# Memory and threads ------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [(), (7,)], ids=["single", "batch"])
def test_calls_leave_no_memory_behind(tree, batch):
    calls = [(METHODS[method], arrays(method, tree, *batch)) for method in METHODS]
    wrench = {TIP: np.ones(6), "link1": np.ones(6)}
    calls += [
        (
            lambda d, *given, m=method: WITH_WRENCHES[m](d, wrench, *given),
            arrays(method, tree, *batch),
        )
        for method in WITH_WRENCHES
    ]

    def call_all(times):
        for _ in range(times):
            for function, given in calls:
                function(tree, *given)

    call_all(10)
    assert growth(call_all, 1, 200) < 200 * 8, "less than one number per round of calls"


@method_with_out
def test_call_with_out_allocates_nothing(tree, method):
    given = arrays(method, tree)
    out = METHODS[method](tree, *given)
    WITH_OUT[method](tree, out, *given)
    tracemalloc.start()
    try:
        WITH_OUT[method](tree, out, *given)
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        WITH_OUT[method](tree, out, *given)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < out.nbytes + 512, "no array beyond the call's own frame"


def test_dynamics_keeps_its_model_alive():
    dynamics = Dynamics(Model.from_urdf(chain("j1", "j2")))
    assert dynamics.gravity([0.1, 0.2]).shape == (2,)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))]
)
def test_copies_and_pickles_have_the_same_model_and_their_own_workspace(tree, duplicate):
    q = arrays("gravity", tree)[0]
    other = duplicate(tree)
    assert other.model.link_names == MODELS["tree"].link_names
    np.testing.assert_array_equal(other.gravity(q), tree.gravity(q))


@every_method
def test_batch_runs_without_the_gil(tree, method):
    """Another thread finds the dynamics at work, which it could not while the GIL is held."""
    given = arrays(method, tree, 20_000)
    deadline = time.monotonic() + 100
    with repeated(lambda: METHODS[method](tree, *given)):
        while not is_refused(lambda: tree.gravity(np.zeros(N))):
            assert time.monotonic() < deadline, f"{method} holds the GIL"


def test_wrenches_are_counted_once_they_are_there(tree):
    class Miscounted(dict):
        def __len__(self):
            return 1

    wrenches = {f"link{k}": np.full(6, float(k)) for k in range(N + 1)}
    given = arrays("rnea", tree)
    np.testing.assert_array_equal(
        tree.rnea(*given, f_ext=Miscounted(wrenches)), tree.rnea(*given, f_ext=wrenches)
    )


def test_what_is_no_model_raises():
    for make in (Dynamics, Simulator):
        with pytest.raises(TypeError, match=r"^model: expected a Model, got str$"):
            make("<robot/>")
