"""A process that publishes joint states: ``python talker.py TOPIC RATE``, until it is killed."""

import sys
import time

import rclpy
from sensor_msgs.msg import JointState


def main(topic: str, rate: float) -> None:
    rclpy.init()
    node = rclpy.create_node("talker")
    publisher = node.create_publisher(JointState, topic, 10)
    message = JointState(name=["a", "b"], position=[0.1, 0.2], velocity=[0.0, 0.0])
    while True:
        publisher.publish(message)
        time.sleep(1.0 / rate)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
