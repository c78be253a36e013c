"""The console command ``featherstone-ros``."""

import argparse
import inspect
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import groupby
from types import ModuleType

from featherstone_ros import __version__
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.robots import ARGUMENT
from featherstone_ros.text import shortened
from featherstone_ros.tools import COMMANDS
from featherstone_ros.tools.interruption import ended_by_signals
from featherstone_ros.tools.options import (
    add_xacro_arguments,
    require_outputs,
    require_ros,
    require_urdf,
)
from featherstone_ros.tools.result import conclude

_DESCRIPTION = """\
Model-based torque control and digital twins for any URDF arm, in ROS 2.

Examples:
  featherstone-ros setup my.urdf     begin with your own arm: parameters, motion
  featherstone-ros run my.urdf       simulate it under control, until Ctrl-C
  featherstone-ros inspect my.urdf   is that URDF fit for dynamics?
  featherstone-ros demo              drive a Panda with and without its model
  featherstone-ros COMMAND --help    what a command does, and its options
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; return the exit status.

    It is 0 on success, 1 on a reported error or a closed output pipe, 2 for what is no command
    (without any, all are listed), or cannot be read where 1 is an answer; where Ctrl-C keeps a
    command from its end 130, SIGTERM 143.
    """
    words = sys.argv[1:] if argv is None else argv
    # Before NumPy is loaded: for small matrices more threads cost far more than they save.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        with ended_by_signals(for_good=argv is None):
            parser = _parser(words[:1] if words[:1] and words[0] in COMMANDS else COMMANDS)
            arguments = [word for word in words if ARGUMENT.fullmatch(word)]
            args, unknown = parser.parse_known_args([w for w in words if w not in arguments])
            if unknown:  # argparse alone would show the usage of all commands
                repeats = isinstance(getattr(args, "parameters", None), list)
                is_file = repeats and not unknown[0].startswith("-")
                hint = "; --parameters takes one file, and may be repeated" if is_file else ""
                getattr(args, "parser", parser).error(f"unknown: {' '.join(unknown)}{hint}")
            if args.command is None:
                parser.print_help()
                return 2
            require_urdf(args.parser, args)
            add_xacro_arguments(args, arguments)
            return _carry_out(args)
    except FeatherstoneError as error:
        print(f"featherstone-ros {args.command}: {shortened(error)}", file=sys.stderr)
        return int(args.status_of(error))
    except KeyboardInterrupt as interruption:
        with suppress(OSError):  # the terminal is lost
            print("interrupted", file=sys.stderr)
        return getattr(interruption, "status", 130)
    except BrokenPipeError:  # the reader, e.g. head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for Python's own flush
        return 1
    except OSError as error:  # of a file that was asked for: no space, no permission, a folder
        if error.filename is None:
            raise
        print(
            f"featherstone-ros {args.command}: {error.filename}: {error.strerror}", file=sys.stderr
        )
        return 1


def _carry_out(args: argparse.Namespace) -> int:
    """Check what a command needs, run it, print and write what it has found."""
    if args.needs_ros:
        require_ros()
    require_outputs(args)
    from featherstone_ros.tools.style import new_console

    console = new_console()
    return conclude(args.run(args, console), console)


def _parser(commands: Iterable[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="featherstone-ros",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name in commands:
        _add_command(subparsers, name, import_module(f"featherstone_ros.tools.{name}"))
    return parser


def _add_command(
    subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, module: ModuleType
) -> None:
    text = inspect.getdoc(module) or ""
    command = subparsers.add_parser(
        name,
        help=text.partition("\n")[0].rstrip("."),
        description=_wrapped(text),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(
        run=module.run, parser=command, outputs=(), needs_ros=False, status_of=lambda error: 1
    )
    module.add_arguments(command)


def _wrapped(text: str) -> str:
    """Return a docstring with its prose as wide as the terminal, and indented lines as they are."""
    width = shutil.get_terminal_size().columns - 2
    lines: list[str] = []
    for is_prose, group in groupby(text.splitlines(), lambda line: bool(re.match(r"\S", line))):
        same = list(group)
        lines += textwrap.wrap(" ".join(same), width) if is_prose else same
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
