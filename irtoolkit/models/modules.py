"""Modules of sentence-transformers for QuoteR's encoders and baselines (Qi et al. 2022).

irtoolkit loads models with them anywhere; plain sentence-transformers does so with
`SentenceTransformer(folder, trust_remote_code=True)`, because they are not its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from sentence_transformers.base.modules import Module, Transformer
from torch import Tensor

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text, read_lines
from irtoolkit.models.quote_words import QuoteWords
from irtoolkit.models.sememe_words import Lookup, words_of_tokens
from irtoolkit.models.transform import ContextTransformer, QuoteTransformer
from irtoolkit.models.word_vectors import WordVectors

_LEXICON, _VECTORS = "sememes.tsv", "sememes.safetensors"


class MaskPooling(Module):  # type: ignore[misc]
    """The vector at the first mask token, or at the first token of a text without (QuoteR eq. 3).

    Args:
        embedding_dimension: of the token vectors.
        mask_token_id: of the tokenizer's mask token.
    """

    config_keys = ["embedding_dimension", "mask_token_id"]  # noqa: RUF012 as in the library

    def __init__(self, embedding_dimension: int, mask_token_id: int) -> None:
        super().__init__()
        self.embedding_dimension, self.mask_token_id = embedding_dimension, mask_token_id

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        if "cu_seq_lens_q" in features:  # texts end to end, for flash attention
            from sentence_transformers.util.tensor import repad_flattened_features

            features = repad_flattened_features(features)
        masked = features["input_ids"] == self.mask_token_id
        # Padding may stand first.
        first = features["attention_mask"].int().argmax(dim=1)
        places = torch.where(masked.any(dim=1), masked.int().argmax(dim=1), first)
        tokens = features["token_embeddings"]
        features["sentence_embedding"] = tokens[
            torch.arange(len(tokens), device=tokens.device), places
        ]
        return features

    def get_embedding_dimension(self) -> int:
        return self.embedding_dimension

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        self.save_config(output_path)


@dataclass(frozen=True)
class Lexicon:
    """Words and their sememes.

    Attributes:
        words: each word, in lower case, to the numbers of its sememes.
        sememes: their names, in the order in which the words have them.
    """

    words: dict[str, tuple[int, ...]]
    sememes: tuple[str, ...]

    def number(self) -> dict[str, int]:
        """Returns each word's number, from 1."""
        return {word: i for i, word in enumerate(self.words, 1)}


def read_lexicon(path: StrPath) -> Lexicon:
    """Returns a file of lines `word<TAB>sememe sememe ...`, UTF-8, plain or .gz.

    A word of several lines (a line for each of its senses, say) has the sememes of all of them,
    each once. Words are compared in lower case.

    Raises:
        InputError: a line is invalid, or the file has no word.
    """
    words: dict[str, dict[str, None]] = {}
    for number, line in read_lines(path):
        if not line.strip():
            continue
        word, tab, names = line.partition("\t")
        word = word.strip().lower()
        if not tab or not word or "\t" in names or not names.split():
            raise InputError(
                "not a word, a tab and its sememes",
                file=path,
                line=number,
                remedy="word<TAB>sememe sememe ...",
            )
        words.setdefault(word, {}).update(dict.fromkeys(names.split()))
    if not words:
        raise InputError("a lexicon without a word", file=path)
    # Numbered when all is read, so that what is written again has the same numbers.
    sememes: dict[str, int] = {}
    numbered = {
        word: tuple(sememes.setdefault(name, len(sememes)) for name in own)
        for word, own in words.items()
    }
    return Lexicon(numbered, tuple(sememes))


def write_lexicon(path: StrPath, lexicon: Lexicon) -> None:
    """Writes a lexicon for `read_lexicon`, with the words and sememes in the same order."""
    with atomic_text(path) as out:
        for word, own in lexicon.words.items():
            out.write(f"{word}\t{' '.join(lexicon.sememes[i] for i in own)}\n")


