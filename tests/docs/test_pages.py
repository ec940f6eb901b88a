"""The documentation: its commands run, its output is right, its tables match the code, its links work.

The `sh` and `python` blocks of a page are run in order in one folder, and where a `text` block
follows, it must equal what they print. A line that ends in "# needs: ..." names a requirement and is
not run; a Python block that begins with such a line is run if the requirement is met here.
"""

from __future__ import annotations

import glob
import importlib
import importlib.util
import inspect
import io
import re
import shlex
import socket
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import irtoolkit as front
from irtoolkit.datasets import dataset_ids
from irtoolkit.models.presets import find_preset, missing_weights, presets
from irtoolkit.retrievers import retrievers
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.bm25_forms import FORMS
from tests.conftest import ROOT, Answer
from tests.each import each

Command = Callable[..., Answer]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(DOCS.rglob("*.md")),
]
NEEDS = "# needs: "
# Pages that train, compile or build for more than ten seconds.
SLOW = {"ranx.md", "scale.md", "train.md"}
# A collection that the README registers, as whoever runs the tests may have done.
OWN = "npl"
# A name that the site documents from its docstring, and its members.
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def load_generator() -> ModuleType:
    sys.path.append(str(DOCS))  # it imports its neighbour
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = load_generator()


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def written_by_hand(page: Path) -> bool:
    return not page.read_text("utf-8").startswith(generate.HEAD)


class Block(NamedTuple):
    """A fenced block of a page, and what the block after it says is printed."""

    kind: str
    text: str
    line: int
    printed: str | None


def blocks(page: str) -> Iterator[Block]:
    found = list(_FENCE.finditer(page))
    for match, after in zip(found, [*found, None][1:], strict=True):
        if match[1] not in ("sh", "python"):
            continue
        told = after and after[1] == "text" and not page[match.end() : after.start()].strip()
        line = page[: match.start()].count("\n") + 2
        yield Block(match[1], match[2], line, after[2] if told and after else None)


def needs_more(block: Block) -> bool:
    """Whether a Python block requires what is not installed here."""
    first = block.text.partition("\n")[0]
    if not first.startswith(NEEDS):
        return False
    module = first.removeprefix(NEEDS).strip()
    if module.isidentifier():
        return importlib.util.find_spec(module) is None
    assert "minilm" in first, f"line {block.line}: a requirement that the test does not know"
    return missing_weights(find_preset("all-MiniLM-L6-v2")) is not None


def commands(block: Block) -> Iterator[tuple[int, list[str]]]:
    """(line, arguments) of each of our commands that nothing is needed for."""
    for number, line in enumerate(block.text.splitlines(), block.line):
        if NEEDS in line or block.kind != "sh":
            continue
        for part in line.split(" && "):
            if part.startswith("irtoolkit "):
                words = shlex.split(part, comments=True)[1:]
                words = ["npl-of-a-reader" if word == OWN else word for word in words]
                yield number, [n for word in words for n in (sorted(glob.glob(word)) or [word])]


def runs_something(page: Path) -> bool:
    found = blocks(page.read_text("utf-8")) if written_by_hand(page) else ()
    return any(block.kind == "python" or any(commands(block)) for block in found)


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader's folder, with a collection of their own in it, no release and no network."""

    def refuse(*args: Any) -> None:
        raise OSError("the tests have no network")

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(socket.socket, "connect", refuse)
    folder = tmp_path / "data" / "npl"
    folder.mkdir(parents=True)
    texts = {
        "1": "compact memories have flexible capacities",
        "2": "an electronic analogue computer",
    }
    doc = "<DOC>\n<DOCNO>{}</DOCNO>\n{}\n</DOC>\n"
    top = "<top>\n<num>1</num><title>\ncompact memories\n</title>\n</top>\n"
    (folder / "doc-text.trec").write_text("".join(doc.format(*item) for item in texts.items()))
    (folder / "query-text.trec").write_text(top)
    (folder / "query_light.trec").write_text(top)
    (folder / "qrels").write_text("1 0 1 1\n")


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.nightly if page.name in SLOW else ())
        for page in PAGES
        if runs_something(page)
    ],
    ids=name_of,
)
def test_a_page_does_what_it_says(irtoolkit: Command, page: Path) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page.read_text("utf-8")):
        # The models that a line names; one that is marked is left out anyway.
        asked = {word for _, args in commands(block) for word in args} & presets().keys()
        lacking = [
            lack
            for name in sorted(asked)
            if (lack := missing_weights(find_preset(name))) is not None
        ]
        if lacking:
            pytest.skip(f"from line {block.line} on: {lacking[0]}")
        printed = io.StringIO()
        if block.kind == "python" and needs_more(block):
            continue
        if block.kind == "python":
            source = "\n" * (block.line - 1) + block.text
            code = compile(source, str(page), "exec", dont_inherit=True)
            with redirect_stdout(printed):
                exec(code, names)
        for number, args in commands(block):
            answer = irtoolkit(*args)
            assert answer.status == 0, f"{name_of(page)}:{number}: {answer.err}"
            printed.write(answer.out)
        if block.printed is not None:
            assert printed.getvalue().split("\n") == block.printed.split("\n"), block.line


