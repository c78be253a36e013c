"""Scheduling of a real-time loop, and measurements of its timing; without ROS.

- ``loop_timing``: latency and jitter of a compiled loop, as histograms, for the diagnostics.
- ``scheduling``: real-time priority and processors of a thread, locked memory; its parameters.
"""
