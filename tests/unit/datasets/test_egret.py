"""EgRet: what counts as an example in running text, and the datasets made of such examples.

The texts of the first half are written and cut here by hand. The second half reads the samples,
and the real files where there are some, again with nothing but json, and damages small releases.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

import ir_datasets
import pytest

import irtoolkit.datasets.egret as egret
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.examples import Example, extract_examples

SAMPLE = Path(egret.__file__).parent / "samples" / "egret"
SPLITS = ("train", "dev")


def cut(text: str) -> list[tuple[str, str, str]]:
    """What stands before, in and after each example."""
    return [(unit.left, unit.text, unit.right) for unit in extract_examples(text)]


def solid(text: str) -> str:
    """A text without its white space."""
    return "".join(text.split())


def places(text: str) -> list[tuple[int, int]]:
    """Where the examples of a text start and stop in it, white space not counted."""
    found = []
    for unit in extract_examples(text):
        start = len(solid(unit.left))
        found.append((start, start + len(solid(unit.text))))
    return found


def assert_apart(text: str) -> None:
    spans = places(text)
    ends = [0, *(stop for _, stop in spans)]
    assert all(end <= start < stop for end, (start, stop) in zip(ends, spans, strict=False)), spans


# ---- sentences and clauses, by hand --------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "unit", "right"),
    [
        # Where the marker stands in its sentence.
        ("Animals are big.", "For example, whales weigh a lot.", "Ants do not."),
        ("Animals are big.", "A whale, for example, weighs a lot.", "Ants do not."),
        ("Animals are big.", "A whale weighs a lot, for example.", "Ants do not."),
        ("", "For example, whales weigh a lot.", ""),
        ("Is it so?", "For example, yes!", "Or no."),
        # Passages that are cited.
        ("God is one.", 'E.g., "Hear" (Deut. 6:4), and "I am" (ibid. 20).', "Go."),
        ("It moves.", "All is, e.g., caused (Prop. XIV.), and thus ends.", "Go."),
        ("See Gen. 31:11 there.", "This, for example, is Isa. 4:12 and so on.", "Go."),
        ("Hear (ibid. 3).", "(e.g. this)", "Go."),
        ("So it is.", "(b) A thing is, e.g., soft.", "(c) No."),
        ("", "It is e.g. so (b) and thus.", ""),
        # Forms of the marker.
        ("Fish swim.", "Some, e.g. the cod, are cold.", "Cats purr."),
        ("Fish swim.", "Some, e.g., the cod, are cold.", "Cats purr."),
        ("Fish swim.", "Some, e. g. the cod, are cold.", "Cats purr."),
        ("Fish swim.", "Some, e.g the cod, are cold.", "Cats purr."),
        ("Fish swim.", "E.G. the cod is cold.", "Cats purr."),
        ("Fish swim.", "FOR EXAMPLE THE COD.", "Cats purr."),
        ("Fish swim.", "For Example: the cod is cold.", "Cats purr."),
        ("Fish swim.", "Some, for\nexample the cod, are cold.", "Cats purr."),
        # Parenthesised clauses.
        ("Fruit", "(e.g. apples)", "is good. Eat it."),
        ("Fruit", "(e.g., apples)", "is good. Eat it."),
        ("Fruit", "(E.g. apples)", "is good. Eat it."),
        ("Fruit", "(for example, apples)", "is good. Eat it."),
        ("Fruit", "(sweet ones for example)", "is good. Eat it."),
        ("Eat fruit", "(apples, e.g.)", "."),
        ("Fruit", "(e.g. apples (red ones), pears)", "is good. Eat it."),
        ("Fruit", "(apples (red ones) or, e.g., pears)", "is good. Eat it."),
        ("Fruit (red", "(e.g. apples)", "or not) is good. Eat it."),
        ("Fruit.", "(For example, apples. And pears.)", "All good."),
        ("A (b", "(for example c)", "d. E."),
        # Parentheses that do not hold the marker.
        ("", "The sum (a) is, for example, (b) or nought.", "Done."),
        # A parenthesis without its other half.
        ("Eat.", "Fruit (e.g. apples is good.", "Or not."),
        ("Eat.", "Fruit: e.g. apples) are good.", "Or not."),
        ("Eat.", "Fruit :) for example (that is it.", "Or not."),
        # What ends no sentence.
        ("Go.", "See Mr. Smith, for example, at home.", "He waits."),
        ("Go.", "For example, Dr. Who met Mrs. Dalloway on St. Helena.", "It rained."),
        ("Go.", "In the U.S. Army, for example, boots shine.", "Shoes too."),
        ("Go.", "Apples, pears, etc. Every fruit, for example, will do.", "Eat."),
        ("Go.", "The cat, i.e. Tom, sleeps, e.g. Sundays.", "He wakes."),
        ("Go.", "J. Smith, for example, swam.", "He won."),
        ("Go.", "For example, J. R. Smith swam.", "He won."),
        ("Go.", "It weighs 3.5 tons, for example.", "Heavy."),
        # What does end one.
        ("It is hot at 88 °C. That hurts.", "Tea, for example, is hot.", "Wait."),
        ("It boils at 88 °C.", "That is, for example, the case on high.", "Not here."),
        ("She said, “Stay.”", "For example, all week.", "He stayed."),
        ('She said, "Stay."', "For example, all week.", "He stayed."),
        ("(She said stay.)", "For example, all week.", "He stayed."),
        ("Wait...", "For example, all week.", "He stayed."),
        ("Really?!", "For example, all week.", "He stayed."),
        ("It is so.", "“For example,” he said, “pears.”", "They ate."),
    ],
)  # fmt: skip
def test_one_example(left: str, unit: str, right: str) -> None:
    text = " ".join(part for part in (left, unit, right) if part)
    assert cut(text) == [(left, unit, right)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One, e.g. A\n\nTwo", [("", "One, e.g. A", "Two")]),
        ("One\n \nTwo, e.g. A", [("One", "Two, e.g. A", "")]),
        ("Fruit:\n- red, e.g. plums\n- green", [("Fruit:", "- red, e.g. plums", "- green")]),
        ("Fruit:\n* red\n* for example figs", [("Fruit:\n* red", "* for example figs", "")]),
        ("Fruit:\n• red, e.g. plums\n• blue", [("Fruit:", "• red, e.g. plums", "• blue")]),
        ("One line\nand, for example, its end.\nNext.", [("", "One line\nand, for example, its end.", "Next.")]),
    ],
)  # fmt: skip
def test_paragraphs_and_lists(text: str, expected: list[tuple[str, ...]]) -> None:
    assert cut(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n ",
        "Nothing here.",
        "Fruit such as apples. Such as pears.",
        "forexample no",
        "for examples see below",
        "For instance, this.",
        "before example",
        "That is an example for you.",
        "The eg is no marker, nor is egg.",
        "The leg. g is a letter.",
        # Markers alone.
        "e.g.",
        "For example.",
        "For example:",
        "(e.g.) Then something.",
        "Cats sleep. (For example…) Dogs too.",
        "It has many forms. For example:\n\nThis one.",
        "* e.g.\n* this",
    ],
)
def test_no_example(text: str) -> None:
    assert cut(text) == []


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("Cats, e.g. Tom, or for example Kit, nap. Yes.", ["Cats, e.g. Tom, or for example Kit, nap."]),
        ("Pets (e.g. cats, e.g. Tom) nap. Yes.", ["(e.g. cats, e.g. Tom)"]),
        ("Pets (e.g. cats (for example Tom)) nap.", ["(e.g. cats (for example Tom))"]),
        ("For example, pets (e.g. cats) nap. Yes.", ["For example, pets (e.g. cats) nap."]),
        ("Pets (e.g. cats) and birds (e.g. owls) nap.", ["(e.g. cats)", "(e.g. owls)"]),
        ("For example, A naps. B wakes. C, e.g., eats. D.", ["For example, A naps.", "C, e.g., eats."]),
        ("Pets (e.g. cats) nap. For example, Tom.", ["(e.g. cats)", "For example, Tom."]),
    ],
)  # fmt: skip
def test_several_markers(text: str, units: list[str]) -> None:
    assert [unit for _, unit, _ in cut(text)] == units
    assert_apart(text)


def test_no_is_a_word_before_it_is_an_abbreviation() -> None:
    assert cut("Is it safe? No. For example, bees sting.") == [
        ("Is it safe? No.", "For example, bees sting.", "")
    ]
    assert cut("For example, take No. 5 to town. Walk back.") == [
        ("", "For example, take No. 5 to town.", "Walk back.")
    ]


# ---- the datasets --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Files:
    """The two files read plainly: {question id: (question, answers)} of each split."""

    name: str
    folder: Path
    questions: dict[str, dict[str, tuple[str, list[str]]]]
    found: dict[str, list[tuple[str, str, Example]]] = field(default_factory=dict)

    def answer(self, unit_id: str) -> tuple[str, str]:
        """The question and answer that an id names."""
        question, number, _ = unit_id.rsplit(".", 2)
        split = next(split for split in SPLITS if question in self.questions[split])
        text, answers = self.questions[split][question]
        return text, answers[int(number) - 1]

    def unit_ids(self, split: str) -> list[str]:
        return [unit_id for unit_id, _, _ in self.units(split)]

    def units(self, split: str) -> list[tuple[str, str, Example]]:
        """The examples of the answers, each with its id and question."""
        if split not in self.found:
            self.found[split] = [
                (f"{key}.{i}.{j}", question, unit)
                for key, (question, answers) in self.questions[split].items()
                for i, answer in enumerate(answers, 1)
                for j, unit in enumerate(extract_examples(answer), 1)
            ]
        return self.found[split]


def read(name: str, folder: Path) -> Files:
    questions: dict[str, dict[str, tuple[str, list[str]]]] = {}
    for split in SPLITS:
        text = (folder / f"eli5-{split}-kilt.jsonl").read_text(encoding="utf-8")
        records = [json.loads(line) for line in text.split("\n") if line.strip()]
        questions[split] = {
            record["id"]: (
                record["input"],
                [o["answer"] for o in record["output"] if "answer" in o],
            )
            for record in records
        }
    return Files(name, folder, questions)


@pytest.fixture(scope="module", params=["egret/sample", "egret"])
def files(request: pytest.FixtureRequest) -> Files:
    if request.param == "egret/sample":
        return read(request.param, SAMPLE)
    folder = request.getfixturevalue("real_data") / "egret"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here")
    return read(request.param, folder)


@pytest.mark.parametrize("split", SPLITS)
def test_statistics_are_those_counted(files: Files, split: str) -> None:
    units = [unit for _, _, unit in files.units(split)]
    rows = {row.name: row.value for row in ir_datasets.load(f"{files.name}/{split}").irtoolkit().statistics_of()}  # fmt: skip
    assert rows == {
        "Questions": len(files.questions[split]),
        "Examples": len(units),
        "Examples of train and dev": sum(len(files.unit_ids(s)) for s in SPLITS),
        "Average left context, words": pytest.approx(
            mean(min(256, len(unit.left.split())) for unit in units)
        ),
        "Average example, words": pytest.approx(mean(len(unit.text.split()) for unit in units)),
        "Average right context, words": pytest.approx(
            mean(min(256, len(unit.right.split())) for unit in units)
        ),
    }


# ---- a small release by hand ---------------------------------------------------------------------


def question(key: str, *answers: str) -> dict[str, Any]:
    return {"id": key, "input": f"What of {key}?", "output": [{"answer": a} for a in answers]}


TRAIN = [
    question("t1", "Big. For example, whales. Small (e.g. ants) too.", "None.", "E.g. one."),
    question("t2"),
    question("t3", "It is, for example, so."),
]
DEV = [question("d1", "Also e.g. that.")]


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release standing where the real one is looked for, free to be damaged."""
    folder = tmp_path / "data" / "egret"
    folder.mkdir(parents=True)
    monkeypatch.setenv("IRTOOLKIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    put(folder, "train", TRAIN)
    put(folder, "dev", DEV)
    return folder


def put(folder: Path, split: str, records: list[Any]) -> Path:
    path = folder / f"eli5-{split}-kilt.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


HAND = [
    ("t1.1.1", "For example, whales."),
    ("t1.1.2", "(e.g. ants)"),
    ("t1.3.1", "E.g. one."),
    ("t3.1.1", "It is, for example, so."),
    ("d1.1.1", "Also e.g. that."),
]


def test_ids_by_hand(release: Path) -> None:
    dataset = ir_datasets.load("egret/train")
    assert [tuple(doc) for doc in dataset.docs_iter()] == HAND
    assert [tuple(query) for query in dataset.queries_iter()] == [
        ("t1.1.1", "What of t1?", "Big.", "Small (e.g. ants) too."),
        ("t1.1.2", "What of t1?", "Big. For example, whales. Small", "too."),
        ("t1.3.1", "What of t1?", "", ""),
        ("t3.1.1", "What of t3?", "", ""),
    ]
    assert [row.doc_id for row in ir_datasets.load("egret/dev/left").qrels_iter()] == ["d1.1.1"]


@pytest.mark.parametrize("count", [255, 256, 257, 600])
def test_contexts_are_clipped_to_the_words_next_to_the_example(release: Path, count: int) -> None:
    left = [f"l{n}" for n in range(count)]
    right = [f"R{n}" for n in range(count)]
    put(release, "dev", [question("d1", f"{' '.join(left)}.\n\nE.g. me.\n\n{'  '.join(right)}")])
    (query,) = ir_datasets.load("egret/dev").queries_iter()
    assert query.left.split() == [*left[:-1], f"{left[-1]}."][-256:]
    assert query.right == " ".join(right[:256])
    (query,) = ir_datasets.load("egret/dev/left").queries_iter()
    assert (query.left.split()[-1], query.right) == (f"{left[-1]}.", "")


# ---- damage --------------------------------------------------------------------------------------


def without(key: str) -> dict[str, Any]:
    record = question("x1", "E.g. x.")
    del record[key]
    return record


@pytest.mark.parametrize(
    "dev",
    [
        [question("t1", "E.g. dev.")],
        # The shared question has its example in another answer, or none at all.
        [question("d1", "E.g. x."), question("t3", "None.", "E.g. dev.")],
        [question("d1", "E.g. x."), question("t2", "None.")],
    ],
)
def test_a_question_of_both_train_and_dev(release: Path, dev: list[Any]) -> None:
    put(release, "dev", dev)
    for split in SPLITS:
        with pytest.raises(InputError, match="train and dev share a question id") as caught:
            list(ir_datasets.load(f"egret/{split}").docs_iter())
        assert caught.value.file in {str(release), *map(str, release.iterdir())}
        assert caught.value.remedy
