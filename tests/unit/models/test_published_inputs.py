"""What published models read of a text: their authors' rules, restated, against what goes into them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.models.conversion import convert
from irtoolkit.models.converted import state_of
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers.expansion import DeepCT
from irtoolkit.retrievers.neural import TwoSided
from tests import tiny
from tests.unit.models import test_conversion as published

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
    for kind in (transformers.BertModel, transformers.RobertaModel, transformers.ErnieModel):
        original: Callable[..., Any] = kind.forward

        def watched(self: Any, *args: Any, original: Any = original, **how: Any) -> Any:
            row = {"ids": (args[0] if args else how["input_ids"])[0].tolist()}
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
    # As retriever_train/run_lm_finetuning.py saves a checkpoint.
    folder = roberta(tmp_path / "checkpoint")
    for part in ("prefix_encoder", "suffix_encoder"):
        (folder / part).mkdir()
        for name in ("config.json", "model.safetensors"):
            shutil.copy(folder / name, folder / part / name)
    for name in ("config.json", "model.safetensors"):
        (folder / name).unlink()
    ours = system_encoder(row, folder, "query")
    assert ours.preset.side("query").id == str(folder / "prefix_encoder")
    assert ours.preset.side("document").id == str(folder / "suffix_encoder")
    for text in (text.replace("MASK", "<mask>") for text in texts):
        ids = whole(folder, text)
        mask = whole(folder, "<mask>")[1]
        assert read.of(ours, text)["ids"] == relic_prefix(ids, direction, mask)
        assert mask in read.rows[0]["ids"]
    of_passages = system_encoder(row, folder, "document")
    for text in PASSAGES:
        assert read.of(of_passages, text)["ids"] == whole(folder, text)[:98]


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


# -- plain transformers and converted checkpoints -------------------------------------------------

Ids = list[int]
WORDS = [LEFT, RIGHT]


def plainly(first: int, inner: Ids, last: int, most: int) -> tuple[Ids, Ids]:
    """[CLS] text [SEP], the end cut off, in one segment."""
    ids = [first, *inner[: most - 2], last]
    return ids, [0] * len(ids)


def second_of_two(first: int, inner: Ids, last: int, most: int) -> tuple[Ids, Ids]:
    """[CLS] [SEP] text [SEP]: the second text of two, of which the first is empty (PaddleNLP)."""
    ids = [first, last, *inner[: most - 3], last]
    return ids, [0, 0, *[1] * (len(ids) - 2)]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tiny.save(tmp_path / "base", texts=WORDS, longest=512)


def dpr_msmarco(base: Path, folder: Path) -> None:
    from safetensors.torch import save_file

    folder.mkdir()
    state = published.bert(base).state_dict()
    sides = ("encoder_q", "encoder_p")
    weights = {f"{side}.bert_model.{k}": v.clone() for side in sides for k, v in state.items()}
    save_file(weights, str(folder / "model.safetensors"))
    (folder / "config.json").write_text(
        '{"encoder_q": {"max_len": 256}, "encoder_p": {"max_len": 256}}'
    )


def crealm(base: Path, folder: Path) -> None:
    import numpy as np

    inside = {"dense/kernel": (tiny.DIMENSIONS, 8), "dense/bias": 8, "LayerNorm/gamma": 8, "LayerNorm/beta": 8}  # fmt: skip
    ends = {f"module/{name}": np.ones(size, np.float32) for name, size in inside.items()}
    bert = dict(published.realm_variables(published.bert(base), "module/module/"))
    published.save_bundle(folder / "variables" / "variables", {**bert, **ends})


def ernie_search(base: Path, folder: Path) -> None:
    published.save_paddle(folder, published.ernie("ErnieModel", base), base)


# Each preset with its published form, its authors' rule and the tokens that they read.
RULES: dict[str, tuple[Any, Any, int]] = {
    "UnSimCSE": (None, plainly, 128),  # simcse/tool.py
    "SuSimCSE": (None, plainly, 128),
    "Contriever": (None, plainly, 512),
    "coCondenser": (None, plainly, 512),
    "DPR-context": (None, plainly, 512),  # RELiC's relic_evaluation_dpr.py
    "DPR-MSMARCO": (("dpr-msmarco", dpr_msmarco), plainly, 256),  # vsearch: encoder/dpr.py
    "c-REALM": (("c-realm", crealm), plainly, 288),  # RELiC's relic_evaluation_crealm.py
    "ERNIE-Search": (("ernie-search", ernie_search), second_of_two, 128),  # PaddleNLP's Taskflow
}


@pytest.mark.parametrize("name", RULES)
def test_a_text_is_read_as_its_authors_code_gives_it(
    name: str, read: Read, base: Path, tmp_path: Path
) -> None:
    form, rule, most = RULES[name]
    folder = base
    if form is not None:
        layout, save = form
        save(base, tmp_path / "published")
        convert(layout, tmp_path / "published", tmp_path / name, str(base))
        folder = tmp_path / name
    for side in ("query", "document"):
        settings = EncoderSettings(name, "dense", side, weights=str(folder))  # type: ignore[arg-type]
        encoder = Encoder(settings)
        for text in PASSAGES:
            first, *inner, last = whole(base, text)
            ids, segments = rule(first, inner, last, most)
            row = read.of(encoder, text)
            assert row["ids"] == ids
            assert row["token_type_ids"] == segments


def test_berm(read: Read, tmp_path: Path) -> None:
    """RoBERTa's own, as ANCE's data are made (msmarco_data.py)."""
    import torch

    source = roberta(tmp_path / "out")
    state = state_of(source)
    more = {"embeddingHead.weight": torch.eye(tiny.DIMENSIONS), "norm.weight": torch.ones(tiny.DIMENSIONS)}  # fmt: skip
    more |= {name.replace("weight", "bias"): torch.zeros(tiny.DIMENSIONS) for name in more}
    (source / "model.safetensors").unlink()
    torch.save(
        {**{f"roberta.{k}": v for k, v in state.items()}, **more}, source / "pytorch_model.bin"
    )
    convert("berm", source, tmp_path / "BERM")
    encoder = Encoder(EncoderSettings("BERM", "dense", "document", weights=str(tmp_path / "BERM")))
    for text in PASSAGES:
        first, *inner, last = whole(source, text)
        assert read.of(encoder, text)["ids"] == [first, *inner[:510], last]


@pytest.mark.parametrize(("length", "most"), [(None, 32), (300, 300)])
def test_colbert(length: int | None, most: int, read: Read, base: Path, tmp_path: Path) -> None:
    """Its query_tokenization.py and doc_tokenization.py; a masked query keeps its mask."""
    published.save_dnn(tmp_path / "colbert.dnn", published.bert(base))
    convert("colbert", tmp_path / "colbert.dnn", tmp_path / "ColBERT", str(base))
    asked = {"length": length, "weights": str(tmp_path / "ColBERT")}
    of_queries = Encoder(EncoderSettings("ColBERT", "late", "query", **asked))
    of_docs = Encoder(EncoderSettings("ColBERT", "late", "document", weights=asked["weights"]))
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    q, d, mask = tokenizer.convert_tokens_to_ids(["[unused0]", "[unused1]", "[MASK]"])
    for text in PASSAGES:
        first, *inner, last = whole(base, text)
        ids = [first, q, *inner[: most - 3], last]
        row = read.of(of_queries, text)
        assert row["ids"] == [*ids, *[mask] * (most - len(ids))]
        assert row["attention_mask"] == [1] * len(ids) + [0] * (most - len(ids))
        assert set(row["token_type_ids"]) == {0}
        assert read.of(of_docs, text)["ids"] == [first, d, *inner[:177], last]
    if length is None:
        return
    masked = system_encoder("ColBERT-4-4", tmp_path / "ColBERT", "query")
    for text in (text.replace("MASK", "<mask>") for text in TEXTS):
        begin, *inner, end = whole(base, text)
        row = read.of(masked, text)["ids"]
        place = len(whole(base, text.partition("<mask>")[0])) - 2
        start = min(max(0, place - 297 // 2), max(0, len(inner) - 297))
        ids = [begin, q, *inner[start : start + 297], end]
        assert row == [*ids, *[mask] * (300 - len(ids))]


def test_deepct(read: Read, tmp_path: Path) -> None:
    """pyterrier_deepct's, in parts where a text is longer than what is read."""
    folder = tiny.save(tmp_path / "deepct", "BertForTokenClassification", WORDS, longest=512, num_labels=1)  # fmt: skip
    retriever = DeepCT(model=str(folder), device="cpu", batch_size=1)
    for text in PASSAGES:
        read.rows.clear()
        retriever.ask([text])
        first, *inner, last = whole(folder, text)
        parts = [inner[start : start + 510] for start in range(0, len(inner), 510)]
        assert [row["ids"] for row in read.rows] == [[first, *part, last] for part in parts]
