"""Guidelines for annotators: the meaning of facets and grades (§3, §4)."""

from __future__ import annotations

from pathlib import Path

from irtoolkit.base.files import atomic_text

FILE = "guidelines.md"

TEXT = """\
# How to grade

Each row of your sheet has a query paper, one facet of it, and a candidate paper. Say how similar the
candidate is to the query **in this facet only**. Write 0, 1, 2 or 3 into the column `grade`. Read titles
and abstracts only, and do not look papers up. Where the texts do not let you judge, write -1.

Grade alone: do not compare with other annotators. Where two annotators differ, a third person decides.

## Facets

| facet | what it is |
|---|---|
| background | why the work is done: the problem or question, and how it relates to earlier work |
| method | what is done: a procedure, model, analysis, data set or experiment, in whatever detail |
| result | what is found: figures, findings of an analysis, conclusions |

`query_facet` and `text` hold the sentences of the facet; a program may have chosen them wrongly, so the
whole abstracts are there, too. The other facets count only as far as they say what this one means.

## Grades

What counts is how the parts of an idea work together. Shared words or a shared topic alone are worth little.

| grade | meaning |
|---|---|
| 3, nearly identical | The same structure **and** similar details. |
| 2, similar | The same structure; the details can be compared, but are others. |
| 1, related | Similar in some way, but not as a whole; see below. |
| 0, unrelated | Nothing of this facet is similar. |

Grade 1 is wide. It is right where details are similar and the structure is so only from afar; where only a
small or minor part is similar; or where one text is so much more general than the other that only a broad
similarity can be seen.

| facet | 3 | 2 | 1 |
|---|---|---|---|
| background | the same problem, of the same kind of material | the same kind of problem elsewhere | a problem of the same area, or a part of the problem |
| method | the same mechanism, applied to similar things | the same mechanism, applied to other things | one step in common, or only similar tools or data |
| result | the same finding about similar things | the same kind of finding about comparable things | findings that touch each other in part |

A facet often has several aspects. Note all of them before you begin with a query, and give a candidate the
grade of the aspect that it shares best: that annotators saw different aspects was the most frequent reason
to differ when CSFCube was made.
"""


def write_guidelines(folder: Path) -> None:
    """Writes the guidelines; an existing file stays, since people may have edited it."""
    path = folder / FILE
    if not path.exists():
        with atomic_text(path) as out:
            out.write(TEXT)
