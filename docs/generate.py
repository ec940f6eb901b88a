"""Writes what in docs/ is read off the code, so that the two cannot drift apart.

    python docs/generate.py            # writes it
    python docs/generate.py --check    # says what is out of date, with exit status 1

Written as a whole are commands.md, models.md and reference/. In retrievers.md, measures.md and
training.md only the tables between markers are: the text around them is written by hand. What has no marker there
yet gets a section at the end, with its docstring. The standard library and irtoolkit suffice:
modules are found by being there and read as text, so that no extra has to be installed.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import re
import runpy
import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import irtoolkit
from irtoolkit import commands, measures, retrievers
from irtoolkit.base.discovery import modules
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.models.presets import presets
from irtoolkit.training.losses import LOSSES
from irtoolkit.training.recipe_files import find_recipe, recipe_names, recipe_variables
from irtoolkit.training.recipes import Recipe, Stage

DOCS = Path(__file__).resolve().parent
PACKAGE = Path(irtoolkit.__file__).parent
HEAD = "<!-- Written by docs/generate.py: change the code, and run it again. -->\n"
# What is returned has no name: a colon there is a colon.
UNNAMED = ("Returns", "Yields")
SECTIONS = ("Attributes", "Args", "Returns", "Yields", "Raises")
# Commands have a page of their own.
NO_REFERENCE = {"__main__", "commands"}
WIDEST = 96


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check = parser.parse_args().check
    stale = outdated()
    for name, content in stale.items():
        print(f"{'out of date' if check else 'written'}: docs/{name}")
        if check:
            continue
        path = DOCS / name
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
    return int(check and bool(stale))


def outdated() -> dict[str, str | None]:
    """Pages that are not what the code says, with what they should be; None for one too many."""
    wanted: dict[str, str | None] = dict(pages())
    for path in (DOCS / "reference").glob("*.md"):
        wanted.setdefault(f"reference/{path.name}", None)
    return {name: content for name, content in wanted.items() if _read(name) != content}


def pages() -> dict[str, str]:
    """Every page that is written here, or in part, by its name in docs/."""
    return {
        "commands.md": command_page(),
        "models.md": model_page(),
        "retrievers.md": filled("retrievers.md", retriever_blocks()),
        "measures.md": filled("measures.md", measure_blocks()),
        "training.md": filled("training.md", training_blocks()),
        **reference_pages(),
    }


def _read(name: str) -> str | None:
    path = DOCS / name
    return path.read_text("utf-8") if path.is_file() else None


# -- text -----------------------------------------------------------------------------------------


def escaped(text: str) -> str:
    """Text of a docstring in Markdown: what stands in backticks is kept, and modules are linked."""
    parts = re.split(r"(`[^`\n]+`)", text)
    return "".join(_code(p) if i % 2 else _plain(p) for i, p in enumerate(parts))


def _plain(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    # An underscore inside a word, as in trec_eval, stands for itself.
    text = re.sub(r"[*\\]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", text)
    # GitHub takes what stands between two dollars for a formula.
    return text.replace("$", "&#36;").replace("|", "&#124;")


def _code(text: str) -> str:
    name = text.strip("`")
    parts = name.split(".")
    if parts[0] == "irtoolkit" and len(parts) > 1 and parts[1] in _top_level():
        return f"[{text}]({LINKED_FROM}{parts[1]}.md)"
    return text


def in_table(text: str) -> str:
    """Markdown that fits a cell."""
    return " ".join(text.replace("|", "\\|").split())


def table(headers: list[str], rows: list[list[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "".join(f"| {' | '.join(in_table(cell) for cell in row)} |\n" for row in lines)


class Docstring(NamedTuple):
    """A docstring in its parts.

    Attributes:
        body: before the first section.
        sections: section to its entries (name, text); the name is empty where there is none.
    """

    body: str
    sections: dict[str, list[tuple[str, str]]]


def parsed(doc: str | None) -> Docstring:
    """A docstring in Google's style, as the package has them."""
    body: list[str] = []
    sections: dict[str, list[tuple[str, str]]] = {}
    current: list[tuple[str, str]] | None = None
    what = ""
    for line in inspect.cleandoc(doc or "").splitlines():
        name = line.removesuffix(":")
        if line.endswith(":") and name in SECTIONS:
            current, what = sections.setdefault(name, []), name
        elif current is None or (line and not line.startswith(" ")):
            current = None
            body.append(line)
        elif line.strip():
            named = re.match(r"    (\*{0,2}\w[\w, ]*): (.*)", line)
            entry = None if what in UNNAMED else named
            if entry:
                current.append((entry[1], entry[2]))
            elif current:
                current[-1] = (current[-1][0], f"{current[-1][1]} {line.strip()}")
            else:
                current.append(("", line.strip()))
    return Docstring("\n".join(body).strip(), sections)


