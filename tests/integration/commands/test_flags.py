"""Flags that people know from Pyserini, trec_eval, ir_measures and BEIR."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import pytrec_eval
import yaml

from irtoolkit.papers.catalogue import find_table
from irtoolkit.runs import Qrels, Run
from tests.conftest import Answer

Command = Callable[..., Answer]
SAMPLE = "csfcube/sample"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)


def made(answer: Answer) -> Answer:
    assert answer.status == 0, answer.err
    return answer


def refused(answer: Answer, *parts: str) -> None:
    assert (answer.status, answer.out) == (2, ""), answer
    assert len(answer.err.splitlines()) == 1, answer.err
    for part in parts:
        assert part in answer.err


def settings_of(run: str) -> dict[str, object]:
    record = yaml.safe_load(Path(f"{run}.ir-metadata.yml").read_text("utf-8"))["irtoolkit"]
    found: dict[str, object] = record["settings"]
    return found


# -- help ----------------------------------------------------------------------------------------


def test_help_of_a_command(irtoolkit: Command) -> None:
    assert made(irtoolkit("help", "fuse")).out == irtoolkit("fuse", "--help").out


# -- settings as flags ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [
        [SAMPLE, "bm25", "--k1", "1.2", "--b=0.5"],
        ["--k1", "1.2", SAMPLE, "bm25", "--b", "0.5"],
        [SAMPLE, "bm25", "--set", "k1=1.2", "--b", "0.5"],
    ],
)
def test_a_flag_that_is_none_of_the_commands_is_a_setting(
    irtoolkit: Command, args: list[str]
) -> None:
    made(irtoolkit("retrieve", *args, "-o", "x.run"))
    assert settings_of("x.run").items() >= {"k1": 1.2, "b": 0.5}.items()


def test_numbers_may_be_negative(irtoolkit: Command) -> None:
    made(irtoolkit("retrieve", SAMPLE, "random", "-o", "x.run", "--seed", "-1"))
    assert settings_of("x.run")["seed"] == -1


def test_settings_of_train_are_flags(irtoolkit: Command) -> None:
    shown = made(irtoolkit("train", "dense-relic", "--show", "--context", "4/4", "--seed", "5"))
    assert '"seed": 5' in shown.out


def test_a_name_of_two_words_names_nothing(irtoolkit: Command) -> None:
    retrieve = ("retrieve", "my texts", "bm25", "-o", "x.run")
    refused(irtoolkit(*retrieve), "'my texts' is no dataset", "irtoolkit datasets lists datasets")


def test_hits_is_depth_in_all_commands(irtoolkit: Command) -> None:
    made(irtoolkit("retrieve", SAMPLE, "bm25", "-o", "a.run", "--hits", "3"))
    made(irtoolkit("retrieve", SAMPLE, "bm25", "-o", "b.run", "--depth", "3"))
    assert Path("a.run").read_bytes() == Path("b.run").read_bytes()
    made(irtoolkit("retrieve", SAMPLE, "ql", "-o", "c.run", "--hits", "3"))
    made(irtoolkit("fuse", "a.run", "c.run", "-o", "f.run", "--hits", "2"))
    made(irtoolkit("rerank", SAMPLE, "a.run", "ql", "-o", "r.run", "--hits", "2"))
    for name in ("f.run", "r.run"):
        assert len(Run.read(name)) == 2 * len(Run.read(name).query_ids)


def test_the_k_of_a_fusion_is_recorded_alike_however_it_is_written(irtoolkit: Command) -> None:
    for name in ("bm25", "ql"):
        made(irtoolkit("retrieve", SAMPLE, name, "-o", f"{name}.run"))
    usual, same, other = (
        made(irtoolkit("fuse", "bm25.run", "ql.run", "-o", "k.run", *k)).err
        for k in ([], ["--k", "60.0"], ["--k", "0.5"])
    )
    assert "; rrf k=60\n" in usual
    assert same == usual
    assert "; rrf k=0.5\n" in other
    refused(
        irtoolkit("fuse", "bm25.run", "ql.run", "-o", "k.run", "--k", "x"),
        "invalid float value: 'x'",
    )


def test_an_index_that_is_not_there_is_named(irtoolkit: Command) -> None:
    told = irtoolkit("retrieve", "indexes/dosc", "--topics", "topics.tsv", "-o", "x.run")
    refused(told, "SYSTEM is missing, as indexes/dosc is not the folder of an index")


@pytest.mark.parametrize(
    "line",
    [
        ["eval", SAMPLE, "a.run", "-m", "AP", "nDCG@10"],
        ["eval", SAMPLE, "nDCG@10", "a.run"],
        ["compare", SAMPLE, "a.run", "b.run", "nDCG@10"],
        ["report", SAMPLE, "a.run", "nDCG@10", "-o", "x.html"],
    ],
)
def test_a_measure_among_the_runs_is_named(irtoolkit: Command, line: list[str]) -> None:
    for name in ("a", "b"):
        Path(f"{name}.run").write_text("1 Q0 a 1 1.0 x\n", "utf-8")
    refused(irtoolkit(*line), "nDCG@10 is a measure, and runs are scored", "--measures several")


# -- candidates ----------------------------------------------------------------------------------


def test_a_line_says_which_candidates_are_ranked(irtoolkit: Command) -> None:
    pools = made(irtoolkit("retrieve", SAMPLE, "bm25", "-o", "pools.run"))
    assert pools.err.splitlines()[0] == "candidates: the dataset's pools, 17-21 per query"
    corpus = made(irtoolkit("retrieve", SAMPLE, "bm25", "-o", "all.run", "--candidates", "corpus"))
    assert corpus.err.splitlines()[0] == "candidates: the corpus, 48 documents"
    assert len(Run.read("all.run")) > len(Run.read("pools.run"))
    dense = made(irtoolkit("retrieve", SAMPLE, "random", "-o", "r.run", "--candidates", "corpus"))
    assert dense.err.splitlines()[0] == "candidates: the corpus, 48 documents"
    cut = made(irtoolkit("rerank", SAMPLE, "pools.run", "ql", "-o", "r.run", "--depth", "18"))
    assert (
        cut.err.splitlines()[0] == "candidates: the best documents of the run bm25, 17-18 per query"
    )


def test_a_corpus_is_ranked_to_the_usual_depth_and_exact_ranks_are_kept(
    irtoolkit: Command,
) -> None:
    answer = made(
        irtoolkit("retrieve", "relic/sample/val", "bm25", "-o", "x.run", "--candidates", "corpus")
    )
    first = answer.err.splitlines()[0]
    assert first.startswith("candidates: the corpus, 1,485 documents, ranked to depth 1,000")
    run = Run.read("x.run")
    assert max(Counter(row.query_id for row in run).values()) == 1000
    assert Path("x.run.ranks.tsv").is_file()
    record = yaml.safe_load(Path("x.run.ir-metadata.yml").read_text("utf-8"))["irtoolkit"]
    assert (record["candidates"], record["depth"]) == ("corpus", 1000)


def test_a_run_of_the_corpus_is_scored_only_when_that_is_said(irtoolkit: Command) -> None:
    made(irtoolkit("retrieve", SAMPLE, "bm25", "-o", "x.run", "--candidates", "corpus"))
    refused(irtoolkit("eval", SAMPLE, "x.run"), "outside the pool", "eval --candidates corpus")
    answer = made(irtoolkit("eval", SAMPLE, "x.run", "--candidates", "corpus"))
    assert "not comparable with figures on pools" in answer.err
    assert made(irtoolkit("eval", SAMPLE, "x.run", "--candidates", "corpus", "-m", "AP")).err == ""
    assert "candidates=corpus" in irtoolkit("rerank", SAMPLE, "x.run", "ql", "-o", "r.run").err
    made(irtoolkit("rerank", SAMPLE, "x.run", "ql", "-o", "r.run", "--candidates", "corpus"))


# -- topics, qrels, forms ------------------------------------------------------------------------


@pytest.fixture
def own() -> None:
    """A small collection of one's own, in files that nothing is registered for."""
    docs = {"d1": "a captain pays the debts of a stranger", "d2": "two sisters inherit one coat"}
    lines = [json.dumps({"id": name, "contents": text}) for name, text in docs.items()]
    Path("docs.jsonl").write_text("\n".join(lines) + "\n")
    Path("topics.tsv").write_text("q1\twho inherits the coat of the sisters\nq2\tdebts\n")
    Path("trec.qrels").write_text("q1 0 d2 1\nq2 0 d1 1\n")
    Path("beir.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td2\t1\nq2\td1\t1\n")


