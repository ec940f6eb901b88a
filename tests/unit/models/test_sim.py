"""SIM: the files as their authors publish them, read safely, and what it makes of a text."""

from __future__ import annotations

import argparse
import io
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.base import errors
from irtoolkit.base.errors import InputError
from irtoolkit.models import sim
from irtoolkit.models.sim import PIECES, UNKNOWN, WEIGHTS

torch = pytest.importorskip("torch")
sentencepiece = pytest.importorskip("sentencepiece")
treebank = pytest.importorskip("nltk.tokenize").TreebankWordTokenizer()

TEXT = """It was late, and nobody in the harbour office had lit the lamps.
"I don't know," said the clerk; "the ships can't have been lost, can they?"
The older man turned away from the window and counted the letters again.
Seven had come from the north, four from the islands, and none from home.
They'd waited since Tuesday (or was it Monday?) for a boat that wouldn't come.""".lower()
DIMENSIONS = 6


def pieces_model(text: str, kind: str = "unigram", size: int = 120) -> bytes:
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(treebank.tokenize(line)) for line in text.splitlines()]),
        model_writer=out, vocab_size=size, model_type=kind, hard_vocab_limit=False,
        minloglevel=2, num_threads=1,
    )  # fmt: skip
    return out.getvalue()


def checkpoint(model: bytes, leave_out: int = 5) -> dict[str, Any]:
    """As beyond-bleu's training saves it; some pieces have no vector, as rare ones have not."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = [processor.id_to_piece(i) for i in range(3, len(processor))]
    names = [*pieces[: len(pieces) - leave_out], UNKNOWN]
    weights = torch.randn(len(names), DIMENSIONS, generator=torch.Generator().manual_seed(7))
    return {
        "state_dict": OrderedDict({"embedding.weight": weights}),
        "vocab_words": {name: row for row, name in enumerate(names)},
        "args": argparse.Namespace(dim=DIMENSIONS, gpu=0, outfile="sim"),
    }


@pytest.fixture(scope="module")
def model() -> bytes:
    return pieces_model(TEXT)


@pytest.fixture(scope="module")
def published(model: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sim")
    save(folder, checkpoint(model), model)
    return folder


@pytest.fixture(scope="module")
def loaded(published: Path) -> sim.Sim:
    return sim.load_sim(published)


def save(folder: Path, content: Any, model: bytes, legacy: bool = False) -> None:
    torch.save(content, folder / WEIGHTS, _use_new_zipfile_serialization=not legacy)
    (folder / PIECES).write_bytes(model)


def restated(content: dict[str, Any], model: bytes, text: str) -> tuple[list[int], np.ndarray]:
    """Wieting's and RELiC's code, told step by step."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    words = content["vocab_words"]
    sentence = " ".join(treebank.tokenize(text.lower()))
    sentence = " ".join(processor.EncodeAsPieces(sentence)).strip().lower()
    rows = []
    for piece in sentence.split():
        row = words.get(piece)
        if row:  # which 0 is not
            rows.append(row)
    if not rows:
        rows.append(words[UNKNOWN])
    table = content["state_dict"]["embedding.weight"].numpy().astype(np.float64)
    return rows, table[rows].sum(axis=0) / len(rows)


TEXTS = [
    "The ships can't have been lost.",
    "THE SHIPS CAN'T HAVE BEEN LOST.",
    "a",
    "",
    "   ",
    "快雪时晴",
    'He said: "nobody\'s <mask> lamps" — and left...',
    "the <mask> the",
    "two\nlines\tand a tab",
    TEXT,
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_what_the_authors_code_makes_of_it(
    loaded: sim.Sim, model: bytes, text: str
) -> None:
    rows, vector = restated(checkpoint(model), model, text)
    assert loaded.tokenize([text]) == [rows]
    np.testing.assert_allclose(loaded.encode([text]), [vector], rtol=1e-5, atol=1e-6)


def test_a_text_without_known_pieces_is_the_unknown_one(loaded: sim.Sim) -> None:
    row = loaded.vocabulary[UNKNOWN]
    assert loaded.tokenize(["", "快雪时晴"]) == [[row], [row]]
    assert (loaded.encode(["快"]) == loaded.weights[row]).all()


def test_a_piece_without_a_vector_is_passed_over(loaded: sim.Sim, model: bytes) -> None:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = {p for line in TEXT.splitlines() for p in processor.encode(line, out_type=str)}
    assert pieces - set(loaded.vocabulary), "the model has no rare pieces"
    assert len(loaded.tokenize([TEXT])[0]) < len(processor.encode(TEXT, out_type=str))


def test_weights_are_those_of_the_checkpoint(loaded: sim.Sim, model: bytes) -> None:
    own = checkpoint(model)["state_dict"]["embedding.weight"].numpy()
    assert loaded.weights.dtype == np.float32
    assert (loaded.weights == own).all()
    assert loaded.weights.shape == (len(loaded.vocabulary), DIMENSIONS)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_checkpoints_of_2018_and_of_now_are_read(tmp_path: Path, kind: str, legacy: bool) -> None:
    model = pieces_model(TEXT, kind, 90)
    content = checkpoint(model)
    save(tmp_path, content, model, legacy)
    found = sim.load_sim(tmp_path)
    assert found.tokenize(TEXTS) == [restated(content, model, text)[0] for text in TEXTS]


# -- refused --------------------------------------------------------------------------------------


def refused(folder: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        sim.load_sim(folder)
    return caught.value


@pytest.mark.parametrize("name", [WEIGHTS, PIECES])
def test_a_missing_file_is_named_with_its_address(tmp_path: Path, model: bytes, name: str) -> None:
    save(tmp_path, checkpoint(model), model)
    (tmp_path / name).unlink()
    error = refused(tmp_path)
    assert name in error.found
    assert "beyond_bleu.zip" in (error.remedy or "")


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99])
def test_a_truncated_checkpoint_is_refused(
    tmp_path: Path, model: bytes, share: float, legacy: bool
) -> None:
    save(tmp_path, checkpoint(model), model, legacy)
    data = (tmp_path / WEIGHTS).read_bytes()
    (tmp_path / WEIGHTS).write_bytes(data[: int(len(data) * share)])
    assert refused(tmp_path).file == str(tmp_path / WEIGHTS)


