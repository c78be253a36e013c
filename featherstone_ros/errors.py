"""What can go wrong, by name: every exception of the package derives from FeatherstoneError."""

from collections.abc import Iterable


class FeatherstoneError(Exception):
    """Base of all errors raised by featherstone_ros."""


class ModelError(FeatherstoneError, ValueError):
    """A robot description that cannot be used.

    The message names the link, joint or attribute, the value found and what was expected.
    """


class MessageError(FeatherstoneError, ValueError):
    """A message that cannot be used; the text says what was found and what was expected."""


class MalformedMessageError(MessageError):
    """Bytes that are no message of the expected type; the text names the field."""


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
        return f"no {kind} {name!r}; valid names: {', '.join(valid) or '(none)'}"


class SingularInertiaError(FeatherstoneError, ArithmeticError):
    """Forward dynamics has no answer: nothing resists the acceleration of some joint."""

    def __init__(self, joint: str) -> None:
        """Remember the joint.

        Args:
            joint: Name of the joint whose articulated-body inertia about its own axis is zero.
        """
        super().__init__(joint)

    def __str__(self) -> str:
        """Return the message."""
        return (
            f"joint {self.args[0]!r} moves no inertia along its axis, so its acceleration is "
            "undetermined; give the links behind it a mass and an inertia, or the joint an armature"
        )
