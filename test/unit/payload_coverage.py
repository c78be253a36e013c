"""How often a payload's interval covers the truth: of mass, centre of mass and inertia.

Three arms, each with links that differ from its URDF, friction that nobody knows and torque noise,
carry loads of 0.5, 1 and 3 kg with random places and shapes. Printed is the share of true values
within two standard deviations (95 % are expected), and the RMS error of the mass. With
``--identified`` also for arms that are identified from another motion, half a minute each.

    python test/unit/payload_coverage.py [--truths 20] [--identified]
"""

import argparse
from collections import defaultdict

import numpy as np
from example_robots import example_robot

import featherstone_ros as fr
from featherstone_ros import identification
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.bodies import Bodies
from featherstone_ros.identification.friction import Friction
from featherstone_ros.identification.model_order import Fitting, fit_parts
from featherstone_ros.identification.recording import Recording
from featherstone_ros.model.robots import robot_file

ARMS = {
    "ur5e": lambda: (robot_file("ur5e"), "tool0"),
    "panda": lambda: (robot_file("panda"), "panda_hand"),
    "xarm7": lambda: (example_robot("xarm7"), "link7"),
}
MASSES = (0.5, 1.0, 3.0)  # [kg]
LINK_ERRORS = (0.02, 0.1, 0.2)  # standard deviations of theta, see ``bodies``
FRICTION, NOISE = 0.04, 0.002  # of the effort limits
DENSITY = 1000.0  # [kg/m^3]
UPPER = np.triu_indices(3)


def motion(model, seed, duration=20.0, rate=100.0):
    """Return time (N,), position, velocity and acceleration (N, n) of a sum of sines."""
    random = np.random.default_rng(seed)
    t = np.arange(round(duration * rate)) / rate
    omega = 2 * np.pi * random.uniform(0.05, 0.45, (4, model.n))
    angle = omega * t[:, None, None] + random.uniform(0, 2 * np.pi, (4, model.n))
    low, high = np.maximum(model.lower, -2.5), np.minimum(model.upper, 2.5)
    amplitude = random.uniform(0.5, 1.0, (4, model.n)) / omega
    amplitude *= 0.35 * (high - low) / (2 * amplitude.sum(axis=0))
    q = (low + high) / 2 + (amplitude * np.sin(angle)).sum(axis=1)
    qd = (amplitude * omega * np.cos(angle)).sum(axis=1)
    return t, q, qd, -(amplitude * omega**2 * np.sin(angle)).sum(axis=1)


def recording(model, drives, moved, random):
    """Return what the sensors of an arm with drives (coulomb, viscous, offset) (3, n) give."""
    t, q, qd, qdd = moved
    coulomb, viscous, offset = drives
    limit = model.effort_limit
    tau = fr.Dynamics(model).rnea(q, qd, qdd) + viscous * qd + coulomb * np.tanh(qd / 0.01)
    tau = tau + offset + NOISE * limit * random.normal(size=q.shape)
    noisy = q + 1e-5 * random.normal(size=q.shape), qd + 1e-3 * random.normal(size=q.shape)
    return Recording("", model.joint_names, t, *noisy, tau)


def loads(random):
    """Return (mass, com, inertia) of a random body for each mass."""
    for mass in MASSES:
        half = random.uniform(0.5, 1.5, 3)  # of a box, turned about
        half *= (mass / DENSITY / random.uniform(0.4, 2.5) / (8 * half.prod())) ** (1 / 3)  # [m]
        turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
        moments = mass / 3 * (half @ half - half**2)
        yield (
            mass,
            random.uniform([-0.05, -0.05, 0.02], [0.05, 0.05, 0.15]),
            (turn @ np.diag(moments) @ turn.T),
        )


def identified(model, states):
    """Return the arm that is identified from a recording."""
    fitting = Fitting(model, [states], range(model.n), cut_off=2.0)
    fit, best = fit_parts(fitting)
    return fitting.arm(best, fit)


def is_within(load, mass, com, inertia):
    """Return which of 10 numbers lie within two standard deviations."""
    off = np.concatenate([[load.mass - mass], load.com - com, (load.inertia - inertia)[UPPER]])
    deviation = np.concatenate(
        [[load.mass_deviation], load.com_deviation, load.inertia_deviation[UPPER]]
    )
    return np.abs(off) < 2 * deviation


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--truths", type=int, default=20)
    parser.add_argument("--identified", action="store_true")
    args = parser.parse_args()
    within, errors, said = defaultdict(list), defaultdict(list), defaultdict(list)
    for name, find in ARMS.items():
        urdf, link = find()
        model = fr.Model.from_file(urdf)
        bodies, limit = Bodies.of(model), model.effort_limit
        for truth in range(args.truths):
            random = np.random.default_rng([truth, len(name)])
            theta = random.normal(size=10 * len(bodies.names)) * LINK_ERRORS[truth % 3]
            real = model.with_inertial_parameters(bodies.link_parameters(theta))
            drives = random.uniform(0.3, 1.0, (3, model.n)) * FRICTION * limit
            drives[2] *= random.choice([-0.2, 0.2], model.n)
            moved = motion(model, truth)
            bare = recording(real, drives, moved, random)
            known = Friction(drives[1], drives[0], np.zeros(model.n), drives[2], doubtful={})
            if args.identified:
                other = motion(model, truth + 1000, duration=30.0)
                states = recording(real, drives, other, np.random.default_rng(truth))
                own = identified(model, states)
            for mass, com, inertia in loads(random):
                carried = recording(
                    real.with_payload(link, mass, com, inertia), drives, moved, random
                )
                ways = {
                    "URDF, drives fitted": (Arm(model, Friction.none(model.n)), carried, True),
                    "URDF, drives known": (Arm(model, known), carried, False),
                    "difference": (Arm(model, Friction.none(model.n)), carried.minus(bare), False),
                }
                if args.identified:
                    ways["identified"] = (own, carried, False)
                for way, (arm, states, fit) in ways.items():
                    load = identification.find_payload(
                        arm, [states], link, fit_drives=fit, subtracted=way == "difference"
                    )
                    within[name, way].append(is_within(load, mass, com, inertia))
                    errors[name, way].append(load.mass - mass)
                    said[name, way].append(load.mass_deviation)
        for (arm, way), found in within.items():
            if arm == name:
                share = np.mean(found, axis=0)
                rms, mean = np.sqrt(np.mean(np.square(errors[arm, way]))), np.mean(said[arm, way])
                print(
                    f"{arm:8}{way:22}mass {share[0]:4.0%}  com {share[1:4].mean():4.0%}  inertia "
                    f"{share[4:].mean():4.0%}  mass off by {rms:.3f} kg, said {mean:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