@pytest.mark.usefixtures("own")
def test_topics_and_qrels_of_files_without_registering(irtoolkit: Command) -> None:
    answer = made(irtoolkit("retrieve", "docs.jsonl", "bm25", "--topics", "topics.tsv",
                            "--qrels", "trec.qrels", "-o", "x.run"))  # fmt: skip
    assert answer.err.splitlines()[0] == "candidates: the corpus, 2 documents"
    assert [row.doc_id for row in Run.read("x.run").ranking("q1")] == ["d2"]
    for qrels in ("trec.qrels", "beir.tsv"):
        out = made(irtoolkit("eval", "-m", "recip_rank", qrels, "x.run", "--format", "json")).out
        assert json.loads(out) == {"x.run": {"recip_rank": 1.0}}
    refused(irtoolkit("retrieve", "docs.jsonl", "bm25", "-o", "y.run"), "--topics FILE")


@pytest.mark.usefixtures("own")
def test_topics_of_a_file_rank_the_corpus_of_a_dataset(irtoolkit: Command) -> None:
    made(irtoolkit("retrieve", SAMPLE, "random", "--topics", "topics.tsv", "-o", "x.run"))
    run = Run.read("x.run")
    assert run.query_ids.tolist() == ["q1", "q2"]
    assert len(run) == 2 * 48
    refused(
        irtoolkit("retrieve", SAMPLE, "bm25", "--topics", "topics.tsv", "-o", "y.run",
                  "--candidates", "pool"),
        "topics.tsv", "no candidates for topic q1",
    )  # fmt: skip


