"""Subcommands of the console command ``featherstone-ros``, one module each.

To add one, write a module here with a docstring (its first line becomes the summary, the whole
of it the help text), ``add_arguments(parser)`` and ``run(args) -> exit status``, and append its
name to ``COMMANDS``. Imports that are slow or optional (rclpy, matplotlib) belong inside ``run``:
every module of ``COMMANDS`` is imported for ``featherstone-ros --help``.
"""

COMMANDS = (
    "setup",
    "run",
    "demo",
    "inspect",
    "evaluate",
    "excite",
    "identify",
    "payload",
    "preflight",
    "monitor",
    "bench",
)
