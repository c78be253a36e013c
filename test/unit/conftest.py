"""What tests of several files use as a fixture."""

import pytest


class Said(str):
    """What a command has said, in one line; ``out`` and ``err`` have it as it came."""

    __slots__ = ("err", "out")


@pytest.fixture
def tree():
    """Return the dynamics of a tree without mimic joints, whose base stands."""
    from methods import MODELS

    from featherstone_ros import Dynamics

    return Dynamics(MODELS["tree"])


@pytest.fixture
def tool(capsys):
    """Run a command of featherstone-ros to its exit status, None for any; return what it says."""

    def run(*command, status=0):
        from featherstone_ros.tools import cli

        capsys.readouterr()  # what was said before
        try:
            ended = cli.main([*map(str, command)])
        except SystemExit as end:
            ended = end.code
        captured = capsys.readouterr()
        said = Said(" ".join(f"{captured.out} {captured.err}".split()))
        said.out, said.err = captured
        assert status is None or ended == status, said
        return said

    return run
