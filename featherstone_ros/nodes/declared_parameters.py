"""Parameters that the settings of an algorithm declare, see ``featherstone_ros.declaration``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from featherstone_ros.nodes.parameters import Setting, Value


def settings_of(kind: type) -> Iterator[Setting]:
    """Yield the parameters that fields of a dataclass are ``declared`` to be."""
    for field in fields(kind):
        if field.metadata:
            default, options = field.default, dict(field.metadata)
            if isinstance(default, Enum):
                options["choices"] = tuple(map(str, type(default)))
                default = str(default)
            yield Setting(field.name, default, **options)


def values_of(kind: type, values: Mapping[str, Value]) -> dict[str, Any]:
    """Return these fields' values in their own types, by name."""
    defaults: dict[str, Any] = {f.name: f.default for f in fields(kind) if f.metadata}
    return {name: type(default)(values[name]) for name, default in defaults.items()}