def test_judgments_of_a_file_in_place_of_the_datasets(irtoolkit: Command) -> None:
    made(irtoolkit("retrieve", SAMPLE, "bm25", "-o", "a.run"))
    made(irtoolkit("retrieve", SAMPLE, "ql", "-o", "b.run"))
    made(irtoolkit("export", SAMPLE, "qrels", "-o", "same.qrels"))
    plain = made(irtoolkit("eval", SAMPLE, "a.run", "b.run"))
    assert irtoolkit("eval", SAMPLE, "a.run", "b.run", "--qrels", "same.qrels") == plain
    few = Path("same.qrels").read_text("utf-8").splitlines()[:3]
    Path("few.qrels").write_text("\n".join(few) + "\n")
    out = made(irtoolkit("eval", SAMPLE, "a.run", "--qrels", "few.qrels", "-m", "num_rel")).out
    assert "mean over queries" in out
    without = made(irtoolkit("eval", "a.run", "b.run", "--qrels", "few.qrels", "-m", "AP")).out
    assert without.splitlines()[0] == "few.qrels: mean over queries"
    made(irtoolkit("compare", SAMPLE, "a.run", "b.run", "--qrels", "same.qrels"))
    made(irtoolkit("report", SAMPLE, "a.run", "--qrels", "same.qrels", "-o", "x.md"))


@pytest.mark.parametrize("command", ["retrieve", "fuse", "rerank"])
def test_runs_in_the_form_of_ms_marco(irtoolkit: Command, command: str) -> None:
    made(irtoolkit("retrieve", SAMPLE, "bm25", "-o", "a.run"))
    made(irtoolkit("retrieve", SAMPLE, "ql", "-o", "b.run"))
    args = {
        "retrieve": [SAMPLE, "bm25"], "fuse": ["a.run", "b.run"], "rerank": [SAMPLE, "a.run", "ql"],
    }[command]  # fmt: skip
    made(irtoolkit(command, *args, "-o", "x.run"))
    made(irtoolkit(command, *args, "-o", "x.tsv", "--output-format", "msmarco"))
    rows = [line.split() for line in Path("x.run").read_text("utf-8").splitlines()]
    wanted = "".join(f"{query}\t{doc}\t{rank}\n" for query, _, doc, rank, _, _ in rows)
    assert Path("x.tsv").read_text("utf-8") == wanted
    refused(
        irtoolkit(command, *args, "-o", "x.parquet", "--output-format", "msmarco"),
        "msmarco is a form of text",
    )


# -- measures ------------------------------------------------------------------------------------


def test_measures_in_trec_evals_way(irtoolkit: Command) -> None:
    made(irtoolkit("retrieve", SAMPLE, "bm25", "-o", "a.run"))
    made(irtoolkit("export", SAMPLE, "qrels", "-o", "a.qrels"))
    asked = ("-q", "-m", "map", "-m", "ndcg_cut.10", "-m", "P.5,10", "-m", "num_rel_ret")
    lines = made(irtoolkit("eval", *asked, "a.qrels", "a.run")).out.splitlines()
    names = ["map", "ndcg_cut_10", "P_5", "P_10", "num_rel_ret"]
    qrels, run = Qrels.read("a.qrels").as_dict(), Run.read("a.run").as_dict()
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut.10", "P.5,10", "num_rel_ret"})
    wanted = [
        f"{name:<22}\t{query}\t{values[name]:.{0 if name == 'num_rel_ret' else 4}f}"
        for query, values in theirs.evaluate(run).items()
        for name in names
    ]
    assert sorted(lines[: len(wanted)]) == sorted(wanted)
    assert lines[len(wanted)] == f"{'runid':<22}\tall\tbm25"
    assert [line.split("\t")[0].strip() for line in lines[len(wanted) + 1 :]] == names
    assert all(line.split("\t")[1] == "all" for line in lines[len(wanted) :])


