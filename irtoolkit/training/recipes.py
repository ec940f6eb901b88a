"""Recipes: a model, the data that it is trained on, and the settings of its training."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat

from irtoolkit.base.errors import InputError
from irtoolkit.base.toml_records import Record, record
from irtoolkit.models.sememe_words import Lookup

Pooling = Literal["own", "cls", "mean", "max", "mask"]
Schedule = Literal["linear", "constant", "cosine", "constant_with_warmup"]
Share = Annotated[float, Field(ge=0, lt=1)]
PositiveFinite = Annotated[FiniteFloat, Field(gt=0)]
# A larger number is a slip: no model or data have so many, and it would fill the memory or never end.
Width = Annotated[int, Field(ge=1, le=16_384)]
Length = Annotated[int, Field(ge=1, le=1_000_000)]
Sentences = Annotated[int, Field(le=10_000)]
Rows = Annotated[int, Field(ge=1, le=1_000_000)]


@record
class Stage(Record):
    """A stage of training: its data, its loss and its schedule.

    Attributes:
        source: source of the rows: the judged queries of a "dataset"; "examples" mined from text
            with `irtoolkit extract examples`; "triples" of query, positive and negative in a file;
            or the passages of a dataset's books with their "surroundings".
        dataset: ir_datasets id of the dataset.
        extra: ids of further datasets whose judged queries are trained on too, separated by commas;
            they are never held out and never evaluated on.
        without: file of ids, one on a line, of queries and books that are left out: no query is
            trained on that it names, or that has a relevant document in a book that it names.
        file: path of the file of examples or triples.
        query: view of the queries, see `irtoolkit.retrievers.texts.view`.
        doc: view of the documents, see `irtoolkit.retrievers.texts.view`.
        around: number of sentences on either side of a passage, for surroundings.
        length: number of sentences of a passage, for surroundings.
        pairs: rows of a query: one for each relevant document ("all"), or only "one", for its gold
            document.
        negatives: negatives of a row: "none" of its own, "random" candidates of its query, or hard
            negatives "mined" from the run.
        count: number of negatives of a row.
        run: TREC run file that negatives are mined from.
        depth: number of ranks of each query that negatives are mined from.
        near: least Jaccard similarity, of the words of a document and of a relevant one, at which
            the document is a near duplicate and never a negative; nor is then a passage that shares
            a sentence with a relevant one. None bars only the relevant documents.
        apart: whether rows are in different batches if one's document or mined negative may not be
            a negative of the other; otherwise every other document of a batch is a negative.
        teacher: cross-encoder whose scores are learned.
        grouped: whether all rows of a batch are of one group, for example a book.
        loss: name of the loss, see `irtoolkit.training.losses`.
        scale: factor of the similarities in the softmax, the inverse of its temperature.
        margin: margin of the triplet loss.
        mapping: weight of the squared distance between a mapped query and its document, for models
            that map queries (Wang et al. 2021); None is 0.
        frozen: encoder that is not trained: "none", or that of the "documents".
        batch: number of rows of a step, over all processes.
        chunk: number of rows whose activations are held at once while the gradients of the batch
            are cached; None holds those of the whole batch.
        rate: highest learning rate.
        epochs: number of passes over the rows.
        schedule: schedule of the learning rate.
        warmup: share of the steps in which the learning rate rises.
        decay: weight decay; AdamW without weight decay is Adam.
        clip: largest norm of a gradient; 0 does not clip.
        evaluate: dataset that the model is evaluated on during training; "" evaluates on the rows
            held out.
        measure: measure that selects the best model; None keeps the last model.
        every: number of steps between evaluations; None evaluates after each epoch.
        patience: number of evaluations without a better one after which training stops; None never
            stops early.
        ways: largest number of candidates that each query ranks when the model is evaluated: its
            relevant documents, and others drawn at random; None ranks all.
        held_out: share of the queries that is held out from training, or of the groups if batches
            are grouped; the model is evaluated on them if `evaluate` names no dataset.
    """

    source: Literal["dataset", "examples", "triples", "surroundings"] = "dataset"
    dataset: str = ""
    extra: str | None = None
    without: str | None = None
    file: str = ""
    query: str = "default"
    doc: str = "default"
    around: Sentences = 4
    length: Sentences = 1
    pairs: Literal["all", "one"] = "all"
    negatives: Literal["none", "random", "mined"] = "none"
    count: Annotated[int, Field(le=10_000)] = 0
    run: str | None = None
    depth: Annotated[int, Field(le=10_000_000)] = 100
    near: float | None = None
    apart: bool = False
    teacher: str | None = None
    grouped: bool = False
    loss: str = "in-batch"
    scale: PositiveFinite = 1.0
    margin: FiniteFloat = 1.0
    mapping: float | None = None
    frozen: Literal["none", "documents"] = "none"
    batch: Rows = 32
    chunk: Rows | None = None
    rate: PositiveFinite = 2e-5
    epochs: Annotated[PositiveFinite, Field(le=1_000_000)] = 1.0
    schedule: Schedule = "linear"
    warmup: Share = 0.0
    decay: Annotated[FiniteFloat, Field(ge=0)] = 0.0
    clip: Annotated[FiniteFloat, Field(ge=0)] = 1.0
    evaluate: str = ""
    measure: str | None = None
    every: Annotated[int, Field(ge=1)] | None = None
    patience: Annotated[int, Field(ge=1)] | None = None
    ways: Annotated[int, Field(ge=2)] | None = None
    held_out: Share = 0.0

    @property
    def needs_all_documents(self) -> bool:
        """Whether training needs all candidates, and not only relevant documents and mined ones."""
        return self.negatives == "random" or self.loss in ("all", "every")


@record
class Recipe(Record):
    """A model and how it is trained.

    Attributes:
        name: name of the recipe, that of its file.
        title: description of the model in one line.
        paper: paper that the recipe follows, with the sections.
        note: what a user must know, for example the settings that the paper does not print.
        stages: stages of training, each of which starts from the best model of the one before.
        kind: kind of model: "dense", "late" (late interaction), "sparse" or "cross"
            (cross-encoder).
        start: base model: a preset, a folder or a hub id; without a checkpoint "lstm" is an LSTM
            over the words of the training texts, "nnqr" one with perturbed words and topics and
            authors of documents (Tan et al. 2016), and "transform" the Transformers and the GRU of
            Wang et al. 2021.
        query_start: base model of the query encoder; None is `start`.
        encoders: number of encoders: 1, or 2 if queries have their own.
        pooling: pooling of the token vectors into one; "own" is that of the base model.
        query_pooling: pooling of the query encoder; None is `pooling`.
        similarity: similarity of two vectors; None is that of the base model.
        query_length: number of tokens after which a query is truncated; None is that of the base
            model.
        doc_length: number of tokens after which a document is truncated; None is that of the base
            model.
        join: separator of the segments of a text; "sep" is the separator token of the base model,
            and None is the separator of its preset.
        labels: number of outputs of a cross-encoder.
        sememes: lexicon of sememes that are added to the documents' tokens (QuoteR §5.3).
        alpha: weight of the sememes.
        lookup: units with sememes: the "longest" words of the lexicon in a text, the words of
            "nltk"'s tokenizer, or the "tokens" of the base model's vocabulary.
        words: file of word vectors for "lstm", such as GloVe's; None draws them at random.
        about: file of the topics and authors of documents, for "nnqr": lines of a document's text,
            a tab, its topics separated by semicolons, and perhaps a tab and its author.
        width: size of the state of "lstm" (None is 300), and of "transform" (None is 200).
        precision: precision of training: "fp32", or mixed precision with "bf16" or "fp16"; "auto"
            is fp32 on a CPU, and bf16 on a GPU, or fp16 if it lacks bf16.
        checkpointing: whether activations are computed again instead of stored.
        fsdp: whether several processes share the weights, their gradients and the state of the
            optimizer (torch's fully_shard), so that each holds a part; None is false.
        lora: rank of low-rank adapters (Hu et al. 2022), which are trained in place of the weights
            of the base model, and merged into them when the model is saved; None trains all weights.
        lora_alpha: scale of the adapters, which is divided by their rank; None is twice the rank.
        lora_dropout: share of the adapters' inputs that is dropped; None is 0.
        lora_targets: names of the layers that get adapters, separated by commas; None is all linear
            layers of the transformer.
        quantize: precision in which the base model is held under its adapters: "4bit" (QLoRA,
            Dettmers et al. 2023), on a GPU with bitsandbytes; None is that of `precision`.
        query_map: whether only a linear map of the query vectors is trained, which begins as the
            identity and which weight decay draws there; the base model does not change, and its
            vectors of texts are made once. None is false.
        trust_remote_code: whether code that comes with the base model or a teacher may run; the trained model then
            has it too. None is false, and such a model is refused.
        seed: seed of all random numbers.
        variables: values of the recipe's variables, as chosen with --set.
    """

    name: str = ""
    title: str = ""
    stages: tuple[Stage, ...] = ()
    paper: str = ""
    note: str = ""
    kind: Literal["dense", "late", "sparse", "cross"] = "dense"
    start: str = ""
    query_start: str | None = None
    encoders: Literal[1, 2] = 1
    pooling: Pooling = "own"
    query_pooling: Pooling | None = None
    similarity: Literal["cosine", "dot", "l2"] | None = None
    query_length: Length | None = None
    doc_length: Length | None = None
    join: str | None = None
    labels: Literal[1, 2] = 1
    sememes: str | None = None
    alpha: float = 1.0
    lookup: Lookup = "longest"
    words: str | None = None
    about: str | None = None
    width: Width | None = None
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    checkpointing: bool = False
    fsdp: bool | None = None
    lora: Width | None = None
    lora_alpha: Annotated[float, Field(gt=0)] | None = None
    lora_dropout: Share | None = None
    lora_targets: str | None = None
    quantize: Literal["4bit"] | None = None
    query_map: bool | None = None
    trust_remote_code: bool | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 32)] = 42
    variables: tuple[tuple[str, str], ...] = ()

    def settings(self) -> dict[str, Any]:
        """Returns everything that decides the weights."""
        values = asdict(self)
        for field in ("title", "paper", "note"):
            values.pop(field)
        values["variables"] = dict(self.variables)
        return values


def check_evaluation(recipe: Recipe) -> None:
    """Raises InputError for the first setting of evaluation in a stage without a measure."""
    for number, stage in enumerate(recipe.stages, 1):
        at = f" of stage {number}" if len(recipe.stages) > 1 else ""
        for key in ("every", "patience", "ways"):
            if getattr(stage, key) is not None and stage.measure is None:
                raise InputError(
                    f"{key}{at} needs a measure, and none is given", remedy="for example measure=RR"
                )