def body(text: str) -> str:
    """The body of a docstring in Markdown."""
    lines = []
    for line in text.splitlines():
        if line.startswith("    "):
            lines.append(line)
        elif line.startswith("- "):
            lines.append(f"- {escaped(line[2:])}")
        else:
            lines.append(escaped(line))
    return "\n".join(lines)


def documented(doc: str | None) -> str:
    """A whole docstring in Markdown."""
    found = parsed(doc)
    parts = [body(found.body)] if found.body else []
    for section, entries in found.sections.items():
        lines = [f"- {_names(name)}{escaped(text)}" for name, text in entries]
        parts.append(f"{section}:\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _names(text: str) -> str:
    """`a, b` of an entry as code, with what separates it from its text."""
    return f"{', '.join(f'`{name}`' for name in text.split(', '))}: " if text else ""


# -- commands -------------------------------------------------------------------------------------


def command_page() -> str:
    found = {m.__name__.rpartition(".")[2].strip("_"): m for m in modules(commands)}
    rows = [[f"[`{name}`](#{name})", escaped(module.HELP)] for name, module in found.items()]
    parts = [
        HEAD,
        "# Commands\n",
        "Every command says the same with `--help`. Bad input is one line on standard error that\n"
        "names the file, the line and the remedy, with exit status 2; an interrupted command has\n"
        "status 130 and leaves nothing half-written. `--debug` shows where an error comes from.\n",
        table(["command", "does"], rows),
    ]
    for name, module in found.items():
        parser = argparse.ArgumentParser(prog=f"irtoolkit {name}", add_help=False)
        module.configure(parser)
        parts += [
            f"## {name}\n",
            f"{documented(module.__doc__)}\n",
            *([table(["argument", "takes", "default", ""], _arguments(parser))] if parser._actions
              else []),
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
            f"`{name}`", takes, "needed" if needed else f"`{default}`" if default != "" else "",
            escaped(said),
        ])  # fmt: skip
    return rows


# -- models ---------------------------------------------------------------------------------------


def model_page() -> str:
    parts = [
        HEAD,
        "# Models\n",
        "Published models by the names that papers give them. A preset knows what the paper or the\n"
        "authors say of pooling, similarity, prompts and lengths; settings override it. Any other\n"
        "model is taken by folder or hub id. `irtoolkit models` says which weights are here, and\n"
        "`irtoolkit models NAME` all that is known of one. Nothing is downloaded unless\n"
        "`IRTOOLKIT_DOWNLOAD=1` is set.\n",
    ]
    kinds: dict[str, list[str]] = {}
    for name, preset in presets().items():
        kinds.setdefault(preset.kind, []).append(name)
    takes = {
        "dense": "`dense`, `sentence-max`, `faiss`, `generated-query`", "late": "`late`",
        "sparse": "`sparse`", "cross": "`cross-encoder`", "writer": "`doct5query`",
        "weigher": "`deepct`",
    }  # fmt: skip
    for kind, names in kinds.items():
        parts += [f"## {kind}\n", f"For {takes.get(kind, f'retrievers of kind `{kind}`')}.\n"]
        for name in names:
            parts += [f"### {name}\n", table(["", ""], _facts(name))]
    return "\n".join(parts)


