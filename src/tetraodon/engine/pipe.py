"""Bytes that DuckDB reads as if they were a file, and that never touch the disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread


@contextmanager
def piped(parts: Iterable[bytes]) -> Iterator[str]:
    """A path under which the parts can be read, once and in order, while the block lasts.

    Raises at the end what making the parts has raised: whoever read them has then seen only some.

    >>> with piped([b"ab", b"c"]) as path, open(path, "rb") as file:
    ...     file.read()
    b'abc'
    """
    out, into = os.pipe()
    failed: list[BaseException] = []

    def write() -> None:
        try:
            with suppress(BrokenPipeError), open(into, "wb", buffering=0) as pipe:  # nobody may want the rest
                for part in parts:
                    _write_all(pipe.fileno(), part)
        except BaseException as error:  # noqa: BLE001 - it is raised again, by the thread that reads
            failed.append(error)

    writer = Thread(target=write, daemon=True)
    writer.start()
    try:
        yield f"/dev/fd/{out}"
    finally:
        os.close(out)
        writer.join()
    if failed:
        raise failed[0]


def _write_all(pipe: int, part: bytes) -> None:
    left = memoryview(part)
    while left:
        left = left[os.write(pipe, left) :]
