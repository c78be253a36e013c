"""Reasons why a recording cannot be used for identification."""

from featherstone_ros.errors import FeatherstoneError


class IdentificationError(FeatherstoneError):
    """A recording or model from which nothing is learned; the message says what is missing."""
