"""What the tests share: data when there is some, a damaged-release workshop, and the command."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from irtoolkit.cli import main
from tests.optional import lacking

# Examples are the same in every run, so that a failure is a failure for everybody. IRTOOLKIT_EXAMPLES=1000
# tries more of them, and cases that are otherwise left out for others of their kind.
EXAMPLES = int(os.environ.get("IRTOOLKIT_EXAMPLES", "40"))
ALL = EXAMPLES >= 1000
settings.register_profile(
    "irtoolkit",
    deadline=None,
    derandomize=True,
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("irtoolkit")

# Lines of a test file that load torch.
NEURAL = re.compile(
    r"^\s*(from|import) (torch|transformers|sentence_transformers|tests\.tiny)\b"
    r"|^from tests import .*\btiny\b"
    r"|importorskip\(\"(torch|transformers|sentence_transformers)",
    re.MULTILINE,
)

STARTED = time.monotonic()
ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "irtoolkit" / "datasets" / "samples" / "csfcube"

# Fixed before ir_datasets is imported by anything: no test may see or touch the user's home.
os.environ.setdefault("IR_DATASETS_HOME", str(Path(os.environ.get("TMPDIR", "/tmp")) / "irtk-home"))
os.environ.setdefault("IRTOOLKIT_CACHE", os.environ["IR_DATASETS_HOME"] + "-cache")
os.environ["HF_HUB_OFFLINE"] = "1"
# Tables are as wide as without a terminal, whatever runs the tests.
os.environ["COLUMNS"] = "100"
# Ray's workers give way to everything else, for minutes on a busy machine, unless they are told otherwise.
os.environ.setdefault("RAY_worker_niceness", "0")
# Workers share the cores: threads that wait for others of another worker spin, and all crawl.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A shell's background job ignores Ctrl-C, and so would every process that a test starts to interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _memory(name: str) -> int:
    """Bytes of this process as Linux says: VmRSS now, VmHWM at most."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than cores: a sixth of the time, a test waits for a cluster or a process."""
    try:
        return len(os.sched_getaffinity(0)) + 1
    except AttributeError:  # not on Linux
        return (os.cpu_count() or 1) + 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--minutes", type=float, help="skip tests that would begin later than this")
    parser.addoption(
        "--quick", action="store_true", help="leave out files that load a neural library"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out a file that loads a neural library, which takes each worker seconds."""
    if not config.getoption("--quick") or collection_path.suffix != ".py":
        return None
    return bool(NEURAL.search(collection_path.read_text("utf-8"))) or None


def pytest_runtest_setup(item: pytest.Item) -> None:
    minutes = item.config.getoption("--minutes")
    if minutes is not None and time.monotonic() - STARTED > 60 * minutes:
        pytest.skip(f"--minutes {minutes:g} were over")
    if item.get_closest_marker("lucene") is not None:
        from tests.lucene import lacking

        why = lacking()
        if why is not None:
            pytest.skip(why)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what was skipped, and why, just before pytest's closing line."""
    skipped: dict[str, list[str]] = {}
    for report in terminalreporter.stats.get("skipped", []):
        _, _, why = report.longrepr
        skipped.setdefault(why.removeprefix("Skipped: "), []).append(report.nodeid)
    if not skipped:
        return
    terminalreporter.section("skipped")
    for why, names in sorted(skipped.items(), key=lambda one: -len(one[1])):
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        terminalreporter.line(f"{len(names):4}  {why}: {names[0]}{more}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skips a test that fails for an extra that is not installed."""
    report = yield
    reason = lacking(call.excinfo.value) if report.failed and call.excinfo else None
    if reason is not None:
        path, line, _ = item.location
        report.outcome, report.longrepr = "skipped", (path, line or 0, f"Skipped: {reason}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skips a file of tests that imports an extra that is not installed."""
    report = yield
    call = getattr(report, "call", None)
    reason = lacking(call.excinfo.value) if report.failed and call and call.excinfo else None
    if reason is not None:
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Skipped: {reason}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    # Nothing that collecting makes is garbage, but it would be looked through hundreds of times.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True, scope="module")
def tidied() -> Iterator[None]:
    """Gives the memory of a file's tests back to the system; a worker would keep what it once had."""
    yield
    gc.collect()
    # Libraries that a file brought in stay; later collections need not look through them again.
    gc.freeze()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)


@pytest.fixture(autouse=True)
def within_two_gigabytes() -> Iterator[None]:
    """Fails a test that takes more than 2 GB of memory in this process."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the most so far is now what there is
    except OSError:
        yield
        return
    before = _memory("VmRSS")
    yield
    assert _memory("VmHWM") - before < 2 * 1024**3


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real releases; a test that asks for it is skipped where there is none."""
    folder = os.environ.get("IRTOOLKIT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("IRTOOLKIT_DATA names no folder of real releases")
    return Path(folder)


@pytest.fixture(scope="session")
def real_csfcube(real_data: Path) -> Path:
    """The real CSFCube release."""
    if not (real_data / "csfcube").is_dir():
        pytest.skip(f"{real_data} has no csfcube release")
    return real_data / "csfcube"


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sample standing where the real CSFCube is looked for, free to be damaged."""
    folder = tmp_path / "data" / "csfcube"
    shutil.copytree(SAMPLE, folder)
    monkeypatch.setenv("IRTOOLKIT_DATA", str(tmp_path / "data"))
    return folder


@dataclass(frozen=True)
class Answer:
    """What a command did."""

    status: int
    out: str
    err: str


@pytest.fixture
def irtoolkit(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Runs the command in this process: irtoolkit("eval", "csfcube/sample", path)."""

    def run(*args: object) -> Answer:
        capsys.readouterr()
        try:
            status = main([str(arg) for arg in args])
        except SystemExit as leaving:  # argparse's way out
            status = int(leaving.code or 0)
        out, err = capsys.readouterr()
        return Answer(status, out, err)

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes text or bytes to a new file: write("x.run", "q1 Q0 d1 1 0.5 t\\n")."""

    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(data)
        return path

    return make
