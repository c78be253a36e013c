"""All robots of example-robot-data load with their joints; those that move nothing are locked."""

import re
import xml.etree.ElementTree as ET

import pytest
from example_robots import EMPTY, MASSLESS_JOINTS, ROBOTS, UNLIKE_ROBOTS
from studies import few_or_all

from featherstone_ros.errors import ModelError
from featherstone_ros.model import Model

if not ROBOTS:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)


@pytest.mark.parametrize(
    "path", few_or_all(UNLIKE_ROBOTS, [path for path in ROBOTS if path.name != EMPTY])
)
def test_loads_with_the_joints_of_the_document(path):
    root = ET.parse(path).getroot()
    by_name = {joint.get("name"): joint for joint in root.findall("joint")}

    def is_free(joint):
        mimic = joint.find("mimic")
        follows = mimic is not None and mimic.get("joint") in by_name
        locked = joint.get("name") in MASSLESS_JOINTS.get(path.name, ())
        return joint.get("type") != "fixed" and not follows and not locked

    model = Model.from_file(path, locked=MASSLESS_JOINTS.get(path.name))
    assert list(model.joint_names) == [name for name, joint in by_name.items() if is_free(joint)]
    assert list(model.link_names) == [link.get("name") for link in root.findall("link")]


with_idle_fingers = pytest.mark.parametrize(
    "path", [p for p in ROBOTS if p.name in MASSLESS_JOINTS]
)


@with_idle_fingers
def test_fingers_without_any_inertia_are_locked_with_a_warning(path, caplog):
    idle = MASSLESS_JOINTS[path.name]
    model = Model.from_file(path)
    assert idle.keys() <= model.locked.keys()
    assert all(model.locked[name] == 0 for name in idle)
    (record,) = caplog.records
    assert all(name in record.message.split("locked at 0")[1] for name in idle)


@with_idle_fingers
def test_raises_if_fingers_without_any_inertia_are_asked_for(path):
    first = next(iter(MASSLESS_JOINTS[path.name]))
    names = (*Model.from_file(path).joint_names, first)
    with pytest.raises(ModelError, match=re.escape(f"{path}: joint '{first}' moves no mass")):
        Model.from_file(path, joints=names)
