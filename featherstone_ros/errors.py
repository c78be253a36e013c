"""Exceptions of the package; all derive from FeatherstoneError."""

from collections.abc import Iterable
from importlib import import_module
from types import ModuleType

SHOWN, LONGEST = 100, 200  # names in a message, and characters of one
GET_ROS = "source a ROS 2 workspace, or pip install 'featherstone_ros[jazzy]'"


class FeatherstoneError(Exception):
    """Base of all errors raised by featherstone_ros."""


def needed(module: str, remedy: str = "") -> ModuleType:
    """Import a library's module; if it is missing, the error says what to do (or to install it)."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        text = f"{name} cannot be imported ({error}): {remedy or f'pip install {name}'}"
        raise FeatherstoneError(text) from None


class ModelError(FeatherstoneError, ValueError):
    """A robot description that cannot be used.

    The message names the link, joint or attribute, the value found and what was expected.
    """


class MiddlewareError(FeatherstoneError):
    """The compiled loop cannot run on the installed ROS 2; the text says what differs."""


class MessageError(FeatherstoneError, ValueError):
    """A message that cannot be used; the text says what was found and what was expected."""


class MalformedMessageError(MessageError):
    """Bytes that are not a message of the expected type; the text names the field."""


class UnknownNameError(FeatherstoneError, KeyError):
    """A link or joint name that the model does not have; the message lists the valid ones."""

    def __init__(self, kind: str, name: object, valid: Iterable[str]) -> None:
        """Remember what was looked up.

        Args:
            kind: What was looked up, e.g. ``"link"``.
            name: The name that was not found.
            valid: The names that would have been accepted.
        """
        super().__init__(kind, name, tuple(sorted(valid)))

    def __str__(self) -> str:
        """Return the message (KeyError's own would be the repr of its arguments)."""
        kind, name, valid = self.args
        more = f", and {len(valid) - SHOWN} more" if len(valid) > SHOWN else ""
        names = ", ".join(str(known)[:LONGEST] for known in valid[:SHOWN]) or "(none)"
        return f"no {kind} {name!r:.{LONGEST}}; valid names: {names}{more}"


class SingularInertiaError(FeatherstoneError, ArithmeticError):
    """Forward dynamics has no solution: no inertia resists the acceleration of some joint."""

    def __init__(self, joint: str, kind: str = "joint") -> None:
        """Remember the joint.

        Args:
            joint: Name of the joint whose articulated-body inertia about its axis is zero; or of
                the floating base link, where the whole robot's inertia is singular.
            kind: ``"joint"`` or ``"floating base"``.
        """
        super().__init__(joint)
        self.kind = kind

    def __str__(self) -> str:
        """Return the message."""
        name = self.args[0]
        axis, remedy = " along its axis", ", or the joint an armature"
        if self.kind != "joint":
            axis = remedy = ""
        return (
            f"{self.kind} {name!r} moves no inertia{axis}, so its acceleration is undetermined; "
            f"give the links behind it a mass and an inertia{remedy}"
        )


class SingularJacobianError(FeatherstoneError, ArithmeticError):
    """A link cannot be moved in every direction: its Jacobian lacks full rank."""

    def __init__(self, link: str) -> None:
        """Remember the link.

        Args:
            link: Name of the link.
        """
        super().__init__(link)

    def __str__(self) -> str:
        """Return the message."""
        return (
            f"link {self.args[0]!r} cannot be moved in all six directions from here: its Jacobian "
            "has lost rank; expected another posture, or at least six joints before the link"
        )


class DivergenceError(FeatherstoneError, ArithmeticError):
    """A simulated state is no longer finite."""

    def __init__(
        self, joint: str, time: float, row: int | None = None, kind: str = "joint"
    ) -> None:
        """Remember where and when.

        Args:
            joint: Name of the first joint, or of the link that is a floating base, whose position
                or velocity is not finite.
            time: Simulated time at the end of the step that diverged [s].
            row: The state's row in a batch, None for a single state.
            kind: ``"joint"`` or ``"floating base"``.
        """
        super().__init__(joint, time, row)
        self.kind = kind

    def __str__(self) -> str:
        """Return the message."""
        joint, time, row = self.args
        where = "" if row is None else f" in row {row} of the batch"
        return (
            f"simulation diverged: the state of {self.kind} {joint!r}{where} is not finite at "
            f"{time:.9g} s; expected finite torques and a time_step short enough for the robot's "
            "speeds and stiffness (integrator 'rk4', armature or damping help as well)"
        )


class IdentificationError(FeatherstoneError):
    """A recording or model from which nothing is learned; the message says what is missing."""


class BagError(FeatherstoneError):
    """A recording that cannot be used; the message names it and says what is missing."""


class NothingRecordedError(BagError):
    """It can be read, but has no message of the type or topic that is asked for."""


class StartError(FeatherstoneError):
    """A node cannot start: a parameter, the robot description or the command line is wrong."""
