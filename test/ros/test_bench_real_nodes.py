"""The nodes part of the benchmark with real nodes, each measured briefly."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not installed: this part of the benchmark needs ROS 2"
)
from support import free_domain

from featherstone_ros.tools.processes import node_environment

pytestmark = pytest.mark.timeout(600)  # it starts sixteen nodes


@contextlib.contextmanager
def bench(folder):
    """Start the console command; kill it if the test fails."""
    arguments = ("bench", "--quick", "--only=nodes", "--output=report")
    with free_domain() as domain:
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "featherstone_ros.tools.cli", *arguments],
            cwd=folder,
            env=node_environment(domain, "LOCALHOST", folder) | {"COLUMNS": "160"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            yield process, domain
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=60)


def nodes_of(domain):
    """Return the process ids of this package's nodes in a domain."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (folder / "cmdline").read_text()
            environment = (folder / "environ").read_text().split("\0")
            if "--ros-args" in command and f"ROS_DOMAIN_ID={domain}" in environment:
                found.append(int(folder.name))
    return found


def test_a_moment_of_everything_is_measured_printed_and_written(tmp_path):
    with bench(tmp_path) as (process, domain):
        output, _ = process.communicate(timeout=300)
        assert nodes_of(domain) == []
    assert process.returncode == 0, output
    report = json.loads((tmp_path / "report/report.json").read_text())
    compared = {(r["algorithm"], r["peer"]) for r in report["results"]}
    assert compared >= {
        ("reaction, median", "echo"),
        ("reaction, p99", "echo"),
        ("processor time", "echo"),
        ("reaction, median", "floor"),
        ("states lost", "floor"),
        ("jitter, p99", "sleeping loop"),
    }
    for result in report["results"]:
        if result["algorithm"] != "states lost":
            assert result["ours"] > 0 and result["theirs"] > 0
        assert result["algorithm"] in output
    remarks = " ".join(r["remark"] for r in report["results"])
    assert "busy interpreter" in remarks and "messages a second" in remarks
    assert {d["what"] for d in report["distributions"]} > {"reaction", "jitter"}
    assert all(sum(d["counts"]) > 0 for d in report["distributions"])
    (loop,) = report["loops"]
    assert loop["states"] > 0 and loop["not_finite"] == 0
    assert "Closed loops" in output and "one arm" in output
    if (tmp_path / "report/nodes.png").exists():
        assert (tmp_path / "report/nodes.png").read_bytes().startswith(b"\x89PNG")
        assert not (tmp_path / "report/report.png").exists()


def test_an_interrupted_benchmark_leaves_no_node_behind(tmp_path):
    with bench(tmp_path) as (process, domain):
        end = time.monotonic() + 60
        while len(nodes_of(domain)) < 2:
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 130, output
        assert nodes_of(domain) == []
