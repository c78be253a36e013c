"""featherstone-ros identify and payload, on recordings of an arm that is known."""

import json
import re
from importlib.util import find_spec
from types import SimpleNamespace

import known_arm
import numpy as np
import pytest
import yaml

import featherstone_ros as fr
from featherstone_ros.identification.explanation import explain
from featherstone_ros.inspection.doctor import examine
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.finding import Severity
from featherstone_ros.model.parameter_files import read_parameters
from featherstone_ros.model.primitives import pseudo_inertia
from featherstone_ros.tools import cli
from featherstone_ros.tools.identify.report import reasons_against

pytest.importorskip("scipy")
pytestmark = pytest.mark.skipif(not find_spec("matplotlib"), reason="matplotlib is missing")

NAMES = list(known_arm.NAMES)
THREE = known_arm.LEVEL.joint_names


def identified(folder, bag, *options):
    """Run identify; return what it writes."""
    files = {name: folder / f"arm.{name}" for name in ("urdf", "yaml", "json")}
    outputs = "--output", files["urdf"], "--parameters", files["yaml"], "--json", files["json"]
    assert not cli.main([*map(str, ("identify", bag, "--urdf", "ur5e", *options, *outputs))])
    return files


@pytest.fixture(scope="module")
def truth():
    return known_arm.deformed()


@pytest.fixture(scope="module")
def result(truth, tmp_path_factory):
    """A recording of the arm, and what identify makes of it."""
    from matplotlib.figure import Figure  # takes long: not in every process that collects this

    folder = tmp_path_factory.mktemp("identified")
    bag = known_arm.save(folder / "arm.npz", known_arm.record(truth, duration=20.0))
    png, pictures, save = folder / "arm.png", [], Figure.savefig
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", lambda f, *a, **k: pictures.append(f) or save(f, *a, **k))
        files = identified(folder, bag, "--plot", png)
    return {"bag": bag, "pictures": pictures, "png": png, **files}


def test_the_written_files_reproduce_every_score(result, tmp_path, tool):
    out = tmp_path / "scores.json"
    written = ["--urdf", result["urdf"], "--with", result["yaml"]]
    tool("evaluate", result["bag"], *written, "--json", out)
    claimed, scored = (json.loads(file.read_text()) for file in (result["json"], out))
    assert claimed["joints"] == scored["joints"] == NAMES
    for key in ("rms", "r2"):
        np.testing.assert_allclose(scored[key], claimed[key], rtol=1e-9)
        np.testing.assert_allclose(scored["held_out"][key], claimed["held_out"][key], rtol=1e-9)


def test_torque_of_random_states_is_that_of_the_true_arm(tmp_path):
    """By currents with their gains, all of a recording, and another to score on."""
    gains, bags, truth = np.array([11.0, 8.0, 3.0]), [], known_arm.deformed(model=known_arm.LEVEL)
    for seed, duration in ((5, 30.0), (8, 15.0)):
        t, q, qd, tau = known_arm.record(truth, seed=seed, duration=duration)
        signals = t, q, qd, tau / gains
        bags.append(known_arm.save(tmp_path / f"recording{seed}.npz", signals, THREE))
    given = ["--current-gain", *(f"{n}={gain}" for n, gain in zip(THREE, gains, strict=True))]
    files = identified(tmp_path, bags[0], "--held-out", bags[1], *given)
    assert min(json.loads(files["json"].read_text())["held_out"]["r2"]) > 0.95
    found = fr.Model.from_file(files["urdf"], joints=THREE)
    parameters = yaml.safe_load(files["yaml"].read_text())["/**"]["ros__parameters"]
    armature = np.array([parameters["armature"][name] for name in THREE])
    random = np.random.default_rng(11)
    q = random.uniform(-np.pi, np.pi, (1000, truth.n))
    qd, qdd = random.uniform(-1, 1, (2, 1000, truth.n))
    expected = fr.Dynamics(truth).rnea(q, qd, qdd) + known_arm.ARMATURE[1:4] * qdd
    torque = fr.Dynamics(found).rnea(q, qd, qdd) + armature * qdd
    nominal = fr.Dynamics(known_arm.LEVEL).rnea(q, qd, qdd)

    def rms(x):
        return np.sqrt((x**2).mean(axis=0))

    assert (rms(torque - expected) < 0.03 * rms(expected)).all()
    assert (rms(torque - expected) < 0.2 * rms(nominal - expected)).all()


