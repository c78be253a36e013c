"""How wrong an arm's own model may be, judged by the torque that it leaves unexplained.

The links deviate from the model by unknown deformations theta (see ``bodies``), all of the same
standard deviation, the width. What of this shows in the torque, beyond noise and the fitted
unknowns, says how large the width is; by it, the part that hides in the unknowns is estimated.
"""

from __future__ import annotations

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.fit import noise
from featherstone_ros.identification.regression import Equations

WIDTHS = np.geomspace(0.001, 1.0, 31)  # equally probable before the data: figures are rounded
IMPROBABLE = 1e-3  # relative probability of widths that do not count
NEGLIGIBLE = 1e-9  # relative singular value of unknowns that the torque does not determine


def probable_widths(facts: Equations, by_theta: Floats) -> tuple[Floats, Floats]:
    """Return the widths (k,) that the torque allows for, and their probabilities (k,).

    The probability of one, for unit noise, is that of the torque orthogonal to the fitted unknowns:
    normal with variance 1 + (width s)^2 along each singular direction of ``by_theta`` there.

    ``facts``: N samples of the torque that the arm leaves, and the unknowns that may explain it:
    drives too, even where they are known, for their errors are not those of links. ``by_theta``
    (N, n, 10 b), filtered likewise.
    """
    p = facts.A.shape[2]
    both = facts.beside(Equations(by_theta, facts.tau))
    R, y = both.reduced(1 / noise(both))
    R, y = R[:-1], y[:-1]  # the last row is noise alone
    U, s, _ = np.linalg.svd(R[:, :p] / (np.linalg.norm(R[:, :p], axis=0) + 1e-300))
    rest = U[:, np.count_nonzero(s > NEGLIGIBLE * s[0]) :]
    U, s, _ = np.linalg.svd(rest.T @ R[:, p:], full_matrices=False)
    seen = U.T @ (rest.T @ y)
    variance = 1 + (WIDTHS[:, None] * s) ** 2
    logarithm = -0.5 * (np.log(variance) + seen**2 / variance).sum(axis=1)
    probability = np.exp(logarithm - logarithm.max())
    counted = probability > IMPROBABLE
    return WIDTHS[counted], probability[counted] / probability[counted].sum()
