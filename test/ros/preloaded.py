"""What nodes import, and what they find out as they start: imported once, in what forks them."""

import inspect
import sys
from contextlib import suppress
from importlib import import_module

IMPORTED = (
    "rosidl_generator_py",  # rclpy imports it with the first message
    "featherstone_ros.nodes.digital_twin",
    "featherstone_ros.nodes.feedforward_controller",
    # What commands beside nodes import.
    "featherstone_ros.tools.motion_client",
    "featherstone_ros.tools.replay.comparison",
    "featherstone_ros.tools.run.session",
    "rich.live",
    # What nodes import as they start.
    "numpy.ma",
    "numpy.random",
    "service_msgs.msg",
    "type_description_interfaces.msg",
)
# Packages whose messages they send.
MESSAGES = """builtin_interfaces diagnostic_msgs geometry_msgs lifecycle_msgs rcl_interfaces
    sensor_msgs service_msgs std_msgs std_srvs trajectory_msgs type_description_interfaces"""

for name in (*IMPORTED, *(f"{it}.{it}_s__rosidl_typesupport_c" for it in MESSAGES.split())):
    with suppress(ImportError):  # whoever runs it is told
        import_module(name)
inspect.getframeinfo(sys._getframe())  # finds all files, as rclpy does for its first log line
