"""Reasons why a recording cannot be read, or not be used for identification."""

from featherstone_ros.errors import FeatherstoneError


class IdentificationError(FeatherstoneError):
    """A recording or model from which nothing is learned; the message says what is missing."""


class BagError(FeatherstoneError):
    """A recording that cannot be used; the message names it and says what is missing."""


class NothingRecordedError(BagError):
    """It can be read, but has no message of the type or topic that is asked for."""
