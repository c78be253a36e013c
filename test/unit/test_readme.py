"""What the README says about the code is true."""

import re
from pathlib import Path

import pytest

import featherstone_ros

SOURCE = Path(__file__).resolve().parents[2]
README = (SOURCE / "README.md").read_text()


def test_python_example_runs_in_any_folder(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict = {}
    threads = featherstone_ros.get_num_threads()
    exec(example, names)
    featherstone_ros.set_num_threads(threads)
    assert names["sim"].time == pytest.approx(1.0)
    assert names["there"].success
    assert not caplog.records
