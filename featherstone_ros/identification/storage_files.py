"""Messages of a rosbag2 storage file in the order in which they were written.

That is the order of reception, even where a clock was set back. Of an MCAP file whose recorder was
killed, everything that is whole is read (https://mcap.dev/spec). One chunk is in memory at a time.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from struct import unpack_from
from typing import Any, BinaryIO, NamedTuple

MAGIC = b"\x89MCAP0\r\n"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, DATA_END = 2, 3, 4, 5, 6, 7, 15
RECORD_HEAD = 9  # [byte] kind and length
MESSAGE_HEAD = 22  # [byte] channel, sequence, times of logging and of publication
INDEX_ENTRY = 16  # [byte] of a message in the index of its chunk
LARGEST = 2**30  # [byte] of a record that is read: more is damage


class Topic(NamedTuple):
    """A topic of a file."""

    name: str
    type: str
    messages: int


class Stored(NamedTuple):
    """A message as it is stored."""

    topic: str
    received: int  # [ns]
    data: Any


class Sqlite:
    """A file of storage sqlite3."""

    is_whole = True

    def __init__(self, path: Path) -> None:
        """Find the topics."""
        self._uri = f"{path.absolute().as_uri()}?mode=ro"
        rows = self._rows(
            "SELECT name, type, (SELECT count(*) FROM messages WHERE topic_id = topics.id) "
            "FROM topics"
        )
        self.topics = [Topic(*row) for row in rows]

    def messages(self, kind: str) -> Iterator[Stored]:
        """Yield the messages of a type."""
        query = (
            "SELECT name, timestamp, data FROM messages JOIN topics ON topic_id = topics.id "
            "WHERE type = ? ORDER BY messages.id"
        )
        yield from (Stored(*row) for row in self._rows(query, (kind,)))

    def _rows(self, query: str, values: tuple[str, ...] = ()) -> Iterator[tuple[Any, ...]]:
        with closing(sqlite3.connect(self._uri, uri=True)) as connection:
            yield from connection.execute(query, values)


class Mcap:
    """A file of storage mcap."""

    def __init__(self, path: Path) -> None:
        """Find the topics; the data of chunks that have an index are passed over."""
        self._path, self.is_whole = path, False
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, tuple[str, str]] = {}  # topic, type
        counts: Counter[int] = Counter()
        with path.open("rb") as file:
            self._scan(file, counts)
        found = Counter(dict.fromkeys(self._channels.values(), 0))
        for channel, count in counts.items():
            found[self._channels[channel]] += count
        self.topics = [Topic(*channel, count) for channel, count in found.items()]

    def messages(self, kind: str) -> Iterator[Stored]:
        """Yield the messages of a type."""
        with self._path.open("rb") as file:
            for found, offset, length in self._records(file):
                if found not in (CHUNK, MESSAGE):
                    continue
                content = _content(file, offset, length)
                inner = _inside(content) if found == CHUNK else [(MESSAGE, content)]
                for _, message in (each for each in inner if each[0] == MESSAGE):
                    channel, _, received = unpack_from("<HIQ", message)
                    topic, type_ = self._channels[channel]
                    if type_ == kind:
                        yield Stored(topic, received, message[MESSAGE_HEAD:])

    def _records(self, file: BinaryIO) -> Iterator[tuple[int, int, int]]:
        """Yield kind, place and length of each record of the file's data that is whole."""
        size, offset = self._path.stat().st_size, len(MAGIC)
        while offset + RECORD_HEAD <= size:
            file.seek(offset)
            kind, length = unpack_from("<BQ", file.read(RECORD_HEAD))
            offset += RECORD_HEAD + length
            if kind in (FOOTER, DATA_END):
                self.is_whole = True
                return
            if offset <= size:
                yield kind, offset - length, length

    def _scan(self, file: BinaryIO, counts: Counter[int]) -> None:
        chunk, index = None, Counter[int]()
        for kind, offset, length in self._records(file):
            if kind == MESSAGE_INDEX:
                channel, entries = unpack_from("<HI", file.read(6))
                index[channel] += entries // INDEX_ENTRY
            elif kind == CHUNK:
                self._count(file, chunk, index, counts)
                chunk, index = (offset, length), Counter()
            elif kind in (SCHEMA, CHANNEL, MESSAGE):
                self._take(kind, _content(file, offset, length), counts)
        self._count(file, chunk, index, counts)

    def _count(
        self,
        file: BinaryIO,
        chunk: tuple[int, int] | None,
        index: Counter[int],
        counts: Counter[int],
    ) -> None:
        """Count a chunk's messages by its index; or by its data, which describe new channels."""
        if chunk is None:
            return
        if index and index.keys() <= self._channels.keys():
            counts.update(index)
            return
        for kind, content in _inside(_content(file, *chunk)):
            self._take(kind, content, counts)

    def _take(self, kind: int, content: memoryview, counts: Counter[int]) -> None:
        if kind == MESSAGE:
            counts[unpack_from("<H", content)[0]] += 1
        elif kind == SCHEMA:
            self._schemas[unpack_from("<H", content)[0]] = _text(content, 2)
        elif kind == CHANNEL:
            channel, schema = unpack_from("<HH", content)
            self._channels[channel] = _text(content, 4), self._schemas.get(schema, "")


def _content(file: BinaryIO, offset: int, length: int) -> memoryview:
    if length > LARGEST:
        raise ValueError(f"a record of {length} bytes, expected at most {LARGEST}")
    file.seek(offset)
    return memoryview(file.read(length))


def _text(content: memoryview, at: int) -> str:
    """Return a string, which is preceded by its length."""
    (length,) = unpack_from("<I", content, at)
    return bytes(content[at + 4 : at + 4 + length]).decode()


def _inside(chunk: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield kind and content of a chunk's records."""
    (size,) = unpack_from("<Q", chunk, 16)
    compression = _text(chunk, 28)
    if size > LARGEST:
        raise ValueError(f"a chunk of {size} bytes, expected at most {LARGEST}")
    packed = chunk[40 + len(compression.encode()) :]
    data, offset = memoryview(_unpacked(packed, compression, size)), 0
    while offset < len(data):
        kind, length = unpack_from("<BQ", data, offset)
        offset += RECORD_HEAD + length
        yield kind, data[offset - length : offset]


def _unpacked(packed: memoryview, compression: str, size: int) -> memoryview | bytes:
    if compression == "":
        return packed
    if compression == "zstd":
        return bytes(zstd().ZstdDecompressor().decompress(packed, size))
    if compression == "lz4":
        frame = import_module("lz4.frame")
        return bytes(frame.LZ4FrameDecompressor().decompress(packed, size))
    raise ValueError(f"chunks are compressed by {compression!r:.40}, expected zstd, lz4 or none")


def zstd() -> Any:
    """Return the library that rosbags has for it."""
    try:
        return import_module("compression.zstd")  # of Python 3.14
    except ImportError:
        return import_module("backports.zstd")
