"""Parameters that the settings of an algorithm declare, see ``featherstone_ros.declaration``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from enum import Enum
from typing import Any

from featherstone_ros.declaration import per_joint
from featherstone_ros.nodes.parameters import Setting, Value, of_length


def settings_of(kind: type) -> Iterator[Setting]:
    """Yield the parameters that fields of a dataclass are ``declared`` to be, but the joints'."""
    for _, name, default, options in _declared(kind):
        if "{}" in name:
            continue
        if isinstance(default, Enum):
            options["choices"] = tuple(map(str, type(default)))
            default = str(default)
        elif isinstance(default, tuple):
            options["check"] = of_length(len(default))
            default = list(default)
        yield Setting(name, default, **options)


def joint_settings_of(kind: type, joint: str, **defaults: float) -> Iterator[Setting]:
    """Yield a joint's parameters; ``defaults`` by field take the place of the declared ones."""
    for field, name, default, options in _declared(kind):
        if "{}" in name:
            yield Setting(name.format(joint), float(defaults.get(field, default)), **options)


def values_of(
    kind: type, values: Mapping[str, Value], joints: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the declared fields' values in their own types, by field."""
    return {
        field: per_joint(values, name, joints) if "{}" in name else type(default)(values[name])
        for field, name, default, _ in _declared(kind)
    }


def _declared(kind: type) -> Iterator[tuple[str, str, Any, dict[str, Any]]]:
    """Yield field, parameter, default and what else is declared."""
    for field in fields(kind):
        if field.metadata:
            options = dict(field.metadata)
            yield field.name, options.pop("name") or field.name, field.default, options
