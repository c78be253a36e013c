"""Gains and damping of the controller's parameters: those that are set, else those of the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.armature import (
    ROTORS,
    faster_loop,
    in_words,
    min_armature,
    possible_armature,
)
from featherstone_ros.control.gains import (
    BANDWIDTH,
    GAIN_MARGIN,
    UNCERTAIN,
    ChosenGains,
    Damping,
    NoStableGainsError,
    Timing,
    Unstable,
    choose,
    choose_damping,
    choose_fault_damping,
    error_of_friction,
    linearised,
    unstable,
    wanted_damping,
)
from featherstone_ros.control.settings import Mode
from featherstone_ros.model import Model
from featherstone_ros.model.drive_units import POSITION
from featherstone_ros.parameter import per_joint


class Feedback:
    """What one set of parameter values makes of the loop; arrays are (n,) in joint order.

    What cannot be chosen or can never be stable raises a ValueError where it is asked for. Where a
    drive ``follows``, it closes a position loop of its own; where all do, nothing is chosen.
    """

    def __init__(self, values: Mapping[str, Any], model: Model) -> None:
        """Take the values of all parameters, and the arm."""
        self._values, self._model = values, model
        self._mode = Mode(values["mode"])
        commands = [values.get(f"drives.{joint}.command") for joint in model.joint_names]
        self.follows = np.array(
            [values.get("output") == "joint_state" or word == POSITION for word in commands]
        )
        self.drives_follow = bool(self.follows.all())
        self.has_gains = not self.drives_follow and self._mode.has_gains
        self._timing = Timing.of(values)
        self._armature = self._of_joints("armature.{}")
        self._given = np.stack([self._of_joints("gains.{}.p"), self._of_joints("gains.{}.d")])
        self._given[:, self.follows] = 0.0
        self._is_unset = np.asarray(~self._given.any(axis=0))
        self._loop = linearised(model, self._armature, self._timing)
        self._loop_of_mode = self._loop.under(self._mode)

    def _of_joints(self, pattern: str) -> Floats:
        return per_joint(self._values, pattern, self._model.joint_names)

    # Gains.

    def _choose(self, bandwidth: float) -> ChosenGains:
        ratio, cutoff = self._values["gains.damping_ratio"], self._values["velocity_cutoff"]
        coulomb = self._of_joints("friction.{}.coulomb")
        return choose(self._loop_of_mode, bandwidth, ratio, coulomb, cutoff)

    @cached_property
    def chosen(self) -> ChosenGains | None:
        """The gains of the model for joints without any; None where none are to be chosen."""
        bandwidth = self._values["gains.bandwidth"]
        is_needed = self.has_gains and bandwidth and self._is_unset.any()
        return self._choose(bandwidth) if is_needed else None

    @cached_property
    def gains(self) -> Floats:
        """P and D (2, n) in force; zero where drives close their position loops."""
        return np.where(self.follows, 0.0, self._loop_gains)

    @cached_property
    def _loop_gains(self) -> Floats:
        """P and D (2, n), as if no drive closed a loop of its own."""
        if self.drives_follow:
            return self._given
        gains = self._given
        if self.chosen is not None:
            gains = np.where(self._is_unset, [self.chosen.p, self.chosen.d], self._given)
        self._require_stable(gains)
        return gains

    def _require_stable(self, gains: Floats) -> None:
        """Raise ValueError if set gains swing a joint up, whatever rotors may be that nobody told.

        Those of a real arm may be too much for its links alone, as the ones of `excite` are, which
        are needed before its rotors are identified.
        """
        if not self.has_gains or self._is_unset.all():
            return
        known = ~self._is_unset & (self._armature > 0.0)
        swings = [f for f in self._unstable(gains, 1.0) if not f.mode.creeps]
        refused = [f for f in swings if known[f.joint] or not self._may_be_borne(gains)]
        if refused:
            raise ValueError(one_line([self._gains_text(found) for found in refused]))

    def _may_be_borne(self, gains: Floats) -> bool:
        """Tell whether some rotors, where none are known, bear gains."""
        loops = (
            linearised(
                self._model, possible_armature(self._model, self._armature, share), self._timing
            ).under(self._mode)
            for share in ROTORS
        )
        modes = (loop.worst(gains[0], gains[1], margin=1.0) for loop in loops)
        return any(mode is None or mode.creeps for mode in modes)

    @cached_property
    def unstable_gains(self) -> list[Unstable]:
        """The joints with set gains that are not stable with margin, in a mode that uses them."""
        return self._unstable(self._loop_gains, GAIN_MARGIN)

    def _unstable(self, gains: Floats, margin: float) -> list[Unstable]:
        loop = self._loop_of_mode
        if not self.has_gains or self._is_unset.all():
            return []
        # A set of parameters that changes no gains asks this again: eigenvalues of a thousand
        # postures would keep a core from the loop.
        if loop.is_stable(gains[0], gains[1]) or (
            margin < GAIN_MARGIN and loop.worst(gains[0], gains[1], margin=margin) is None
        ):
            return []
        try:
            better = self.chosen or self._choose(self._values["gains.bandwidth"] or BANDWIDTH)
        except NoStableGainsError as error:
            nothing = np.full(2, np.nan)
            mode = loop.worst(gains[0], gains[1], margin=margin)
            return [Unstable(error.index, gains[:, error.index], nothing, mode)] if mode else []
        return unstable(loop, gains, [better.p, better.d], margin)

    # Damping.

    @cached_property
    def chosen_damping(self) -> Damping:
        """The damping of the gravity hold that the model asks for."""
        wanted = wanted_damping(self._model, self._loop)
        return choose_damping(self._loop, wanted, self._values["state_timeout"])

    @cached_property
    def damping(self) -> Floats:
        """The damping of the gravity hold, set or chosen; one that swings an arm up is refused."""
        return np.where(self.follows, self._of_joints("damping.{}"), self._loop_damping)

    @cached_property
    def _loop_damping(self) -> Floats:
        """The same, as if no drive closed a loop of its own."""
        given = np.where(self.follows, 0.0, self._of_joints("damping.{}"))
        if self.drives_follow:
            return given
        damping = np.where(given > 0.0, given, self.chosen_damping.value)
        swings = [f for f in self._unstable_damping(damping, 1.0) if not f.mode.creeps]
        if swings:
            raise ValueError(one_line([self._damping_text(finding) for finding in swings]))
        return damping

    def _unstable_damping(self, damping: Floats, margin: float) -> list[Unstable]:
        loop, none = self._loop.under(Mode.GRAVITY_COMPENSATION), np.zeros_like(damping)
        if loop.is_stable(none, damping):
            return []
        return unstable(loop, [none, damping], [none, self.chosen_damping.value], margin)

    @property
    def fault_damping(self) -> Floats:
        """The damping in a fault."""
        if self.drives_follow:
            return self.damping
        cutoff = self._values["velocity_cutoff"]
        chosen = choose_fault_damping(self._model, self._loop, self._loop_damping, cutoff)
        return np.where(self.follows, self.damping, chosen)

    # In words.

    @property
    def without_margin(self) -> str:
        """In one line what is not stable with margin; empty for nothing."""
        gains = one_line([self._gains_text(finding) for finding in self.unstable_gains])
        if self.drives_follow:
            return gains
        findings = self._unstable_damping(self._loop_damping, GAIN_MARGIN)
        damping = one_line([self._damping_text(finding) for finding in findings])
        return "; ".join(filter(None, (gains, damping)))

    def _gains_text(self, finding: Unstable) -> str:
        (p, d), better = finding.given, finding.advised
        joint = self._model.joint_names[finding.joint]
        remedy = "found none that would do"
        if np.isfinite(better).all():
            remedy = f"{better[0]:.3g} and {better[1]:.3g} would do"
        return f"gains.{joint}.p = {p:.4g} and gains.{joint}.d = {d:.4g}: {finding.mode}; {remedy}"

    def _damping_text(self, finding: Unstable) -> str:
        return (
            f"damping.{self._model.joint_names[finding.joint]} is {finding.given[1]:.4g}: "
            f"{finding.mode}; "
            f"{finding.advised[1]:.3g} would do (0: chosen)"
        )

    def remedy(self, error: NoStableGainsError) -> str:
        """Return why no gains can be chosen, and with which armature they could."""
        bandwidth = self._values["gains.bandwidth"]
        try:
            stable = min_armature(self._model, bandwidth, self._timing)
        except NoStableGainsError:
            return f"{error}: {faster_loop(self._model, bandwidth, self._timing)}"
        return f"{error}: {in_words(self._model.joint_names, stable.armature)} would do"

    def choices(self) -> Iterator[str]:
        """Yield what was chosen that a user may want to know."""
        names = self._model.joint_names
        if self.chosen is not None:
            taken = list(compress(names, self._is_unset))
            whose = "" if self._is_unset.all() else f" of {', '.join(taken)}"
            slow = ", ".join(f"{joint} {w:.2g}" for joint, w in self.chosen.reduced.items())
            yield (
                f"gains{whose} chosen from the model for {self._values['gains.bandwidth']:g} rad/s"
                + (f"; less where gains.period and gains.delay allow no more: {slow}" * bool(slow))
                + self._effect_of_friction()
            )
        if self.drives_follow:
            return
        chosen, given = self.chosen_damping, self._of_joints("damping.{}")
        less = ", ".join(
            f"{names[i]} {chosen.value[i]:.2g} instead of {chosen.wanted[i]:.2g}"
            for i in np.flatnonzero((given == 0.0) & (chosen.value < chosen.wanted))
        )
        if less:
            yield f"damping of the gravity hold that {self._timing} and state_timeout allow: {less}"

    def _effect_of_friction(self) -> str:
        coulomb = self._of_joints("friction.{}.coulomb")
        with np.errstate(divide="ignore", invalid="ignore"):
            error = error_of_friction(self._loop_of_mode, self.gains[0], coulomb)
        error = np.where(coulomb > 0.0, error, 0.0)
        worst = int(np.argmax(error))
        if not error[worst] > 0.0:
            return ""
        unit = "mm" if self._model.joint_types[worst] == "prismatic" else "mrad"
        return (
            f"; friction that is {100 * UNCERTAIN:g} % wrong leaves up to "
            f"{1e3 * error[worst]:.2g} {unit} ({self._model.joint_names[worst]})"
        )


def one_line(findings: Sequence[object], most: int = 3) -> str:
    """Return findings in one line, the first few in full."""
    more = f"; and {len(findings) - most} more" if len(findings) > most else ""
    return "; ".join(map(str, findings[:most])) + more
