"""The console command ``featherstone-ros``."""

import argparse
import contextlib
import inspect
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import ModuleType

from featherstone_ros import __version__
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools import COMMANDS

_DESCRIPTION = """\
Model-based torque control and digital twins for any URDF arm, in ROS 2.

Examples:
  featherstone-ros setup my.urdf          begin with your own arm: parameters, a first motion
  featherstone-ros run my.urdf            simulate it under control, until Ctrl-C
  featherstone-ros inspect my.urdf        is that URDF fit for dynamics?
  featherstone-ros demo                   watch a Panda being driven, with and without its model
  featherstone-ros COMMAND --help         what a command does and takes
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand.

    Args:
        argv: Arguments without the program's name; those of the process by default.

    Returns:
        The exit status: 0 if all went well, 1 on an error that was reported or if nobody reads the
        output any more, 130 on Ctrl-C; SIGTERM exits with 143.
    """
    args = _parser().parse_args(argv)
    try:
        with _ended_by_sigterm():
            return _run(args)
    except FeatherstoneError as error:
        print(f"featherstone-ros {args.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read the output, e.g. head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for Python's own flush
        return 1


def _run(args: argparse.Namespace) -> int:
    """Run the command; what a signal raises within a call of rclpy's comes out as what it is."""
    try:
        return args.run(args)
    except SystemError as error:  # pybind11's: "returned a result with an exception set"
        if isinstance(error.__cause__, (KeyboardInterrupt, SystemExit)):
            raise error.__cause__ from None
        raise


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """On SIGTERM unwind as on Ctrl-C: whoever has started nodes stops them."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread only
        return
    previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="featherstone-ros",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        _add_command(subparsers, name, import_module(f"featherstone_ros.tools.{name}.command"))
    return parser


def _add_command(
    subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, module: ModuleType
) -> None:
    text = inspect.getdoc(module) or ""
    command = subparsers.add_parser(
        name,
        help=text.partition("\n")[0].rstrip("."),
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(command)
    command.set_defaults(run=module.run)


if __name__ == "__main__":
    sys.exit(main())
