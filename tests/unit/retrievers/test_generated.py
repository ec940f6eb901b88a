"""Generated queries: a server that speaks the real protocol, tiny local models, real rankings."""

from __future__ import annotations

import json
import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from irtoolkit.base.errors import InputError
from irtoolkit.models.llm.chat_client import _retry_after
from irtoolkit.models.llm.endpoint import Endpoint
from irtoolkit.models.llm.generator import Completion
from irtoolkit.models.llm.local import LocalGenerator
from irtoolkit.ranking.decided import made_of
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.dense import Dense
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.generated import GeneratedQuery
from irtoolkit.retrievers.task import Task, load_task
from tests.datasets import Queries, register
from tests.llm_server import (
    KEY,
    Handler,
    Reply,
    Stub,
    answer_to,
    kept,
    reset,
    serving,
    silent,
    status,
    truncated,
)
from tests.waiting import PATIENCE

DOCS = {
    "d1": "the cat sat on the mat",
    "d2": "a dog ran and ran",
    "d3": "nobody saw the rat",
    "d4": "the sun and the sea while a cat ran home",
    "d5": "them go with the sea home",
}


class Query(NamedTuple):
    query_id: str
    text: str
    book: str
    parts: tuple[str, ...]
    year: int = 1900

    def default_text(self) -> str:
        return self.text

    def with_mask(self, token: str) -> str:
        return f"{token} {self.text}"


ASKED = [
    Query("q1", "cat mat", "emma", ("one", "two")),
    Query("q2", "dog ran home", "emma", ()),
    Query("q3", "sea sun {rat}", "moby_dick", ("three",)),
    Query("q4", "cat mat", "moby_dick", ("four",)),
]


def task(queries: list[Query] = ASKED, **views: str) -> Task:
    return load_task(register(DOCS, queries), **views)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return tmp_path / "cache" / "answers"


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving() as server:
        yield server


@pytest.fixture
def endpoint(stub: Stub) -> Endpoint:
    return Endpoint("gpt-test", url=stub.url, pause=0.001, timeout=PATIENCE)


def written(writer: Any, prompts: list[str]) -> dict[str, Completion]:
    return dict(pair for portion in writer.generate(prompts) for pair in portion)


PROMPTS = [
    "tell me",
    "of a whale",
    "ünïcode 鯨 \U0001f433",
    'quotes " and\nlines',
    " spaces  kept ",
]


# -- requests ---------------------------------------------------------------------------------


def test_what_is_sent(stub: Stub, endpoint: Endpoint) -> None:
    how = replace(endpoint, system="Be brief.", temperature=0.7, max_tokens=50, seed=11)
    written(how, ["tell me"])
    assert stub.bodies == [
        {
            "model": "gpt-test", "n": 1, "temperature": 0.7, "max_tokens": 50, "seed": 11,
            "messages": [
                {"role": "system", "content": "Be brief."}, {"role": "user", "content": "tell me"},
            ],
        }
    ]  # fmt: skip


def test_what_is_none_is_not_sent(stub: Stub, endpoint: Endpoint) -> None:
    written(replace(endpoint, temperature=None, max_tokens=None, seed=None), ["tell me"])
    assert stub.bodies == [
        {"model": "gpt-test", "n": 1, "messages": [{"role": "user", "content": "tell me"}]}
    ]


@pytest.mark.parametrize("parallel", [1, 3])
def test_several_requests_are_under_way_and_no_more(
    stub: Stub, endpoint: Endpoint, parallel: int
) -> None:
    together = threading.Barrier(parallel)

    def wait_for_others(handler: Handler) -> None:
        together.wait(PATIENCE)
        handler.write_out()

    stub.always = wait_for_others
    found = written(replace(endpoint, parallel=parallel), [f"p{i}" for i in range(3 * parallel)])
    assert len(found) == 3 * parallel
    assert stub.most == parallel


# -- faults that pass -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        status(429, "requests"), status(429, "requests", Retry_After="0"), status(500), status(502),
        status(503, Retry_After="0.01"), status(529), status(408), reset, truncated, silent,
        lambda handler: handler.send(503, b"<html>upstream</html>"),
    ],
)  # fmt: skip
def test_what_passes_is_waited_out(stub: Stub, endpoint: Endpoint, fault: Reply) -> None:
    stub.faults = {0: fault, 1: fault, 3: fault}
    found = written(replace(endpoint, parallel=1), PROMPTS)
    assert {prompt: answer.text for prompt, answer in found.items()} == {
        prompt: answer_to(prompt) for prompt in PROMPTS
    }
    assert len(stub.bodies) == len(PROMPTS) + 3


