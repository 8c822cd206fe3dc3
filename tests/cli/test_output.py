"""JSON, tables and spinners go where they belong."""

from __future__ import annotations

import io
import json
import sys
import time

import pytest

from tetraodon.cli.console import emit, harmless, heading, note, say, table, working, wrapped
from tetraodon.wording import shown_number


def test_json_is_ascii_where_it_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, expected in (("ascii", "\\u00e9"), ("utf-8", "é")):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        emit({"name": "é"})
        stream.flush()
        text = stream.buffer.getvalue().decode(encoding)
        assert expected in text
        assert json.loads(text) == {"name": "é"}


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        emit({"x": float("nan")})


def test_names_that_look_like_markup_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    table(["[bold]x", "n"], [["[red]:smile:", "1"]], right=["n"])
    shown = capsys.readouterr().out
    assert "[bold]x" in shown
    assert "[red]:smile:" in shown


def test_a_spinner_needs_somebody_watching(capsys: pytest.CaptureFixture[str]) -> None:
    with working("counting") as progress:
        progress("adding noise")
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_spinner_shows_what_is_being_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with working("counting [all] of it") as progress:
        time.sleep(0.3)
        progress("adding noise")
    assert "counting [all] of it" in terminal.getvalue()
    assert "adding noise" in terminal.getvalue()


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (3.0, "3"), (99.96, "100"), (1234567.8, "1,234,568"), (0.00001234, "1.23e-05")]
)
def test_numbers(number: float, text: str) -> None:
    assert shown_number(number) == text


HOSTILE = "a\x1b[2J\x1b]0;owned\x07\x9b31m\r\x08\u202egnp.exe\u2066\x7f"


def test_nothing_that_a_terminal_obeys_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for show in (say, note, heading, wrapped):
        show(HOSTILE)
    table([HOSTILE], [[HOSTILE]])
    emit({HOSTILE: HOSTILE})
    out, err = capsys.readouterr()
    assert not set(out + err) & set(HOSTILE) - set("a[2J]0;owned31mgnp.exe")
    assert "\\x1b[2J" in out
    assert "\\x1b[2J" in err
    assert json.loads(out[out.index("{\n") :]) == {HOSTILE: HOSTILE}


def test_lines_and_letters_of_all_languages_stay() -> None:
    assert harmless("Grüße\n\tπ 漢字 ‘quoted’") == "Grüße\n\tπ 漢字 ‘quoted’"
