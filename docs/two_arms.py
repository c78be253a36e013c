"""Let two simulated Pandas carry a bar along a circle, and draw docs/two_arms.png.

From this project's folder (half a minute): ``python docs/two_arms.py``.

Two controllers in mode cartesian_impedance, each with its own seven joints, command one twin of
fourteen, whose dry friction is 1.3 times what they compensate. The bar is a spring between the
end effectors. Then the right arm's controller dies: its brakes engage, the left arm goes on.
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np

import featherstone_ros as fr
from featherstone_ros._twin import INPUTS
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.model.drives import Drives
from featherstone_ros.parameter import of_joints
from featherstone_ros.simulation import SimulatorSettings, Twin
from featherstone_ros.tools.style import BLUE, GREY, RED, YELLOW, finish, picture

sys.path.append(str(Path(__file__).parents[1] / "test" / "unit"))
from arm_pair import ARMS, JOINTS, PANDA, PANDAS, TIPS, Bar
from cdr_messages import float64_multi_array
from pushed_twin import apply_wrench

STEP = 0.001  # [s] of the twin, of its states and of their answers
TARGETS = 20  # steps from one target to the next
RADIUS, TURN = 0.08, 5.0  # [m] of the circle, [s] for one
START, TURNS = 1.0, 2  # [s] before the circle; how many
DEAD = START + 1.6 * TURN  # [s] when the right arm's controller dies, in motion
END = START + TURNS * TURN + 1.0
COMMAND_TIMEOUT = 0.1  # [s]
FRICTION = 1.3  # times that of the URDF, in the twin
STIFFNESSES, DISAGREEMENTS = (400.0, 1000.0), (0.0, 0.01)  # [N/m], [m]
PICTURE = Path(__file__).with_name("two_arms.png")


def circle(time):
    """Return where the bar is to be [m], from where it started."""
    angle = 2 * np.pi * np.clip((time - START) / TURN, 0, TURNS)
    return RADIUS * np.array([np.sin(angle), 0.0, 1.0 - np.cos(angle)])


def controllers(stiffness):
    """Return one for each arm; stiffness [N/m]."""
    made = []
    for arm in ARMS:
        parameters = {
            "mode": "cartesian_impedance",
            "tip": TIPS[arm],
            "stiffness": [stiffness] * 3 + [30.0] * 3,
            **of_joints("armature.{}", JOINTS[arm], PANDA.by_joint("digital_twin", "armature.{}")),
        }
        model = fr.Model.from_urdf(PANDAS, joints=JOINTS[arm])
        made.append(ControlledArm.of(model, parameters).controller())
        made[-1].activate(0.0)
    return made


def carry(stiffness, disagreement, bar):
    """Return what happened, N samples; the right target is too near by ``disagreement`` [m].

    These are time (N,), paths of the end effectors (N, 2, 3) and of their targets (N, 3), force in
    the bar (N,), speeds of the joints (N, 14) and efforts (N, 14).
    """
    armature = np.tile(PANDA.by_joint("digital_twin", "armature.{}"), 2)
    chosen = SimulatorSettings(
        initial_positions=bar.start,
        drives=Drives.of_model(bar.model, armature=armature, coulomb=FRICTION * bar.model.friction),
        command_timeout=COMMAND_TIMEOUT,
    )
    twin = Twin(bar.model, chosen, own_commands=[JOINTS[arm] for arm in ARMS])
    arms = controllers(stiffness)
    home = bar.poses(bar.start)
    rows = []
    for tick in range(round(END / STEP)):
        now = tick * STEP
        q, qd = twin.position, twin.velocity
        force, wrenches = bar.press(q, qd)
        for link, wrench in wrenches.items():
            apply_wrench(twin, link, wrench)
        for k, (arm, pose) in enumerate(zip(arms, home, strict=True)):
            if k == 1 and now >= DEAD:
                continue
            mine = slice(7 * k, 7 * k + 7)
            command = arm.accept_state(now, q[mine].copy(), qd[mine].copy(), stamp=now)
            if command is not None:
                data = float64_multi_array(command)
                twin.message(len(INPUTS) + k, data, round(now * 1e9))
            if tick and tick % TARGETS == 0:
                target = pose.copy()
                target[:3, 3] += circle(now) - [k * disagreement, 0.0, 0.0]
                velocity = (circle(now) - circle(now - STEP)) / STEP
                arm.set_target(now, target, np.r_[velocity, np.zeros(3)])
        twin.advance(now)
        ends = bar.poses(q)[:, :3, 3] - home[:, :3, 3]
        rows.append(np.r_[now, ends.ravel(), circle(now), force, qd, twin.effort])
    table = np.array(rows)
    parts = np.split(table, [1, 7, 10, 11, 25], axis=1)
    return parts[0][:, 0], parts[1].reshape(-1, 2, 3), parts[2], parts[3][:, 0], *parts[4:]


def during(time, begin, end):
    """Return which samples lie in a span."""
    return (time >= begin) & (time < end)


def draw(results):
    """Draw the paths of the end effectors, and the force in the bar."""
    with picture(PICTURE) as pyplot:
        _, (path, panel) = pyplot.subplots(
            1, 2, figsize=(10, 3.6), dpi=100, width_ratios=(2, 5), layout="constrained"
        )
        stiffest = STIFFNESSES[-1]
        time, ends, desired, *_ = results[stiffest, 0.0]
        shown = during(time, START, DEAD)
        path.plot(*1e3 * desired[shown, ::2].T, "--", color="0.5", lw=1.0, label="desired")
        for k, (arm, colour) in enumerate(zip(ARMS, (BLUE, RED), strict=True)):
            path.plot(*1e3 * ends[shown, k, ::2].T, color=colour, lw=1.0, label=arm)
        path.set(xlabel="x [mm]", ylabel="z [mm]", aspect="equal", title=f"{stiffest:g} N/m")
        path.legend(frameon=False, fontsize=8, loc="center")
        for (stiffness, apart), (time, _, _, force, *_) in results.items():
            colour = dict(zip(STIFFNESSES, (YELLOW, BLUE), strict=True))[stiffness]
            near = f", targets {1e3 * apart:g} mm too near" if apart else ""
            label = f"{stiffness:g} N/m{near}"
            panel.plot(time, force, "--" if apart else "-", color=colour, lw=1.0, label=label)
        panel.axvspan(DEAD, END, color="0.92", zorder=0)
        top = panel.get_ylim()[1] + 15.0  # [N]
        panel.set_ylim(top=top)
        panel.text(DEAD, top, " the right controller\n is dead", va="top", color=GREY)
        panel.set(xlabel="time [s]", title="Force in the bar [N]")
        panel.legend(frameon=False, fontsize=8, loc="lower left")
        for axes in (path, panel):
            finish(axes)


def main():
    """Measure, print and draw."""
    results = {}
    for stiffness, apart in product(STIFFNESSES, DISAGREEMENTS):
        run = results[stiffness, apart] = carry(stiffness, apart, Bar(5000.0, 20.0))
        time, ends, desired, force, speed, _ = run
        on = during(time, START, DEAD)
        far = np.linalg.norm(ends[on].mean(axis=1) - desired[on], axis=1)
        dead = time >= DEAD
        pressed, alone = np.abs(force[on]), np.abs(force[dead])
        print(
            f"{stiffness:g} N/m, {1e3 * apart:g} mm: force mean {pressed.mean():.1f} N, largest "
            f"{pressed.max():.1f} N; bar off its path by {1e3 * far.mean():.1f} mm, largest "
            f"{1e3 * far.max():.1f} mm; after the death {alone.max():.1f} N, joints "
            f"{np.abs(speed[dead]).max():.2f} rad/s (before: {np.abs(speed[on]).max():.2f})"
        )
    draw(results)
    print(PICTURE)


if __name__ == "__main__":
    main()
