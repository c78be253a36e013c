"""The model of an arm: from a URDF, or a ``Tree`` built in Python, to what the algorithms need.

``urdf`` reads a ``robot_description``, ``joint_selection`` says what moves, ``body_tree`` makes
arrays, ``model`` joins them. ``tree`` replaces a URDF, ``urdf_edit`` writes inertias into one,
``finding`` and ``rules`` say what is impossible. ``drives`` have rotors and friction,
``drive_units`` converts between torques and what drives are told and measure. ``robots`` finds and
reads files; ``parameter_files``, ``joint_limits`` and ``bounded_yaml`` read YAML.
"""

from typing import TYPE_CHECKING

from featherstone_ros.lazy import exporter

__all__ = ["EARTH", "Model", "errors_naming", "read_description", "read_file"]

EARTH = (0.0, 0.0, -9.81)  # [m/s^2]

if TYPE_CHECKING:
    from featherstone_ros.model.model import Model
    from featherstone_ros.model.robots import errors_naming, read_description, read_file
else:
    __getattr__, __dir__ = exporter(__name__, "robots", "model")
