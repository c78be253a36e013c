"""featherstone-ros evaluate, on recordings of an arm whose friction is known."""

import csv
import io
import itertools
import json
import re
import threading
from types import SimpleNamespace

import known_arm
import numpy as np
import pytest
import recorded_arm
import yaml
from rich.console import Console
from studies import few_or_all, study

import featherstone_ros as fr
from featherstone_ros.tools.progress_bar import delayed_progress

NAMES = list(recorded_arm.NAMES)
ROW_STARTS = [[name] for name in NAMES]


@pytest.fixture(scope="module")
def arm():
    """Time, position, velocity and torque of the arm in motion."""
    return recorded_arm.simulate()


@pytest.fixture
def record(tmp_path):
    """Write a table, or a bag, and a description; return the arguments of the command."""

    def write(*signals, storage=None):
        if storage is None:
            recording = known_arm.save(tmp_path / "arm.npz", signals, NAMES)
        else:
            recording = known_arm.write(tmp_path / "bag", signals, storage, NAMES)
        (tmp_path / "arm.urdf").write_text(recorded_arm.URDF)
        return ["evaluate", recording, "--urdf", str(tmp_path / "arm.urdf")]

    return write


def table(text, title):
    """Return joint -> cells of a printed table."""
    lines = iter(text.partition(title)[2].splitlines())
    body = itertools.dropwhile(lambda line: line.split()[:1] not in ROW_STARTS, lines)
    rows = [line.replace("/", " ").split() for line in itertools.takewhile(str.strip, body)]
    return {name: cells for name, *cells in rows}


def numbers(cells):
    return [float(cell) for cell in cells]


@pytest.mark.parametrize("storage", few_or_all(["sqlite3"], ["sqlite3", "mcap"]))
def test_known_friction_is_found_and_explains_the_torque(
    arm, record, tmp_path, monkeypatch, tool, storage
):
    monkeypatch.chdir(tmp_path)
    output = tool(*record(*arm, storage=storage), "--fit-armature").out
    explained = table(output, "Torque left unexplained")
    fitted = table(output, "Friction fitted")
    for j, name in enumerate(NAMES):
        _, gravity, _, rigid, rms, with_friction = numbers(explained[name])
        assert gravity < 1 and rigid < 0.99 and with_friction > 0.999 and rms < 0.1
        viscous, coulomb, armature, offset = numbers(fitted[name])
        # The simulator's friction changes its sign more sharply than the eased one of the fit.
        assert viscous == pytest.approx(recorded_arm.VISCOUS[j], rel=0.15)
        assert coulomb == pytest.approx(recorded_arm.COULOMB[j], rel=0.05)
        assert armature == pytest.approx(recorded_arm.ARMATURE[j], rel=0.05)
        assert abs(offset) < 0.02
    assert "200 per second" in output and "bag_friction.yaml" in output
    assert "better without gravity" not in output
    written = yaml.safe_load((tmp_path / "bag_friction.yaml").read_text())
    parameters = written["/**"]["ros__parameters"]
    assert set(parameters) == {"friction", "armature", "presliding_displacement"}
    assert parameters["presliding_displacement"] == 1e-6  # a simulated joint sticks exactly
    for name in NAMES:
        viscous, coulomb, armature, _ = numbers(fitted[name])
        friction = parameters["friction"][name]
        assert friction["viscous"] == pytest.approx(viscous, abs=1e-3)
        assert friction["coulomb"] == pytest.approx(coulomb, abs=1e-3)
        assert parameters["armature"][name] == pytest.approx(armature, abs=1e-3)


def test_noise_jitter_and_losses_change_little(arm, record, tmp_path, tool):
    time, *signals = arm
    random = np.random.default_rng(5)
    kept = random.random(len(time)) > 0.1
    time = time + random.uniform(-0.002, 0.002, len(time))
    noisy = [
        x + size * random.standard_normal(x.shape)
        for x, size in zip(signals, (1e-4, 0.01, 0.3), strict=True)
    ]
    file = tmp_path / "friction.yaml"
    bag = record(time[kept], *(x[kept] for x in noisy))
    output = tool(*bag, "--parameters", file).out
    assert "Uneven stamps: interpolated" in output
    for j, (_, cells) in enumerate(table(output, "Friction fitted").items()):
        viscous, coulomb, offset = numbers(cells)
        assert coulomb == pytest.approx(recorded_arm.COULOMB[j], abs=0.1)
        assert viscous == pytest.approx(recorded_arm.VISCOUS[j], abs=0.1)
        assert abs(offset) < 0.05
    assert "armature" not in file.read_text()


