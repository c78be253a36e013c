"""A table of refusals: what is raised, what its text names, and who asks for it."""

import re
import shlex
from pathlib import Path

import pytest


def refusals(*rows, error=None):
    """Return a test of rows (error, pattern of its text, call without arguments).

    Rows are without the first, where all have the same ``error``.
    """
    rows = rows if error is None else [(error, *row) for row in rows]

    @pytest.mark.parametrize(("error", "text", "call"), rows, ids=[text for _, text, _ in rows])
    def test(error, text, call):
        with pytest.raises(error, match=text):
            call()

    return test


def refused_commands(files, *rows):
    """Return a test of rows (command line, exit status, pattern of what stderr says).

    It runs where ``files`` are, names with their text, or None for a folder. Nothing is written.
    """

    @pytest.mark.parametrize(("command", "status", "text"), rows, ids=[row[0] for row in rows])
    def test(command, status, text, tmp_path, monkeypatch, capsys):
        from featherstone_ros.tools import cli

        if command.startswith(("run", "demo")):
            pytest.importorskip("rclpy")
        monkeypatch.chdir(tmp_path)
        for name, content in files.items():
            if content is None:
                Path(name).mkdir()
            else:
                Path(name).write_text(content)
        try:
            ended = cli.main(shlex.split(command))
        except SystemExit as end:
            ended = end.code
        said = capsys.readouterr()
        assert (ended, "Traceback" in said.err) == (status, False), said.err
        assert re.search(text, " ".join(said.err.split())), said.err
        assert {path.name for path in tmp_path.iterdir()} == files.keys()
        assert "ros2" not in said.out and "featherstone-ros run" not in said.out

    return test
