"""What the methods of Dynamics take, return and refuse, and what they leave behind."""

import copy
import inspect
import itertools
import pickle
import time
import tracemalloc
from functools import partial

import numpy as np
import pytest
from at_work import is_refused, repeated
from each import each
from memory import growth
from methods import (
    ALL,
    CALLS,
    INTEGRATORS,
    METHODS,
    MODELS,
    OF_MODELS,
    TIP,
    every_call,
    method_with_out,
    method_with_wrenches,
    parts,
    read_only,
)
from refusals import refusals
from studies import few_or_all
from urdf_text import joint, link, robot

from featherstone_ros import (
    Dynamics,
    FeatherstoneError,
    Model,
    Simulator,
    SingularInertiaError,
    SingularJacobianError,
)

every_method = each("method", METHODS)
same = np.testing.assert_array_equal
NAMES = "link0, link1, link2, "


@pytest.fixture(params=MODELS)
def dynamics(request):
    return Dynamics(MODELS[request.param])


def test_every_method_has_a_row():
    found = {name for name, it in inspect.getmembers(Dynamics, callable) if name[0] != "_"}
    aliases = {name for name in found if getattr(Dynamics, name).__name__ != name}
    assert found - aliases == {row.name for row in METHODS.values()}
    for row in METHODS.values():
        names = list(inspect.signature(getattr(Dynamics, row.name)).parameters)[1:]
        assert names[: len(row.names)] == row.names
        assert ("f_ext" in names) == row.wrenches and ("out" in names) == (row.out > 0)


# Inputs ------------------------------------------------------------------------------------------

KINDS_OF_INPUT = {
    "list": np.ndarray.tolist,
    "tuple": lambda x: tuple(map(tuple, x)) if x.ndim == 2 else tuple(x.tolist()),
    "Fortran": np.asfortranarray,
    "read-only": read_only,
    "every second row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every second column": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "rows backward": lambda x: x[::-1].copy()[::-1],
    "columns backward": lambda x: x[..., ::-1].copy()[..., ::-1],
    "column of a matrix": lambda x: np.stack([x, x], axis=-1)[..., 1],
    "part of a larger one": lambda x: np.pad(x, 3)[(slice(3, -3),) * x.ndim],
    "big-endian": lambda x: x.astype(">f8"),
    "misaligned": lambda x: misaligned(x),
    "subclass": lambda x: x.view(np.recarray),
}


def misaligned(x):
    shifted = np.zeros(x.nbytes + 1, dtype=np.uint8)[1:].view(float).reshape(x.shape)
    shifted[:] = x
    return shifted


@every_call
@pytest.mark.parametrize("dynamics", few_or_all(["tree", "floating"], MODELS), indirect=True)
@pytest.mark.parametrize("batch", [(), (17,)], ids=["single", "batch"])
def test_input_of_any_kind_gives_the_same_bits_and_is_not_modified(dynamics, method, batch):
    given = ALL[method].states(dynamics, *batch)
    before = [x.tobytes() for x in given]
    expected = ALL[method](dynamics, *given)
    assert [x.tobytes() for x in given] == before
    for kind, convert in KINDS_OF_INPUT.items():
        converted = list(map(convert, given))
        same(ALL[method](dynamics, *converted), expected, kind)
        for x, y in zip(converted, given, strict=True):
            same(x, y, f"{kind} was modified")


@method_with_wrenches
def test_wrenches_of_any_kind_give_the_same_bits_and_are_not_modified(tree, method):
    given = CALLS[method].states(tree, 17)
    wrench = np.random.default_rng(4).uniform(-9, 9, (17, 6))
    expected = CALLS[method](tree, *given, f_ext={"link3": np.arange(6.0), TIP: wrench})
    for kind, convert in KINDS_OF_INPUT.items():
        f_ext = {"link3": np.arange(6.0), TIP: convert(wrench)}
        same(CALLS[method](tree, *given, f_ext=f_ext), expected, kind)
        same(f_ext["link3"], np.arange(6))
        same(f_ext[TIP], wrench)
        assert list(f_ext) == ["link3", TIP]


