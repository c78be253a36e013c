"""The console command ``featherstone-ros``: a module for each subcommand, and shared ones.

To add a subcommand, make a module: a docstring (its first line is the summary, all of it the help
text), ``add_arguments(parser)`` and ``run(args, console)``, which returns a ``Result``; and append
its name to ``COMMANDS``. What it imports at its top is loaded for ``--help``, too.
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
