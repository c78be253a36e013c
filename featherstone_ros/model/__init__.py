"""The model of an arm: from a URDF, or a ``Tree`` built in Python, to what the algorithms need.

``urdf`` reads, ``coordinates`` chooses what moves, ``body_tree`` makes arrays, ``model`` joins
them; ``finding``, ``inertia_rules`` and ``joint_rules`` say what no robot has. ``primitives`` and
``pseudo_inertia`` are about inertias, ``friction`` states the law; ``robots``, ``description`` and
``share`` find files; ``arguments`` checks numbers.
"""

from featherstone_ros.model.model import EARTH, Model, read_description, read_file

__all__ = ["EARTH", "Model", "read_description", "read_file"]
