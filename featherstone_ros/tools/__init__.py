"""The console command ``featherstone-ros``: a folder for each subcommand, and shared modules.

To add a subcommand, make a folder with a module ``command``: a docstring (its first line is the
summary, all of it the help text), ``add_arguments(parser)`` and ``run(args) -> exit status``,
and append its name to ``COMMANDS``. Imports that are slow or optional (rclpy, matplotlib) belong
inside ``run``: every ``command`` is imported for ``featherstone-ros --help``.
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
    "retime",
    "monitor",
    "teach",
    "replay",
    "record",
    "doctor",
)
