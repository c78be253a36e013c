"""Identification of the real arm: links, friction and payloads from recordings.

From a bag to equations: ``bags``, ``recording`` (which joint states), ``cleaning`` (even samples),
``filtering`` (smooth, with acceleration), ``suspicions`` (is effort torque?), ``regression``
(linear equations). From equations to a model: ``bodies`` (what is deformed, and stays possible),
``friction``, ``fit``, ``base_parameters`` and ``uncertainty`` (what the data alone say),
``verdict`` (can this recording tell anything); ``session.identify`` joins them. ``payload`` and
``online`` find what hangs on a link. ``arm`` predicts torque, ``explanation`` says how well,
``payload_report`` what was found; ``blas`` keeps linear algebra to one thread, ``errors`` says why
a recording cannot serve.
"""

from featherstone_ros.identification.base_parameters import BaseParameters, base_parameters
from featherstone_ros.identification.bodies import Bodies
from featherstone_ros.identification.errors import IdentificationError
from featherstone_ros.identification.fit import Fit, choose_width, noise, solve
from featherstone_ros.identification.online import OnlinePayload
from featherstone_ros.identification.payload import Payload, find_payload
from featherstone_ros.identification.regression import Equations, equations
from featherstone_ros.identification.session import Identification, Options, identify
from featherstone_ros.identification.uncertainty import Estimate, estimate
from featherstone_ros.identification.verdict import require_enough

__all__ = [
    "BaseParameters",
    "Bodies",
    "Equations",
    "Estimate",
    "Fit",
    "Identification",
    "IdentificationError",
    "OnlinePayload",
    "Options",
    "Payload",
    "base_parameters",
    "choose_width",
    "equations",
    "estimate",
    "find_payload",
    "identify",
    "noise",
    "require_enough",
    "solve",
]
