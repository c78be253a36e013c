"""What all topics share: quality of service, callback groups, messages from bytes."""

from __future__ import annotations

from time import monotonic
from typing import Any

import builtin_interfaces.msg
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.errors import MalformedMessageError


def _best_effort(depth: int) -> QoSProfile:
    return QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)


RELIABLE = QoSProfile(depth=10)
# What is published once, for those who come later as well.
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# Listeners that act on the newest: what came before it is of no use any more. A sender of either
# reliability is heard.
NEWEST = _best_effort(4)  # no more, since a waiting state is a late one; loses none of a burst
TIME = _best_effort(10)  # /clock
# Listeners that miss none, though they are held up.
EVERY = _best_effort(1000)

# Simulated time runs ahead of listeners; a reliable one that is as far behind still gets all. A
# twin in lockstep makes some 5,000 states in a second: a process may stand still for ten.
AHEAD = QoSProfile(depth=50_000)
TRANSFORMS = QoSProfile(depth=100)  # as tf2_ros publishes them

# What rclpy's executor does not wait for, or not for each message.

CLOCK_PERIOD = 0.05  # [s] of real time in which the executor takes a message of /clock at most


class DetachedGroup(MutuallyExclusiveCallbackGroup):
    """Callback group that no executor serves: a loop takes its messages.

    Their events too: to wait for those would wake the executor for every message (rmw_fastrtps).
    """

    def can_execute(self, entity: Any) -> bool:
        """Tell that the executor is neither to wait for an entity nor to serve it."""
        return False


class SeldomGroup(MutuallyExclusiveCallbackGroup):
    """Callback group of /clock: the executor takes the newest message, once in ``CLOCK_PERIOD``.

    Each would cost it half a millisecond, which a simulation at 1 kHz has not. The loop, which
    hears all of them, goes by none that comes this way.
    """

    def __init__(self) -> None:
        """Take the first one at once."""
        super().__init__()
        self._due = 0.0

    def can_execute(self, entity: Any) -> bool:
        """Tell whether the executor may wait for the entity and serve it."""
        return monotonic() >= self._due and super().can_execute(entity)

    def beginning_execution(self, entity: Any) -> bool:
        """Note that it is served."""
        self._due = monotonic() + CLOCK_PERIOD
        return super().beginning_execution(entity)


# Messages from the bytes that a raw subscription has taken.

# Longer messages are surely a mistake, and are refused before decoding, which would take the
# interpreter a second for every few megabytes. A trajectory of 10,000 points for seven joints, with
# all its fields, has 2.5 MB; the joint states of a humanoid have 10 kB.
LONGEST = 65_536  # [byte]
LONGEST_TRAJECTORY = 4_000_000  # [byte]


def decode(kind: type, message: bytes) -> Any:
    """Decode the bytes that a raw subscription has taken as a message of a type.

    rclpy drops other bytes silently, yet prints several lines to standard error each time.
    """
    longest = LONGEST_TRAJECTORY if kind is JointTrajectory else LONGEST
    if len(message) > longest:
        raise MalformedMessageError(
            f"a {kind.__name__} of {len(message)} bytes, expected at most {longest}: not read"
        )
    try:
        return deserialize_message(message, kind)
    except Exception:  # its type depends on the middleware
        raise MalformedMessageError(f"{len(message)} bytes that are no {kind.__name__}") from None


def seconds(time: builtin_interfaces.msg.Time | builtin_interfaces.msg.Duration) -> float:
    """Return a message's time in seconds, whatever its fields hold."""
    return time.sec + 1e-9 * time.nanosec
