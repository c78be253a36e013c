"""What no text from the network may do, and what config/sros2_policy.xml lets whom say."""

import importlib.util
from pathlib import Path

import pytest
from defusedxml import ElementTree

from featherstone_ros.model.robots import share_directory

POLICY = share_directory() / "config" / "sros2_policy.xml"
COMMANDS = "/feedforward_controller/commands"


def policy() -> ElementTree:
    return ElementTree.parse(POLICY).getroot()


def allowed(enclave, kind: str, qualifier: str) -> set[str]:
    """Return the full names that an enclave may publish, subscribe, reply or request."""
    names = set()
    for profile in enclave.iter("profile"):
        namespace, node = profile.get("ns").rstrip("/"), profile.get("node")
        for group in profile.iter(f"{kind}s"):
            if group.get(qualifier) == "ALLOW":
                names |= {expanded(name.text, namespace, node) for name in group.iter(kind)}
    return names


def expanded(name: str, namespace: str, node: str) -> str:
    if name.startswith("/"):
        return name
    return f"{namespace}/{node}{name[1:]}" if name.startswith("~") else f"{namespace}/{name}"


def publishers(topic: str) -> list[str]:
    """Return the enclaves that may publish on a topic; wildcards reach every topic."""
    return [
        enclave.get("path")
        for enclave in policy().iter("enclave")
        if any("*" in name or name == topic for name in allowed(enclave, "topic", "publish"))
    ]


@pytest.mark.parametrize(
    ("topic", "enclave"),
    [
        (COMMANDS, "/feedforward_controller"),
        ("/joint_states", "/digital_twin"),
        ("/feedforward_controller/desired", "/feedforward_controller"),
    ],
)
def test_topic_has_one_publisher_by_the_policy(topic, enclave):
    assert publishers(topic) == [enclave]


def test_nobody_commands_the_twin_beside_the_controller():
    assert publishers("/digital_twin/joint_commands") == []


def test_policy_suits_the_sros2_tools():
    if importlib.util.find_spec("sros2") is None:
        pytest.skip("the sros2 package is not installed: the policy is not held against its schema")
    from sros2.policy import load_policy

    enclaves = load_policy(Path(POLICY)).find("enclaves")
    # A comment there is an enclave without a path to `ros2 security generate_artifacts`.
    assert len(enclaves) and all(isinstance(e.tag, str) and e.get("path") for e in enclaves)