@every_method
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int8", "bool"])
def test_input_of_other_numbers_is_converted(tree, method, dtype):
    given = [x.astype(dtype) for x in METHODS[method].states(tree)]
    expected = METHODS[method](tree, *(x.astype(float) for x in given))
    same(METHODS[method](tree, *given), expected)


@method_with_wrenches
def test_no_wrenches_are_no_change(dynamics, method):
    row, given = METHODS[method], METHODS[method].states(dynamics)
    expected = parts(row.raw(dynamics, *given))
    for f_ext in (None, {}, {TIP: [0] * 6}):
        found = parts(row.raw(dynamics, *given, f_ext=f_ext))
        for x, y in zip(found, expected, strict=False):  # a regressor's torque beside it
            same(x, y)


def test_model_without_joints_has_empty_results():
    fixed = joint("weld", "base", TIP, "fixed")
    dynamics = Dynamics(Model.from_urdf(robot(link("base"), link(TIP), fixed)))
    solved = METHODS.keys() - {"operational_space_inertia"}
    shapes = {name: METHODS[name](dynamics, *METHODS[name].states(dynamics)).shape
              for name in solved}  # fmt: skip
    assert shapes == {
        "rnea": (0,), "aba": (0,), "bias": (0,), "gravity": (0,), "crba": (0, 0),
        "link_pose": (4, 4), "jacobian": (6, 0), "link_velocity": (6,), "centre_of_mass": (3,),
        "energy": (2,), "coriolis": (0, 0), "hybrid": (0,), "joint_wrenches": (0, 6),
        "momentum": (6,), "regressor": (0, 20), "minv": (0, 0), "rnea_derivatives": (0,),
        "aba_derivatives": (0,), "jacobian at a point": (6, 0), "jacobian_derivative": (6, 0),
        "link_acceleration": (6,), "centroidal_momentum_matrix": (6, 0),
        "centre_of_mass_jacobian": (3, 0), "operational_space": (48,),
        "composite_inertias": (0, 6, 6), "articulated_inertias": (0, 6, 6),
        "log_det_inertia": (1,), "impulse_response": (0,),
    }  # fmt: skip
    with pytest.raises(SingularJacobianError, match=repr(TIP)):
        dynamics.operational_space_inertia([], TIP)


@each("method", [name for name, row in ALL.items() if len(row.names) > 1])
@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist], ids=["arrays", "lists"])
def test_single_state_beside_a_batch_holds_for_all_its_rows(dynamics, method, kind):
    singles, batches = (ALL[method].states(dynamics, *batch) for batch in ((), (3,)))
    for chosen in itertools.product([False, True], repeat=len(singles)):
        if not any(chosen):
            continue
        if method in INTEGRATORS and chosen == (False, False, True):
            continue  # a simulator of one state takes no batch of torques
        given = [b if many else a for a, b, many in zip(singles, batches, chosen, strict=True)]
        repeated = [np.broadcast_to(x, (3, x.shape[-1])).copy() for x in given]
        expected = ALL[method](dynamics, *repeated)
        same(ALL[method](dynamics, *map(kind, given)), expected)


def test_names_that_other_libraries_use(tree):
    q, qd = METHODS["bias"].states(tree)
    same(tree.mass_matrix(q), tree.crba(q))
    same(tree.forward_kinematics(q, TIP), tree.link_pose(q, TIP))
    same(tree.jacobian_dot(q, qd, TIP), tree.jacobian_derivative(q, qd, TIP))


# Errors ------------------------------------------------------------------------------------------


