"""A trajectory of a file, timed anew, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from featherstone_ros.control import Retimed
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.tools.trajectory_check import FileCheck, trajectory_of
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory


def retimed_file(
    given: UncheckedTrajectory,
    arm: ControlledArm,
    effort: float,
    acceleration: float | None,
    link_speed: Mapping[str, float],
    blend: float,
    report: Callable[[int, int], None],
) -> tuple[Retimed, UncheckedTrajectory]:
    """Return a trajectory's path with new times, and as a file; its first point keeps its time.

    Args:
        given: The trajectory.
        arm: Loaded for its joints; its parameters allow trajectories that end in motion.
        effort: As these, of ``fr.control.retime``.
        acceleration: [rad/s^2 or m/s^2].
        link_speed: [m/s].
        blend: [rad or m].
        report: For progress.

    Raises:
        RetimingError: No timing is within the limits.
        TrajectoryError: The trajectory is invalid for any arm.
    """
    trajectory = trajectory_of(given, arm)
    timed = arm.retimed(
        trajectory,
        effort=effort,
        acceleration=acceleration,
        link_speed=link_speed,
        blend=blend,
        report=report,
    )
    return timed, UncheckedTrajectory(timed.names, tuple(timed.points(trajectory.times[0])))


def summary(before: FileCheck, timed: Retimed) -> Iterator[str]:
    """Yield what has become of a trajectory."""
    begin, end = before.verdict.demand.time[[0, -1]]
    was = f"{end - begin:.3f} s before{'' if before.fits else ', which does not fit'}"
    yield f"[bold]{timed.duration:.3f} s[/], {was}; {len(timed.times)} points"
    yield f"Of the limits: {timed.used()}"
