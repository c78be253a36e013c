"""Both nodes say at configure time what is wrong with the robot description, and work all the same.

The doctor itself is tested without ROS.
"""

import pytest
from support import status_values  # skips this module where ROS is missing

from featherstone_ros.inspection.doctor import examine

NODES = ["digital_twin", "feedforward_controller"]
STATUS = "{}: robot description"
ODD = """
<robot name="odd"><link name="base"/>
  <link name="slide"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="rail" type="prismatic"><parent link="base"/><child link="slide"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="0"/></joint>
</robot>"""
SOUND = ODD.replace('izz="9"', 'izz="1"').replace('effort="0"', 'effort="9" velocity="3"')


@pytest.mark.parametrize("node", NODES)
def test_findings_are_logged_and_in_the_diagnostics_of_a_node_that_works(ros, node):
    limit = {} if node == "digital_twin" else {"effort_limit.rail": 9.0}
    process = ros.start(f"featherstone_ros.{node}", {"robot_description": ODD, **limit})
    process.wait_for_output("activate: done")
    findings = examine(ODD).findings
    assert {"triangle-inequality", "effort-zero", "velocity-missing"} == {
        finding.rule.name for finding in findings
    }
    for finding in findings:
        (line,) = [x for x in process.output.splitlines() if finding.rule.fault in x]
        assert finding.element in line and finding.rule.consequence in line
    status = ros.status(node=STATUS.format(node))
    assert status.level == status.ERROR
    details = [f"{key} {value}" for key, value in status_values(status).items()]
    for finding in findings:
        parts = (finding.element, finding.rule.fault, finding.rule.consequence, finding.found)
        assert any(all(part in detail for part in parts) for detail in details)
    assert ros.state(f"/{node}") == "active"


WEIGHT = """<inertial><origin xyz="0 0 0.1"/><mass value="9"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""
AFLOAT = SOUND.replace(
    '<link name="base"/>',
    f"""<link name="sea"/><link name="base">{WEIGHT}</link>
  <joint name="root" type="floating"><parent link="sea"/><child link="base"/></joint>""",
)


@pytest.mark.parametrize(
    ("node", "chosen"), list(zip(NODES, [{"base": "floating"}, {"joints": ["rail"]}], strict=True))
)
def test_nothing_is_said_of_a_robot_that_floats_and_is_used_as_it_can_be(ros, node, chosen):
    process = ros.start(f"featherstone_ros.{node}", {"robot_description": AFLOAT, **chosen})
    process.wait_for_output("activate: done")
    assert ros.status(node=STATUS.format(node)).message == "nothing found"
    assert "refused" not in process.output and "robot description:" not in process.output
