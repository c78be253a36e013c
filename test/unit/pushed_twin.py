"""Pushes a twin as the topic ~/external_wrench does."""

from cdr_messages import wrench_stamped
from numpy.typing import ArrayLike

from featherstone_ros._twin import INPUTS
from featherstone_ros.simulation import Twin


def apply_wrench(twin: Twin, link: str, wrench: ArrayLike) -> None:
    """Apply a wrench (6,) to a link, in its axes."""
    message = wrench_stamped(link, wrench)
    _, records = twin.message(INPUTS["external_wrench"], message, 0)
    assert not records, "the twin has refused it"
