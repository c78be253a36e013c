"""Packages that import what they export when it is first asked for: most is slow to load."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def exporter(package: str, *modules: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__``.

    Args:
        package: Its name.
        modules: Those of its modules that have the names of its ``__all__``, in the order in which
            they are looked through; whatever module it has can be asked for, too.
    """

    def get(name: str) -> Any:
        exported = sys.modules[package]
        if find_spec(f"{package}.{name}"):
            return import_module(f"{package}.{name}")
        if name in exported.__all__:
            for module in modules:
                content = import_module(f"{package}.{module}")
                if hasattr(content, name):
                    setattr(exported, name, getattr(content, name))
                    return getattr(exported, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        exported = sys.modules[package]
        return sorted({*vars(exported), *exported.__all__})

    return get, names
