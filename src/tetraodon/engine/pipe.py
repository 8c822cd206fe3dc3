"""Bytes that DuckDB reads as if they were a file, and that never touch the disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress


@contextmanager
def piped(parts: Iterable[bytes]) -> Iterator[str]:
    """A path under which the parts can be read, once and in order, while the block lasts.

    Raises at the end what making the parts has raised: whoever read them has then seen only some.

    >>> with piped([b"ab", b"c"]) as path, open(path, "rb") as file:
    ...     file.read()
    b'abc'
    """
    out, into = os.pipe()
    with ThreadPoolExecutor(max_workers=1) as pool:
        written = pool.submit(_write, into, parts)
        try:
            yield f"/dev/fd/{out}"
        finally:
            os.close(out)
            wait([written])
        written.result()


def _write(into: int, parts: Iterable[bytes]) -> None:
    with suppress(BrokenPipeError), open(into, "wb", buffering=0) as pipe:  # nobody may want the rest
        for part in parts:
            left = memoryview(part)
            while left:
                left = left[pipe.write(left) or 0 :]