@pytest.mark.study
def test_joints_that_are_not_compared_still_move(arm, record, tmp_path, tool):
    bag = record(*arm)
    both = table(tool(*bag).out, "Torque left unexplained")
    assert table(tool(*bag, "--joints", "elbow").out, "Torque left unexplained") == {
        "elbow": both["elbow"]
    }


def test_gravity_of_an_arm_on_the_ceiling(arm, record, tool):
    wrong = table(tool(*record(*arm), "--gravity", "0", "0", "9.81").out, "Torque left unexplained")
    assert numbers(wrong["shoulder"])[1] < 0


@pytest.mark.study
def test_effort_without_gravity_is_suspected(arm, record, tool):
    time, q, qd, tau = arm
    said = tool(*record(time, q, qd, tau - recorded_arm.gravity(q)))
    assert "better without gravity" in said


GAINS = np.array([9, 9, 9, 4, 4, 4])
TOOL = known_arm.NOMINAL.with_payload("tool0", 0.7, [0.0, 0.0, 0.05], 0.001 * np.eye(3))
# Whose recording, what is done to its q, qd and tau, what is said, and what is not.
SUSPECT = [
    (known_arm.LEVEL, (1, 1, 1), None, "unmodelled"),
    (TOOL, (1, 1, 1), "looks like an unmodelled 0.7", "--current-gain"),
    (known_arm.LEVEL, (np.degrees(1), np.degrees(1), 1), "degrees", "unmodelled"),
    # In N mm, all joints are far beyond their limits.
    (known_arm.NOMINAL, (1, 1, 1e3), "in elbow_joint (limit 150), ", "unmodelled"),
    study(known_arm.NOMINAL, (1, 1, 4 / 9), "--current-gain", "without gravity"),
    study(known_arm.NOMINAL, (1, 1, 1 / GAINS), "--current-gain", "without gravity"),
]


@pytest.mark.parametrize(("real", "factors", "told", "untold"), SUSPECT)
def test_what_a_recording_is_suspected_of(real, factors, told, untold, tmp_path, tool):
    time, *states = known_arm.record(real)
    states = [factor * x for factor, x in zip(factors, states, strict=True)]
    bag = known_arm.save(tmp_path / "arm.npz", (time, *states), real.joint_names)
    out = tmp_path / "scores.json"
    text = tool("evaluate", bag, "--urdf", "ur5e", "--json", out)
    assert (told is None or told in text) and untold not in text
    scores = json.loads(out.read_text())
    assert (scores["payload"] is None) is (real is not TOOL)
    if scores["payload"]:
        assert scores["payload"]["mass"] == pytest.approx(0.7, abs=0.05)
    assert bool(scores["suspicions"]) is (told is not None and real is not TOOL)


def test_four_seconds_tell_of_a_wrong_sign(tmp_path, tool):
    names, out = known_arm.NAMES[1:3], tmp_path / "scores.json"
    arm = fr.Model.from_file(known_arm.URDF, joints=names)
    time, q, qd, tau = known_arm.record(arm, duration=4.0)
    bag = known_arm.save(tmp_path / "arm.npz", (time, q, qd, tau * [1, -1]), names)
    tool("evaluate", bag, "--urdf", "ur5e", "--json", out)
    told = json.loads(out.read_text())["suspicions"]
    assert "elbow_joint: its effort has the opposite sign of torque." in told


