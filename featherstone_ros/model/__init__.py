"""The model of an arm: from a URDF, or a ``Tree`` built in Python, to what the algorithms need.

``urdf`` reads a ``robot_description``, with the drives' inertia in its ``transmissions``;
``urdf_versions`` says what it does not read. ``joint_selection`` says what moves, ``body_tree``
makes arrays, ``model`` joins them; ``locked_joints`` are those that others move.
``tree`` replaces a URDF, ``urdf_edit`` writes inertias into one; ``finding`` and ``rules`` say what
is impossible. ``primitives`` and ``pseudo_inertia`` are about inertias, ``rotations`` about
orientations, ``friction`` states the friction law, ``drives`` have it, and rotors; ``drive_units``
converts between torques and what drives are told and measure. ``robots``, ``description_parameter``
and ``share`` find files, ``file_kind`` says what one is that is none of those, ``parameter_files``,
``joint_limits`` and ``bounded_yaml`` read YAML, ``ros2_control`` writes the hardware of a
description; ``arguments`` checks numbers.
"""

from typing import TYPE_CHECKING

from featherstone_ros.lazy import exporter

__all__ = ["EARTH", "Model", "errors_naming", "read_description", "read_file"]

EARTH = (0.0, 0.0, -9.81)  # [m/s^2]

if TYPE_CHECKING:
    from featherstone_ros.model.model import Model, errors_naming, read_description, read_file
else:
    __getattr__, __dir__ = exporter(__name__, "model")
