import shutil
import sys

import bag_writer
import numpy as np
import pytest
from bag_writer import joint_state, joint_trajectory, message
from refusals import refusals

from featherstone_ros.errors import BagError, FeatherstoneError
from featherstone_ros.identification import bags
from featherstone_ros.identification.bags import read_joint_states, read_trajectories
from featherstone_ros.identification.identification import identify

STORAGES = ["sqlite3", "mcap"]
NAMES = ["shoulder", "elbow"]
COUNT = 5


def states(offset=0):
    """Give (time of reception, JointState): a state each 10 ms, received 1 ms later."""
    for k in range(offset, offset + COUNT):
        stamp = 10**18 + k * 10**7
        yield stamp + 10**6, joint_state(stamp, NAMES, [k, 2 * k], [k, 0], [0, k])


def other():
    return [(10**18, message(bag_writer.STRING, "hello"))]


@pytest.fixture(params=STORAGES)
def storage(request):
    return request.param


@pytest.fixture
def bag(tmp_path, storage):
    bag_writer.write(tmp_path / "bag", {"/joint_states": states(), "/other": other()}, storage)
    return tmp_path / "bag"


def assert_states(read, count=COUNT):
    (read,) = read
    k = np.arange(count)
    assert read.topic == "/joint_states" and read.joint_names == tuple(NAMES)
    np.testing.assert_array_equal(read.stamp, 10**18 + k * 10**7)
    np.testing.assert_array_equal(read.received - read.stamp, 10**6)
    np.testing.assert_array_equal(read.position, np.column_stack([k, 2 * k]))
    np.testing.assert_array_equal(read.velocity, np.column_stack([k, 0 * k]))
    np.testing.assert_array_equal(read.effort, np.column_stack([0 * k, k]))


def test_a_folder_its_metadata_or_its_file_are_read(bag, tmp_path):
    (file,) = (file for file in bag.iterdir() if file.suffix in bags.STORAGE)
    alone = shutil.copy(file, tmp_path / f"alone{file.suffix}")
    for path in (bag, bag / "metadata.yaml", str(alone)):
        assert_states(read_joint_states(path))
    with pytest.raises(BagError, match=r"no .*JointState on /arm; it holds /joint_states"):
        read_joint_states(bag, topic="/arm")
    (bag / "metadata.yaml").unlink()
    assert_states(read_joint_states(bag))


def split(tmp_path, storage, count=12):
    """Write a recording in several files, as rosbag2 names them, without metadata."""
    folder = tmp_path / "split"
    folder.mkdir()
    for k in range(count):
        file = bag_writer.write(tmp_path / f"b{k}", {"/joint_states": states(k * COUNT)}, storage)
        shutil.move(file, folder / f"split_{k}{file.suffix}")
    return folder


def test_a_dozen_files_are_read_in_the_order_of_their_times(tmp_path, storage):
    """By name they would be 0, 1, 10, 11, 2, ..."""
    folder = split(tmp_path, storage)
    assert_states(read_joint_states(folder), 12 * COUNT)
    names = [path.name for path in bags.storage(folder)]
    assert names == [f"split_{k}{path.suffix}" for k, path in enumerate(bags.storage(folder))]


@pytest.mark.parametrize("left", ["one file", "no identifier", "nothing", "no yaml"])
def test_metadata_that_a_killed_recorder_left_drop_no_file(tmp_path, storage, left):
    folder = split(tmp_path, storage, 3)
    text = (tmp_path / "b0/metadata.yaml").read_text()
    name = next(path.name for path in folder.iterdir() if "_0" in path.name)
    identifier = f"storage_identifier: {storage}"
    assert identifier in text
    text = text.replace(f"b0{name[-4:] if storage == 'sqlite3' else '.mcap'}", name)
    if left == "no identifier":
        text = text.replace(identifier, "storage_identifier: ''")
    texts = {"nothing": "", "no yaml": "a: [", "one file": text, "no identifier": text}
    (folder / "metadata.yaml").write_text(texts[left])
    assert_states(read_joint_states(folder), 3 * COUNT)


def test_compressed_files_and_messages_without_metadata_are_read(tmp_path, storage, monkeypatch):
    zstd, plain = bags._zstd(), bag_writer.store().serialize_cdr
    folder = split(tmp_path, storage, 3)
    for file in [*folder.iterdir()]:
        (folder / f"{file.name}.zstd").write_bytes(zstd.compress(file.read_bytes()))
        file.unlink()
    assert_states(read_joint_states(folder), 3 * COUNT)
    monkeypatch.setattr(
        type(bag_writer.store()),
        "serialize_cdr",
        lambda self, content, kind: zstd.compress(bytes(plain(content, kind))),
    )
    file = bag_writer.write(tmp_path / "bag", {"/joint_states": states()}, storage)
    assert_states(read_joint_states(file))


def test_progress_is_told_to_the_end(bag):
    told = []
    read_joint_states(bag, progress=lambda done, total: told.append((done, total)))
    assert len(told) > COUNT and told == sorted(told) and {total for _, total in told} == {100}
    assert told[-1] == (100, 100)


