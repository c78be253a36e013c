"""The examples: the Monte Carlo study, the stream of a policy, the peg on a plane.

Of the study: what a run is, where errors come from, and that Dask changes no bit.
"""

import contextlib
import io
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from control_arm import law as product_law
from drive_settings import parameters_of
from numpy.testing import assert_allclose

import featherstone_ros as fr
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.settings import Interpolation, Terms
from featherstone_ros.parameter import of_joints
from featherstone_ros.tools.robot_setup import load

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.append(str(EXAMPLES))
import monte_carlo  # noqa: E402
import peg_on_a_plane  # noqa: E402
import policy_stream  # noqa: E402
from monte_carlo import Study, StudyResult, Tracking, drive, prepare  # noqa: E402

TOO_LITTLE, ENOUGH = 23 * 24, 24 * 24  # states
SHORT = Study(steps=200, motions=2)


def samples(study, number):
    tracked = zip(*(drive(study, index) for index in range(number)), strict=True)
    return Tracking(*map(np.stack, tracked))


def test_a_run_is_what_the_controller_makes_of_the_arm():
    study = replace(SHORT, mass_spread=0.5)
    scene, sample = prepare(study), drive(study, 3)
    model, limit = scene.model, scene.model.effort_limit
    believed = model.with_payload(scene.link, study.payload, monte_carlo.CENTRE)
    qdd = np.gradient(scene.qd, monte_carlo.TIME_STEP, axis=0)
    joints = model.joint_names
    known = ControlledArm.of(
        believed,
        {
            **of_joints("gains.{}.p", joints, scene.p),
            **of_joints("gains.{}.d", joints, scene.d),
            **parameters_of(joints, scene.armature, scene.viscous, scene.coulomb),
        },
    )
    dynamics = fr.Dynamics(believed)
    for law, terms in enumerate((Terms.NONE, Terms.GRAVITY, Terms.FULL)):
        chosen = known.with_parameters(feedforward_terms=terms).settings
        arm = fr.Simulator(
            model.with_payload(scene.link, sample.mass, sample.centre),
            monte_carlo.TIME_STEP,
            friction=sample.friction * scene.coulomb,
            damping=sample.friction * scene.viscous,
            armature=scene.armature,
        )
        row = law * study.motions
        arm.reset(scene.q[0, row])
        errors = []
        for desired in zip(scene.q[:, row], scene.qd[:, row], qdd[:, row], strict=True):
            errors.append(desired[0] - arm.q)
            asked = product_law(chosen, dynamics, arm.q, arm.qd, desired)
            arm.step(np.clip(asked, -limit, limit))
        # qdd is a difference quotient here
        assert_allclose(np.sqrt(np.mean(np.square(errors), axis=0)), sample.rms[law, 0], rtol=1e-2)


def test_a_sample_is_drawn_from_its_own_seed_and_its_torque_limited():
    child = np.random.SeedSequence(SHORT.seed).spawn(6)[5]
    drawn = np.random.default_rng(child).standard_normal()
    mass = SHORT.payload * np.exp(SHORT.mass_spread * drawn)
    assert drive(SHORT, 5).mass == mass != drive(replace(SHORT, seed=1), 5).mass
    study = replace(SHORT, payload=60.0)
    sample = drive(study, 0)
    assert (sample.effort > 1).any() and np.isfinite(sample.rms).all()
    report = StudyResult(study, Tracking(*(array[None] for array in sample)), seconds=1.0)
    share = np.mean((sample.effort > 1).any(axis=-1), axis=-1)
    assert_allclose(report.saturated, share)


def test_without_uncertainty_all_samples_track_alike_and_feedforward_well():
    certain = Study(steps=1000, mass_spread=0.0, centre_spread=0.0, friction_spread=0.0, motions=2)
    rms = samples(certain, 2).rms
    assert_allclose(rms[0], rms[1], rtol=1e-12)
    alone, gravity, feedforward = np.linalg.norm(rms[0], axis=(1, 2))
    assert feedforward < 0.2 * gravity < 0.2 * alone


def test_error_budget_recovers_what_was_put_in():
    rng, n, number = np.random.default_rng(0), 7, 40
    study = replace(SHORT, mass_spread=0.1)
    mass = study.payload * rng.lognormal(0.0, 0.1, number)
    centre = monte_carlo.CENTRE + 0.01 * rng.standard_normal((number, 3))
    friction = rng.lognormal(0.0, 0.3, (number, n))
    wave = np.sin(np.linspace(0, 6, 20))[:, None, None] * np.ones((1, 2, n))
    cause = {
        "payload mass": 3 * (mass / study.payload - 1),
        "payload centre": 50 * (centre - monte_carlo.CENTRE)[:, 1],
        "all as believed": np.full(number, 0.2),
    }
    trace = sum(cause.values())[:, None, None, None] * wave
    trace = trace + (friction - 1)[:, None, None, :] * wave  # each joint's its own
    trace[..., 0] += 2 * (friction[:, 1] - 1)[:, None, None] * wave[..., 0]
    nothing = np.ones((number, 3, 2, n))
    report = StudyResult(study, Tracking(mass, centre, friction, nothing, nothing, trace), 1.0)

    part = {name: np.full(n, np.mean(x**2)) for name, x in cause.items()}
    part["own friction"] = np.mean((friction - 1) ** 2, axis=0)
    part["other friction"] = np.zeros(n)
    part["other friction"][0] = 4 * part["own friction"][1]
    whole = sum(part.values())
    assert set(report.budget) == set(part)
    for name, share in report.budget.items():
        assert_allclose(share, part[name] / whole, atol=1e-9)


