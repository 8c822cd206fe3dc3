"""Reading a folder that anybody may have made: plain files of modest size, JSON, Parquet, and Ed25519."""

import hashlib
import json
import os
import stat
import struct
import zlib
from datetime import date
from pathlib import Path
from typing import Any

from tetraodon_verify.policy import Malformed, Unsupported, fail_if, leave_if

LARGEST, ROWS = 1 << 30, 20_000_000  # bytes and rows of one file


def list_files(folder: Path) -> dict[str, int]:
    """The sizes of all files in a folder, by path. Links, pipes and devices are refused; nothing is opened."""
    found, waiting = dict[str, int](), [folder]
    while waiting:
        for path in waiting.pop().iterdir():
            info, name = path.lstat(), path.relative_to(folder).as_posix()
            if stat.S_ISDIR(info.st_mode) and name.count("/") < 3:
                waiting.append(path)
            elif stat.S_ISREG(info.st_mode) and len(found) < 10_000:
                found[name] = info.st_size
            else:
                raise Malformed(f"{name!r} is no plain file, or there are too many")
    return found


def read_bytes(folder: Path, name: str) -> bytes:
    handle = os.open(folder / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        info = os.fstat(file.fileno())
        fail_if(not stat.S_ISREG(info.st_mode) or info.st_size > LARGEST, f"{name} is no plain file of modest size")
        return file.read(LARGEST)


def read_json(data: bytes, name: str) -> Any:
    """JSON without repeated keys, and of a depth that a release has."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fail_if(len(dict(pairs)) != len(pairs), f"{name} says a key twice")
        return dict(pairs)

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=once)
    except (RecursionError, ValueError) as error:
        raise Malformed(f"{name} is no JSON, or too deep: {str(error)[:80]}") from None


class Thrift:
    """The compact protocol, in which Parquet writes its footer and the headers of pages."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data, self.place = data, place

    def take(self, size: int) -> bytes:
        self.place += size
        return self.data[self.place - size : self.place]

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise Malformed("a number without end in Parquet")

    def value(self, kind: int, depth: int = 0) -> Any:
        fail_if(depth > 20 or not 0 < kind < 13, "Parquet of a form that is not read")
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            number = self.varint()
            return number >> 1 ^ -(number & 1)
        if kind in (3, 7, 8):
            return self.take({3: 1, 7: 8}.get(kind) or self.varint())
        if kind == 12:
            return self.struct(depth + 1)
        head = self.take(1)[0]
        size = self.varint() if head >> 4 == 15 else head >> 4
        fail_if(size > len(self.data) or head & 15 in (1, 2), "a list in Parquet that is not read")
        return [self.value(head & 15, depth + 1) for _ in range(size)]

    def struct(self, depth: int = 0) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while head := self.take(1)[0]:
            number = number + (head >> 4) if head >> 4 else self.value(4)
            found[number] = self.value(head & 15, depth)
        return found


def read_parquet(data: bytes) -> dict[str, list[Any]]:
    """The columns of a file that needs no more than required columns, plain pages of version 1, and gzip."""
    fail_if(data[:4] != b"PAR1" or data[-4:] != b"PAR1", "no Parquet file")
    footer = Thrift(data, len(data) - 8 - int.from_bytes(data[-8:-4], "little")).struct()
    schema, groups = footer[2][1:], footer[4]
    columns: dict[str, list[Any]] = {column[4].decode(): [] for column in schema}
    if len(columns) != len(schema) or not 0 <= footer[3] <= ROWS or any(column.get(3, 0) for column in schema):
        raise Unsupported("could not read: columns that may be empty, or are not apart")
    for group in groups:
        for found, chunk in zip(columns.values(), group[1], strict=True):
            about, end = chunk[3], len(found) + group[3]
            place = about[9]
            leave_if(about[4] not in (0, 2), f"could not read: {'zstd' if about[4] == 6 else 'compression'}")
            while len(found) < end:
                pages = Thrift(data, place)
                head = pages.struct()
                count, full, place = head[5][1], head[2], pages.place + head[3]
                leave_if(head[1] != 0 or head[5][2] != 0, "could not read: pages or encodings other than plain")
                if not 0 < count <= min(end, footer[3]) - len(found) or not 0 <= full <= 4096 * count:
                    raise Malformed("a page of more values than there are rows, or of absurd length")
                body = data[pages.place : place]
                body = zlib.decompressobj(31).decompress(body, full + 1) if about[4] else body
                fail_if(len(body) != full, "a page that unfolds to another size")
                found += plain(body, about[1], count)
    fail_if({len(found) for found in columns.values()} != {footer[3]}, "columns of other lengths than stated")
    return columns


def plain(body: bytes, kind: int, count: int) -> list[Any]:
    if kind == 1:  # days since 1970
        return [date.fromordinal(719163 + day).isoformat() for day in struct.unpack(f"<{count}i", body)]
    if kind in (2, 5):
        return list(struct.unpack(f"<{count}{'q' if kind == 2 else 'd'}", body))
    if kind == 0 and len(body) == (count + 7) // 8:
        return [bool(body[i >> 3] >> (i & 7) & 1) for i in range(count)]
    leave_if(kind != 6, "could not read: a type of column")
    found, place = [], 0
    for _ in range(count):
        (size,) = struct.unpack_from("<I", body, place)
        found.append(body[place + 4 : place + 4 + size].decode("utf-8"))
        place += 4 + size
    return found


# Ed25519, RFC 8032
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    (a, b), (c, d) = one, other
    e = D * a * b * c * d
    return (a * d + b * c) * pow(1 + e, -1, P) % P, (b * d + a * c) * pow(1 - e, -1, P) % P


def times(scalar: int, point: tuple[int, int]) -> tuple[int, int]:
    total = (0, 1)
    while scalar:
        total, point, scalar = add(total, point) if scalar & 1 else total, add(point, point), scalar >> 1
    return total


def unpack(text: bytes) -> tuple[int, int] | None:
    y, sign = int.from_bytes(text, "little") & ((1 << 255) - 1), text[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        return None
    return (P - x if x & 1 != sign else x), y


def signed(public: bytes, message: bytes, signature: bytes) -> bool:
    base = unpack((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
    if len(public) != 32 or len(signature) != 64 or base is None:
        return False
    key, first, s = unpack(public), unpack(signature[:32]), int.from_bytes(signature[32:], "little")
    digest = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % ORDER
    return bool(key and first and s < ORDER and times(s, base) == add(first, times(digest, key)))
