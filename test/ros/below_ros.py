"""Bytes on a DDS topic of any name, past what rclpy allows: services' requests among them.

rclpy puts a slash before every name, with which the topic of a service's requests, ``rq/...``, is
another one. The middleware's own functions, which rclpy calls, do not.
"""

from __future__ import annotations

import ctypes
import time
from ctypes import byref, c_bool, c_char_p, c_int, c_size_t, c_uint64, c_void_p

from rclpy.node import Node
from rclpy.type_support import check_for_type_support

KEEP_LAST, RELIABLE, VOLATILE, AUTOMATIC = 1, 1, 2, 1  # rmw/types.h
UNSET = (c_uint64 * 2)(0, 0)


class Qos(ctypes.Structure):
    """rmw_qos_profile_t."""

    _fields_ = (
        ("history", c_int),
        ("depth", c_size_t),
        ("reliability", c_int),
        ("durability", c_int),
        ("deadline", c_uint64 * 2),
        ("lifespan", c_uint64 * 2),
        ("liveliness", c_int),
        ("lease_duration", c_uint64 * 2),
        ("avoid_ros_namespace_conventions", c_bool),
    )


class Options(ctypes.Structure):
    """rmw_publisher_options_t."""

    _fields_ = (("payload", c_void_p), ("unique_network_flow", c_int))


class Serialized(ctypes.Structure):
    """rmw_serialized_message_t; the rest is rcutils' allocator, which is not used."""

    _fields_ = (
        ("buffer", c_char_p),
        ("length", c_size_t),
        ("capacity", c_size_t),
        ("allocator", c_void_p * 5),
    )


def libraries() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """Return librcl and the rmw implementation that rclpy has loaded."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if ".so" in line}

    def loaded(name: str) -> ctypes.CDLL:
        return ctypes.CDLL(next(p for p in paths if p.rpartition("/")[2].startswith(name)))

    return loaded("librcl.so"), loaded("librmw_fastrtps_cpp.so")


class BytesPublisher:
    """Publishes bytes on a DDS topic, reliably."""

    def __init__(self, node: Node, kind: type, topic: str) -> None:
        """Make it.

        Args:
            node: The node that publishes.
            kind: Python class of the type that the topic is to have.
            topic: DDS's name of it.
        """
        self._topic = topic
        rcl, self._rmw = libraries()
        check_for_type_support(kind)
        capsule = ctypes.pythonapi.PyCapsule_GetPointer
        capsule.restype, capsule.argtypes = c_void_p, (ctypes.py_object, c_char_p)
        support = capsule(kind.__class__._TYPE_SUPPORT, None)
        rcl.rcl_node_get_rmw_handle.restype = c_void_p
        with node.handle:
            rmw_node = rcl.rcl_node_get_rmw_handle(c_void_p(node.handle.pointer))
        qos = Qos(KEEP_LAST, 10, RELIABLE, VOLATILE, UNSET, UNSET, AUTOMATIC, UNSET, True)
        self._rmw.rmw_create_publisher.restype = c_void_p
        self._publisher = c_void_p(
            self._rmw.rmw_create_publisher(
                c_void_p(rmw_node), c_void_p(support), topic.encode(), byref(qos), byref(Options())
            )
        )
        if not self._publisher:
            raise RuntimeError(f"no publisher on {topic}")

    @property
    def matched(self) -> int:
        """How many readers there are."""
        count = c_size_t()
        self._rmw.rmw_publisher_count_matched_subscriptions(self._publisher, byref(count))
        return count.value

    def wait_for_reader(self, timeout: float = 45.0) -> None:
        """Wait until somebody reads what is published.

        Raises:
            TimeoutError: Nobody does.
        """
        end = time.monotonic() + timeout
        while not self.matched:
            if time.monotonic() > end:
                raise TimeoutError(f"nobody reads {self._topic}")
            time.sleep(0.01)

    def publish(self, data: bytes) -> None:
        """Publish."""
        message = Serialized(data, len(data), len(data))
        self._rmw.rmw_publish_serialized_message(self._publisher, byref(message), None)


def request_topic(service: str) -> str:
    """Return DDS's name of the topic of a service's requests."""
    return f"rq{service}Request"
