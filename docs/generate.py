"""Writes the parts of the documentation that are read from the code.

    python docs/generate.py            # writes them
    python docs/generate.py --check    # lists what is out of date, with exit status 1

reference/commands.md, models.md and python.md and all-pages.md are written as a whole, and so are the pages of results/,
from what `irtoolkit reproduce --format json` printed: benchmarks/results/reproduce. In retrievers.md, measures.md
and training.md of the same folder, in how-to/scale.md, in index.md and in README.md, only the tables between markers are: the
text around them is written by hand. A retriever or measure without a marker gets a section at the end of its page, with
its docstring. The core install of irtoolkit suffices.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import birco_tables
import book_tables
import front_tables
import python_reference
import quality_tables
import robustness_tables
import scale_tables
from docstrings import documented, escaped, kind_of, parsed, settings_table, shown_value, table

from irtoolkit import commands, measures, retrievers
from irtoolkit.base.discovery import modules
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.models.presets import Preset, presets
from irtoolkit.papers import pages as reproduction
from irtoolkit.retrievers.asking import Asking
from irtoolkit.retrievers.lexical import Lexical
from irtoolkit.retrievers.neural import Neural, TwoSided
from irtoolkit.training.losses import LOSSES
from irtoolkit.training.recipe_files import find_recipe, recipe_names, recipe_variables
from irtoolkit.training.recipes import Recipe, Stage

DOCS = Path(__file__).resolve().parent
HEAD = "<!-- Written by docs/generate.py: change the code, and run it again. -->\n"
# Of results/index.md, which is about the papers' tables.
STRONGEST = """
These are rows of the papers' own tables. Other systems are stronger on every benchmark: [the strongest
that install from a package index](quality.md), and how each was chosen.
"""
# Marker to its table, and to the text that its section begins with where the page has none yet.
Blocks = Mapping[str, tuple[str, str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check = parser.parse_args().check
    stale = outdated()
    for name, content in stale.items():
        print(f"{'out of date' if check else 'written'}: docs/{name}")
        if not check:
            (DOCS / name).parent.mkdir(exist_ok=True)
            (DOCS / name).write_text(content, encoding="utf-8")
    return int(check and bool(stale))


def outdated() -> dict[str, str]:
    """Pages that differ from what the code says, with what they should be."""
    return {name: content for name, content in pages().items() if _read(name) != content}


def pages() -> dict[str, str]:
    """Every page that is generated, whole or in part, by its name in docs/."""
    filled_in = {
        "reference/retrievers.md": retriever_blocks(),
        "reference/measures.md": measure_blocks(),
        "reference/training.md": training_blocks(),
        "how-to/scale.md": scale_tables.blocks(),
        "how-to/serve.md": scale_tables.reader_blocks(),
        "how-to/models.md": scale_tables.backend_blocks(),
        "index.md": {"published": (front_tables.published(""), "")},
        "../README.md": {"published": (front_tables.published("docs/"), "")},
    }
    return {
        "reference/commands.md": command_page(),
        "reference/models.md": model_page(),
        "reference/python.md": HEAD + python_reference.page(),
        "all-pages.md": f"{HEAD}# All pages\n\n{front_tables.all_pages()}",
        **result_pages(),
        **{name: filled(name, blocks) for name, blocks in filled_in.items()},
    }


def _read(name: str) -> str | None:
    path = DOCS / name
    return path.read_text("utf-8") if path.is_file() else None


def filled(name: str, blocks: Blocks) -> str:
    """A page with each marked table made anew, and a section for each block without a marker."""
    page = _read(name) or ""

    def again(match: re.Match[str]) -> str:
        known = match["name"] in blocks
        return marked(match["name"], blocks[match["name"]][0]) if known else ""

    page = re.sub(
        r"<!-- table: (?P<name>\S+) -->\n.*?<!-- end of table -->\n", again, page, flags=re.DOTALL
    )
    for key, (made, doc) in blocks.items():
        if f"<!-- table: {key} -->" not in page:
            page += f"\n## {key}\n\n{doc}\n\n{marked(key, made)}"
    return page


def marked(name: str, content: str) -> str:
    return f"<!-- table: {name} -->\n\n{content}\n<!-- end of table -->\n"


# -- commands -------------------------------------------------------------------------------------


def command_page() -> str:
    found = {m.__name__.rpartition(".")[2].strip("_"): m for m in modules(commands)}
    rows = [[f"[`{name}`](#{name})", escaped(module.HELP)] for name, module in found.items()]
    parts = [
        HEAD,
        "# Commands\n",
        "`irtoolkit COMMAND --help` prints the same. An error is one line on standard error that\n"
        "names the file, the line and the remedy; the exit status is then 2. An interrupted command\n"
        "exits with status 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP, and leaves no partial\n"
        "output. `--debug` shows the traceback of an error. Results go to standard output, notes to standard\n"
        "error: broken at the width of a terminal, and one line each in a file or pipe.\n",
        table(["command", "purpose"], rows),
    ]
    for name, module in found.items():
        parser = argparse.ArgumentParser(prog=f"irtoolkit {name}", add_help=False)
        module.configure(parser)
        parts += [
            f"## {name}\n",
            f"{documented(module.__doc__)}\n",
            *([table(["argument", "value", "default", "meaning"], _arguments(parser))]
              if parser._actions else []),
            f"```sh\n{chr(10).join(module.EXAMPLES)}\n```\n",
        ]  # fmt: skip
    return "\n".join(parts)


def _arguments(parser: argparse.ArgumentParser) -> list[list[str]]:
    rows = []
    for action in parser._actions:
        metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
        name = ", ".join(action.option_strings) or metavar
        takes = metavar if action.option_strings and action.nargs != 0 else ""
        if action.choices is not None:
            takes = ", ".join(f"`{choice}`" for choice in action.choices)
        elif takes:
            takes = f"`{takes}`"
        if action.nargs in ("+", "*", argparse.REMAINDER):
            takes = f"{takes} …".strip()
        needed = action.required if action.option_strings else action.nargs not in ("?", "*")
        default = "" if action.default in (None, False, [], argparse.SUPPRESS) else action.default
        said = action.help or ""
        said = said % {**vars(action), "prog": parser.prog} if "%(" in said else said
        rows.append([
            f"`{name}`", takes, "required" if needed else f"`{default}`" if default != "" else "",
            escaped(said),
        ])  # fmt: skip
    return rows


# -- models ---------------------------------------------------------------------------------------


def model_page() -> str:
    parts = [
        HEAD,
        "# Models\n",
        "Published models, under the names that papers use. A preset holds the pooling, similarity,\n"
        "prompts and lengths that the paper or its authors state; settings override them. Any other\n"
        "model is given by folder or hub id. `irtoolkit models` lists which weights are installed,\n"
        "and `irtoolkit models NAME` prints one preset. A model that is named is\n"
        "downloaded at its first use, unless `HF_HUB_OFFLINE=1` or `IRTOOLKIT_DOWNLOAD=0` is set;\n"
        "[`irtoolkit models --fetch NAME`](../how-to/models.md) gets weights beforehand.\n",
    ]
    kinds: dict[str, list[str]] = {}
    for name, preset in presets().items():
        kinds.setdefault(preset.kind, []).append(name)
    takes = {
        "dense": "`dense`, `dense-surroundings`, `sentence-max`, `sentence-match`, `late`, `plaid`, `faiss`, `generated-query`, `elasticsearch`, `opensearch`, `qdrant`", "late": "`late`, `plaid`",
        "sparse": "`sparse`", "cross": "`cross-encoder`", "writer": "`doct5query`",
        "weigher": "`deepct`", "llm": "`llm-pointwise`, `llm-pairwise`, `llm-listwise`, `llm-quotation`",
    }  # fmt: skip
    rows = [
        [
            f"[{name}](#{_anchor(name)})",
            preset.kind,
            preset.parameters,
            *map(_code, _prompts(preset)),
            preset.licence,
        ]
        for name, preset in presets().items()
    ]
    parts += [
        "In a query prompt `{instruction}` is where the instruction stands, the setting `instruction` or the preset's\n"
        "own. Where the table has no prompt, the model takes none, or its own files say it.\n",
        table(["model", "kind", "parameters", "query prompt", "document prompt", "licence"], rows),
    ]
    for kind, names in kinds.items():
        used_by = takes.get(kind, f"retrievers of kind `{kind}`")
        parts += [f"## {kind}\n", f"Used by {used_by}.\n"]
        for name in names:
            parts += [f"### {name}\n", table(["", ""], _facts(name))]
    return "\n".join(parts)


def _anchor(name: str) -> str:
    """Returns the anchor of a heading, as Markdown makes it."""
    return re.sub(r"[^\w-]", "", name.lower())


def _prompts(preset: Preset) -> tuple[str | None, str | None]:
    return preset.query_prompt, preset.document_prompt


def _code(text: str | None) -> str:
    """Returns a prompt as code in a cell of a table."""
    return "" if not text else f"`{text}`".replace("\n", "\\n")


def _facts(name: str) -> list[list[str]]:
    rows = []
    for field in dataclasses.fields(presets()[name]):
        value = getattr(presets()[name], field.name)
        if value in (None, False, "", " ", {}) or field.name == "kind":
            continue
        if field.name == "settings":
            value = commands.shown(value)
        code = field.name in (
            "id",
            "query",
            "base",
            "package",
            "query_prompt",
            "document_prompt",
            "bare_prompt",
            "join",
        )
        shown = _code(str(value)) if code else escaped(str(value))
        rows.append([field.name.replace("_", " "), shown])
    return rows


# -- results --------------------------------------------------------------------------------------


def result_pages() -> dict[str, str]:
    """A page for each benchmark with results in benchmarks/, one that lists them, and their styles."""
    folder = DOCS.parent / "benchmarks" / "results" / "reproduce"
    found = [reproduction.read_result(path) for path in sorted(folder.glob("*.json"))]
    made = {f"results/{name}": HEAD + page for name, page in reproduction.pages(found).items()}
    styles = reproduction.STYLES
    made[f"results/{reproduction.INDEX}"] += STRONGEST
    made["results/quality.md"] = f"{HEAD}{quality_tables.page()}"
    made["results/quality-tables.md"] = f"{HEAD}{quality_tables.tables_page()}"
    made["results/books.md"] = f"{HEAD}{book_tables.page()}"
    made["results/birco.md"] = f"{HEAD}{birco_tables.page()}"
    made["results/robustness.md"] = f"{HEAD}{robustness_tables.page()}"
    return {**made, f"results/{styles.name}": styles.read_text("utf-8")}


# -- retrievers and measures ----------------------------------------------------------------------


def retriever_blocks() -> Blocks:
    """The settings of each retriever, and those that several share."""
    shared = (Lexical, Neural, TwoSided, Asking)
    made = {
        name: (settings_table(cls, shared), documented(parsed(cls.__doc__).body))
        for name, cls in sorted(retrievers.retrievers().items())
    }
    common = {"lexical": Lexical, "neural": TwoSided, "asking": Asking}
    return made | {name: (settings_table(cls), "") for name, cls in common.items()}


def measure_blocks() -> Blocks:
    """The parameters of each measure."""
    found = {
        value.NAME: value
        for module in modules(measures)
        for value in vars(module).values()
        if isinstance(value, ColumnarMeasure)
    }
    return {
        name: (parameter_table(measure), documented(parsed(type(measure).__doc__).body))
        for name, measure in sorted(found.items())
    }


def parameter_table(measure: ColumnarMeasure) -> str:
    rows = []
    for name, info in measure.SUPPORTED_PARAMS.items():
        at = name == measure.AT_PARAM
        # ir_measures gives a parameter without a default a bare object.
        given = isinstance(info.default, str | int | float | dict)
        missing = "required" if info.required else "the whole list"
        choices = info.choices if isinstance(info.choices, list) else ()
        values = ", ".join(f"`{value}`" for value in choices)
        example = 10 if info.dtype is int else 0.2
        shown = f"`{name}`" + (f", as in `{measure.NAME}@{example}`" if at else "")
        default = shown_value(info.default) if given else missing
        rows.append([shown, default, values or kind_of(info.dtype), escaped(info.desc or "")])
    return table(["parameter", "default", "values", "meaning"], rows)


# -- training -------------------------------------------------------------------------------------


def training_blocks() -> Blocks:
    """The tables of the page on training: recipes, losses, settings, and what was measured."""
    told = {"name", "title", "paper", "note", "stages", "variables"}
    head, rule, *rows = settings_table(Recipe).splitlines(keepends=True)
    kept = [head, rule, *(row for row in rows if row.split("`")[1] not in told)]
    return {
        "recipes": (recipe_table(), ""),
        "losses": (loss_table(), ""),
        "model": ("".join(kept), ""),
        "stage": (settings_table(Stage), ""),
        "measured": ("\n".join(quality_tables.trained_tables().values()), ""),
    }


def recipe_table() -> str:
    rows = []
    for name in recipe_names():
        recipe = find_recipe(name)
        chosen = [
            f"`{key}`: " + ", ".join(f"`{value}`" for value in values)
            for key, (_, values) in recipe_variables(name).items()
        ]
        rows.append([f"`{name}`", recipe.title, "; ".join(chosen), recipe.paper or "ours"])
    return table(["recipe", "trained model", "variables", "source"], rows)


def loss_table() -> str:
    rows = []
    for loss in LOSSES.values():
        negatives = "one" if loss.most == 1 else "one or more"
        if not loss.least:
            negatives = "none" if loss.most == 0 else "any number"
        kinds = ", ".join(f"`{kind}`" for kind in loss.kinds)
        rows.append([f"`{loss.name}`", loss.about, kinds, negatives, loss.source])
    return table(["loss", "definition", "models", "negatives of a row", "source"], rows)


if __name__ == "__main__":
    sys.exit(main())
