"""The model of an arm: from a URDF, or a ``Tree`` built in Python, to what the algorithms need.

``urdf`` reads, ``joint_selection`` and ``mimic`` say what moves, ``body_tree`` makes arrays,
``model`` joins them; ``tree`` stands in for a URDF, ``urdf_edit`` puts inertias into one;
``finding``, ``inertia_rules`` and ``joint_rules`` say what no robot has. ``primitives`` and
``pseudo_inertia`` are about inertias, ``friction`` states the law; ``robots``, ``description`` and
``share`` find files, ``parameter_files`` reads YAML, ``ros2_control`` a description's hardware;
``arguments`` checks numbers.
"""

from featherstone_ros.model.model import EARTH, Model, errors_naming, read_description, read_file

__all__ = ["EARTH", "Model", "errors_naming", "read_description", "read_file"]