class SememeTransformer(Transformer):  # type: ignore[misc]
    """A transformer that adds the mean of a word's sememes to the embeddings of its tokens.

    With S(w) the sememes of a word w, the input embedding x of each of its tokens becomes x + alpha
    / |S(w)| * (the sum of the embeddings of S(w)) (QuoteR §5.3, eq. 6). The embeddings of sememes
    are drawn from a normal distribution with the deviation of the transformer's own initialisation,
    and are trained.

    With lookup="longest", words are the longest sequences of the pre-tokenizer's words that the
    lexicon has, found from left to right. BERT's splits English at spaces and punctuation, and
    Chinese into characters, so that Chinese words are found by longest match over the text.
    QuoteR's released code takes the words of NLTK's tokenizer in English ("nltk"), and in Chinese
    each token of the vocabulary ("tokens"). Words are compared in lower case; a prompt is part of
    the text.

    Args:
        model_name_or_path: see sentence-transformers' Transformer.
        lexicon: words and their sememes.
        alpha: weight of the sememes.
        lookup: which words have sememes, see `irtoolkit.models.sememe_words`.
    """

    config_keys = [*Transformer.config_keys, "alpha", "lookup"]  # noqa: RUF012 as in the library

    def __init__(
        self,
        model_name_or_path: str,
        *,
        lexicon: Lexicon,
        alpha: float = 1.0,
        lookup: Lookup = "longest",
        **how: Any,
    ) -> None:
        super().__init__(model_name_or_path, **how)
        self._take(lexicon, alpha, lookup)

    @classmethod
    def of(
        cls, transformer: Any, lexicon: Lexicon, alpha: float, lookup: Lookup = "longest"
    ) -> Any:
        """Adds sememes to a transformer, in place, so that nothing is loaded twice.

        Raises:
            InputError: its tokenizer does not give the offsets of tokens in a text.
        """
        transformer.__class__ = cls
        transformer._take(lexicon, alpha, lookup)
        return transformer

    def _take(self, lexicon: Lexicon, alpha: float, lookup: Lookup) -> None:
        if not getattr(self.tokenizer, "is_fast", False):
            raise InputError(
                "sememes need a tokenizer that tells where its tokens stand in a text",
                remedy="a model with a tokenizer.json",
            )
        self.lexicon, self.alpha, self.lookup = lexicon, alpha, lookup
        self._numbers = lexicon.number()
        self._longest = max(map(len, lexicon.words))
        width = self.model.get_input_embeddings().embedding_dim
        self.sememes = torch.nn.Embedding(len(lexicon.sememes), width)
        deviation = getattr(self.config, "initializer_range", None) or 0.02
        torch.nn.init.normal_(self.sememes.weight, std=deviation)
        # Of word i, which counts from 1, the sememes are those from begins[i - 1] to begins[i].
        sizes = torch.tensor([0, *map(len, lexicon.words.values())])
        members = [sememe for own in lexicon.words.values() for sememe in own]
        self.register_buffer("_begins", sizes.cumsum(0), persistent=False)
        self.register_buffer("_members", torch.tensor(members), persistent=False)

    # -- words --------------------------------------------------------------------------------

    def preprocess(
        self, inputs: Sequence[Any], prompt: str | None = None, **how: Any
    ) -> dict[str, Any]:
        """Returns the transformer's inputs, and `sememe_words`: (n, t) each token's word, or 0."""
        features: dict[str, Any] = super().preprocess(inputs, prompt=prompt, **how)
        if not inputs:
            return features
        found = torch.zeros_like(features["input_ids"])
        for row, text in enumerate(inputs):
            coded = features.encodings[row]  # type: ignore[attr-defined]
            whole = (prompt or "") + str(text)
            words = words_of_tokens(self.lookup, whole, coded, self._numbers, self._longest)
            found[row] = torch.tensor(words)
        features["sememe_words"] = found
        return features

    def _should_flatten_inputs(self, *_: Any, **__: Any) -> bool:
        """Returns False: concatenated texts would lose their words."""
        return False

    # -- embeddings ---------------------------------------------------------------------------

    def forward(self, features: dict[str, Any], **how: Any) -> dict[str, Any]:
        ids, words = features["input_ids"], features["sememe_words"]
        embedded = self.model.get_input_embeddings()(ids)
        rest = {k: v for k, v in features.items() if k not in ("input_ids", "sememe_words")}
        rest["inputs_embeds"] = embedded + self._added(words).to(embedded.dtype)
        made: dict[str, Any] = super().forward(rest, **how)
        del made["inputs_embeds"]
        features.update(made)
        return features

    def _added(self, words: Tensor) -> Tensor:
        """Returns (n, t, d) the mean sememe embeddings added to those of tokens."""
        distinct, which = torch.unique(words, return_inverse=True)
        begins = self._begins[(distinct - 1).clamp(min=0)]
        sizes = torch.where(distinct > 0, self._begins[distinct] - begins, 0)
        # The places in `_members` of all these words' sememes, end to end.
        ends = sizes.cumsum(0)
        within = torch.arange(int(ends[-1]), device=words.device) - (
            ends - sizes
        ).repeat_interleave(sizes)
        members = self._members[begins.repeat_interleave(sizes) + within]
        means = torch.nn.functional.embedding_bag(
            members, self.sememes.weight.float(), ends - sizes, mode="mean"
        )
        return self.alpha * means[which]

    # -- files --------------------------------------------------------------------------------

    def save(self, output_path: str, *_: Any, **how: Any) -> None:
        from safetensors.torch import save_file

        super().save(output_path, **how)
        write_lexicon(Path(output_path) / _LEXICON, self.lexicon)
        weight = self.sememes.weight.detach().cpu().contiguous()
        save_file({"weight": weight}, str(Path(output_path) / _VECTORS))

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **how: Any) -> Any:
        from safetensors.torch import load_file

        settings = cls._load_init_kwargs(model_name_or_path, subfolder=subfolder, **how)
        where = {
            key: how[key]
            for key in ("token", "cache_folder", "revision", "local_files_only")
            if key in how
        }
        files = [
            cls.load_file_path(model_name_or_path, name, subfolder=subfolder, **where)
            for name in (_LEXICON, _VECTORS)
        ]
        if None in files:
            raise InputError(f"no {_LEXICON} and {_VECTORS} in {model_name_or_path}")
        made = cls(model_name_or_path, lexicon=read_lexicon(files[0]), **settings)
        with torch.no_grad():
            made.sememes.weight.copy_(load_file(files[1])["weight"])
        return made


MODULES = (
    WordVectors,
    QuoteWords,
    MaskPooling,
    SememeTransformer,
    ContextTransformer,
    QuoteTransformer,
)