def run(main, folder, *arguments):
    options = ["--states", str(ENOUGH), "--steps", "500", "--output", str(folder), *arguments]
    assert main([*options, "--seed", "3"]) == 0
    with np.load(folder / "results.npz") as results:
        return dict(results)


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    """The numbers of a study, its folder, and what it said."""
    pytest.importorskip("matplotlib")
    folder, said = tmp_path_factory.mktemp("study"), io.StringIO()
    with contextlib.redirect_stdout(said):
        return run(monte_carlo.main, folder), folder, said.getvalue()


@pytest.mark.study
def test_study_writes_a_picture_and_says_how_fast_it_was(studied):
    results, folder, said = studied
    assert results["rms"].shape == (24, 3, 8, 7)
    assert (folder / "report.png").read_bytes().startswith(b"\x89PNG")
    assert "576 states" in said and "million per second" in said


@pytest.mark.study
def test_dask_gives_the_same_numbers_bit_for_bit(studied, tmp_path):
    import monte_carlo_dask

    here, *_ = studied
    there = run(monte_carlo_dask.main, tmp_path, "--workers", "2")
    assert here.keys() == there.keys()
    for name, array in here.items():
        assert array.tobytes() == there[name].tobytes(), name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--steps", "499"], ["--steps is 499", "500"]),
        (["--states", str(TOO_LITTLE)], [f"--states is {TOO_LITTLE}", str(ENOUGH)]),
        (["--robot", "pandora"], ["pandora", "panda", "ur5e"]),
        (["--mass-spread=-1"], ["--mass-spread"]),
        (["--mass-spread=nan"], ["--mass-spread"]),
    ],
)
def test_a_study_that_says_nothing_is_refused(tmp_path, capsys, arguments, words):
    pytest.importorskip("matplotlib")
    try:
        status = monte_carlo.main([*arguments, "--output", str(tmp_path / "out")])
    except SystemExit as end:
        status = end.code
    error = capsys.readouterr().err
    assert status and all(word in error for word in words)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("file", ["README.md", "monte_carlo.py"])
def test_commands_in_the_documentation_are_understood(file):
    text = (EXAMPLES / file).read_text()
    commands = [line.split("  ")[0] for line in map(str.strip, text.splitlines())]
    commands = [line for line in commands if line.startswith("python examples/monte_carlo.py")]
    assert commands
    for command in commands:
        monte_carlo.arguments("").parse_args(shlex.split(command)[2:])


# A spline follows a policy closer and more smoothly than lines


@pytest.mark.study
@pytest.mark.parametrize("robot", policy_stream.TIPS)
def test_a_spline_follows_more_closely_and_smoothly(robot):
    proposal = policy_stream.proposed(robot)
    way = policy_stream.circle(proposal.model, policy_stream.TIPS[robot], proposal.start)
    linear, spline = (
        policy_stream.follow(proposal, way, kind, 0.005, 0.1) for kind in Interpolation
    )
    assert spline.error() < 0.01
    assert spline.error() < linear.error()
    assert spline.velocity_step() < 0.3 * linear.velocity_step()


# The peg on a plane presses as two springs in series do, and stays where it is led


@pytest.mark.parametrize("stiffness", [pytest.param(200.0, marks=pytest.mark.study), 1000.0])
def test_peg_presses_as_two_springs_in_a_row(stiffness):
    panda = fr.Model.from_urdf(load("panda").text, joints=[f"panda_joint{k}" for k in range(1, 8)])
    record = peg_on_a_plane.press(panda, stiffness, 0.02)
    expected = peg_on_a_plane.expected(stiffness, 0.02)
    assert record.pressed() == pytest.approx(expected, rel=0.02)
    assert record.strayed() < 0.005
    assert record.force[-1, 2] == 0  # lifted
    assert_allclose(record.position[-1], peg_on_a_plane.SLIDE, atol=1e-3)


@pytest.mark.study
@pytest.mark.parametrize(
    ("example", "arguments", "picture", "said"),
    [
        (policy_stream, [], "stream.png", "spline"),
        (peg_on_a_plane, ["--stiffness", "300"], "peg.png", "300 N/m"),
    ],
)
def test_picture_is_written(example, arguments, picture, said, tmp_path, capsys):
    assert example.main([*arguments, "--output", str(tmp_path)]) == 0
    assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    assert said in capsys.readouterr().out
