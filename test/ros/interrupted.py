"""The console command, to which Ctrl-C comes while rclpy makes the first message of a class.

``python interrupted.py MODULE CLASS ARGUMENTS...``
"""

import signal
import sys
from importlib import import_module

from featherstone_ros.tools import cli

module, name, *sys.argv[1:] = sys.argv[1:]
kind = getattr(import_module(module), name)
make = kind.__init__


def make_and_interrupt(self, **fields):
    make(self, **fields)
    kind.__init__ = make
    signal.raise_signal(signal.SIGINT)


kind.__init__ = make_and_interrupt
sys.exit(cli.main())
