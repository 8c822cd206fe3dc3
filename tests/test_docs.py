"""The documentation is complete and true: commands run as shown, every name has its entry, every link leads somewhere.

Examples in Python are run by `test_doctests.py`. The blocks marked `console` of two pages are run here, in order, in
one folder. In what they print, any number matches any other, since noise differs from run to run, blanks and line
breaks count as one blank, and `...` stands for anything. `# exit code 1` after a command says that it is refused. A
block with a title is the file of that name.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer.main
import yaml
from typer.testing import CliRunner

from tetraodon import errors
from tetraodon.cli.console import INTERNAL, INTERRUPTED, REFUSED, WRONG_USE
from tetraodon.cli.main import app
from tetraodon.mechanism.registry import MECHANISMS
from tetraodon.policy.document import policy_schema

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "CITATION.cff")]
BLOCK = re.compile(r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.M | re.S)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
NUMBER = re.compile(r"(?<![A-Za-z_])[0-9][0-9,]*(\.[0-9]+)?(e[+-]?[0-9]+)?")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# -- commands run as shown -----------------------------------------------------------------------


def shown_commands(text: str) -> Iterator[tuple[str, int, str]]:
    """Each command of a console block, its exit code and what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        line, _, output = part.partition("\n")
        stated = re.search(r"#.*exit code (\d+)", line)
        yield line, int(stated[1]) if stated else 0, output


def matches(shown: str, printed: str) -> bool:
    """Whether an output is as shown, but for its numbers, its blanks and what `...` stands for."""
    parts = [re.escape(" ".join(NUMBER.sub("#", part).split())) for part in shown.split("...")]
    plain = " ".join(NUMBER.sub("#", printed).split())
    return re.fullmatch(r"\s*.*?\s*".join(parts), plain, re.S) is not None


def run(line: str, folder: Path) -> tuple[int, str]:
    """Run a command line in a folder: its exit code and all that it prints. Ours runs in this process."""
    program, *arguments = shlex.split(line, comments=True)
    assert program in ("tetraodon", "python"), f"only tetraodon and python are run: {line}"
    if program == "python":
        done = subprocess.run(
            [sys.executable, *arguments], cwd=folder, capture_output=True, encoding="utf-8", timeout=300, check=False
        )
        return done.returncode, done.stdout + done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in [name for name in os.environ if name.startswith("TETRAODON")]:
            patch.delenv(name)
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    return result.exit_code, result.output


def walk(page: Path, folder: Path) -> int:
    """Write the files that a page shows and run its commands, in order; how many were run."""
    count = 0
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["title"]:
            (folder / block["title"]).write_text(block["text"], encoding="utf-8")
        elif block["language"] == "console":
            for line, code, output in shown_commands(block["text"]):
                ended, printed = run(line, folder)
                assert ended == code, f"{line}\n{printed}"
                assert matches(output, printed), f"{line}\n{printed}"
                count += 1
    return count


def titled(page: Path, title: str) -> list[str]:
    """The blocks of a page with a given title."""
    return [block["text"] for block in BLOCK.finditer(page.read_text("utf-8")) if block["title"] == title]


def test_the_first_release_goes_as_shown(tmp_path: Path) -> None:
    assert walk(DOCS / "start.md", tmp_path) >= 15


def test_the_journey_of_the_readme_goes_as_shown(tmp_path: Path) -> None:
    """After `make demo`, and with nothing else: its commands begin where that leaves off."""
    made = next(
        line for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines() if "tetraodon demo" in line
    )
    assert run(made.strip().replace("$(BIN)/", ""), tmp_path)[0] == 0
    assert walk(ROOT / "README.md", tmp_path) >= 6


def test_the_survey_of_the_demonstration_is_the_one_that_is_shown(tmp_path: Path) -> None:
    [maker] = titled(DOCS / "start.md", "make_people.py")
    (tmp_path / "make_people.py").write_text(maker, encoding="utf-8")
    assert run("python make_people.py", tmp_path)[0] == 0
    bundled = ROOT / "src" / "tetraodon" / "demo" / "people.csv"
    assert bundled.read_bytes() == (tmp_path / "people.csv").read_bytes()


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("about 986 (95%: 964 to 1,014)", "about 12.5 (95%: 3 to\n 20)", True),
        ("a ... z", "a b\nc z", True),
        ("a ...", "a", True),
        ("...\nall good", "x all good", True),
        ("all good", "all bad", False),
        ("a ... z", "a b c", False),
        ("all good", "all good, but", False),
    ],
)
def test_matching(shown: str, printed: str, same: bool) -> None:
    assert matches(shown, printed) is same


# -- every name has its entry --------------------------------------------------------------------


