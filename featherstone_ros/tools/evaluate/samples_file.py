"""The filtered motion with measured and predicted torque, as a table for other programs."""

from __future__ import annotations

import csv
from pathlib import Path

from featherstone_ros.identification.explanation import Evaluation


def write_csv(evaluation: Evaluation, path: Path) -> None:
    """Write one row per sample: time, then each joint's motion, measured and predicted effort."""
    motion = evaluation.motion
    fields = {
        "position": motion.position,
        "velocity": motion.velocity,
        "acceleration": motion.acceleration,
        "effort": motion.effort,
        **{e.name.replace(" ", "_"): e.effort for e in evaluation.explanations},
    }
    names = [f"{joint}.{field}" for joint in evaluation.joint_names for field in fields]
    columns = [
        values[:, j] for j in range(len(evaluation.joint_names)) for values in fields.values()
    ]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", *names])
        for row in zip(motion.time, *columns, strict=True):
            writer.writerow([f"{value:.9g}" for value in row])