def pauses(stub: Stub, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long it waits between attempts, without waiting."""
    waited: list[float] = []

    class Clock(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            if timeout is not None:
                waited.append(timeout)
            return False

    # Only the client's own event: the pool has others.
    monkeypatch.setattr("irtoolkit.models.llm.chat_client.Event", Clock)
    with pytest.raises(InputError, match="failed"):
        written(endpoint, ["tell me"])
    return waited


def test_pauses_grow_and_end(
    stub: Stub, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.always = status(500)
    found = pauses(stub, replace(endpoint, pause=2.0, attempts=9), monkeypatch)
    assert len(found) == 8
    for pause, longest in zip(found, [2, 4, 8, 16, 32, 60, 60, 60], strict=True):
        assert longest / 2 <= pause <= longest
    assert len(stub.bodies) == 9


def test_a_server_says_how_long_to_wait(
    stub: Stub, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.always = status(429, "requests", Retry_After="17")
    stub.faults[1] = status(429, "requests", Retry_After=formatdate(time.time() + 100, usegmt=True))
    found = pauses(stub, replace(endpoint, attempts=4), monkeypatch)
    assert (found[0], found[2]) == (17, 17)
    assert 80 < found[1] < 101


@pytest.mark.parametrize("value", ["soon", "", "-3", "nan", "inf", "1e400", "Mon, 99 Foo 1"])
def test_nonsense_of_how_long_to_wait_is_ignored(value: str) -> None:
    assert _retry_after(value) is None


# -- faults that stay -------------------------------------------------------------------------


def test_a_wrong_key_is_told_without_it(
    stub: Stub, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-secret")
    with pytest.raises(InputError) as caught:
        written(endpoint, ["tell me"])
    said = str(caught.value)
    assert "does not take the API key: Incorrect API key provided: [API key]." in said
    assert "OPENAI_API_KEY" in said
    assert "secret" not in said
    assert stub.bodies == []


def test_a_server_here_may_want_a_key_all_the_same(
    stub: Stub, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert endpoint.missing() is None
    with pytest.raises(InputError, match=r"wants an API key.*OPENAI_API_KEY"):
        written(endpoint, ["tell me"])


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_nobody_is_followed_elsewhere(stub: Stub, endpoint: Endpoint, code: int) -> None:
    """The key is for the endpoint that was named."""
    stub.always = lambda handler: handler.send(code, b"", Location=f"{stub.url}/else")
    with pytest.raises(InputError, match=r"has moved to .*/v1/else.*as endpoint"):
        written(endpoint, ["tell me"])
    assert len(stub.bodies) == 1


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (b"<html>hello</html>", "what is no JSON: '<html>hello</html>'"),
        (b"[]", "without choices"),
        ({"choices": [{"text": "an older protocol"}]}, "without choices"),
        ({"error": {"message": "in success"}}, "answers with an error: in success"),
        ({"error": {"code": 402, "message": "pay"}}, "status 402: pay"),
        (
            {"error": {"code": 429, "type": "insufficient_quota", "message": "pay"}},
            "status 429: pay",
        ),
        (
            {"error": {"code": "context_length_exceeded", "message": "long"}},
            "so long a prompt: long",
        ),
        ({"choices": [{"message": {"content": ["parts"]}}]}, "without choices that have text"),
    ],
)
def test_answers_that_are_none(stub: Stub, endpoint: Endpoint, reply: Any, found: str) -> None:
    stub.always = lambda handler: handler.send(200, reply)
    with pytest.raises(InputError, match=re.escape(found)):
        written(endpoint, ["tell me"])
    assert len(stub.bodies) == 1


def test_an_answer_without_an_end_is_refused(stub: Stub, endpoint: Endpoint) -> None:
    stub.always = lambda handler: handler.send(200, bytes(1 << 16))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("irtoolkit.models.llm.chat_client._MOST_BYTES", 1 << 15)
        with pytest.raises(InputError, match="answers with more than"):
            written(endpoint, ["tell me"])
    assert len(stub.bodies) == 1


def test_nobody_listens(endpoint: Endpoint) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(InputError, match=r"cannot be reached: .*refused"):
        written(replace(endpoint, url=url), ["tell me"])


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"model": " "}, "no language model is named"),
        ({"parallel": 0}, "parallel=0"),
        ({"temperature": float("nan")}, "temperature=nan"),
        ({"url": "localhost:8000/v1"}, "is no address"),
        ({"url": "ftp://localhost/v1"}, "is no address"),
        ({"url": "https://host/v 1"}, "is no address"),
        ({"url": "http://elsewhere.example/v1"}, "unencrypted"),
        ({"url": "http://127.0.0.1.example/v1"}, "unencrypted"),
        ({"url": "https://host/v1?key=secret"}, "only Azure's api-version is sent: remove them"),
        ({"url": "https://me:secret@host/v1"}, "holds a user name: give the key by key_variable"),
        ({"key_variable": "lower_case"}, "not the name of an environment variable"),
        (
            {"key_variable": "NO_SUCH_KEY", "url": "https://elsewhere.example/v1"},
            "set the environment variable NO_SUCH_KEY, or key_variable=none",
        ),
    ],
)
def test_what_cannot_work_is_told_before(
    stub: Stub, endpoint: Endpoint, change: dict[str, Any], found: str
) -> None:
    unfit = replace(endpoint, **change)
    assert endpoint.missing() is None
    assert re.search(found, str(unfit.missing()))
    with pytest.raises(InputError, match=found):
        written(unfit, ["tell me"])
    assert stub.bodies == []


@pytest.mark.parametrize(
    "change",
    [
        {"key_variable": KEY}, {"url": f"https://user:{KEY}@host/v1"},
        {"url": f"https://host/v1?api-key={KEY}"}, {"url": f"https://host:{KEY}/v1"},
    ],
)  # fmt: skip
def test_a_key_in_the_wrong_place_is_not_repeated(
    endpoint: Endpoint, change: dict[str, Any]
) -> None:
    lacking = replace(endpoint, **change).missing()
    assert lacking is not None
    assert KEY not in lacking


def test_a_proxy_is_not_asked_for_what_is_here(
    stub: Stub, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert written(endpoint, ["tell me"])


def test_none_wants_no_key_elsewhere(endpoint: Endpoint) -> None:
    free = replace(endpoint, url="http://elsewhere.example/v1", key_variable=None)
    assert free.missing() is None


def test_one_failure_ends_the_asking_and_loses_no_answer(stub: Stub, endpoint: Endpoint) -> None:
    """Of four requests under way one is refused; the others are awaited, and none is added."""
    together, refused = threading.Barrier(4), threading.Event()

    def late(handler: Handler) -> None:
        together.wait(PATIENCE)
        refused.wait(PATIENCE)
        time.sleep(0.05)
        handler.write_out()

    def bad(handler: Handler) -> None:
        together.wait(PATIENCE)
        handler.refuse(400, "not this one", "invalid_request_error")
        refused.set()

    stub.always, stub.faults = late, {2: bad}
    come: list[str] = []

    def collect() -> None:
        for portion in replace(endpoint, parallel=4).generate([f"p{i}" for i in range(40)]):
            come.extend(prompt for prompt, _ in portion)

    with pytest.raises(InputError, match="not this one"):
        collect()
    assert len(come) == 3
    assert sorted(come) == sorted(stub.answered)
    assert len(stub.bodies) == 4


# -- finishes ---------------------------------------------------------------------------------


def in_success(**answer: Any) -> Reply:
    """An answer with status 200."""
    return lambda handler: handler.send(200, answer)


def ended(finish: str, message: Any, **more: Any) -> dict[str, Any]:
    return {"index": 0, "finish_reason": finish, "message": message, **more}


HALF = {"role": "assistant", "content": "half an ans"}


@pytest.mark.parametrize(
    "fault",
    [
        in_success(error={"code": 429, "message": "slow down"}),
        in_success(error={"type": "rate_limit_error", "message": "slow down"}),
        in_success(object="error", code=500, message="oops"),
        in_success(choices=[ended("error", HALF)]),
        in_success(choices=[ended("stop", HALF, error={"code": 502, "message": "gone"})]),
    ],
)
def test_errors_within_success_that_pass_are_asked_again(
    stub: Stub, endpoint: Endpoint, fault: Reply
) -> None:
    stub.faults = {0: fault, 1: fault}
    assert written(endpoint, ["tell me"])["tell me"].text == answer_to("tell me")
    assert len(stub.bodies) == 3


@pytest.mark.parametrize("path", ["", "/", "/chat/completions"])
def test_an_address_of_azure(stub: Stub, endpoint: Endpoint, path: str) -> None:
    """The version follows the path, and the key goes in Azure's header."""
    url = stub.url.replace("/v1", f"/azure{path}?api-version=2024-10-21")
    azure = replace(endpoint, url=url)
    assert written(azure, ["tell me"])["tell me"].text == answer_to("tell me")
    assert azure.identity()["endpoint"] == stub.url.replace("/v1", "/azure?api-version=2024-10-21")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (lambda h: h.write_out("so", "content_filter"), ("so", "content_filter")),
        (lambda h: h.write_out("", refusal="I cannot"), ("", "content_filter")),
        (lambda h: h.write_out("x", content=None), ("", "stop")),
        (lambda h: h.refuse(400, "filtered", "x", "content_filter"), ("", "content_filter")),
        (lambda h: h.send(200, {"choices": [{"message": {"content": "bare"}}]}), ("bare", "stop")),
        (lambda h: h.send(200, {"choices": []}), ("", "content_filter")),
        (in_success(error={"code": "content_filter", "message": "no"}), ("", "content_filter")),
        (in_success(choices=[{"message": None}]), ("", "content_filter")),
        (in_success(choices=[ended("content_filter", None)]), ("", "content_filter")),
        (in_success(choices=[ended("length", None)]), ("", "length")),
        (lambda h: h.write_out("so", "SAFETY"), ("so", "content_filter")),
        (lambda h: h.write_out("so", "eos"), ("so", "eos")),
    ],
)
def test_how_an_answer_ends(stub: Stub, endpoint: Endpoint, reply: Reply, expected: Any) -> None:
    stub.always = reply
    assert written(endpoint, ["tell me"])["tell me"][:2] == expected