def test_topics_and_lists_of_joints_are_kept_apart(tmp_path):
    hand = [(k, joint_state(k, ["finger"], [0.0])) for k in range(2)]
    topics = {"/joint_states": [*states(), *hand], "/copy": [*states()][:3]}
    bag_writer.write(tmp_path / "bag", topics)
    found = [(s.topic, s.joint_names, len(s.stamp)) for s in read_joint_states(tmp_path / "bag")]
    assert found == [
        ("/joint_states", tuple(NAMES), COUNT),
        ("/copy", tuple(NAMES), 3),
        ("/joint_states", ("finger",), 2),
    ]
    (copy,) = read_joint_states(tmp_path / "bag", topic="/copy")
    assert copy.topic == "/copy"


def test_empty_fields_are_nan_and_those_of_another_length_are_refused(tmp_path):
    for folder, position in (("empty", [1.0, 2.0]), ("short", [1.0])):
        state = joint_state(0, NAMES, position)
        bag_writer.write(tmp_path / folder, {"/joint_states": [(0, state)]})
    (read,) = read_joint_states(tmp_path / "empty")
    assert read.position.tolist() == [[1.0, 2.0]]
    assert np.isnan(read.velocity).all() and np.isnan(read.effort).all()
    assert read.velocity.shape == read.effort.shape == (1, 2)
    with pytest.raises(BagError, match=r"/joint_states: .* 2 joint names, but 1 in position"):
        read_joint_states(tmp_path / "short")


def test_trajectories_are_read(tmp_path, storage):
    points = [
        {"time": 0, "positions": [0.0, 1.0], "velocities": [0.0, 0.0]},
        {"time": 1_500_000_000, "positions": [2.0, 3.0], "accelerations": [4.0, 5.0]},
    ]
    sent = [(7, joint_trajectory(NAMES, points)), (9, joint_trajectory(["wrist"], []))]
    bag_writer.write(tmp_path / "bag", {"/arm/joint_trajectory": sent}, storage)
    first, second = read_trajectories(tmp_path / "bag")
    assert first.joint_names == NAMES and [p.time_from_start.sec for p in first.points] == [0, 1]
    assert [p.time_from_start.nanosec for p in first.points] == [0, 500_000_000]
    assert [p.positions.tolist() for p in first.points] == [[0.0, 1.0], [2.0, 3.0]]
    assert [p.velocities.tolist() for p in first.points] == [[0.0, 0.0], []]
    assert [p.accelerations.tolist() for p in first.points] == [[], [4.0, 5.0]]
    assert not any(len(p.effort) for p in first.points)
    assert second.joint_names == ["wrist"] and not second.points


@pytest.mark.parametrize(
    "read, kind",
    [(read_joint_states, bags.JOINT_STATE), (read_trajectories, bags.JOINT_TRAJECTORY)],
)
def test_a_bag_without_such_messages_says_what_it_holds(tmp_path, storage, read, kind):
    bag_writer.write(tmp_path / "bag", {"/other": other()}, storage)
    with pytest.raises(BagError, match=rf"bag holds no {kind}; it holds /other \(std_msgs/msg/Str"):
        read(tmp_path / "bag")


test_what_is_no_bag_is_refused = refusals(
    (r"there is no .*nowhere", lambda: read_joint_states("nowhere")),
    (r"holds no metadata.yaml and no file \*.db3, \*.mcap", lambda: read_joint_states(".")),
    (r"notes.txt cannot be read: .*\.txt", lambda: read_joint_states("notes.txt")),
    # A name longer than a file's may be is refused before anything is read.
    (r"x cannot be read: .*name too long", lambda: identify([300 * "x"], "no.urdf")),
    error=BagError, files={"notes.txt": "notes"},
)  # fmt: skip


def test_a_damaged_file_is_refused(tmp_path, storage):
    file = bag_writer.write(tmp_path / "bag", {"/joint_states": [*states()] * 200}, storage)
    content = file.read_bytes()
    half, words = content[: len(content) // 2], r"cannot be read|holds no"
    repair = r"`mcap recover .*ros2 bag reindex" if storage == "mcap" else words
    for damaged, said in (
        (b"", words),
        (content[:100], words),
        (b"x" * 1000, words),
        (half, repair),
    ):
        file.write_bytes(damaged)
        with pytest.raises(BagError, match=said):
            read_joint_states(file)
    with pytest.raises(BagError, match=repair):  # as a recorder leaves it that was killed
        read_joint_states(file.parent)


def test_without_the_library_it_says_what_to_install(bag, monkeypatch):
    monkeypatch.setitem(sys.modules, "rosbags.rosbag2", None)
    with pytest.raises(FeatherstoneError, match=r"pip install rosbags"):
        read_joint_states(bag)
    with pytest.raises(BagError, match=r"there is no .*nowhere"):
        read_joint_states(bag.with_name("nowhere"))
