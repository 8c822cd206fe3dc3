from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from tetraodon.noise import coins
from tetraodon.noise.coins import SystemCoins, system_coins


@pytest.mark.parametrize("bits", [1, 5, 16, 17, 48, 64])
def test_words_have_the_bits_asked_for(bits):
    words = SystemCoins().draw(4096, bits)
    assert words.shape == (4096,)
    # Each end bit is missed with probability 2**-4096.
    assert int(words.max()) >> (bits - 1) == 1
    assert int((words & 1).max()) == 1


def test_bits_are_fair():
    # 16 counts of 2**18 fair bits, each within 6.5 standard deviations: false alarm below 2e-9.
    words = SystemCoins().draw(1 << 18, 16)
    for bit in range(16):
        count = int(((words >> np.uint16(bit)) & np.uint16(1)).sum())
        assert abs(count - (1 << 17)) < 6.5 * 2**8


def test_no_word_comes_twice_even_across_pieces_and_keys(monkeypatch):
    # 2**15 words of 64 bits collide with probability below 2**-34 = 6e-11.
    monkeypatch.setattr(coins, "_REKEY_AFTER", 1 << 14)
    monkeypatch.setattr(coins, "_PIECE", 1 << 12)
    source = SystemCoins()
    words = np.concatenate([source.draw(count, 64) for count in [1] * 64 + [1 << 14] * 2])
    assert len(np.unique(words)) == len(words)


def test_a_new_key_is_taken_after_a_bounded_amount(monkeypatch):
    keys = []
    real = os.urandom
    monkeypatch.setattr(coins, "_REKEY_AFTER", 1000)
    monkeypatch.setattr(coins.os, "urandom", lambda size: keys.append(size) or real(size))
    source = SystemCoins()
    for _ in range(30):
        source.draw(12, 64)
    assert keys.count(32) == 3  # ten draws of 96 bytes each


def test_threads_do_not_share_a_stream():
    found = []
    start = threading.Barrier(4)

    def work():
        start.wait()
        found.append(bytes(system_coins().draw(4, 64)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({*found, bytes(system_coins().draw(4, 64))}) == 5


def child_draws(source: SystemCoins) -> bytes:
    """What a forked child draws from the coins it inherits."""
    inlet, outlet = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(outlet, bytes(source.draw(4, 64)))
        os._exit(0)
    os.waitpid(child, 0)
    os.close(outlet)
    answer = os.read(inlet, 100)
    os.close(inlet)
    assert len(answer) == 32
    return answer


def test_a_forked_child_has_its_own_stream():
    source = system_coins()
    source.draw(1, 64)
    seen = {child_draws(source), child_draws(source), bytes(source.draw(4, 64))}
    assert len(seen) == 3


def test_a_fork_with_the_same_process_id_is_noticed(monkeypatch):
    # A grandchild may get the number of its dead grandparent.
    monkeypatch.setattr(coins.os, "getpid", lambda: 7)
    source = SystemCoins()
    source.draw(1, 64)
    assert child_draws(source) != bytes(source.draw(4, 64))


def test_the_fork_test_can_fail(monkeypatch):
    # Planted fault: neither the process id nor the count of forks is looked at.
    monkeypatch.setattr(coins.os, "getpid", lambda: 7)
    monkeypatch.setattr(coins, "_Forks", type("Blind", (), {"count": 0}))
    source = SystemCoins()
    source.draw(1, 64)
    assert child_draws(source) == bytes(source.draw(4, 64))
