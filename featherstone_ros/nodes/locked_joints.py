"""Where the joints stand that are not the arm's: what a node says of that."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.model.joint_selection import NAME, relevant_joints, standing
from featherstone_ros.nodes.lifecycle import ModelNode

SHOWN = 10  # joints in a line


def unknown_joints(node: ModelNode, heard: Floats) -> list[str]:
    """Return the locked joints of which neither joint states nor parameters say where they stand.

    ``heard``: (m,) where joint states have them, NaN where they say nothing.
    """
    return [
        joint
        for joint, position in zip(node.model.locked_joints, heard, strict=True)
        if np.isnan(position) and not node.parameters.is_given(NAME.format(joint))
    ]


class LockedJointsReport:
    """Tells where the locked joints that matter to the arm stand: in the log once, then always.

    Attributes:
        joints: These joints.
    """

    def __init__(self, node: ModelNode) -> None:
        """Begin; the node has a model."""
        self._node, self.joints = node, relevant_joints(node.model)
        self._is_told = not self.joints

    def values(self, at: Floats, heard: Floats, begun: bool) -> dict[str, str]:
        """Return a diagnosis: where the joints are taken to stand, and were ``heard``, (m,) each.

        ``begun``: joint states have come, so it is time for the log.
        """
        told = standing(self._node.model, at, heard, self.joints)
        if begun and not self._is_told:
            self._is_told = True
            unknown = [j for j in unknown_joints(self._node, heard) if j in told]
            known = [joint for joint in told if joint not in unknown]
            log = self._node.get_logger()
            if unknown:
                where = dict(zip(self._node.model.locked_joints, at, strict=True))
                log.warning(
                    "not among joints, and joint_states does not tell where they stand: taken to "
                    "be at the default of locked.<joint>: "
                    f"{_some(f'{joint} {where[joint]:.4g}' for joint in unknown)}"
                )
            if known:
                log.info(f"not among joints: {_some(f'{j} at {told[j]}' for j in known)}")
        return {f"locked joint {joint}": text for joint, text in told.items()}


def _some(texts: Iterable[str]) -> str:
    """Return texts in a line, cut short: a hand has dozens of joints."""
    every = list(texts)
    more = [f"{len(every) - SHOWN} more"] if len(every) > SHOWN else []
    return "; ".join([*every[:SHOWN], *more])
