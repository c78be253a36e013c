"""The result as a picture: torque over time, and the torque that links leave, over speed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.explanation import FITTED, KNOWN, RIGID, Evaluation
from featherstone_ros.tools import panels
from featherstone_ros.tools.evaluate.report import conditions, torque_unit
from featherstone_ros.tools.recorded_arm import r2_text
from featherstone_ros.tools.style import BLUE, YELLOW, picture

COLOURS = {RIGID: YELLOW, FITTED: BLUE, KNOWN: BLUE}


def draw(evaluation: Evaluation, path: Path) -> None:
    """Write the picture."""
    n = len(evaluation.joint_names)
    height = panels.ROW * n + panels.HEAD + panels.FOOT
    models = [e for e in evaluation.explanations if e.name in COLOURS]
    motion = evaluation.motion
    with picture(path) as pyplot:
        figure, axes = pyplot.subplots(
            n, 2, squeeze=False, figsize=(12, height), dpi=110, facecolor="white",
            gridspec_kw={
                "width_ratios": (2.6, 1), "wspace": 0.13, "hspace": 0.42, "left": 0.065,
                "right": 0.988, "top": 1 - panels.HEAD / height, "bottom": panels.FOOT / height,
            },
        )  # fmt: skip
        unit = torque_unit(evaluation)
        panels.write_title(
            figure,
            f"{evaluation.robot}: torque measured and predicted [{unit}]",
            f"{evaluation.source}: {conditions(evaluation)}",
        )
        panels.write_legend(
            figure, [("measured", panels.MEASURED), *((e.name, COLOURS[e.name]) for e in models)]
        )
        panels.write_heading(figure, axes[0, 1], "measured minus rigid links, over velocity")
        for j, (over_time, over_speed) in enumerate(axes):
            curves = [(motion.effort[:, j], panels.MEASURED)]
            curves += [(e.effort[:, j], COLOURS[e.name]) for e in models]
            score = f"R²  {'  →  '.join(r2_text(e.r2[j]) for e in models)}"
            panels.draw_over_time(over_time, motion.time, curves, evaluation.joint_names[j], score)
            over_time.tick_params(labelbottom=j == n - 1)
            left = motion.effort[:, j] - models[0].effort[:, j]
            friction = _friction(evaluation, j)
            panels.draw_over_velocity(over_speed, motion.velocity[:, j], left, friction)
        axes[-1, 0].set_xlabel("time [s]")
        linear = "prismatic" in evaluation.joint_types
        axes[-1, 1].set_xlabel("velocity [rad/s, m/s]" if linear else "velocity [rad/s]")


def _friction(evaluation: Evaluation, j: int) -> Callable[[Floats], Floats] | None:
    """Return the friction fitted to a joint, by its velocity."""
    if evaluation.friction is None:
        return None
    drive = evaluation.friction.drives.of_joint(j)
    return lambda velocity: drive.friction_torque(velocity) + drive.offset
