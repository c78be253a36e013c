"""How well single masses come out where only masses are wrong: by 30 %, with 5 % torque noise.

Torque depends on masses only together with centres of mass and moments. Which of them were wrong
is for the prior to tell. Printed is the median error of the masses: as identified, and by a fit of
masses and drives alone, which knows what was wrong and so is the least that the data allow.

    python test/unit/single_masses.py [--draws 4] [--arms panda ur5e] [--duration 30]
"""

import argparse

import numpy as np
from payload_coverage import FRICTION, motion

import featherstone_ros as fr
from featherstone_ros.identification.bodies import Bodies
from featherstone_ros.identification.fit import solve
from featherstone_ros.identification.model_order import Fitting, fit_parts
from featherstone_ros.identification.recording import Recording
from featherstone_ros.model.robots import robot_file

SIZE, NOISE = 0.3, 0.05  # greatest error of a mass; noise, of each joint's RMS torque
MASSES_ALONE = np.r_[SIZE / 2, np.full(9, 1e-6)]  # widths of theta


def recording(model, seed, duration):
    """Return each body's true mass over the model's, and what the arm's sensors give."""
    random, bodies = np.random.default_rng(seed), Bodies.of(model)
    ratio = 1 + random.uniform(-SIZE, SIZE, len(bodies.names))
    theta = np.outer(np.log(ratio) / 2, np.eye(10)[0]).ravel()
    real = model.with_inertial_parameters(bodies.link_parameters(theta))
    coulomb, viscous, offset = random.uniform(0.3, 1, (3, model.n)) * FRICTION * model.effort_limit
    t, q, qd, qdd = motion(model, seed, duration)
    tau = fr.Dynamics(real).rnea(q, qd, qdd) + viscous * qd + coulomb * np.tanh(qd / 0.01)
    tau += 0.2 * offset
    tau += NOISE * np.sqrt((tau**2).mean(axis=0)) * random.normal(size=q.shape)
    noisy = q + 1e-5 * random.normal(size=q.shape), qd + 1e-3 * random.normal(size=q.shape)
    return ratio, Recording("", model.joint_names, t, *noisy, tau)


def errors(model, seed, duration=30.0):
    """Return the relative errors of all masses: identified, and by masses and drives alone."""
    ratio, states = recording(model, seed, duration)
    fitting = Fitting(model, [states], range(model.n), 2.0)
    fit, best = fit_parts(fitting)
    reduced = best.facts.reduced(1 / best.sigma)
    alone = solve(*reduced, fitting.bodies, fitting.armature_spread, MASSES_ALONE)
    return [np.abs(np.exp(2 * f.theta[::10]) / ratio - 1) for f in (fit, alone)]


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--arms", nargs="+", default=["panda", "ur5e"])
    parser.add_argument("--duration", type=float, default=30.0)
    args = parser.parse_args()
    for arm in args.arms:
        model = fr.Model.from_file(robot_file(arm))
        draws = np.array([errors(model, seed, args.duration) for seed in range(args.draws)])
        for name, found in zip(("identified", "masses alone"), draws.swapaxes(0, 1), strict=True):
            medians = " ".join(f"{np.median(one):6.1%}" for one in found)
            print(f"{arm:6}{name:13}medians {medians}   of all {np.median(found):.1%}", flush=True)


if __name__ == "__main__":
    main()
