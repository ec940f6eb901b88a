"""SIM (Wieting et al. 2019): a text is the mean of its subwords' vectors.

The authors' archive (https://www.cs.cmu.edu/~jwieting/beyond_bleu.zip, its folder sim) has two
files, which are read as they are: `sim.pt`, a PyTorch checkpoint with the vectors and the subword
of each, and `sim.sp.30k.model`, a SentencePiece model.

Subwords are found as the authors do and RELiC's code after them: the text in lower case, NLTK's
Treebank tokens joined by spaces, and the SentencePiece pieces of that, in lower case once more. A
piece without a vector is skipped, and so is the piece with number 0, which the authors' code takes
for one without. A text with no piece left is the vector of UUUNKKK.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError, check_installed
from irtoolkit.base.files import StrPath
from irtoolkit.base.plurals import number_of
from irtoolkit.base.reasons import reason_of
from irtoolkit.models.foreign import read_torch

WEIGHTS, PIECES = "sim.pt", "sim.sp.30k.model"
URL = "https://www.cs.cmu.edu/~jwieting/beyond_bleu.zip"
# Stands for a text that no piece is known of.
UNKNOWN = "UUUNKKK"
# The one tensor of the authors' model.
TENSOR = "embedding.weight"

_AGAIN = f"fetch {URL} again, and give its folder sim as it is"


@dataclass(frozen=True, eq=False)
class Sim:
    """A loaded model.

    Attributes:
        weights: (pieces, dimensions) float32 vectors; 300 dimensions in the published one.
        vocabulary: piece to its row.
    """

    weights: NDArray[np.float32]
    vocabulary: Mapping[str, int]
    _pieces: Any
    _words: Any

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns the rows whose mean is each text's vector; at least one."""
        joined = [" ".join(self._words.tokenize(text.lower())) for text in texts]
        return [self._rows(pieces) for pieces in self._pieces.encode(joined, out_type=str)]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(texts, dimensions) float32 vectors, to be compared by their cosine."""
        vectors = np.empty((len(texts), self.weights.shape[1]), np.float32)
        for i, rows in enumerate(self.tokenize(texts)):
            vectors[i] = self.weights[rows].mean(axis=0)
        return vectors

    def _rows(self, pieces: list[str]) -> list[int]:
        numbers = [self.vocabulary.get(piece, 0) for piece in " ".join(pieces).lower().split()]
        return [row for row in numbers if row != 0] or [self.vocabulary[UNKNOWN]]


def load_sim(folder: StrPath) -> Sim:
    """Loads the two files of the authors' archive. Nothing that they contain is run.

    Raises:
        InputError: a file is missing or damaged, is another model's, or a library is not here.
    """
    for module in ("torch", "sentencepiece"):
        check_installed(module, "neural")
    from nltk.tokenize import TreebankWordTokenizer

    for name in (WEIGHTS, PIECES):
        if not (Path(folder) / name).is_file():
            raise InputError(
                f"no {name}, so there is no SIM model",
                file=Path(folder),
                remedy=f"it is in the folder sim of {URL}",
            )
    weights, vocabulary = _read_weights(Path(folder) / WEIGHTS)
    pieces = _read_pieces(Path(folder) / PIECES, vocabulary)
    return Sim(weights, vocabulary, pieces, TreebankWordTokenizer())


def _read_weights(path: Path) -> tuple[NDArray[np.float32], dict[str, int]]:
    """Returns the vectors, and the row of each piece."""
    # The checkpoint also holds the options of its training, which are not used.
    content = read_torch(path)
    problem = _problem(content)
    if problem is not None:
        raise InputError(problem, file=path, remedy=_AGAIN)
    weights = content["state_dict"][TENSOR].detach().float().numpy()
    if not np.isfinite(weights).all():
        raise InputError("vectors with numbers that are not finite", file=path, remedy=_AGAIN)
    return weights, dict(content["vocab_words"])


def _problem(content: Any) -> str | None:
    import torch

    if not isinstance(content, dict) or not {"state_dict", "vocab_words"} <= content.keys():
        return "not a SIM model: it has no state_dict and vocab_words"
    state, vocabulary = content["state_dict"], content["vocab_words"]
    if not isinstance(state, dict) or list(state) != [TENSOR]:
        return f"not a SIM model: its weights are not {TENSOR} and no other"
    weights = state[TENSOR]
    if (
        not isinstance(weights, torch.Tensor)
        or weights.ndim != 2
        or not weights.is_floating_point()
    ):
        return f"not a SIM model: {TENSOR} is no table of vectors"
    if not isinstance(vocabulary, dict) or not all(
        isinstance(piece, str) and type(row) is int for piece, row in vocabulary.items()
    ):
        return "not a SIM model: vocab_words does not number pieces"
    if UNKNOWN not in vocabulary:
        return f"not a SIM model: it has no vector for {UNKNOWN}"
    if sorted(vocabulary.values()) != list(range(len(weights))):
        return f"{number_of(len(vocabulary), 'pieces')} and {number_of(len(weights), 'vectors')} do not match"
    return None


def _read_pieces(path: Path, vocabulary: Mapping[str, int]) -> Any:
    import sentencepiece

    data, reason = path.read_bytes(), "it is empty"
    pieces = None
    if data:  # of nothing the library makes a model that knows nothing
        try:
            pieces = sentencepiece.SentencePieceProcessor(model_proto=data)
        except (RuntimeError, OSError, ValueError) as error:
            reason = reason_of(error)
    if pieces is None:
        raise InputError(f"not a SentencePiece model: {reason}", file=path, remedy=_AGAIN)
    count = sum(pieces.piece_to_id(piece) != pieces.unk_id() for piece in vocabulary)
    if count < len(vocabulary) / 2:
        raise InputError(
            f"it makes {count} of the {len(vocabulary)} pieces that {WEIGHTS} has vectors for",
            file=path,
            remedy=f"it is another model's: {_AGAIN}",
        )
    return pieces
