"""The example of a stream: a spline follows the policy closer and more smoothly than lines."""

import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.append(str(EXAMPLES))
import policy_stream  # noqa: E402

from featherstone_ros.control.settings import Interpolation  # noqa: E402


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


@pytest.mark.study
def test_picture_is_written(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert policy_stream.main(["--output", str(tmp_path)]) == 0
    assert (tmp_path / "stream.png").read_bytes().startswith(b"\x89PNG")
    assert "spline" in capsys.readouterr().out
