"""Identification of the real arm: links, friction and payloads from recordings.

From a bag to equations: ``bags`` gives the joint states of ``recording``, which chooses those of a
model; ``recording_checks`` (what of it is used, is it good enough),
``filtering`` (even samples, smooth motion with acceleration), ``regression`` (linear equations,
friction), ``faults`` (what is wrong with the recording, by the evidence of ``inference``). From
equations to a model: ``bodies`` (deformations that stay physically possible), ``model_order``
(which law of friction), ``fit``, ``base_parameters`` (what the data alone determine, and how wrong
the arm's own model may be); ``identification.identify`` runs all of them. ``payload`` identifies
the load on a link; ``effort_gains`` finds what torque a unit of effort is.
``arm`` predicts torque, ``explanation`` rates the prediction, says what speaks against a result,
and has the thresholds.
"""

from featherstone_ros.errors import IdentificationError
from featherstone_ros.identification.base_parameters import base_parameters, estimate
from featherstone_ros.identification.bodies import Bodies
from featherstone_ros.identification.effort_gains import EffortGains, gains_by_links, gains_by_load
from featherstone_ros.identification.identification import Identification, Options, identify
from featherstone_ros.identification.payload import (
    OnlinePayload,
    Payload,
    UnseparatedError,
    find_payload,
)

__all__ = [
    "Bodies",
    "EffortGains",
    "Identification",
    "IdentificationError",
    "OnlinePayload",
    "Options",
    "Payload",
    "UnseparatedError",
    "base_parameters",
    "estimate",
    "find_payload",
    "gains_by_links",
    "gains_by_load",
    "identify",
]