SPOILT = {
    "float32": lambda right: np.empty(right.shape, dtype=np.float32),
    "int64": lambda right: np.empty(right.shape, dtype=np.int64),
    "big-endian": lambda right: np.empty(right.shape, dtype=">f8"),
    "not contiguous": lambda right: np.empty((*right.shape, 2))[..., 0],
    "too long": lambda right: np.empty((*right.shape[:-1], right.shape[-1] + 1)),
    "batch": lambda right: np.empty((1, *right.shape)),
    "too few axes": lambda right: np.empty(right.shape[:-1]),
    "read-only": read_only,
    "list": np.ndarray.tolist,
}


@every_method
@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_out_raises_if_it_is_not_the_right_array(tree, method, spoil):
    row, given = METHODS[method], METHODS[method].states(tree)
    right = row.raw(tree, *given)
    if row.out:
        out = tuple(map(spoil, right)) if row.out > 1 else spoil(right)
        with pytest.raises(ValueError, match=r"^out: expected .*shape \(7,"):
            row(tree, *given, out=out)
    else:
        with pytest.raises(TypeError, match="out"):
            row(tree, *given, out=right)


@each("method", METHODS | OF_MODELS)
@pytest.mark.parametrize("shape", [(5,), (9,), (), (2, 6), (7, 1), (1, 2, 7), (0,)], ids=str)
def test_shape_that_does_not_fit_raises_and_is_named(dynamics, method, shape):
    row = ALL[method]
    for k, name in enumerate(row.names):
        given = row.states(dynamics)
        width = given[k].size
        given[k] = np.zeros(shape)
        with pytest.raises(ValueError) as error:
            row(dynamics, *given)
        message = str(error.value)
        assert message.startswith(f"{name}: expected shape ({width},)")
        assert message.endswith(f"got {shape}")


@each("method", [name for name, row in (METHODS | OF_MODELS).items() if len(row.names) > 1])
def test_batches_of_different_size_raise(dynamics, method):
    row = ALL[method]
    given = row.states(dynamics, 3)
    given[1] = given[1][:2]
    n = given[1].shape[1]
    message = rf"^{row.names[1]}: expected shape \({n},\) or \(3, {n}\).* got \(2, {n}\)$"
    with pytest.raises(ValueError, match=message):
        row(dynamics, *given)


NO_NUMBERS = {
    "text": ["1"] * 7,
    "bytes": [b"1"] * 7,
    "None": [None] * 7,
    "one None": [0.0] * 6 + [None],
    "complex": np.ones(7) + 0j,
    "one complex": [0.0] * 6 + [1 + 0j],
    "dates": np.zeros(7, "datetime64[s]"),
    "times": np.zeros(7, "timedelta64[s]"),
    "records": np.zeros(7, "f8, f8"),
}