def test_samples_and_picture_are_written(arm, record, tmp_path, tool):
    from PIL import Image

    files = {"--csv": "made/samples.csv", "--plot": "made/torque.png", "--parameters": "f.yaml"}
    tool(*record(*arm), *(x for option in files for x in (option, tmp_path / files[option])))
    with Image.open(tmp_path / "made/torque.png") as picture:
        assert len(picture.getcolors(1000)) > 10
    with (tmp_path / "made/samples.csv").open() as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    time, q, _, tau = arm
    for row in rows[:: len(rows) // 10]:
        k = int(np.abs(time - row["time"]).argmin())
        for j, name in enumerate(NAMES):
            assert row[f"{name}.position"] == pytest.approx(q[k, j], abs=0.01)
            assert row[f"{name}.effort"] == pytest.approx(row[f"{name}.with_friction"], abs=0.5)
            assert row[f"{name}.effort"] == pytest.approx(tau[k, j], abs=3.5)


def test_a_long_title_fits_its_picture(tmp_path, monkeypatch):
    """As that of a load, whose figures and link it names."""
    from matplotlib.figure import Figure

    from featherstone_ros.tools.study import draw

    widths, save = [], Figure.savefig

    def saved(figure, *to, **how):
        save(figure, *to, **how)
        widths.append([text.get_window_extent().x1 / figure.bbox.x1 for text in figure.texts])

    monkeypatch.setattr(Figure, "savefig", saved)
    time = np.linspace(0.0, 10.0, 50)
    motion = SimpleNamespace(time=time)
    for title in ("short", "a load of 12.345 kg on left_gripper_holder_link, at 1000 mm " * 3):
        curves = [("measured", "grey", np.sin(time)[:, None])]
        draw(tmp_path / "torque.png", title, motion, ["a"], curves, lambda j: "")
    assert 0 < max(widths[0]) < max(widths[1]) < 1


STILL = 1e-3 * np.random.default_rng(6).standard_normal((4000, 2))
# What a recording of time, q, qd and tau is made, options, and what the refusal says.
REFUSED = [
    (lambda t, q, qd, tau: (t, q, qd, None), [], "no effort of shoulder, elbow"),
    (lambda t, q, qd, tau: (t, q, qd, 0 * tau), [], "effort is 0 throughout"),
    (lambda t, q, qd, tau: (t, STILL, STILL, tau), [], "standstill.* rad/s"),
    (lambda *arm: arm, ["--joints", "elbow", "wrist"], "no joint wrist in the bag; bag: shoulder"),
    (lambda *arm: arm, ["--filter-hz", "120"], "the recording has 200"),
]


@pytest.mark.parametrize(("spoil", "options", "said"), REFUSED, ids=[said for *_, said in REFUSED])
def test_what_cannot_be_evaluated_is_named(spoil, options, said, arm, record, tool):
    refused = tool(*record(*spoil(*arm)), *options, status=1)
    *progress, error = refused.err.splitlines()  # a slow machine says how far it has come
    assert not refused.out and re.search(f"^featherstone-ros evaluate: .*{said}", error)
    assert all(line.startswith("reading: ") for line in progress)


def test_a_bar_is_shown_only_for_what_takes_long():
    text = io.StringIO()
    console = Console(file=text, force_terminal=True)
    with delayed_progress("reading", console) as progress:
        progress(1, 2)
    assert not text.getvalue()
    with delayed_progress("reading", console, delay=0.0) as progress:
        progress(1, 2)
        progress(2, 2)
    assert "reading" in text.getvalue()


class Written(io.StringIO):
    """A file that tells when something is written."""

    def __init__(self) -> None:
        super().__init__()
        self.event = threading.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        self.event.set()
        return written


@pytest.mark.parametrize("is_terminal", [False, True])
def test_work_that_tells_nothing_shows_progress_as_well(is_terminal, monkeypatch):
    text, errors = Written(), Written()
    monkeypatch.setattr("sys.stderr", errors)
    console = Console(file=text, force_terminal=is_terminal)
    shown, other = (text, errors) if is_terminal else (errors, text)
    with delayed_progress("thinking", console, delay=0.0):
        assert shown.event.wait(60.0)
    assert "thinking" in shown.getvalue() and not other.getvalue()


def test_without_a_terminal_progress_is_a_line_now_and_then(capsys):
    text = io.StringIO()
    with delayed_progress("reading", Console(file=text), delay=0.0) as progress:
        for done in range(1, 1001):
            progress(done, 1000)
    assert capsys.readouterr().err == "reading: 0%\n" and not text.getvalue()
