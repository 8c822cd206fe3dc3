"""Fair coins from the operating system's entropy, stretched by a stream cipher.

Every sampler takes its coins as an argument, so that a test can walk all coin strings. The public
functions use `system_coins()`, which has no seed.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Protocol, TypeAlias

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.unsignedinteger[Any]]

_PIECE = 1 << 20  # bytes enciphered in one call
_REKEY_AFTER = 1 << 28  # bytes taken from one key: 2**24 blocks, far below the 2**64 birthday bound
_ZEROS = memoryview(bytes(_PIECE))


class Coins(Protocol):
    """A source of independent fair bits."""

    def draw(self, count: int, bits: int) -> Words:
        """`count` independent uniform integers of `bits` bits (1 to 64), each drawn only once."""
        ...


class _Forks:
    """Counts the forks between the first process and this one."""

    count = 0

    @classmethod
    def happened(cls) -> None:
        cls.count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Forks.happened)


class SystemCoins:
    """AES-256 in counter mode under a key from `os.urandom`.

    Post  no byte of the stream is handed out twice: nothing is buffered, the cipher's own counter is
          the only state.
    Why   a forked child holds a copy of that state. The count of forks, and the process id for
          forks that Python did not see, tell it to take a fresh key before its first byte.
    """

    __slots__ = ("_cipher", "_left", "_owner")

    def __init__(self) -> None:
        self._left = 0
        self._owner = (-1, -1)
        self._cipher: CipherContext | None = None

    def draw(self, count: int, bits: int) -> Words:
        if bits <= 16:
            short = self._stream(2 * count).view(np.uint16)
            return short if bits == 16 else short >> np.uint16(16 - bits)
        long = self._stream(8 * count).view(np.uint64)
        return long if bits == 64 else long >> np.uint64(64 - bits)

    def _stream(self, count: int) -> NDArray[np.uint8]:
        # The cipher wants room for one block more than it writes.
        room = np.empty(count + 16, dtype=np.uint8)
        view = room.data
        for start in range(0, count, _PIECE):
            size = min(_PIECE, count - start)
            self._keyed(size).update_into(_ZEROS[:size], view[start:])
        return room[:count]

    def _keyed(self, size: int) -> CipherContext:
        owner = (_Forks.count, os.getpid())
        if self._cipher is None or self._left < size or self._owner != owner:
            key, start = os.urandom(32), os.urandom(16)
            self._cipher = Cipher(algorithms.AES(key), modes.CTR(start)).encryptor()
            self._left = _REKEY_AFTER
            self._owner = owner
        self._left -= size
        return self._cipher


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.coins = SystemCoins()


_HERE = _PerThread()


def system_coins() -> SystemCoins:
    """The coins of the calling thread; no two threads or processes share a key.

    >>> system_coins().draw(3, 16).shape
    (3,)
    """
    return _HERE.coins