def sections(page: Path) -> dict[str, str]:
    """The text under each heading of the second level."""
    parts = re.split(r"^## (.+)\n", page.read_text(encoding="utf-8"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def commands() -> dict[str, click.Command]:
    """Every command of the app, groups spelt out."""
    found: dict[str, click.Command] = {}

    def collect(group: Any, before: str) -> None:
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                collect(command, f"{before}{name} ")
            else:
                found[f"{before}{name}"] = command

    collect(typer.main.get_command(app), "")
    return found


def test_every_command_and_option_has_an_entry() -> None:
    written, top = sections(DOCS / "cli.md"), (DOCS / "cli.md").read_text("utf-8").split("## ")[0]
    for name, command in commands().items():
        assert name in written, f"docs/cli.md has no section {name}"
        assert f"[`{name}`]" in top
        options = {option for p in command.params for option in p.opts if option.startswith("--")} - {"--help"}
        assert options == set(re.findall(r"^\| `(--[\w-]+)` \|", written[name], re.M)), name
        usage = next(line for line in written[name].splitlines() if line.startswith("    tetraodon "))
        for parameter in command.params:
            if not parameter.opts[0].startswith("-"):
                assert str(parameter.metavar or parameter.name) in usage, (name, parameter.name)
            elif parameter.opts[0] != "--help":
                assert parameter.opts[0] in usage, (name, parameter.opts)


def test_no_command_is_described_that_does_not_exist() -> None:
    described = {title for title, text in sections(DOCS / "cli.md").items() if "\n    tetraodon " in text}
    assert described == set(commands())


def test_the_json_of_every_command_is_described_as_its_help_says() -> None:
    written = sections(DOCS / "cli.md")
    for name, command in commands().items():
        shapes = re.findall(r"[{\[][^.;]*[}\]]", (command.help or "").partition("--json gives")[2])
        keys = {key for shape in shapes for key in re.findall(r'"(\w+)"', shape)}
        words = set(re.findall(r'[`"](\w+)[`"]', written[name] + written["JSON"]))
        assert keys <= words, name


def test_every_exit_code_is_described() -> None:
    codes = {0, REFUSED, WRONG_USE, INTERNAL, INTERRUPTED}
    assert codes == {int(code) for code in re.findall(r"^\| (\d+) \|", sections(DOCS / "cli.md")["Exit codes"], re.M)}


def test_every_error_has_an_entry() -> None:
    classes = {n for n, k in vars(errors).items() if isinstance(k, type) and issubclass(k, errors.TetraodonError)}
    assert set(sections(DOCS / "errors.md")) == classes | {"DataRefusal"}


def keys_of(schema: dict[str, Any]) -> Iterator[str]:
    for part in (schema, *schema.get("$defs", {}).values()):
        yield from part.get("properties", {})


def test_every_key_of_the_policy_file_has_an_entry() -> None:
    page = (DOCS / "policy-file.md").read_text("utf-8")
    schema = policy_schema()
    written = sections(DOCS / "policy-file.md")
    for key in schema["properties"]:
        assert key in written, f"docs/policy-file.md has no section {key}"
    for key in keys_of(schema):
        assert re.search(rf"`[^`\n]*\b{re.escape(key)}\b[^`\n]*`", page), f"docs/policy-file.md says nothing of `{key}`"


def test_every_mechanism_has_an_entry() -> None:
    rows = set(re.findall(r"^\| `(\w+)` \|", sections(DOCS / "how-it-works.md")["Mechanisms"], re.M))
    assert rows == set(MECHANISMS)


def test_every_room_has_an_entry() -> None:
    rooms = {path.parent.name for path in (ROOT / "src" / "tetraodon").glob("*/__init__.py")} - {"demo"}
    assert rooms <= set(re.findall(r"`(\w+)`", sections(DOCS / "how-it-works.md")["The rooms"]))


def test_every_policy_shown_is_yaml() -> None:
    for page in (*PAGES, ROOT / "README.md"):
        for block in BLOCK.finditer(page.read_text("utf-8")):
            if block["language"] == "yaml":
                yaml.safe_load(block["text"])


def test_every_public_name_is_in_the_python_page() -> None:
    import tetraodon

    text = (DOCS / "python.md").read_text("utf-8") + (DOCS / "errors.md").read_text("utf-8")
    missing = [name for name in tetraodon.__all__ if not re.search(rf"\b{name}\b", text)]
    assert not missing


# -- every link leads somewhere ------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}


@pytest.mark.parametrize("page", [*PAGES, *(text for text in TEXTS if text.suffix == ".md")], ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for link in LINK.finditer(text):
        if link["target"].startswith(("http://", "https://")):
            continue
        path, _, anchor = link["target"].partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link["target"]
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link["target"]


def test_the_site_lists_every_page() -> None:
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed: list[str] = []

    def collect(part: Any) -> None:
        if isinstance(part, str):
            listed.append(part)
        else:
            for child in part.values() if isinstance(part, dict) else part:
                collect(child)

    collect(config["nav"])
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in PAGES)
    assert config["theme"]["font"] is False


def test_the_picture_is_small() -> None:
    picture = DOCS / "img" / "report.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 300_000


# -- what must not be there ----------------------------------------------------------------------


@pytest.mark.parametrize("page", [*PAGES, *TEXTS, ROOT / "mkdocs.yml"], ids=name_of)
def test_no_page_names_a_place_on_a_machine(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(home|root|work|tmp|Users)/", text)
    assert all(len(line) <= 320 for line in text.splitlines())


def test_the_citation_lists_the_papers() -> None:
    from tetraodon.papers import PAPERS

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert len(citation["references"]) == len(PAPERS)
    for reference in citation["references"]:
        [paper] = [text for text in PAPERS.values() if reference["title"].lower() in text.lower()]
        assert str(reference["year"]) in paper
    assert json.dumps(citation["version"]).strip('"') in (ROOT / "CHANGELOG.md").read_text("utf-8")