def test_most_lines_are_run() -> None:
    pages = [page.read_text("utf-8") for page in PAGES if written_by_hand(page)]
    found = [args for page in pages for block in blocks(page) for _, args in commands(block)]
    assert len(found) >= 50
    wanted = "retrieve eval compare check export nway submit tune reproduce register"
    assert {*wanted.split()} <= {args[0] for args in found}


def test_every_line_of_ours_is_a_command_or_says_what_it_needs() -> None:
    for page in PAGES:
        for match in _FENCE.finditer(page.read_text("utf-8")):
            if match[1] == "sh":
                for line in match[2].splitlines():
                    assert " needs " not in line, f"{name_of(page)}: {line}: write '{NEEDS}...'"
                    assert not line.endswith("\\"), f"{name_of(page)}: {line}: one line a command"


# -- what is read off the code --------------------------------------------------------------------


def test_generated_pages_are_up_to_date() -> None:
    assert list(generate.outdated()) == [], "run: python docs/generate.py"


def python_names() -> list[Any]:
    sections: dict[str, list[Any]] = generate.python_reference.SECTIONS
    return [name for names in sections.values() for name in names]


def test_the_python_reference_has_every_name_of_the_front_door() -> None:
    named = {name.path.rpartition(".")[2] for name in python_names()}
    assert set(front.__all__) - {"__version__"} <= named
    assert len(named) <= 50


def test_every_name_of_the_python_reference_exists() -> None:
    assert len(python_names()) >= 20
    for name in python_names():
        module, _, last = name.path.rpartition(".")
        if "pyterrier" in module:
            pytest.importorskip("pyterrier")
        value = getattr(importlib.import_module(module), last)
        assert value.__doc__, name.path
        for member in name.members:
            assert getattr(value, member, None) is not None or member in value.__annotations__
            declared = inspect.getattr_static(value, member, None)
            assert declared is None or declared.__doc__, f"{name.path}.{member}"


def test_the_python_reference_is_read_without_a_site() -> None:
    page = (REFERENCE / "python.md").read_text("utf-8")
    assert ":::" not in page
    for name in python_names():
        assert f'<a id="{name.path}"></a>' in page
    shown = sections(page)["Functions"]
    fuse = shown[shown.index("### fuse") :]
    signature = fuse.partition("```python\n")[2].partition("```")[0]
    names = list(inspect.signature(front.fuse).parameters)
    assert re.findall(r"^\s*\*{0,2}(\w+):", signature, re.MULTILINE) or names[0] in signature
    assert all(name in signature for name in names)


def sections(page: str) -> dict[str, str]:
    """Heading to what stands below it, for headings of the second level."""
    parts = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_setting_is_explained() -> None:
    """In a docstring, and so in the table; or in the text of the section, or a base's section."""
    text = (REFERENCE / "retrievers.md").read_text("utf-8")
    said = sections(re.sub(r"<!-- table: .*?<!-- end of table -->", "", text, flags=re.DOTALL))
    unsaid = []
    for name, cls in retrievers().items():
        bases = [base.__dict__["name"] for base in cls.__mro__ if base.__dict__.get("name")]
        prose = "".join(said[part] for part in [*bases, "Term matching"])
        for row in generate.settings_table(cls).splitlines()[2:]:
            setting = row.split("`")[1]
            if row.endswith("| see above |") and f"`{setting}`" not in prose:
                unsaid.append(f"{name}: {setting}")
    assert unsaid == []


