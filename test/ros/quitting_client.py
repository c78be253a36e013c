"""A client that quits before it is answered, as on Ctrl-C: ``quitting_client.py SERVICE``."""

import sys
import time

import rclpy
from rclpy.node import Node
from std_srvs.srv import Trigger

if __name__ == "__main__":
    rclpy.init()
    node = Node("quitting_client")
    client = node.create_client(Trigger, sys.argv[1])
    while not client.service_is_ready():
        time.sleep(0.001)
    for _ in range(3):
        client.call_async(Trigger.Request())
    node.destroy_client(client)
    node.destroy_node()
    rclpy.shutdown()
