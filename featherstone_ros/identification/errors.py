"""What can keep a recording from identifying anything."""

from featherstone_ros.errors import FeatherstoneError


class IdentificationError(FeatherstoneError):
    """A recording or model from which nothing can be identified; says what is missing."""
