"""Reasons why a recording cannot be used for identification."""

from featherstone_ros.errors import FeatherstoneError


class EvaluationError(FeatherstoneError):
    """A recording from which the model cannot be judged; says what is missing and what is there."""


class IdentificationError(FeatherstoneError):
    """A recording or model from which nothing can be identified; says what is missing."""
