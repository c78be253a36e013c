"""Signals to tools: raised between calls of rclpy's, once, and then left alone."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from featherstone_ros.tools.interruption import count, ended_by_signals, held
from featherstone_ros.tools.processes import NodeProcess, node_environment


@pytest.fixture
def terminal():
    """Be as in a terminal, though the tests may run under nohup: SIGHUP is not ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_waits_for_the_end_of_the_outermost_block(signum):
    reached = []
    with ended_by_signals(), pytest.raises(KeyboardInterrupt) as error:
        with held():
            with held():
                signal.raise_signal(signum)
                reached.append("inner block")
            reached.append("outer block")
        reached.append("what follows")
    assert reached == ["inner block", "outer block"]
    assert error.value.status == 128 + signum


def test_the_first_of_several_signals_is_raised_and_further_ones_do_not_disturb_the_end():
    signums = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    handlers, before = [signal.getsignal(signum) for signum in signums], count()
    with ended_by_signals():
        assert signal.getsignal(signal.SIGINT) not in handlers
        try:
            signal.raise_signal(signal.SIGINT)  # outside any block: at once
        except KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)
            with held():
                signal.raise_signal(signal.SIGTERM)
    assert count() == before + 3
    assert [signal.getsignal(signum) for signum in signums] == handlers
    with ended_by_signals(), pytest.raises(KeyboardInterrupt) as error:
        with held():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
    assert error.value.status == 128 + signal.SIGINT


def test_signal_waits_until_there_is_somebody_to_clean_up():
    reached = []
    with ended_by_signals(), pytest.raises(KeyboardInterrupt):
        with held(until_next=True):
            signal.raise_signal(signal.SIGINT)
        reached.append("between")
        with held():
            reached.append("next block")
        reached.append("what follows")
    assert reached == ["between", "next block"]


def test_exception_that_got_lost_is_raised_again():
    """As one raised within a callback that Python calls for the garbage collector."""

    def lose():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "unraisablehook", lambda lost: names.append(lost.exc_type.__name__))
            Dying()

    class Dying:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    names = []
    gc.disable()
    try:
        with ended_by_signals(), pytest.raises(KeyboardInterrupt):
            lose()
            signal.raise_signal(signal.SIGINT)
    finally:
        gc.enable()
    assert len(names) == 1


def test_another_thread_holds_nothing():
    inside, end = threading.Event(), threading.Event()

    def hold():
        with held():
            inside.set()
            end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        inside.wait()
        with ended_by_signals(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        end.set()
        thread.join()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGHUP], ids=["background", "nohup"])
def test_signal_that_is_ignored_stays_ignored(signum):
    before = signal.signal(signum, signal.SIG_IGN)
    try:
        with ended_by_signals():
            signal.raise_signal(signum)
    finally:
        signal.signal(signum, before)


def test_process_that_ends_is_not_disturbed_any_more(tmp_path):
    program = """
import atexit, signal
from featherstone_ros.tools.interruption import ended_by_signals
atexit.register(signal.raise_signal, signal.SIGINT)
with ended_by_signals(for_good=True):
    pass
signal.raise_signal(signal.SIGINT)
print("undisturbed")
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
"""
    command = [sys.executable, "-c", program]
    end = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (end.returncode, end.stdout, end.stderr) == (0, "undisturbed\n", "")


STUBBORN = """
import signal
for signum in (signal.SIGINT, signal.SIGTERM):
    signal.signal(signum, lambda number, _: print(number, flush=True))
print("ready", flush=True)
while True:
    signal.pause()
"""


def test_another_signal_ends_the_waiting_for_a_node(tmp_path):
    """It would take 10 s otherwise."""
    (tmp_path / "sitecustomize.py").write_text(STUBBORN)
    environment = {**node_environment(1, "LOCALHOST", tmp_path), "PYTHONPATH": str(tmp_path)}
    process = NodeProcess("no_such_node", [], environment, tmp_path)

    def once_it_speaks(signum: int) -> None:
        while not process.new_output():
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident, signum)

    once_it_speaks(0)
    thread = threading.Thread(target=once_it_speaks, args=[signal.SIGINT])
    began = time.monotonic()
    with ended_by_signals(), pytest.raises(KeyboardInterrupt):
        thread.start()
        process.stop()
    assert process.was_hurried and time.monotonic() - began < 9.0
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, signal.SIG_DFL)
    thread.join()
