"""What the checks of all launch files have in common; launch_testing runs them, not pytest."""

import os
import tempfile
import unittest
from pathlib import Path

import launch_testing
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes
from support import Ros

from featherstone_ros.model.share import share_directory


def describe(launch_file: str, **arguments: str) -> LaunchDescription:
    """Describe a launch of one of our files, ready to be tested at once."""
    path = share_directory() / "launch" / f"{launch_file}.launch.py"
    source = PythonLaunchDescriptionSource(str(path))
    include = IncludeLaunchDescription(source, launch_arguments=arguments.items())
    return LaunchDescription([include, ReadyToTest()])


class WhileRunning(unittest.TestCase):
    """Gives a check ``self.ros``: a node in the domain of the launched ones."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.ros = Ros(int(os.environ["ROS_DOMAIN_ID"]), Path(self.folder.name))

    def tearDown(self):
        self.ros.close()
        self.folder.cleanup()


@launch_testing.post_shutdown_test()
class AfterShutdown(unittest.TestCase):
    """A check for every launch file: import it."""

    def test_every_process_exits_with_status_0(self, proc_info):
        assertExitCodes(proc_info)
