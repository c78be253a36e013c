"""The peg on a plane presses as two springs in series do, and stays where it is led."""

import sys
from pathlib import Path

import numpy as np
import pytest
from studies import study

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.append(str(EXAMPLES))
import peg_on_a_plane  # noqa: E402

from featherstone_ros import Model  # noqa: E402
from featherstone_ros.tools.robot_setup import load  # noqa: E402


@pytest.fixture(scope="module")
def panda():
    return Model.from_urdf(load("panda").text, joints=[f"panda_joint{k}" for k in range(1, 8)])


@pytest.mark.parametrize("stiffness", [study(200.0), 1000.0])
def test_peg_presses_as_two_springs_in_a_row(panda, stiffness):
    record = peg_on_a_plane.press(panda, stiffness, 0.02)
    expected = peg_on_a_plane.expected(stiffness, 0.02)
    assert record.pressed() == pytest.approx(expected, rel=0.02)
    assert record.strayed() < 0.005
    assert record.force[-1, 2] == 0  # lifted
    np.testing.assert_allclose(record.position[-1], peg_on_a_plane.SLIDE, atol=1e-3)


@pytest.mark.study
def test_picture_is_written(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert peg_on_a_plane.main(["--stiffness", "300", "--output", str(tmp_path)]) == 0
    assert (tmp_path / "peg.png").read_bytes().startswith(b"\x89PNG")
    assert "300 N/m" in capsys.readouterr().out
