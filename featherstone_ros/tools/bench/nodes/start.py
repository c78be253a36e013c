"""How the nodes of the benchmark begin, those that are no product."""

import signal

import rclpy


def init() -> None:
    """Let SIGINT and SIGTERM shut the context down and raise nothing: it would be within rclpy."""
    signal.signal(signal.SIGINT, lambda *_: None)
    rclpy.init()  # with signal handlers that do so