def test_friction_and_offset_are_found(result):
    parameters = yaml.safe_load(result["yaml"].read_text())["/**"]["ros__parameters"]
    for j, name in enumerate(NAMES):
        friction = parameters["friction"][name]
        assert set(friction) == {"coulomb", "viscous", "offset"}
        assert friction["coulomb"] == pytest.approx(known_arm.COULOMB[j], rel=0.1)
        assert friction["viscous"] == pytest.approx(known_arm.VISCOUS[j], rel=0.15)


def test_the_written_urdf_is_of_bodies_that_can_be(result):
    model = fr.Model.from_file(result["urdf"])
    J = pseudo_inertia(model.inertial_parameters.reshape(-1, 10))
    massive = J[:, 3, 3] > 0
    assert massive.sum() >= model.n and (np.linalg.eigvalsh(J[massive])[:, 0] > 0).all()
    inspection = examine(result["urdf"].read_text())
    assert inspection.worst is None or inspection.worst < Severity.ERROR
    random = np.random.default_rng(0)
    M = fr.Dynamics(model).crba(random.uniform(-np.pi, np.pi, (500, model.n)))
    assert (np.linalg.eigvalsh(M)[:, 0] > 0).all()


def one_joint(signals):
    t, q, qd, tau = signals
    still = np.arange(known_arm.n) != 1
    q, qd = q.copy(), qd.copy()
    q[:, still], qd[:, still] = q[0, still], 0.0
    return t, q, qd, tau


def constant_speed(signals):
    t, q, qd, tau = signals
    speed = np.full(known_arm.n, 0.1)
    return t, q[0] + speed * t[:, None], 0 * qd + speed, tau


def saturated(signals):
    t, q, qd, tau = signals
    tau = tau.copy()
    tau[:, 2] = np.clip(tau[:, 2], -0.3 * np.abs(tau[:, 2]).max(), 0.3 * np.abs(tau[:, 2]).max())
    return t, q, qd, tau


HOPELESS = {
    "rest": (lambda s: (s[0], 0 * s[1] + s[1][0], 0 * s[2], s[3]), "at rest"),
    "one joint": (one_joint, "only shoulder_lift_joint of 6"),
    "three seconds": (lambda s: tuple(x[:320] for x in s), "too short"),
    "constant speed": (constant_speed, "constant speed"),
    "saturated": (saturated, "saturated"),
    "N mm": (lambda s: (*s[:3], 1e3 * s[3]), "(drives.<joint>.effort: current)? 15 of"),
    "degrees": (lambda s: (s[0], np.degrees(s[1]), np.degrees(s[2]), s[3]), "degrees"),
}


@pytest.mark.parametrize("case", HOPELESS)
def test_what_identifies_nothing_gets_a_verdict(case, truth, tmp_path, tool):
    spoil, words = HOPELESS[case]
    bag = known_arm.save(tmp_path / "arm.npz", spoil(known_arm.record(truth, duration=15.0)))
    command = ["identify", bag, "--urdf", "ur5e", "--output", str(tmp_path / "o.urdf")]
    assert words in tool(*command, status=1).partition("featherstone-ros identify: ")[2]
    assert not (tmp_path / "o.urdf").exists()


def test_a_description_is_not_overwritten(result, tmp_path, tool):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(known_arm.URDF.read_text())
    command = ["identify", result["bag"], "--urdf", str(urdf), "--output", str(urdf)]
    assert "choose another name" in tool(*command, status=1)