def test_one_flag_for_measures_in_every_spelling(irtoolkit: Command) -> None:
    made(irtoolkit("retrieve", SAMPLE, "bm25", "-o", "a.run"))
    made(irtoolkit("retrieve", SAMPLE, "ql", "-o", "b.run"))
    several = [
        made(irtoolkit("eval", SAMPLE, "a.run", *args)).out
        for args in (
            ["-m", "AP", "-m", "P@5"], ["--measures", "AP", "P@5"], ["--measure", "AP", "P@5"],
            ["--measures", "AP P@5"], ["-m", "AP", "--measures", "P@5"],
        )
    ]  # fmt: skip
    assert len(set(several)) == 1
    one = [
        made(irtoolkit("compare", SAMPLE, "a.run", "b.run", flag, "AP")).out
        for flag in ("-m", "--measure", "--measures")
    ]
    assert len(set(one)) == 1
    own = made(irtoolkit("compare", SAMPLE, "a.run", "b.run")).out
    assert own == made(irtoolkit("compare", SAMPLE, "a.run", "b.run", "-m", "nDCGp(p=20)")).out
    refused(
        irtoolkit("compare", SAMPLE, "a.run", "b.run", "-m", "P.5,10"), "takes one measure, not 2"
    )


def test_counts_are_whole_numbers_as_in_trec_eval(irtoolkit: Command) -> None:
    Path("a.qrels").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    Path("a.run").write_text("q1 Q0 d1 1 2.0 a\nq2 Q0 d2 1 2.0 a\n")
    asked = ("-m", "num_q", "-m", "num_rel_ret", "-m", "map", "a.qrels", "a.run")
    rows = made(irtoolkit("eval", *asked, "--format", "csv")).out.splitlines()
    assert rows == ["run,num_q,num_rel_ret,map", "a.run,2,1,0.5"]
    assert made(irtoolkit("eval", *asked)).out.splitlines()[-1].split() == [
        "a.run", "2", "1", "0.5000",
    ]  # fmt: skip


# -- completion ----------------------------------------------------------------------------------


def test_models_are_named_by_what_is_near(irtoolkit: Command) -> None:
    refused(irtoolkit("models", "minilm"), "no model 'minilm'", "did you mean all-MiniLM-L6-v2")
    hub = made(irtoolkit("models", "sentence-transformers/all-MiniLM-L6-v2")).out
    assert "all-MiniLM-L6-v2" in hub
    answer = irtoolkit("retrieve", SAMPLE, "dense", "--model", "minilm", "-o", "x.run")
    refused(answer, "minilm are not here", "did you mean all-MiniLM-L6-v2")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(irtoolkit: Command, shell: str) -> None:
    script = made(irtoolkit("completion", shell)).out
    assert "--candidates" in script or "-l candidates" in script
    assert SAMPLE in script


NEGATIVES = [row.system for row in find_table("quoter-negatives").rows]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["re"], {"register", "report", "reproduce", "rerank", "results", "retrieve"}),
        (["retrieve", SAMPLE + "/m"], {f"{SAMPLE}/method"}),
        (["retrieve", SAMPLE, "bm"], {"bm25", "bm25-anserini", "bm25-nearby", "bm25-surroundings"}),
        (["eval", "--per"], {"--per-query"}),
        (["eval", "--format", "j"], {"json"}),
        (["retrieve", "--candidates", ""], {"pool", "corpus", "script"}),
        (["eval", "scr"], {"script"}),
        (
            ["retrieve", SAMPLE, "csfcube:Min"],
            {"csfcube:MiniLM-abstract", "csfcube:MiniLM-sentences"},
        ),
        # As bash itself splits words.
        (["retrieve", SAMPLE, "csfcube", ":", "SPEC"], {"SPECTER", "SPECTER-ID"}),
        (["retrieve", SAMPLE, "relic-proxy", ":", "human"], set()),
        (["retrieve", SAMPLE, "quoter-negatives", ":"], {*NEGATIVES}),
    ],
)
def test_bash_completes(irtoolkit: Command, words: list[str], found: set[str]) -> None:
    Path("script").write_text(made(irtoolkit("completion", "bash")).out)
    asked = 'source ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _irtoolkit; echo "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "-c", asked, "x", "irtoolkit", *words], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == found
