"""Every build of the core computes the same, and the right one is taken."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from comparison import assert_equal_to_rounding, solving_tolerance
from instruction_set_results import results
from methods import CALLS
from studies import few_or_all

from featherstone_ros import _core

HERE = Path(__file__).parent
RESULTS = HERE.parent / "instruction_set_results.py"
PACKAGE = Path(_core.__file__).parent
LANES = {"x86-64-v4": 8, "x86-64-v3": 4, "x86-64": 2, "x86-64-v3-8": 8, "generic": 2}
OTHERS = [name for name in _core.built() if name != _core.instruction_set]
UNUSABLE = [name for name in _core.built() if _core.lacking(name)]
# Rows know of lanes; threads, layouts and places of results do not.
ROWS = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", "row or singular")

every_set = pytest.mark.parametrize("name", few_or_all(_core.built()[-1:], _core.built()))
every_other_set = pytest.mark.parametrize("name", few_or_all(OTHERS[-1:], OTHERS))


def child(*arguments, name=None, folder=HERE, path=PACKAGE.parent):
    """Start Python with an instruction set forced; its output is one text."""
    environment = {**os.environ, "PYTHONPATH": str(path)}
    environment.pop("FEATHERSTONE_INSTRUCTION_SET", None)
    if name is not None:
        environment["FEATHERSTONE_INSTRUCTION_SET"] = name
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def output(process):
    """Return what a child has written; it must end well."""
    text, _ = process.communicate()
    assert process.returncode == 0, text
    return text


def refusal(*options, **settings):
    """Return the last line of a child that cannot import the package."""
    process = child(*options, "-c", "import featherstone_ros", **settings)
    text, _ = process.communicate()
    assert process.returncode == 1
    return text.splitlines()[-1]


def skip_unless_usable(name):
    lacking = _core.lacking(name)
    if lacking:
        pytest.skip(f"this CPU cannot run {name}, it lacks {', '.join(lacking)}")


# Agreement ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def expected():
    return results()


@pytest.fixture(scope="module")
def tolerances(expected):
    """By robot and state, for what solves equations with its inertia."""
    robots = {key.split("/")[0] for key in expected}
    inertias = {robot: expected[f"{robot}/crba/single"] for robot in robots}
    return {robot: [solving_tolerance(H, 1e-12) for H in inertias[robot]] for robot in robots}


@every_other_set
def test_results_agree(tmp_path, expected, tolerances, name):
    skip_unless_usable(name)
    output(child(RESULTS, "results.npz", name=name, folder=tmp_path))
    actual = np.load(tmp_path / "results.npz")
    assert set(actual.files) == set(expected)
    for key in expected:
        robot, method, _ = key.split("/")
        results = zip(actual[key], expected[key], tolerances[robot], strict=True)
        for theirs, ours, tolerance in results:
            tolerance = tolerance if CALLS[method].solves else 1e-12
            assert_equal_to_rounding(theirs, ours, tolerance=tolerance)


@pytest.mark.study
@pytest.mark.parametrize("name", OTHERS)
def test_tests_of_batches_pass(name):
    skip_unless_usable(name)
    assert " passed" in output(child(*ROWS, HERE / "test_batches.py", name=name))


# Choice ------------------------------------------------------------------------------------------

SAY = "from featherstone_ros import _core; print(_core.instruction_set, _core.lanes)"


@every_set
def test_the_set_asked_for_is_taken(name):
    skip_unless_usable(name)
    assert output(child("-c", SAY, name=name)).split() == [name, str(LANES[name])]


def test_the_best_set_is_taken_if_none_is_asked_for():
    assert output(child("-c", SAY)).split()[0] == _core.supported()[0]


def test_unknown_set_raises_with_the_valid_names():
    assert refusal(name="x86-64-v9") == (
        "ImportError: FEATHERSTONE_INSTRUCTION_SET is 'x86-64-v9', but it is not built; "
        f"expected one of {', '.join(_core.supported())}"
    )


@pytest.mark.parametrize("name", UNUSABLE)
def test_set_that_the_cpu_lacks_raises_with_what_it_lacks(name):
    assert refusal(name=name) == (
        f"ImportError: FEATHERSTONE_INSTRUCTION_SET is '{name}', but this CPU lacks "
        f"{', '.join(_core.lacking(name))}; expected one of {', '.join(_core.supported())}"
    )


def test_package_without_any_build_raises_with_what_to_do(tmp_path):
    copy = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("_core_*"))
    numpy_too = os.pathsep.join([str(tmp_path), str(Path(np.__file__).parents[1])])
    message = refusal("-S", path=numpy_too)  # -S: nothing leads to an editable installation
    assert message.startswith("ImportError: featherstone_ros: no compiled core for this ")
    assert f"beside {copy / '_core.py'} (built: none); compile it: python setup.py" in message