# -- local models -----------------------------------------------------------------------------

WORDS = sorted({word for text in DOCS.values() for word in text.split()})
SPECIAL = ["<pad>", "</s>", "<unk>", "[CLS]", "[SEP]"]
LONGEST = 64
CHAT = "{% for m in messages %}{{ m.role }} {{ m.content }} rat {% endfor %}the"
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}a"


def tokenizer(kind: str) -> Any:
    words = [*SPECIAL, *WORDS, "user", "system", *"abcdefghijklmnopqrstuvwxyz"]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys(words))}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = {"gpt": "[CLS] $A", "t5": "$A </s>", "bert": "[CLS] $A [SEP]"}[kind]
    made.post_processor = processors.TemplateProcessing(
        single=ends,
        special_tokens=[(name, SPECIAL.index(name)) for name in ("</s>", "[CLS]", "[SEP]")],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token=None if kind == "gpt" else "<pad>", eos_token="</s>",
        unk_token="<unk>", cls_token="[CLS]", sep_token="[SEP]", model_max_length=LONGEST,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Decoders with and without a chat template, a T5, and an encoder."""
    root = tmp_path_factory.mktemp("models")
    found = {name: root / name for name in ("gpt", "chat", "plain", "t5", "bert", "encoder")}
    torch.manual_seed(1)
    words = tokenizer("gpt")
    gpt = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=len(words), n_positions=LONGEST, n_embd=32, n_layer=2, n_head=2,
            initializer_range=0.6, bos_token_id=3, eos_token_id=1,
        )
    )  # fmt: skip
    for name, template in (("gpt", None), ("chat", CHAT), ("plain", NO_SYSTEM)):
        gpt.eval().save_pretrained(found[name])
        words.chat_template = template
        words.save_pretrained(found[name])
    pieces = tokenizer("t5")
    t5 = transformers.T5ForConditionalGeneration(
        transformers.T5Config(
            vocab_size=len(pieces), d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2,
            decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, initializer_factor=3.0,
        )
    )  # fmt: skip
    t5.eval().save_pretrained(found["t5"])
    pieces.save_pretrained(found["t5"])
    parts = tokenizer("bert")
    bert = transformers.BertModel(
        transformers.BertConfig(
            vocab_size=len(parts), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=64, max_position_embeddings=LONGEST, initializer_range=1.0,
        )
    )  # fmt: skip
    bert.eval().save_pretrained(found["bert"])
    parts.save_pretrained(found["bert"])
    modules = [Transformer(str(found["bert"])), Pooling(32, pooling_mode="mean")]
    SentenceTransformer(modules=modules, device="cpu").save(str(found["encoder"]))
    return found


def local(folder: Path, **how: Any) -> LocalGenerator:
    return LocalGenerator(str(folder), **{"max_tokens": 9, "device": "cpu", **how})


ASK = ["the cat", "a dog ran and ran home", "sea", "nobody saw the rat with them", "go home sun"]


def by_transformers(folder: Path, text: str, chat: bool = False, **how: Any) -> str:
    """What transformers itself writes for one text, which needs no padding."""
    words = transformers.AutoTokenizer.from_pretrained(folder)
    decoder = "t5" not in folder.name
    kind = "AutoModelForCausalLM" if decoder else "AutoModelForSeq2SeqLM"
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    ids = words(text, return_tensors="pt", add_special_tokens=not chat).input_ids
    how = {"do_sample": False, "max_new_tokens": 9, "pad_token_id": 0, **how}
    with torch.inference_mode():
        made = model.generate(ids, **how)[0]
    new = made[ids.shape[1] :] if decoder else made[1:]
    return str(words.decode(new, skip_special_tokens=True))


@pytest.mark.parametrize("kind", ["gpt", "t5"])
@pytest.mark.parametrize("parallel", [1, 2, 8])
def test_greedy_text_is_transformers_own(
    folders: dict[str, Path], kind: str, parallel: int
) -> None:
    found = written(local(folders[kind], parallel=parallel), ASK)
    expected = {text: by_transformers(folders[kind], text) for text in ASK}
    assert {text: answer.text for text, answer in found.items()} == expected
    assert len(set(expected.values())) > 2


def test_a_chat_template_is_used_where_there_is_one(folders: dict[str, Path]) -> None:
    for system, before in ((None, ""), ("sun", "system sun rat ")):
        found = written(local(folders["chat"], system=system), ASK)
        for text, answer in found.items():
            whole = f"{before}user {text} rat the"
            assert answer.text == by_transformers(folders["chat"], whole, chat=True)


def test_a_template_may_take_no_system_message(folders: dict[str, Path]) -> None:
    assert written(local(folders["plain"]), ASK[:1])
    with pytest.raises(InputError, match=r"chat template of .* fails: no system .*put it into"):
        written(local(folders["plain"], system="x"), ASK[:1])


@pytest.mark.parametrize("kind", ["gpt", "t5"])
def test_a_text_that_ends_is_told_from_one_that_was_cut(
    folders: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    folder = tmp_path / kind
    shutil.copytree(folders[kind], folder)
    words = transformers.AutoTokenizer.from_pretrained(folder)
    plain = {text: by_transformers(folder, text).split() for text in ASK}
    # A word that some answers have and others have not takes the end's part.
    everywhere = [word for text in plain.values() for word in set(text)]
    end = next(word for word in everywhere if 0 < everywhere.count(word) < len(ASK))
    config = json.loads((folder / "generation_config.json").read_text())
    config["eos_token_id"] = [1, words.convert_tokens_to_ids(end)]
    (folder / "generation_config.json").write_text(json.dumps(config))
    found = written(local(folder), ASK)
    assert {answer.finish for answer in found.values()} == {"stop", "length"}
    for text, answer in found.items():
        assert (answer.finish == "stop") == (end in plain[text])
        if answer.finish == "length":
            assert answer.text.split() == plain[text]


def test_a_prompt_that_does_not_fit_is_refused(folders: dict[str, Path]) -> None:
    long = " ".join(["cat"] * (LONGEST - 1 - 9))
    assert written(local(folders["gpt"]), [long])
    with pytest.raises(InputError, match="56 tokens and max_tokens=9 "):
        written(local(folders["gpt"]), [f"{long} cat"])
    assert written(local(folders["t5"]), [f"{long} {long}"]), "a T5 has no such limit"


def test_a_local_model_that_is_not_here(folders: dict[str, Path]) -> None:
    lacking = LocalGenerator("no/such-model").missing()
    assert lacking is not None
    assert "no/such-model are not here" in lacking
    assert "llm=PATH" in lacking
    with pytest.raises(InputError, match="are not here"):
        written(LocalGenerator("no/such-model"), ["x"])
    assert "max_tokens" in str(local(folders["gpt"], max_tokens=None).missing())


def test_a_model_that_does_not_write_is_none(folders: dict[str, Path]) -> None:
    """transformers would give it a head that was never trained."""
    with pytest.raises(InputError, match="has no weights for"):
        written(local(folders["bert"]), ["x"])


# -- the retriever ----------------------------------------------------------------------------


@pytest.fixture
def retriever(stub: Stub, folders: dict[str, Path]) -> GeneratedQuery:
    return GeneratedQuery(
        model=str(folders["encoder"]), device="cpu", llm="gpt-test", endpoint=stub.url,
        prompt="On {query} in {book}:",
    )  # fmt: skip


PROMPTED = [f"On {query.text} in {query.book}:" for query in ASKED]


def ranking(dataset_id: str, retriever: Any, **views: str) -> dict[str, dict[str, float]]:
    return rank(load_task(dataset_id, **views), retriever, progress=False).as_dict()


@pytest.mark.parametrize("mode", ["replace", "append"])
def test_the_ranking_is_that_of_what_was_written(
    retriever: GeneratedQuery, folders: dict[str, Path], mode: Any
) -> None:
    found = ranking(register(DOCS, ASKED), replace(retriever, mode=mode))
    before = {"replace": "", "append": "{} "}[mode]
    texts = [
        query._replace(text=before.format(query.text) + answer_to(prompt))
        for query, prompt in zip(ASKED, PROMPTED, strict=True)
    ]
    plain = Dense(model=str(folders["encoder"]), device="cpu")
    expected = ranking(register(DOCS, texts), plain)
    assert list(found) == list(expected)
    for query, row in found.items():
        assert list(row) == list(expected[query])
        assert row == pytest.approx(expected[query])
    assert found != ranking(register(DOCS, ASKED), plain)


@pytest.mark.parametrize(
    "change",
    [
        {"llm": "gpt-test-0613"}, {"prompt": "Of {query} in {book}:"}, {"system": "Be brief."},
        {"temperature": 0.5}, {"temperature": None}, {"max_tokens": 100}, {"max_tokens": None},
        {"seed": 1}, {"seed": None},
    ],
)  # fmt: skip
def test_what_decides_an_answer_asks_again(
    stub: Stub, retriever: GeneratedQuery, change: dict[str, Any]
) -> None:
    retriever.asked(task())
    before = len(stub.prompts)
    replace(retriever, **change).asked(task())
    assert len(stub.prompts) == 2 * before


def test_after_a_failure_only_the_rest_is_asked(
    stub: Stub, retriever: GeneratedQuery, cache: Path
) -> None:
    queries = [Query(f"q{i}", f"text {i}", "emma", ()) for i in range(12)]
    stub.faults = dict.fromkeys(range(7, 99), status(402, "billing"))
    with pytest.raises(InputError, match="status 402: come back"):
        replace(retriever, parallel=3).asked(task(queries))
    assert len(kept(cache)) == len(stub.answered) == 7
    assert len(stub.bodies) <= 7 + 3, "nothing waits its turn to be asked in vain"
    paid, stub.faults = list(stub.answered), {}
    found = replace(retriever, parallel=3).asked(task(queries))
    assert sorted(stub.answered) == sorted(f"On text {i} in emma:" for i in range(12))
    assert len(set(paid)) == 7
    assert found == [(answer_to(f"On text {i} in emma:"),) for i in range(12)]


def test_no_file_and_no_record_holds_the_key(
    retriever: GeneratedQuery, cache: Path, tmp_path: Path
) -> None:
    dataset_id = register(DOCS, ASKED)
    ranking(dataset_id, retriever)
    system = System("x", retriever)
    recorded = json.dumps(made_of(system, system.load(dataset_id)), default=str)
    assert KEY not in recorded
    assert kept(cache)
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()


def test_cut_answers_are_kept_and_counted(
    stub: Stub, retriever: GeneratedQuery, caplog: pytest.LogCaptureFixture
) -> None:
    short = replace(retriever, max_tokens=2)
    for _ in range(2):
        assert short.asked(task()) == [("sea home",)] * 4
        assert "gpt-test: 4 of 4 answers were cut at max_tokens=2" in caplog.text
        caplog.clear()
    retriever.asked(task())
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("reply", "finish"),
    [
        (lambda h: h.write_out("half", "content_filter"), "content_filter"),
        (lambda h: h.write_out("", "length"), "length"),
        (lambda h: h.write_out(" \n"), "stop"),
    ],
)
def test_queries_without_an_answer_are_named_after_all_were_asked(
    stub: Stub, retriever: GeneratedQuery, caplog: pytest.LogCaptureFixture, reply: Reply,
    finish: str,
) -> None:  # fmt: skip
    stub.always = lambda h: reply(h) if "cat" in h.prompt else h.write_out()
    for _ in range(2):
        with pytest.raises(InputError) as caught:
            retriever.asked(task())
        assert f"for 2 of 4 queries: q1 ({finish}), q4 ({finish}) (" in str(caught.value)
        assert len(stub.prompts) == 4, "withheld once is withheld: asking again costs again"
    found = replace(retriever, unanswered="query", mode="append").asked(task())
    assert len(stub.prompts) == 4
    assert found[0] == found[3] == ("cat mat",)
    assert found[1] == ("dog ran home", answer_to(PROMPTED[1]))
    assert "2 of 4 queries have no answer and stand as they are" in caplog.text


# -- prompts ----------------------------------------------------------------------------------


def prompts(template: str, **views: str) -> list[str]:
    return GeneratedQuery(prompt=template).prompts(task(**views))


@pytest.mark.parametrize(
    ("template", "views", "expected"),
    [
        ("{query}", {}, "sea sun {rat}"),
        ("In {book}: {query}. Again {query}", {}, "In moby_dick: sea sun {rat}. Again sea sun {rat}"),
        ('{{"book": "{book}"}}', {}, '{"book": "moby_dick"}'),
        ("{query}/{default}", {"query": "book"}, "moby_dick/sea sun {rat}"),
        ("{book+text}", {}, "moby_dick sea sun {rat}"),
        ("{masked}", {}, "[MASK] sea sun {rat}"),
        ("{masked:<extra_id_0>}", {}, "<extra_id_0> sea sun {rat}"),
    ],
)  # fmt: skip
def test_templates(template: str, views: dict[str, str], expected: str) -> None:
    assert prompts(template, **views)[2] == expected


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("{title}: {query}", r"{title}: Query has no text field 'title' \(fields are book, parts, "),
        ("{book.upper}", "no text field 'book.upper'"),
        ("{}", "braces without a field"),
        ("query}", "cannot be read: Single '}'"),
        ("{{query}}", "the same for every query"),
        ("{parts}", "query q2 makes an empty prompt"),
    ],
)  # fmt: skip
def test_templates_that_cannot_be_filled(template: str, found: str) -> None:
    with pytest.raises(InputError, match=found):
        prompts(template)


def test_a_bad_template_costs_nothing(stub: Stub, retriever: GeneratedQuery) -> None:
    with pytest.raises(InputError, match="title"):
        ranking(register(DOCS, ASKED), replace(retriever, prompt="{query} {title}"))
    assert stub.bodies == []


# -- records ----------------------------------------------------------------------------------


def test_a_field_that_only_the_prompt_has_makes_another_run(retriever: GeneratedQuery) -> None:
    """The task's own fingerprint is of its view."""
    dataset_id = register(DOCS, ASKED)
    other = [query._replace(book="other") for query in ASKED]
    with pytest.MonkeyPatch.context() as patch:
        system = System("x", retriever)
        first = made_of(system, system.load(dataset_id))
        patch.setattr(Queries, "queries_iter", lambda self: iter(other))
        second = made_of(system, system.load(dataset_id))
    assert first["data"] == second["data"]
    assert first["training"] != second["training"]


@pytest.mark.parametrize("key", ["two words", "line\nline", "schlüssel"])
def test_a_key_that_no_header_holds(
    endpoint: Endpoint, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    lacking = endpoint.missing()
    assert lacking is not None
    assert "holds no API key" in lacking
    assert key not in lacking
