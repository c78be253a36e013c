"""The model that an arm really has: from recordings to links, friction and payloads.

``session.identify`` joins the steps, one file each: ``verdict`` (can this recording tell anything),
``regression`` (even, filtered, linear equations), ``bodies`` (what is deformed, and stays
possible), ``fit`` (bodies and drives), ``base_parameters`` and ``uncertainty`` (what the data alone
say); ``files``, ``report`` and ``picture`` keep and show it. ``payload`` and ``online`` find what
hangs on a link; ``excitation`` plans the motion to record.
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
