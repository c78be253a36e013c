"""xacro with arguments: from Python, from every command, in a checkout that was never built."""

import numpy as np
import pytest
from urdf_text import joint, link

import featherstone_ros as fr
from featherstone_ros.errors import ModelError
from featherstone_ros.model.robots import argument_texts, description_text, robot_file
from featherstone_ros.tools.cli import main

pytest.importorskip("xacro")

LIMIT = '<limit lower="-2" upper="2" velocity="2" effort="90"/>'
XACRO = 'xmlns:xacro="http://ros.org/wiki/xacro"'
ARM = f"""<robot {XACRO} name="arm">
  <xacro:arg name="name" default="turn"/>
  <xacro:arg name="heavy" default="false"/>
  <xacro:include filename="$(find my_arm)/urdf/links.xacro"/>
  <xacro:arm mass="$(arg mass)"/>
</robot>"""
MASS = "${float(mass) + (10 if '$(arg heavy)' == 'true' else 0)}"
LINKS = f"""<robot {XACRO}><xacro:macro name="arm" params="mass">
  {link("base")}{link("tip", mass=MASS, com="0.1 0 0")}
  {joint("$(arg name)", "base", "tip", axis="0 1 0", inside=LIMIT)}
</xacro:macro></robot>"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A package as it lies in a checkout, the folder named otherwise and with a blank in it."""
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "a clone"
    (package / "urdf").mkdir(parents=True)
    (package / "package.xml").write_text("<package><name>my_arm</name></package>")
    (package / "urdf/links.xacro").write_text(LINKS)
    (package / "urdf/arm.urdf.xacro").write_text(ARM)
    return package / "urdf/arm.urdf.xacro"


def weight(model):
    return fr.Dynamics(model).gravity(np.zeros(1))[0] / -9.81 / 0.1


def test_from_file_takes_arguments(path):
    model = fr.Model.from_file(path, {"mass": 3, "name": "other"})
    assert model.joint_names == ("other",) and weight(model) == pytest.approx(3)
    model = fr.Model.from_file(path, arguments={"mass": 3, "heavy": True}, gravity=(0, 0, -9.81))
    assert model.joint_names == ("turn",) and weight(model) == pytest.approx(13)
    with pytest.raises(TypeError, match=r"arguments is .*'turn'.*, expected a mapping"):
        fr.Model.from_file(path, ["turn"])


def test_a_robot_is_a_file_and_its_arguments(path):
    assert weight(fr.Model.from_robot(f"'{path}' mass:=4 heavy:=true")) == pytest.approx(14)
    assert weight(fr.Model.from_urdf(description_text(f"'{path}' mass:=4"))) == pytest.approx(4)
    source = robot_file(f"'{path}' mass:=4 'name:=two words'")
    assert source == path and argument_texts(source) == ["mass:=4", "name:=two words"]
    assert source.absolute().arguments == {"mass": "4", "name": "two words"}
    plain = path.rename(path.with_name("arm of mine.urdf"))
    assert robot_file(str(plain)) == plain  # without arguments nothing is quoted


def test_what_is_wrong_in_arguments_or_packages_is_named(path):
    takes = "it takes the arguments name:=, heavy:="
    for arguments, said in (
        ("", f"Undefined substitution argument mass; {takes}"),
        ("mass:=4 mass:=5", "'mass:=5' is no argument, expected NAME:=VALUE, each name once"),
        ("mass:=4 heavy", "'heavy' is no argument"),
        ("mass:=four", "not valid xacro"),
        ("mass:=4 hevy:=true", f"takes no argument hevy:=; {takes}"),
    ):
        with pytest.raises(ModelError, match=said):
            fr.Model.from_file(robot_file(f"'{path}' {arguments}" if arguments else str(path)))
    path.write_text(ARM.replace("find my_arm", "find your_arm"))
    with pytest.raises(ModelError, match="package 'your_arm' is found neither by ROS nor around"):
        fr.Model.from_file(path, {"mass": 1})


def test_a_plain_urdf_takes_none(path):
    for robot in ("panda", f"'{robot_file('panda')}'"):
        with pytest.raises(ModelError, match=r"panda\.urdf takes no arguments \(name\)"):
            robot_file(f"{robot} name:=x")
    with pytest.raises(ModelError, match="takes no arguments"):
        fr.Model.from_file(robot_file("panda"), {"name": "x"})


def test_every_command_takes_them_anywhere_in_its_line(path, capsys):
    assert main(["inspect", str(path), "mass:=3", "--json"]) == 0
    assert '"mass": 3.0' in capsys.readouterr().out
    assert main(["inspect", "heavy:=true", "--json", f"--urdf={path}", "mass:=3"]) == 0
    assert '"mass": 13.0' in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["monitor", "mass:=3"])
    assert "mass:=3: this command reads no robot file" in capsys.readouterr().err


def test_setup_writes_commands_with_them(path, capsys, monkeypatch):
    monkeypatch.setattr("featherstone_ros.tools.setup.report.draw", lambda *drawn: None)
    assert main(["setup", str(path), "mass:=3", "name:=two words"]) == 0
    assert "setup arm.urdf.xacro mass:=3 name:=two words`" in open("arm.yaml").read()
    said = capsys.readouterr().out
    assert f"featherstone-ros run '{path}' mass:=3 'name:=two words' --parameters" in said
    assert f"robot:='{path}' xacro_arguments:='mass:=3 " in said
