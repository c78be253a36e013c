"""Settings of a twin or shadow, which hold one ``Drives``, from loose values."""

from dataclasses import fields
from typing import Any

from featherstone_ros import Model
from featherstone_ros.model.drives import Drives

NAMES = [field.name for field in fields(Drives)]


def with_drives(model: Model, **settings: Any) -> dict[str, Any]:
    """Return settings of which those of drives are one; the others of these are the model's."""
    own = {name: settings.pop(name) for name in NAMES if name in settings}
    return {"drives": Drives.of_model(model, **own), **settings}