def _facts(name: str) -> list[list[str]]:
    rows = []
    for field in dataclasses.fields(presets()[name]):
        value = getattr(presets()[name], field.name)
        if value in (None, "", " ") or field.name == "kind":
            continue
        code = field.name in ("id", "query", "package", "query_prompt", "doc_prompt", "join")
        shown = f"`{value}`" if code else escaped(str(value))
        rows.append([field.name.replace("_", " "), shown])
    return rows


# -- settings of retrievers, parameters of measures -----------------------------------------------


def retriever_blocks() -> dict[str, tuple[str, str]]:
    """Retriever to the table of its settings, and its docstring."""
    return {
        name: (settings_table(cls), documented(parsed(cls.__doc__).body))
        for name, cls in sorted(retrievers.retrievers().items())
    }


def settings_table(cls: type) -> str:
    """Every setting of a retriever, or of a recipe, with its default, values and meaning."""
    hints, said = get_type_hints(cls), attributes(cls)
    rows = []
    own_first = [name for base in cls.__mro__ for name in inspect.get_annotations(base)]
    for field in sorted(dataclasses.fields(cls), key=lambda field: own_first.index(field.name)):
        if field.default is not dataclasses.MISSING:
            default = _value(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            default = _value(field.default_factory())
        else:
            default = "needed"
        meaning = said.get(field.name)
        rows.append([
            f"`{field.name}`", default, _kind(hints[field.name]),
            "see above" if meaning is None else escaped(meaning),
        ])  # fmt: skip
    return table(["setting", "default", "values", "meaning"], rows) if rows else "No settings.\n"


def attributes(cls: type) -> dict[str, str]:
    """Attribute to its text in the docstring of the class or of a base; the nearest counts.

    Where a text sends the reader on to a base, as in "see `Neural`.", the base's text is taken.
    """
    by_class: dict[str, dict[str, str]] = {}
    for base in cls.__mro__:
        entries = parsed(vars(base).get("__doc__")).sections.get("Attributes", [])
        by_class[base.__name__] = {n: text for names, text in entries for n in names.split(", ")}
    found: dict[str, str] = {}
    for own in by_class.values():
        for name, text in own.items():
            found.setdefault(name, text)
    for name, text in found.items():
        sent = re.search(r"[Ss]ee `(\w+)`\.$", text)
        if sent and name in by_class.get(sent[1], {}):
            found[name] = text[: sent.start()] + by_class[sent[1]][name]
    return found


def _value(value: Any) -> str:
    if value is None:
        return "`none`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    text = str(value).replace("\n", "\\n")
    return f"`{text}`" if text else ""


def _kind(hint: Any) -> str:
    """A type as the values that --set takes."""
    origin = get_origin(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in get_args(hint))
    if origin in (Union, types.UnionType):
        kinds = [_kind(kind) for kind in get_args(hint) if kind is not type(None)]
        return " or ".join([*kinds, "`none`"])
    if origin is not None:
        return " ".join(str(hint).split())
    words = {int: "whole number", float: "number", bool: "`true`, `false`", str: "text"}
    return words.get(hint, str(hint.__name__))


def measure_blocks() -> dict[str, tuple[str, str]]:
    """Measure to the table of its parameters, and its docstring."""
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
        # ir_measures shows a parameter without a default as a bare object.
        given = isinstance(info.default, str | int | float)
        default = _value(info.default) if given else "needed" if info.required else "the whole list"
        choices = info.choices if isinstance(info.choices, list) else ()
        values = ", ".join(f"`{value}`" for value in choices)
        shown = f"`{name}`" + (f", as in `{measure.NAME}@10`" if at else "")
        rows.append([shown, default, values or _kind(info.dtype), escaped(info.desc or "")])
    return table(["parameter", "default", "values", "meaning"], rows)


def training_blocks() -> dict[str, tuple[str, str]]:
    """The tables of the page on training: recipes, losses, and the settings of a recipe."""
    told = {"name", "title", "paper", "note", "stages", "variables"}
    head, rule, *rows = settings_table(Recipe).splitlines(keepends=True)
    kept = [head, rule, *(row for row in rows if row.split("`")[1] not in told)]
    return {
        "recipes": (recipe_table(), ""),
        "losses": (loss_table(), ""),
        "model": ("".join(kept), ""),
        "stage": (settings_table(Stage), ""),
        "measured": (measured_tables(), ""),
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
    return table(["recipe", "what it trains", "its variables", "source"], rows)


def loss_table() -> str:
    rows = []
    for loss in LOSSES.values():
        negatives = "one" if loss.most == 1 else "one or more"
        if not loss.least:
            negatives = "none" if loss.most == 0 else "any number"
        kinds = ", ".join(f"`{kind}`" for kind in loss.kinds)
        rows.append([f"`{loss.name}`", loss.about, kinds, negatives, loss.source])
    return table(["loss", "what it is", "models", "a row's own negatives", "source"], rows)


def measured_tables() -> str:
    """What benchmarks/minilm.py has measured: its own tables."""
    folder = DOCS.parent / "benchmarks"
    minilm = runpy.run_path(str(folder / "minilm.py"), run_name="minilm")
    kept = json.loads((folder / "results/minilm.json").read_text("utf-8"))
    made = []
    for name, found in kept["benchmarks"].items():
        shown = minilm["table"](name, found)
        made.append(table([f"`{found['dataset']}`", *shown.headers[1:]], shown.rows))
    return "\n".join(made)


def filled(name: str, blocks: Mapping[str, tuple[str, str]]) -> str:
    """A page with each marked table made anew, and a section for what has no marker yet."""
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


# -- reference ------------------------------------------------------------------------------------

# What stands before a link to a page of the reference, as seen from the page that is written.
LINKED_FROM = "reference/"


def reference_pages() -> dict[str, str]:
    """A page for each public module of the package, or package in it; and their list."""
    global LINKED_FROM
    LINKED_FROM = ""
    try:
        rows, found = [], {}
        for name in _top_level():
            files = _files(name)
            found[f"reference/{name}.md"] = _reference_page(name, files)
            first = parsed(_tree(next(iter(files.values()))).doc).body.partition("\n\n")[0]
            rows.append([f"[irtoolkit.{name}]({name}.md)", escaped(first)])
        found["reference/README.md"] = (
            f"{HEAD}\n# Reference\n\nWhat can be used from Python, from the docstrings. Names that"
            " begin with an underscore are\ninternal, and may change.\n\n"
            + table(["module", ""], rows)
        )
        return found
    finally:
        LINKED_FROM = "reference/"


def _top_level() -> list[str]:
    names = {path.stem for path in PACKAGE.glob("*.py")}
    names |= {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    return sorted(n for n in names - NO_REFERENCE if not n.startswith("_"))


def _files(name: str) -> dict[str, Path]:
    """The public modules of one page by their dotted names, the package's own first."""
    if (PACKAGE / f"{name}.py").is_file():
        return {f"irtoolkit.{name}": PACKAGE / f"{name}.py"}
    found = {}
    for path in sorted((PACKAGE / name).rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if not any(part.startswith("_") for part in parts):
            found[".".join(("irtoolkit", *parts))] = path
    return dict(sorted(found.items()))


def _reference_page(name: str, files: Mapping[str, Path]) -> str:
    parts = [HEAD, f"# irtoolkit.{name}\n"]
    level = 2 if len(files) == 1 else 3
    for dotted, path in files.items():
        module = _tree(path)
        if dotted != f"irtoolkit.{name}":
            parts.append(f"## {dotted}\n")
        if module.doc:
            parts.append(f"{documented(module.doc)}\n")
        parts += _members(module, level)
    return "\n".join(parts)


class Module(NamedTuple):
    """A module as a tree, and its lines in UTF-8, by which the tree counts columns."""

    lines: list[bytes]
    tree: ast.Module
    doc: str | None


def _tree(path: Path) -> Module:
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    return Module(source.encode().splitlines(), tree, ast.get_docstring(tree))


def _members(module: Module, level: int) -> Iterator[str]:
    """The entries of a module, with headings of a level and those of methods one below."""
    classes = {node.name: node for node in module.tree.body if isinstance(node, ast.ClassDef)}
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef) and _public(node.name):
            yield from _entry(level, node.name, _signature(module, node), node)
        elif isinstance(node, ast.ClassDef) and _public(node.name):
            yield from _class(level, module, node)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            # The only instance of a class that nobody else needs: a measure, say.
            target, made = node.targets[0], node.value.func
            if isinstance(target, ast.Name) and isinstance(made, ast.Name):
                own = classes.get(made.id)
                if own is not None and _public(target.id) and not _public(own.name):
                    yield from _entry(level, target.id, _source(module, node), own)


def _public(name: str) -> bool:
    return not name.startswith("_")


def _entry(level: int, name: str, signature: str, node: Any) -> Iterator[str]:
    yield f"{'#' * level} {name}\n"
    yield f"```py\n{signature}\n```\n"
    doc = ast.get_docstring(node)
    if doc:
        yield f"{documented(doc)}\n"


def _class(level: int, module: Module, node: ast.ClassDef) -> Iterator[str]:
    bases = ", ".join(_source(module, base) for base in node.bases)
    fields = [
        _source(module, item)
        for item in node.body
        if isinstance(item, ast.AnnAssign)
        and isinstance(item.target, ast.Name)
        and _public(item.target.id)
        and "ClassVar" not in _source(module, item.annotation)
    ]
    title = f"class {node.name}({bases})" if bases else f"class {node.name}"
    listed = "".join(f"\n    {field}" for field in fields)
    made = next((f for f in _functions(node) if f.name == "__init__"), None)
    if made is not None and not fields:
        title += f"\n\n{_signature(module, made, node.name, skip=1)}"
    yield from _entry(level, node.name, f"{title}{':' if listed else ''}{listed}", node)
    for item in _functions(node):
        if not _public(item.name):
            continue
        kinds = {_source(module, mark).rpartition(".")[2] for mark in item.decorator_list}
        if "overload" in kinds:
            continue
        name = f"{node.name}.{item.name}"
        if kinds & {"property", "cached_property"}:
            signature = name + (f" -> {_source(module, item.returns)}" if item.returns else "")
        else:
            signature = _signature(module, item, name, skip="staticmethod" not in kinds)
        yield from _entry(level + 1, name, signature, item)


def _functions(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [item for item in node.body if isinstance(item, ast.FunctionDef)]


def _signature(module: Module, node: ast.FunctionDef, name: str = "", skip: int = 0) -> str:
    """A function's signature, its parameters one below the other where the line would be long."""
    args = node.args
    plain = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(args.defaults)), *args.defaults]
    shown = [
        _parameter(module, arg, default)
        for arg, default in list(zip(plain, defaults, strict=True))[skip:]
    ]
    if args.vararg is not None:
        shown.append(f"*{_parameter(module, args.vararg, None)}")
    elif args.kwonlyargs:
        shown.append("*")
    shown += [
        _parameter(module, arg, default)
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    if args.kwarg is not None:
        shown.append(f"**{_parameter(module, args.kwarg, None)}")
    returned = ""
    if node.returns is not None and node.name != "__init__":
        returned = f" -> {_source(module, node.returns)}"
    line = f"{name or node.name}({', '.join(shown)}){returned}"
    if len(line) <= WIDEST:
        return line
    lines = "".join(f"    {parameter},\n" for parameter in shown)
    return f"{name or node.name}(\n{lines}){returned}"


def _parameter(module: Module, arg: ast.arg, default: ast.expr | None) -> str:
    text = arg.arg
    if arg.annotation is not None:
        text += f": {_source(module, arg.annotation)}"
    if default is not None:
        equals = " = " if arg.annotation is not None else "="
        text += f"{equals}{_source(module, default)}"
    return text


def _source(module: Module, node: Any) -> str:
    """The text of a node on one line."""
    lines = module.lines[node.lineno - 1 : node.end_lineno]
    lines[-1] = lines[-1][: node.end_col_offset]
    lines[0] = lines[0][node.col_offset :]
    return " ".join(b" ".join(lines).decode().split())


if __name__ == "__main__":
    sys.exit(main())