def test_the_forms_of_bm25_are_those_of_the_code() -> None:
    page = sections((REFERENCE / "retrievers.md").read_text("utf-8"))["bm25"]
    shown = {}
    for line in page.splitlines():
        row = [cell.strip(" `") for cell in line.split("|")]
        if len(row) == 8 and row[1] in FORMS:
            shown[row[1]] = (float(row[4]), float(row[5]))
    assert shown == {name: (form.k1, form.b) for name, form in FORMS.items()}


def test_every_retriever_and_measure_has_a_section_written_by_hand() -> None:
    shared = {"lexical": "Term matching", "neural": "Models", "asking": "Language models"}
    for page, made in (
        ("retrievers.md", generate.retriever_blocks()), ("measures.md", generate.measure_blocks())
    ):  # fmt: skip
        written = sections((REFERENCE / page).read_text("utf-8"))
        for name in made:
            heading = shared.get(name, name)
            assert heading in written, f"docs/reference/{page} has no section {heading}"
            text = written[heading]
            said = re.sub(r"<!-- table: .*?<!-- end of table -->", "", text, flags=re.DOTALL)
            assert len(said.split()) > 10, name
    assert {"bm25", "dense"} <= generate.retriever_blocks().keys()
    assert all(issubclass(cls, Retriever) for cls in retrievers().values())


def test_every_benchmark_has_a_page() -> None:
    names = {name.partition("/")[0] for name in dataset_ids() if "/sample" in name}
    assert {path.stem for path in (DOCS / "benchmarks").glob("*.md")} >= names


# -- figures --------------------------------------------------------------------------------------


def reported(name: str) -> list[set[float]]:
    """The figures that a paper prints in each row of its table, all groups together."""
    table = tomllib.loads((ROOT / "irtoolkit" / "papers" / f"{name}.toml").read_text("utf-8"))
    return [{figure for figures in row.get("reported", {}).values() for figure in figures}
            for row in table["row"]]  # fmt: skip


@pytest.mark.parametrize("name", ["relic", "quoter", "plotretrieval", "egret"])
def test_reported_figures_are_those_of_the_experiment_tables(name: str) -> None:
    page = (DOCS / "benchmarks" / f"{name}.md").read_text("utf-8")
    lines = sections(page)["Reported figures"].splitlines()
    cells = [line.split("|")[2:-1] for line in lines if line.startswith("| ")][1:]
    assert len(cells) >= 7
    for row in cells:
        figures = {float(cell) for cell in row if re.fullmatch(r" \d+(\.\d+)? ", cell)}
        assert len(figures) >= 3
        assert any(figures <= printed for printed in reported(name)), row


def test_the_figures_of_csfcube_are_those_of_the_paper() -> None:
    page = (DOCS / "benchmarks" / "csfcube.md").read_text("utf-8")
    rows = [line for line in sections(page)["Measured and reported"].splitlines() if "| 1" in line]
    assert len(rows) >= 6
    for row in rows:
        printed = {float(figure) for figure in re.findall(r"\((\d+\.\d+)\)", row)}
        assert any(printed <= known for known in reported("csfcube")), row


# -- links ----------------------------------------------------------------------------------------


@each("page", sorted((DOCS / "how-to").glob("*.md")))
def test_guides_have_one_shape(page: Path) -> None:
    """What it is for, an example, sections, and where to read on."""
    text = page.read_text("utf-8")
    title, _, rest = text.partition("\n")
    assert re.fullmatch(r"# [A-Z].*[^.]", title)
    first = rest.strip().partition("\n\n")[0]
    assert re.match(r"[A-Za-z`]", first), "a sentence that says what the guide is for comes first"
    assert not first.startswith("```")
    assert _FENCE.search(text) or "    irtoolkit " in text
    links = text.partition("\n## See also\n\n")[2].strip().splitlines()
    assert 2 <= len(links) <= 4
    assert all(re.fullmatch(r"- \[[^\]]+\]\([^)]+\.md\)", link) for link in links)


def anchors(page: str) -> set[str]:
    """The anchors of the headings, and those that a page sets itself."""
    found: set[str] = set(re.findall(r'<a id="([^"]+)">', page))
    for heading in re.findall(r"^#+ (.+)$", _FENCE.sub("", page), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = sum(1 for other in found if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", other))
        found.add(f"{slug}-{number}" if number else slug)
    return found


@each("page", PAGES)
def test_links_hold(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", _FENCE.sub("", text)):
        if re.match(r"https?://", target):
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.exists(), target
        assert found.is_relative_to(ROOT), target
        if anchor:
            assert anchor in anchors(found.read_text("utf-8")), target
