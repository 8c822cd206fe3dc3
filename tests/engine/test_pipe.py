from __future__ import annotations

import os
import threading

import pytest

from tetraodon.engine.pipe import piped


def test_whoever_reads_no_further_ends_the_writing():
    before, threads = len(os.listdir("/dev/fd")), threading.active_count()
    with piped(iter(lambda: b"x" * 2**20, b"")) as path, open(path, "rb") as file:
        assert file.read(3) == b"xxx"
    assert (len(os.listdir("/dev/fd")), threading.active_count()) == (before, threads)


def test_what_breaks_the_stream_is_raised():
    def broken():
        yield b"a"
        raise EOFError

    with pytest.raises(EOFError), piped(broken()) as path, open(path, "rb") as file:
        assert file.read() == b"a"