def test_the_picture_is_legible(result):
    """Nothing smaller than 8 points, no text cut off, one colour for what was measured."""
    from matplotlib.colors import to_hex

    assert result["png"].stat().st_size > 10_000
    (figure,) = result["pictures"]
    parameters = figure.axes[-1]
    texts = [t for axes in figure.axes for t in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    texts = [t for t in (*texts, *figure.texts) if t.get_visible() and t.get_text()]
    assert min(text.get_fontsize() for text in texts) >= 8
    boxes = [text.get_window_extent() for text in (*parameters.get_yticklabels(), *figure.texts)]
    assert all(0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    torque, friction = figure.axes[:2]
    (legend,) = figure.legends
    measured = to_hex(legend.get_lines()[0].get_color())
    assert to_hex(torque.lines[0].get_color()) == to_hex(friction.lines[0].get_color()) == measured


# What hangs on a link.


@pytest.fixture
def loaded(truth, tmp_path):
    """A recording of the arm with a load of 0.7 kg."""
    model = truth.with_payload("tool0", 0.7, [0.0, 0.03, 0.1], 0.003 * np.eye(3))
    return known_arm.save(tmp_path / "arm.npz", known_arm.record(model, seed=9, duration=10.0))


def test_a_load_is_found_beside_an_identified_arm(result, loaded, tmp_path, tool):
    out = tmp_path / "load.json"
    known = ["--urdf", result["urdf"], "--with", result["yaml"]]
    said = tool("payload", loaded, *known, "--link", "tool0", "--json", out)
    load = json.loads(out.read_text())
    assert load["significant"] and load["mass"] == pytest.approx(0.7, abs=0.03)
    np.testing.assert_allclose(load["com"], [0.0, 0.03, 0.1], atol=0.02)
    inertia = fr.identification.payload.inertia_matrix(np.array(load["inertia"]))
    moments = np.linalg.eigvalsh(inertia)
    assert moments[0] > 0 and moments[0] + moments[1] > moments[2]
    printed = yaml.safe_load(said.out.partition("\n\n")[2].partition(str(out))[0])
    payload = printed["/**"]["ros__parameters"]["payload"]
    assert payload["link"] == "tool0" and payload["mass"] == pytest.approx(load["mass"], rel=1e-5)


@pytest.mark.study
def test_a_load_is_found_beside_a_recording_without_it(result, loaded, tmp_path, tool):
    files = {name: tmp_path / f"load.{name}" for name in ("json", "png")}
    options = ["--link", "tool0", "--json", files["json"], "--plot", files["png"]]
    command = ["payload", loaded, "--urdf", "ur5e", "--without", result["bag"], *options]
    assert "only the difference of the effort counts" in tool(*command)
    load = json.loads(files["json"].read_text())
    assert load["mass"] == pytest.approx(0.7, abs=0.01) and load["explained"] > 0.9
    assert abs(load["mass"] - 0.7) < 3 * load["standard_deviation"]["mass"] < 0.02
    np.testing.assert_allclose(load["com"], [0.0, 0.03, 0.1], atol=0.02)
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    assert "not allowed with" in tool(*command, "--with", result["yaml"], status=2)


def test_no_load_is_said_to_be_none(truth, tmp_path, tool):
    model = known_arm.NOMINAL
    bag = known_arm.save(tmp_path / "arm.npz", known_arm.record(model))
    shown = tool("payload", bag, "--urdf", "ur5e", "--link", "tool0").out
    assert "The data show no load" in shown
    for joint in known_arm.NAMES:  # each with what is left without and with the load
        assert re.search(rf"^    {joint} +\d+\.\d{{3}} +\d+\.\d{{3}}$", shown, re.MULTILINE)


def test_an_unknown_link_is_named(result, tool):
    said = tool("payload", result["bag"], "--urdf", "ur5e", "--link", "hook", status=1)
    assert "featherstone-ros payload: no link 'hook'; valid names" in said


@pytest.fixture
def wrong(tmp_path):
    """Record joints with an encoder that is off [rad], or efforts some samples late.

    Return what identify is to do with that, and its output.
    """

    def record(joints, off=0.0, late=0):
        arm = fr.Model.from_file(known_arm.URDF, joints=joints)
        nothing = np.zeros(known_arm.n)
        drives = Drives(nothing, known_arm.VISCOUS, nothing, offset=nothing)
        t, q, qd, tau = known_arm.record(arm, drives, noise=0.0, duration=12.0)
        signals = t, q + off * np.eye(arm.n)[1], qd, np.roll(tau, late, axis=0)
        bag = known_arm.save(tmp_path / "arm.npz", signals, joints)
        output = tmp_path / "arm.urdf"
        return ["identify", bag, "--urdf", "ur5e", "--output", str(output)], output

    return record


@pytest.mark.study  # the option is tried by a delay
@pytest.mark.parametrize(("option", "status"), [("--fix offsets", 0), ("", 1), ("--force", 0)])
def test_an_encoders_offset_is_named_and_corrected_where_that_is_asked_for(
    option, status, wrong, tool
):
    command, output = wrong(THREE, off=0.3)
    told = tool(*command, *option.split(), status=status)
    assert "elbow_joint: its encoder is off by +0." in told
    assert ("Corrected: elbow_joint: its encoder" in told) is ("fix" in option)
    assert output.exists() is (status == 0)


def test_a_delay_of_the_efforts_is_corrected_where_that_is_asked_for(wrong, tmp_path, tool):
    """30 ms late: friction is that of the arm."""
    command, output = wrong(THREE[:2], late=3)
    told = tmp_path / "arm.json"
    command += ["--json", str(told)]
    assert "Corrected: All efforts come 30 ±" in tool(*command, "--fix", "delay")
    assert output.exists()
    friction = json.loads(told.read_text())["friction"]
    viscous = [friction[name]["viscous"] for name in THREE[:2]]
    np.testing.assert_allclose(viscous, known_arm.VISCOUS[1:3], rtol=0.05)


def test_a_refusal_names_the_joint_that_is_explained_worse_and_what_to_do():
    random = np.random.default_rng(0)
    torque, noise = random.normal(size=(2, 1000, 2))
    urdf = explain("", torque, torque + [0.1, 0.3] * noise)
    found = SimpleNamespace(faults=(), joint_names=("shoulder", "elbow"))
    better, worse = (
        explain("", torque, torque + share * noise) for share in ([0.11, 0.3], [0.05, 0.5])
    )
    assert reasons_against(found, better, urdf, np.full(2, 0.02)) == []
    assert reasons_against(found, worse, urdf, np.ones(2)) == []
    (why,) = reasons_against(found, worse, urdf, np.full(2, 0.02))
    assert re.search(r"elbow 0\.5\d* instead of 0\.3\d* N m", why) and "shoulder" not in why
    assert "excite" in why and "--held-out" in why
    small, large = (explain("", torque, torque + s * noise) for s in ([0.01] * 2, [0.08, 0.012]))
    (why,) = reasons_against(found, large, small, np.full(2, 0.02))  # by R^2 alone .9999 and .994
    assert re.search(r"shoulder 0\.0[78]\d* instead of 0\.0\d* N m", why) and "elbow" not in why
    assert reasons_against(found, large, small, np.full(2, 0.1)) == []


@pytest.fixture(scope="module")
def by_load(tmp_path_factory):
    """What identify makes of currents, of an arm that was driven again with a known load."""
    folder = tmp_path_factory.mktemp("by_load")
    gains, real = np.array([14.0, -13.0, 11.0]), known_arm.deformed(model=known_arm.LEVEL)
    loaded, bags = real.with_payload("tool0", 4.0, [0.05, 0.03, 0.1], 0.02 * np.eye(3)), []
    for seed, model in ((5, real), (6, loaded)):
        t, q, qd, tau = known_arm.record(model, seed=seed, duration=20.0)
        signals = t, q, qd, tau / gains
        bags.append(known_arm.save(folder / f"recording{seed}.npz", signals, THREE))
    files = identified(folder, bags[0], "--loaded", bags[1], "--load", "tool0=4")
    return {"gains": gains, "bags": bags, **files}


def test_both_nodes_and_evaluate_are_told_what_the_currents_are(by_load, tmp_path, tool):
    """By parameters that they have."""
    for node in ("digital_twin", "feedforward_controller"):
        units = DriveUnits.of(read_parameters(by_load["yaml"])[node], THREE)
        assert units.effort[1:] == ("current",) * 2
        np.testing.assert_allclose(units.effort_gain[1:], by_load["gains"][1:], rtol=0.03)
    # What was identified explains the currents, without a word more.
    written, out = ["--urdf", by_load["urdf"], "--with", by_load["yaml"]], tmp_path / "score.json"
    tool("evaluate", by_load["bags"][0], *written, "--json", out)
    told = json.loads(out.read_text())
    assert min(told["r2"][1:]) > 0.98


def test_efforts_that_lack_a_part_are_refused_of_recordings(by_load, tmp_path, tool):
    parameters = tmp_path / "arm.yaml"
    drives = {"drives": {NAMES[1]: {"effort": "torque_without_gravity"}}}
    parameters.write_text(yaml.safe_dump({"/**": {"ros__parameters": drives}}))
    command = ["evaluate", by_load["bags"][0], "--urdf", "ur5e", "--with", parameters]
    said = tool(*command, status=1)
    assert f"drives.{NAMES[1]}.effort is torque_without_gravity, expected torque, current" in said


@pytest.mark.study
def test_currents_are_identified_by_the_links_of_the_urdf(tmp_path):
    """Whose errors of 3 % are all that is wrong with the gains."""
    gains = np.array([14.0, -13.0, 11.0, 10.5, -11.0, 9.0])
    t, q, qd, tau = known_arm.record(known_arm.deformed(size=0.03, tool=0.0), duration=20.0)
    bag = known_arm.save(tmp_path / "arm.npz", (t, q, qd, tau / gains))
    files = identified(tmp_path, bag, "--gains-by-links")
    assert files["urdf"].exists()
    found = json.loads(files["json"].read_text())["effort_gain"]
    known = [name for name in NAMES if found[name]["identified"]]
    assert {"shoulder_lift_joint", "elbow_joint"} <= set(known)
    for name in known:
        assert found[name]["value"] == pytest.approx(gains[NAMES.index(name)], rel=0.05)


def test_a_load_without_its_recording_is_refused(by_load, tool):
    said = tool("identify", by_load["bags"][0], "--load", "tool0=4", "--urdf", "ur5e", status=2)
    assert "--loaded and --load LINK=KG belong together" in said
