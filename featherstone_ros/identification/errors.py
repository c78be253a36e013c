"""Reasons why a recording cannot be used for identification."""

from featherstone_ros.errors import FeatherstoneError


class EvaluationError(FeatherstoneError):
    """A recording that cannot rate a model; the message says what is missing and what is there."""


class IdentificationError(FeatherstoneError):
    """Nothing can be identified from a recording or model; the message says what is missing."""
