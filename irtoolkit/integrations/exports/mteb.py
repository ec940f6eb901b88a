"""MTEB's form: Parquet files and a card, with the configurations that its retrieval tasks load.

They are corpus, queries, default (the judgments) and top_ranked (the candidates of each query).
"""

from __future__ import annotations

from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.integrations.exports.card import write_card
from irtoolkit.integrations.exports.hf import write_parts
from irtoolkit.integrations.exports.licences import Licence
from irtoolkit.integrations.exports.source import Source

HELP = "Parquet with ids and texts, as MTEB's tasks load it"
USAGE = """```python
import mteb
from irtoolkit.integrations.mteb import task

mteb.evaluate(mteb.get_model("sentence-transformers/all-MiniLM-L6-v2"), task("."))
```

MTEB ranks the candidates of each query where there is `top_ranked`, else the whole corpus. Or load
one part:

```python
from datasets import load_dataset

corpus = load_dataset(".", "corpus", split="{split}")
```"""


def write(source: Source, folder: Path, licence: Licence) -> None:
    """Writes the folder.

    Raises:
        InputError: the dataset has no judgments, without which MTEB loads no task.
    """
    if not source.has("qrels"):
        raise InputError(
            f"dataset {source.dataset.id} has no qrels, and MTEB loads no task without them",
            remedy="export it as beir, hf, pyserini or tira",
        )
    parts = write_parts(source, folder, {}, {})
    write_card(folder, source, licence, "mteb", parts, USAGE.format(split=source.split))
