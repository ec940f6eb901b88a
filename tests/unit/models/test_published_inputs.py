"""What published models read of a text: their authors' rules, restated, against what goes into them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.models.encoder import Encoder
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers.neural import TwoSided
from tests import tiny

pytest.importorskip("transformers")
pytest.importorskip("sentence_transformers")

LEFT = "The older man counted the letters again, and seven had come from the north. "
RIGHT = " Nobody in the harbour office had lit the lamps (it was late; the ships were lost)."
TEXTS = (
    f"{LEFT}MASK{RIGHT}",
    f"{LEFT * 40}MASK{RIGHT * 40}",
    f"{LEFT * 40}MASK",
)
PASSAGES = ("Lost ships?", RIGHT.strip() * 3, LEFT * 60)


class Read:
    """What the transformers have read, one text at a time."""

    def __init__(self) -> None:
        self.rows: list[dict[str, list[int]]] = []

    def of(self, encoder: Encoder, text: str) -> dict[str, list[int]]:
        """The rows of ids of one text, without padding."""
        self.rows.clear()
        encoder.encode([text])
        (row,) = self.rows
        return row


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Read:
    import transformers

    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    found = Read()
    for kind in (transformers.BertModel, transformers.RobertaModel):
        original: Callable[..., Any] = kind.forward

        def watched(self: Any, *args: Any, original: Any = original, **how: Any) -> Any:
            row = {"ids": how["input_ids"][0].tolist()}
            for name in ("token_type_ids", "attention_mask"):
                if how.get(name) is not None:
                    row[name] = how[name][0].tolist()
            found.rows.append(row)
            return original(self, *args, **how)

        monkeypatch.setattr(kind, "forward", watched)
    return found


def system_encoder(row: str, folder: Path, side: Any, dataset: str = "") -> Encoder:
    """The encoder of a side of a row of a table, with weights of a folder."""
    retriever = find_system(row, {"weights": str(folder)}, dataset).retriever
    assert isinstance(retriever, TwoSided)
    return retriever.encoder(side)


def whole(folder: Path, text: str) -> list[int]:
    """All ids of a text, with the special tokens at its ends."""
    import transformers

    ids: list[int] = transformers.AutoTokenizer.from_pretrained(folder)(text)["input_ids"]
    return ids


def roberta(folder: Path) -> Path:
    """A tiny RoBERTa, as RELiC's authors save each of their two encoders."""
    import transformers

    words = tiny.tokenizer([LEFT, RIGHT], 512)
    words.add_special_tokens({"mask_token": "<mask>"})
    settings = tiny.config(
        words, transformers.RobertaConfig, max_position_embeddings=514, type_vocab_size=1
    )
    transformers.RobertaModel(settings).eval().save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


# -- RELiC ------------------------------------------------------------------------------------


def relic_prefix(ids: list[int], direction: str, mask: int, most: int = 256) -> list[int]:
    """What dense-RELiC's code keeps of a context (retriever_train/data_utils.py)."""
    if len(ids) < most:
        return ids
    if direction == "left":
        return [ids[0], *ids[-(most - 1) :]]
    if direction == "right":
        return ids[:most]
    place = ids.index(mask)
    begin, end = place - most // 2, place + most // 2
    if begin < 0:
        return ids[:most]
    return ids[len(ids) - most :] if end > len(ids) else ids[begin:end]


@pytest.mark.parametrize(
    ("row", "direction", "texts"),
    [
        ("dense-RELiC-4-4", "both", TEXTS),
        ("dense-RELiC-1-1", "both", TEXTS),
        ("dense-RELiC-4-0", "left", [f"{LEFT * n}MASK" for n in (1, 20, 40)]),
        ("dense-RELiC-0-4", "right", [f"MASK{RIGHT * n}" for n in (1, 20, 40)]),
    ],
)
def test_dense_relic(
    row: str, direction: str, texts: list[str], read: Read, tmp_path: Path
) -> None:
    folder = roberta(tmp_path / "suffix_encoder")
    ours = system_encoder(row, folder, "query")
    for text in (text.replace("MASK", "<mask>") for text in texts):
        ids = whole(folder, text)
        mask = whole(folder, "<mask>")[1]
        assert read.of(ours, text)["ids"] == relic_prefix(ids, direction, mask)
        assert mask in read.rows[0]["ids"]
    of_passages = system_encoder(row, folder, "document")
    for text in PASSAGES:
        assert read.of(of_passages, text)["ids"] == whole(folder, text)[:98]


@pytest.mark.parametrize(("model", "token", "most"), [("DPR-4-4", "<mask>", 512)])
def test_relic_baselines_lose_their_end(
    model: str, token: str, most: int, read: Read, tmp_path: Path
) -> None:
    folder = tiny.save(tmp_path / "bert", texts=[LEFT, RIGHT], longest=512)
    for side in ("query", "document"):
        encoder = system_encoder(model, folder, side)
        for text in (text.replace("MASK", token) for text in TEXTS):
            first, *inner, last = whole(folder, text)
            row = read.of(encoder, text)
            assert row["ids"] == [first, *inner[: most - 2], last]
            assert set(row["token_type_ids"]) == {0}


@pytest.mark.parametrize("row", ["DPR-L+R", "SBERT-L+R", "EgRet-ELI5-L+R"])
def test_windows_without_code_keep_what_is_around_the_mask(
    row: str, read: Read, tmp_path: Path
) -> None:
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    plain = tiny.save(tmp_path / "bert", texts=[LEFT, RIGHT], longest=512)
    reader = Transformer(str(plain), max_seq_length=100)
    tiny.sentence_model(tmp_path / "saved", reader, Pooling(tiny.DIMENSIONS))
    for folder, most in ((plain, 512), (tmp_path / "saved", 100)):
        system = find_system(row, {"weights": str(folder)}, "egret/dev")
        if folder == plain and system.retriever.preset().pooling is None:  # type: ignore[attr-defined]
            continue  # published as a sentence-transformers folder
        encoder = system.retriever.encoder("query")  # type: ignore[attr-defined]
        token = system.task.query.partition(":")[2]
        for text in (text.replace("MASK", token) for text in TEXTS):
            first, *inner, last = whole(plain, text)
            ids = read.of(encoder, text)["ids"]
            assert len(ids) == min(most, len(inner) + 2)
            stays = ids[1:-1]
            places = [i for i in range(len(inner)) if inner[i : i + len(stays)] == stays]
            mask = len(whole(plain, text.partition(token)[0])) - 2
            assert [ids[0], ids[-1]] == [first, last]
            # As many tokens on either side as there are, and room for.
            expected = min(max(0, mask - len(stays) // 2), len(inner) - len(stays))
            assert expected in places


def test_cuts_are_kept_apart_on_disk(read: Read, tmp_path: Path) -> None:
    folder = roberta(tmp_path / "model")
    text = TEXTS[1].replace("MASK", "<mask>")
    for cut in ("end", "start", "sides"):
        settings = {"weights": str(folder), "query_cut": cut}
        retriever: Any = find_system("dense-RELiC-4-4", settings, "relic/val").retriever
        assert len(read.of(retriever.encoder("query"), text)["ids"]) == 256
