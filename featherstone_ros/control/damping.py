"""Damping without a spring: in gravity_compensation, in the gravity hold, and in a fault.

The law is u = g(q) - D xd of the measured state, which acts late; but for the damping the joints
move freely. Too much damping for the delay makes a light joint swing up. Too little lets gravity
that comes late by a time T pump the arm: M xdd = -(D + T G) xd, and G is negative where the arm is
upright. So D has a bound on either side, both from the check of the sampled loop (``gains.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherstone_ros.arrays import Floats, remembered
from featherstone_ros.control.gains import (
    GAIN_MARGIN,
    NO_MARGIN,
    STEP,
    NoStableGainsError,
    SampledLoop,
    Timing,
)
from featherstone_ros.control.settings import WATCHDOG_PERIOD, Mode
from featherstone_ros.model import Model

GUIDING = 0.02  # share of the effort limit at the velocity limit: a person moves the arm by hand
BRAKING = 0.2  # the same in a fault
COASTING = 1.0  # [s] time constant of a joint without limits, at its largest inertia
REVERSED = 2.0  # a velocity times damping over inertia, held for its inverse, reverses the motion
MIN_SHARE = 1e-4  # of the damping that is wanted: below, the search is given up


@dataclass(frozen=True)
class Damping:
    """Damping of a law, chosen from the model."""

    value: Floats  # (n,) [N m s/rad] or [N s/m]
    wanted: Floats  # (n,) the same if the loop had no delay
    timing: Timing  # period and delay for which it was chosen

    def reason(self, joint: int) -> str:
        """Return in a few words where the value of a joint comes from."""
        wanted = f"{self.wanted[joint]:.2g} for hand guiding"
        if self.value[joint] < self.wanted[joint]:
            return f"{wanted}, less for its smallest inertia"
        if self.value[joint] > self.wanted[joint]:
            return f"{wanted}, more against late gravity"
        return "for hand guiding"


def wanted_damping(model: Model, loop: SampledLoop, share: float = GUIDING) -> Floats:
    """Return the damping (n,) that takes a share of the effort limit at the velocity limit.

    Joints without limits get the time constant ``COASTING`` for ``GUIDING``, in proportion for
    other shares.
    """
    effort, speed = model.effort_limit, model.velocity_limit
    limited = np.isfinite(effort) & np.isfinite(speed) & (effort > 0.0) & (speed > 0.0)
    by_limits = np.where(limited, effort, 0.0) / np.where(limited, speed, 1.0)
    return np.where(limited, share * by_limits, share / GUIDING * loop.heaviest / COASTING)


@remembered
def choose_damping(loop: SampledLoop, wanted: Floats, silence: float = 0.0) -> Damping:
    """Choose the damping of every joint: what is wanted, less where a delay makes it unstable.

    More where gravity that comes late would pump the arm. Stable with margin in all postures. If
    the last command acts through a silence [s], the damping of a velocity that was may reverse the
    motion, but no more.
    """
    loop = loop.under(Mode.GRAVITY_COMPENSATION)
    d = np.maximum(wanted, GAIN_MARGIN * loop.timing.latency * loop.gravity_gain)
    given_up = MIN_SHARE * d
    tried: set[bytes] = set()  # from there on it would go in a circle
    max_decay = min(REVERSED / silence if silence else np.inf, NO_MARGIN / loop.timing.latency)
    while (fastest := loop.fastest_decay(d))[0] > max_decay:
        d = np.where(fastest[1], STEP * d, d)
    zero, worst = np.zeros_like(d), loop.worst(np.zeros_like(d), d)
    while worst is not None:
        here = d.astype(np.float32).tobytes()  # but for rounding
        if (d < given_up).any() or here in tried:
            joint = loop.joint_names[worst.joint]
            raise NoStableGainsError(
                worst.joint,
                f"joint {joint!r}: no damping is stable with {loop.timing}; a shorter delay would "
                "help, or inertia of the drives (`armature`)",
            )
        tried.add(here)
        d = np.where(worst.contributing, d / STEP if worst.creeps else d * STEP, d)
        # All postures take long, so first the one that was not stable.
        worst = loop.worst(zero, d, only=worst.posture) or loop.worst(zero, d)
    return Damping(d, wanted, loop.timing)


@remembered
def choose_fault_damping(model: Model, loop: SampledLoop, damping: Floats, cutoff: float) -> Floats:
    """Choose the damping (n,) that soon ends a motion in a fault, no less than ``damping``.

    ``cutoff``: of the estimate of velocities [Hz].
    """
    slow = loop.at(fault_timing(loop.timing, cutoff))
    try:
        chosen = choose_damping(slow, wanted_damping(model, loop, BRAKING))
    except ValueError:  # the loop that is meant has one
        return damping
    return np.maximum(chosen.value, damping)


def fault_timing(timing: Timing, cutoff: float) -> Timing:
    """Return the timing of damping in a fault.

    It must bear what the gains need not: velocities estimated from positions, which the filter
    (``cutoff`` in Hz) delays, and an open-loop stop, whose commands are those of the watchdog.
    """
    return Timing(max(timing.period, WATCHDOG_PERIOD), timing.delay + 0.5 / (np.pi * cutoff))