class Trap:
    """What an attacker would put into a checkpoint."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return (Path.touch, (self.mark,))


@pytest.mark.parametrize("legacy", [False, True])
def test_nothing_in_a_checkpoint_is_run(tmp_path: Path, model: bytes, legacy: bool) -> None:
    mark = tmp_path / "it ran"
    save(tmp_path, {**checkpoint(model), "args": Trap(mark)}, model, legacy)
    error = refused(tmp_path)
    assert "safely" in error.found
    assert not mark.exists()


def changed(model: bytes, **parts: Any) -> dict[str, Any]:
    return {**checkpoint(model), **parts}


def without_unknown(model: bytes) -> dict[str, Any]:
    names = dict(checkpoint(model)["vocab_words"])
    return changed(model, vocab_words={("x" if n == UNKNOWN else n): r for n, r in names.items()})


def with_rows(model: bytes, shift: int) -> dict[str, Any]:
    names = checkpoint(model)["vocab_words"]
    return changed(model, vocab_words={n: r + shift for n, r in names.items()})


def with_weights(model: bytes, change: Any, name: str = "embedding.weight") -> dict[str, Any]:
    own = checkpoint(model)["state_dict"]["embedding.weight"]
    return changed(model, state_dict=OrderedDict({name: change(own)}))


def not_finite(weights: Any) -> Any:
    weights = weights.clone()
    weights[3, 2] = float("nan")
    return weights


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (lambda m: torch.zeros(3), "no state_dict"),
        (lambda m: {"state_dict": {}}, "vocab_words"),
        (lambda m: {k: v for k, v in checkpoint(m).items() if k != "state_dict"}, "state_dict"),
        (lambda m: changed(m, vocab_words=["a", "b"]), "does not number"),
        (lambda m: changed(m, vocab_words={"a": 0.5, UNKNOWN: 1}), "does not number"),
        (without_unknown, UNKNOWN),
        (lambda m: with_rows(m, 1), "do not match"),
        (lambda m: with_rows(m, -1), "do not match"),
        (lambda m: with_weights(m, lambda w: w[:-1]), "do not match"),
        (lambda m: with_weights(m, lambda w: w[0]), "no table"),
        (lambda m: with_weights(m, lambda w: w.int()), "no table"),
        (lambda m: with_weights(m, lambda w: w, "lstm.weight"), "no other"),
        (lambda m: with_weights(m, not_finite), "not finite"),
    ],
)
def test_another_checkpoint_is_refused(
    tmp_path: Path, model: bytes, content: Any, found: str
) -> None:
    save(tmp_path, content(model), model)
    error = refused(tmp_path)
    assert found in error.found
    assert error.file == str(tmp_path / WEIGHTS)
    assert error.remedy


@pytest.mark.parametrize("share", [0, 0.02, 0.5])
def test_a_damaged_sentencepiece_model_is_refused(
    tmp_path: Path, model: bytes, share: float
) -> None:
    save(tmp_path, checkpoint(model), model[: int(len(model) * share)])
    assert refused(tmp_path).file == str(tmp_path / PIECES)


def test_what_is_no_sentencepiece_model_is_refused(tmp_path: Path, model: bytes) -> None:
    save(tmp_path, checkpoint(model), b"<!DOCTYPE html><html>not found</html>")
    assert "SentencePiece" in refused(tmp_path).found


def test_another_models_pieces_are_refused(tmp_path: Path, model: bytes) -> None:
    other = pieces_model("快雪时晴 佳想安善 未果为结 力不次\n王羲之顿首 山阴张侯\n" * 3, size=30)
    save(tmp_path, checkpoint(model), other)
    error = refused(tmp_path)
    assert "pieces" in error.found
    assert error.file == str(tmp_path / PIECES)


@pytest.mark.parametrize("module", ["torch", "sentencepiece"])
def test_a_missing_library_is_named(
    published: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    find = errors.find_spec
    monkeypatch.setattr(errors, "find_spec", lambda name: None if name == module else find(name))
    error = refused(published)
    assert module in error.found
    assert ".[neural]" in (error.remedy or "")
