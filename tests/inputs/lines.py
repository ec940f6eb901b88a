"""Command lines with a flag, a name or a file that is wrong, by command."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import irtoolkit as ir
from tests.inputs.case import Case
from tests.inputs.files import QRELS, RUN

_S = "csfcube/sample"
_RETRIEVE = f"retrieve {_S} bm25 -o x.run"
_TRAIN = "train dense-relic relic/sample/train -o model"
_DOCS = {"a": "a whale swims at sea", "b": "a boat", "c": "a whale"}


def _jsonl(docs: dict[str, str]) -> bytes:
    return "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in docs.items()).encode()


@cache
def _indexed() -> dict[str, bytes]:
    """Documents, topics, and the folder ix with an index of docs.jsonl."""
    files = {
        "docs.jsonl": _jsonl(_DOCS),
        "more.jsonl": _jsonl({"d": "another whale"}),
        "twice.jsonl": _jsonl(_DOCS) + _jsonl({"a": "a boat"}),
        "docs.txt": _jsonl(_DOCS),
        "empty.jsonl": b"",
        "empty.parquet": b"",
        "t.tsv": b"q1\twhale\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        docs, place = Path(folder, "docs.jsonl"), Path(folder, "ix")
        docs.write_bytes(files["docs.jsonl"])
        ir.index(str(docs), "bm25", path=place)
        here = (path for path in place.rglob("*") if path.is_file())
        return files | {f"ix/{path.relative_to(place)}": path.read_bytes() for path in here}


# Commands with an index, and what the message says.
INDEX: tuple[tuple[str, str], ...] = (
    ("index docs.jsonl --memory 0", "--memory 0 is not at least 1"),
    ("index docs.jsonl --add", "--add needs the index (name it with --output FOLDER)"),
    ("index docs.jsonl --merge --verify", "not allowed with argument"),
    ("index docs.jsonl dense -o iy --set 'query_prompt={kind}: '", "the query prompt has {kind}"),
    ("index docs.jsonl random -o iy", "random keeps no index"),
    ("index ix", "ix is an index already"),
    ("index more.jsonl dense -o ix --add", "ix is for bm25, not dense"),
    ("index more.jsonl bm25 -o ix --add --tokenizer cjk", "concerns the"),
    ("index more.jsonl bm25 -o ix --add --doc title", "with doc=default"),
    ("index more.jsonl -o iy --add", "iy is not an index"),
    ("index ix dense --delete a", "the index ix is for bm25, not dense"),
    ("index nothing", "no dataset 'nothing'"),
    ("index more.jsonl -o ix", "holds other documents"),
    ("index ix --delete zz", "document zz is not in the index ix"),
    (f"index {_S} --info", f"irtoolkit index {_S} bm25"),
    ("index . -o iy", "docs.txt:1: document a appears twice, first at docs.jsonl:1"),
    ("index more.jsonl --merge -o ix", "irtoolkit index ix --info"),
    ("index docs.txt -o iy", "documents are .jsonl, .csv, .tsv, .trec or .parquet files"),
    ("index twice.jsonl", "twice.jsonl:4: document a occurs twice, first on line 1"),
    ("index empty.jsonl", "empty.jsonl: there are no documents"),
    ("index empty.parquet", "empty.parquet: an empty file"),
    ("search iy whale", "no dataset 'iy', and no index at iy"),
    ("search ix whale --set k1=1.5,b=0.3", "by spaces: k1=1.5 b=0.3"),
    ("search ix whale --system all-MiniLM-L6-v2", "bm25, not all-MiniLM-L6-v2"),
    ("search ix ''", "the query has no text"),
    ("search ix whale -k 0", "-k 0 is not at least 1"),
    ("search ix whale --hits 0", "--hits 0 is not at least 1"),
    ("search ix a whale", "write a text in quotes"),
    ("search ix 'a whale' tfidf", 'with its flag: "a whale" --system tfidf'),
    ("search ix bm25 'a whale'", 'with its flag: "a whale" --system bm25'),
    ("search ix whale --retriever=tfidf", "did you mean --system tfidf?"),
    ("search docs.jsonl whale --model all-MiniLM-L6-v2", "did you mean --system all-MiniLM-L6-v2?"),
    ("search nowhere/ whale", "nowhere/: no such folder"),
    ("search ix whale --system dense", "the index ix is for bm25, not dense"),
    ("search ix whale --system random", "the retriever random keeps no index"),
    ("search ix whale --tokenizer cjk", "which concerns the documents"),
    ("search ix whale --k1 -1", "k1"),
    ("retrieve -o x.run ix", "the index ix has no queries (--topics FILE gives some)"),
    ("retrieve -o x.run ix dense --topics t.tsv", "the index ix is for bm25, not dense"),
    ("retrieve -o x.run ix --topics t.tsv --query title", "setting query is not one of a search"),
    ("retrieve -o x.run ix --topics t.tsv --hits 0", "--hits 0 is not at least 1"),
    ("retrieve -o x.run --index nothing --topics t.tsv", "nothing is not an index"),
    ("retrieve -o x.run docs.jsonl --topics t.tsv", "SYSTEM is missing"),
    ("retrieve -o x.run --topics t.tsv", "DATASET is missing"),
)

# Other commands, and what the message says.
LINES: tuple[tuple[str, str], ...] = (
    ("retreive a", "did you mean retrieve"),
    (f"eval {_S} x.run --mesures AP", "did you mean --measures"),
    (f"eval {_S} a.run a.run", "twice"),
    (f"datasets {_S} more", "one argument too many: 'more'"),
    ("help models more", "one argument too many: 'more'; name one command"),
    ("datasets --download", "--download without ID"),
    ("datasets csfcube --limit 3", "no flag --limit"),
    ("compare a b c --alpha soon", "invalid float value: 'soon'"),
    ("datasets relic/val --download", "irtoolkit cannot download relic/val"),
    ("datasets vaswani --download", "irtoolkit does not download vaswani"),
    *((f"compare absent.qrels absent.run other.run {words}", said) for words, said in (
        ("--alpha 5", "--alpha 5 is not between 0 and 1"), ("--alpha 0", "--alpha 0"), ("--alpha nan", "--alpha nan"),
        ("--engine ranx --alpha 5", "--alpha 5 is not between 0 and 1"),
        ("--engine ranx --max-p -1", "--max-p -1.0 is not a probability"),
        ("--engine ranx --max-p 0.05 --alpha 0.01", "--alpha and --max-p are both given"),
        ("--max-p 0.05 --alpha 0.01", "--max-p is ranx's"),
    )),
    ("compare q.qrels a.run --baseline a.run", "one run"),
    ("compare q.qrels a.run a.run -m AP", "twice"),
    ("compare q.qrels a.run b.run -m 'AP P@5'", "one measure"),
    ("compare q.qrels a.run b.run --measure ''", "no measures"),
    ("compare q.qrels a.run b.run -m AP --baseline no.run", "no.run"),
    *((f"{_RETRIEVE} {words}", said) for words, said in (
        ("-k 5", "did you mean --hits?"), ("--hits 0", "--hits 0 is not at least"),
        ("--depht 10", "did you mean --depth"), ("--ki=1.2", "did you mean --k1"), ("--loud", "no flag --loud"),
        ("--dept", "did you mean --depth"), ("--k1 --b", "no flag --k1"), ("--k1 1 --set k1=2", "setting k1 is given twice"),
        ("--k1 high", "k1=high is not a number"),
    )),
    *((f"retrieve {_S} {name} --set url=http://localhost:9 {words} -o x.run", said)
      for name in ("elasticsearch", "opensearch") for words, said in (
        ("--set timeout=0", "out of range"), ("--set retries=-1", "out of range"),
        ("--set build=true", "needs a name"),
    )),
    *((f"tune {_S} {words}", said) for words, said in (
        ("", "no SYSTEM to tune"), ("bm25", "no --grid to tune"),
        ("bm25 --runs a.run b.run", "a system bm25 and --runs"), ("--runs a.run", "one run to fuse"),
        ("--runs a.run ./a.run", "given twice"), ("--runs a.run b.run --set k1=1", "--set is for systems"),
        ("bm25 --grid k1=1 --inner 2", "--inner is for fusions"),
        ("--runs a.run b.run --seed -1", "--seed -1 is not at"), ("--runs none.run a.run", "none.run"),
    )),
    ("fuse a b -o x.run --learned none.json --k 3", "leave out --method"),
    ("fuse a b -o x.run --learned none.json", "none.json: no such file"),
    *((f"reproduce {words}", said) for words, said in (
        ("csfcbue --sample", "'csfcbue'"), ("csfcube --sample --systems bm25", "'bm25'"),
        ("csfcube --sample --systems random,nobody", "'nobody'"),
        ("csfcube --sample --systems random --baseline bm25", "'bm25'"),
    )),
    *((f"{line}{ending}", f"the name ends in {ending}") for line, endings in (
        (f"retrieve {_S} bm25 -o x", (".json", ".csv", ".qrels", ".md", ".XLSX")),
        (f"rerank {_S} a.run random -o x", (".json", ".html")),
        ("fuse a.run b.run -o x", (".json", ".csv")),
        (f"submit {_S} a.run --form trec -o x", (".json", ".parquet")),
        ("submit relic/sample a.run -o x", (".run", ".csv")),
        (f"tune {_S} bm25 --grid k1=1 -o x", (".run", ".csv")),
        (f"tune {_S} --runs a.run b.run -o x", (".json",)),
        (f"tune {_S} --runs a.run b.run --log x", (".csv",)),
        (f"eval {_S} a.run --per-query x", (".csv", ".json")),
        (f"export {_S} docs -o x", (".csv", ".json")),
        (f"export {_S} qrels -o x", (".run", ".csv")),
        ("extract examples a.txt -o x", (".csv",)),
        ("agree a.qrels b.qrels -o x", (".run", ".csv")),
        ("agree a.qrels b.qrels --differ x", (".qrels",)),
    ) for ending in endings),
    (f"retrieve {_S} bm25 -o x.json.gz", "the name ends in .json"),
    (f"retrieve {_S} bm25 tfidf -o x.run", "2 systems, and one file (name a folder"),
    (f"retrieve {_S} bm25 bm25 -o x", "a system is named twice"),
    (f"retrieve {_S} tfidf TFIDF -o x", "a system is named twice, or in capitals too"),
    (f"datasets {_S} --bm25", "no flag --bm25 (see irtoolkit datasets --help)"),
    (f"retrieve {_S} bm25 nobody -o x", "no system 'nobody'"),
    (f"retrieve {_S} bm25 tfidf -o x --k1 1", "retriever tfidf has no setting 'k1'"),
    (f"{_RETRIEVE} --b", "no flag --b; a setting needs a value: --b VALUE"),
    (f"eval {_S} a.run --metric AP", "did you mean --measures?"),
    ("fuse a.run b.run -o x.run --methd rrf", "did you mean --method"),
    *((f"fuse a.run b.run -o x.{end}", f"no .{end} is written here") for end in ("parquet.gz", "tar.gz")),
    (f"retrieve {_S} --bm25 -o x.run", "a system is named without dashes: DATASET bm25"),
    (f"retrieve {_S} DirichletLM -o x.run", "did you mean ql?"),
    ("compare q.qrels a.run b.run --test t-test", "did you mean student?"),
    ("eval q.qrels BM25", "BM25 is a system, and runs are scored"),
    ("eval BIRCO a.run", "name a part, such as birco/"),
    ("fuse a.run b.run -o x.run --method rff", "did you mean rrf"),
    *((f"rerank {_S} a.run {words}", said) for words, said in (
        ("random -o x.run --depth -3", "depth -3 is not at least 1"),
        ("random -o x.run --set speed=3", "no setting 'speed'"),
        ("nobody -o x.run", "no system 'nobody'"),
        ("./nobody -o x.run", "no model in ./nobody"),
        ("some/model -o x.run", "some/model are not here"),
    )),
    *((f"serve {words} --folder f --model none --port 0", said) for words, said in (
        ("csfcube/sample", ""), ("no/such", ""), ("none.txt", ""), ("--public --token SECRET", ""),
        ("--host 192.0.2.1", "--host"),
        ("q.qrels --measure", "has no judged queries"),
    )),
    ("serve --folder f --port 70000", "70000"),
    ("serve --folder f --port -1", "-1"),
    *((f"annotate {words} -o folder --port 0", said) for words, said in (
        ("csfcube/sampl", "did you mean"),
        ("egret/sample/dev", "has no candidate pools (name runs"),
        (f"{_S} --depth 5", "--depth goes with runs"),
        (f"{_S} --queries 7", "--queries 7, and csfcube/sample has 6"),
        (f"{_S} --queries 0", "--queries 0 is not at least 1"),
        (f"{_S} --grades 3-0", "grades '3-0' are not two digits"),
        (f"{_S} --annotator a/b", "'a/b' cannot name an annotator"),
        (f"{_S} none.run", "no such file"),
        (f"{_S} a.run", "a.run:1: topic q1 is not one of csfcube/sample"),
    )),
    ("models gte-smal", "did you mean gte-small"),
    ("models --fetch gte-smal", "did you mean gte-small"),
    ("models --fetch SIM", "SIM cannot be fetched: take sim.pt"),
    ("models a/", "no model 'a/'"),
    ("models ./x", "no model './x'"),
    ("models ''", "no model ''"),
    ("train recipe -o s3://bucket/model", "s3://bucket/model is a URL"),
    ("convert colbert folder -o s3://bucket/model", "s3://bucket/model is a URL"),
    ("train -o model", "no recipe is given"),
    ("train dense-relik -o model", "no recipe 'dense-relik'"),
    *((f"train {words} -o model", said) for words, said in (
        ("dense-relic --set context=9/9", "context=9/9 is not a value"),
        ("dense-relic --set loss=best", "no loss 'best'"),
        ("dense-relic --set 3.epochs=1", "no setting '3.epochs'"),
        ("quoter --set sememes=nowhere.tsv", "no lexicon of sememes nowhere.tsv"),
    )),
    # They are looked at where nothing is trained, too.
    *((f"{_TRAIN} {words}{shown}", said) for shown in ("", " --show") for words, said in (
        ("--save-every -1", "--save-every -1 is not at least 1"),
        ("--out-of-fold x.run --folds 0", "--folds 0 is not at least 2"),
        ("--device mars", "no device 'mars'"),
        ("--set measure=NoSuch", "NoSuch"),
        ("--set epochs=0", "epochs=0.0 is not above 0"),
        ("--set warmup=500", "warmup=500"),
        ("--set held_out=1.0", "held_out=1.0 is not below 1"),
        ("--set lora=0", "lora=0 is not at least 1"),
        ("--set lora_alpha=8.0", "lora_alpha=8.0 without adapters"),
        ("--set lora=4 --set lora_dropout=1.0", "lora_dropout=1.0 is not below 1"),
        ("--set query_map=true --set encoders=2", "query_map=true with encoders=2"),
        ("--set measure=P", "measure=P is trec_eval's name (measure=P@5)"),
        ("--grid rate=1e-3 --by map", "measure=map is trec_eval's name (measure=AP)"),
        ("--grid rate=1e-3,-1", "rate=-1.0 is not above 0"),
        ("--grid rate=1e-3 --seeds 0,-1", "seed=-1 is not at least 0"),
    )),
)  # fmt: skip

# Recipes that are none, and what the message says.
RECIPES: tuple[tuple[str, str], ...] = (
    ("start = ", "not TOML"),
    ('start = "x"', "at least one [[stage]]"),
    ("[[stage]]\nspeed = 3", "stage 1: unknown key 'speed'"),
    ('colour = "red"\n[[stage]]\n', "the recipe: unknown key 'colour'"),
    ("[variables]\nx = 3\n[[stage]]\n", "variable x needs default and values"),
    ('[[stage]]\ndataset = "{nothing}"', "no variable gives 'nothing'"),
)


def cases() -> Iterator[Case]:
    """All of them."""
    files = {"q.qrels": QRELS, "a.run": RUN, "b.run": RUN}
    for line, said in LINES:
        yield Case("flags", line, tuple(shlex.split(line)), files, said)
    for line, said in INDEX:
        yield Case("indexes", line, tuple(shlex.split(line)), _indexed, said)
    for text, said in RECIPES:
        recipe = {"r.toml": text.encode()}
        yield Case("recipes", text, ("train", "r.toml", "-o", "model"), recipe, said)
