"""A table of refusals: what is raised, what its text names, and who asks for it."""

import re
import shlex
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest
from each import each


def refusals(*rows, error=None, of=None, files=None):
    """Return a test of rows (error, pattern of its text, call without arguments).

    Rows are without the first, where all have the same ``error``. With ``of`` a call may also be
    what is changed of its arguments: a mapping, or its only one. Where nothing is changed, it
    raises nothing: no row passes for another reason. Calls are made where ``files`` are, as those
    of ``refused_commands``.
    """
    rows = list(rows) if error is None else [(error, *row) for row in rows]
    rows += [(None, "nothing", of)] * (of is not None)

    @each("row", rows)
    def test(row, request):
        error, text, call = row
        if files is not None:
            write(files, request)
        with pytest.raises(error, match=text) if error else nullcontext():
            call() if callable(call) else of(**call) if isinstance(call, Mapping) else of(call)

    return test


def refused_commands(files, *rows):
    """Return a test of rows (command line, exit status, pattern of what stderr says).

    It runs where ``files`` are, names with their content, or None for a folder. Nothing is written.
    """

    @pytest.mark.parametrize(("command", "status", "text"), rows, ids=[row[0] for row in rows])
    def test(command, status, text, request, tool):
        folder = write(files, request)
        said = tool(*shlex.split(command), status=status)
        assert "Traceback" not in said.err
        assert re.search(text, " ".join(said.err.split())), said.err
        assert {path.name for path in folder.iterdir()} == files.keys()
        assert "ros2" not in said.out and "featherstone-ros run" not in said.out

    return test


def write(files, request):
    """Write files into a folder of the test's own, and go there; return it."""
    folder = request.getfixturevalue("tmp_path")
    request.getfixturevalue("monkeypatch").chdir(folder)
    for name, content in files.items():
        if content is None:
            Path(name).mkdir()
        elif isinstance(content, bytes):
            Path(name).write_bytes(content)
        else:
            Path(name).write_text(content)
    return folder
