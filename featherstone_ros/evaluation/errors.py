"""What can be wrong with a recording."""

from featherstone_ros.errors import FeatherstoneError


class EvaluationError(FeatherstoneError):
    """A recording from which the model cannot be judged; says what is missing and what is there."""
