"""Start-up of the benchmark's own nodes."""

import signal

import rclpy


def init() -> None:
    """Let SIGINT and SIGTERM shut the context down; an exception would be raised within rclpy."""
    signal.signal(signal.SIGINT, lambda *_: None)
    rclpy.init()  # with signal handlers that do so