@every_method
@pytest.mark.parametrize("values", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_what_converts_to_numbers_but_is_none_raises(tree, method, values):
    """NumPy would make 1.0 of '1', NaN of None, 1.0 of 1 + 2j."""
    row, given = METHODS[method], METHODS[method].states(tree)
    for k, name in enumerate(row.names):
        spoilt = [*given[:k], values, *given[k + 1 :]]
        with pytest.raises(ValueError, match=f"^{name}: expected an array of numbers: got "):
            row(tree, *spoilt)
    if row.wrenches:
        message = rf"^f_ext\['{TIP}'\]: expected an array of numbers: got "
        with pytest.raises(ValueError, match=message):
            row(tree, *given, f_ext={TIP: values[-6:]})
    if method == "hybrid":
        with pytest.raises(ValueError, match=r"^prescribed: expected an array of numbers: got "):
            tree.hybrid(*given, values)


@method_with_wrenches
@pytest.mark.parametrize("shape", [(5,), (7,), (), (2, 6), (1, 1, 6)], ids=str)
def test_wrench_raises_if_its_shape_does_not_fit(tree, method, shape):
    with pytest.raises(ValueError) as error:
        METHODS[method](tree, *METHODS[method].states(tree, 3), f_ext={TIP: np.zeros(shape)})
    message = str(error.value)
    assert message.startswith(f"f_ext['{TIP}']: expected shape (6,) or (")
    assert message.endswith(f"got {shape}")


@every_method
def test_unknown_link_raises_with_the_valid_names_and_changes_nothing(tree, method):
    row, given = METHODS[method], METHODS[method].states(tree)
    before = row(tree, *given)
    unknown = {"f_ext": {"gripper": np.zeros(6)}} if row.wrenches else {}
    unknown |= {"link": "gripper"} if "link" in row.others else {}
    if unknown:
        with pytest.raises(KeyError, match=f"^no link 'gripper'; valid names: {NAMES}") as error:
            row(tree, *given, **unknown)
        assert isinstance(error.value, FeatherstoneError)
    if row.wrenches:
        message = r"f_ext: expected a mapping from link names .* got list"
        with pytest.raises(TypeError, match=message):
            row(tree, *given, f_ext=[np.zeros(6)])
    if "point" in row.others:
        with pytest.raises(ValueError, match=r"^point: expected shape \(3,\).*, got \(2,\)$"):
            row(tree, *given, point=(1.0, 2.0))
    same(row(tree, *given), before)


MIMIC = Dynamics(MODELS["with mimic"])
test_what_is_neither_numbers_nor_such_a_model_is_refused = refusals(
    *((ValueError, "^q: expected an array of numbers: ", partial(MIMIC.gravity, q))
      for q in ("abc", None, {"a": 1}, [[1, 2], [3]], 1j)),
    *((TypeError, "^model: expected a Model, got str$", partial(make, "<robot/>"))
      for make in (Dynamics, Simulator)),
    (NotImplementedError, "without mimic joints",
     lambda: MIMIC.articulated_inertias(np.zeros(MIMIC.model.nq))),
)  # fmt: skip


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
        given = METHODS[method].states(dynamics, seed=seed)
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


# Memory and threads ------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [(), (7,)], ids=["single", "batch"])
def test_calls_leave_no_memory_behind(tree, batch):
    f_ext = {TIP: np.ones(6), "link1": np.ones(6)}
    calls = [
        (row, row.states(tree, *batch), more)
        for row in METHODS.values()
        for more in ({}, {"f_ext": f_ext})[: 1 + row.wrenches]
    ]

    def call_all(times):
        for _ in range(times):
            for row, given, more in calls:
                row(tree, *given, **more)

    assert growth(call_all, 5, 30) < 30 * 8, "less than one number per round of calls"


@method_with_out
def test_call_with_out_allocates_nothing(tree, method):
    call, given = getattr(tree, method), METHODS[method].states(tree)
    out = METHODS[method].raw(tree, *given)
    call(*given, out=out)
    tracemalloc.start()
    try:
        call(*given, out=out)
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        call(*given, out=out)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < 512, "no array beyond the call's own frame"


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))]
)
def test_copies_and_pickles_have_the_same_model_and_their_own_workspace(tree, duplicate):
    q = METHODS["gravity"].states(tree)[0]
    other = duplicate(tree)
    assert other.model.link_names == MODELS["tree"].link_names
    same(other.gravity(q), tree.gravity(q))


@every_method
def test_batch_runs_without_the_gil(tree, method):
    """Another thread finds the dynamics at work, which it could not while the GIL is held."""
    given = METHODS[method].states(tree, 5_000)
    deadline = time.monotonic() + 100
    with repeated(lambda: METHODS[method](tree, *given)):
        while not is_refused(lambda: tree.gravity(np.zeros(7))):
            assert time.monotonic() < deadline, f"{method} holds the GIL"


def test_wrenches_are_counted_once_they_are_there(tree):
    class Miscounted(dict):
        def __len__(self):
            return 1

    wrenches = {f"link{k}": np.full(6, float(k)) for k in range(8)}
    given = METHODS["rnea"].states(tree)
    same(tree.rnea(*given, f_ext=Miscounted(wrenches)), tree.rnea(*given, f_ext=wrenches))
