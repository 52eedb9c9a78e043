# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Page of a folder's trials, and the progress of a search."""

from __future__ import annotations

import io
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import relax_mlir as rx
from relax_mlir.passes.kernels.schedule.tuned_plans import MachineFacts, Times, TunedKernel
from relax_mlir.targets.core.registry import parse_target
from relax_mlir_tune import Progress, progress_line, report_charts
from relax_mlir_tune.measuring import Outcome
from relax_mlir_tune.progress_line import ProgressLine, duration
from relax_mlir_tune.report import difference, page_of
from relax_mlir_tune.tool import run
from relax_mlir_tune.trials import Searched, Trials

DEFAULT = ("start", "order 1 0 2; carried 1; vector 1 x 16; tile 1: 4, 0: 6; rule matmul")
FASTER = ("start", "order 1 0 2; carried 1; vector 1 x 16; tile 1: 8, 0: 3; rule tuned")
SLOWER = ("start", "order 0 1 2; carried 1; vector 1 x 8; rule tuned")
_VOID = {"meta"}


def filled(folder: Path) -> None:
    """Write a database with trials of two kernels: one has a winner, the other one was interrupted."""
    trials = Trials(folder, "A <CPU> x1")
    trials.add_kernel(Searched("0123", "", "fused_<matmul>", DEFAULT, 1e-4, 3))
    trials.add("0123", "fused_<matmul>", Outcome(DEFAULT, ((1.0, 1.0),) * 3, seconds=0.5))
    trials.add("0123", "fused_<matmul>", Outcome(SLOWER, ((1.0, 5.0),) * 3))
    trials.add("0123", "fused_<matmul>", Outcome(SLOWER, problem="took more than 60 s"))
    trials.add("0123", "fused_<matmul>", Outcome(SLOWER, problem="the results differ", is_wrong=True))
    trials.add("0123", "fused_<matmul>", Outcome(FASTER, ((1.0, 0.5),) * 3))
    trials.add("0123", "fused_<matmul>", Outcome(FASTER, ((1.0, 0.5),) * 31))
    trials.add_kernel(Searched("4567", "", "softmax", DEFAULT, 1e-4, 1))
    trials.add("4567", "softmax", Outcome(FASTER, ((1.0, 0.9),) * 3))
    trials.close()
    machine = MachineFacts.of(rx.find_backend("llvm").machine(parse_target("llvm")))
    times = Times(100.0, 50.0, 0.01)
    TunedKernel("fused_matmul", "0123", (), machine, FASTER, DEFAULT, times, 5, "A <CPU>").write(folder)


class Checked(HTMLParser):
    """Reader of a page that checks that elements end, and collects the text and the shapes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._open: list[str] = []
        self.counts: dict[str, int] = {}
        self.text = ""
        self.feed(page)
        assert not self._open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            assert not name.startswith("on") and not re.match(r"https?:|//", value or "")
        name = f"{tag}.{dict(attributes).get('class')}"
        self.counts[name] = self.counts.get(name, 0) + 1
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_has_all_trials_and_needs_no_other_file(tmp_path: Path) -> None:
    filled(tmp_path)
    page, problems = page_of(tmp_path)
    checked = Checked(page)
    assert not problems and "<script" not in page and "fused_<matmul>" in checked.text
    # The 31 turns of the winner are no trial of the search.
    assert checked.counts["circle.trial"] == 4
    assert checked.counts["path.failed"] == 1 and checked.counts["path.wrong"] == 1
    assert "1 x took more than 60 s" in checked.text and "Wrong trials" in checked.text
    # Three calls of 0.5 and one of 1 (without a winner), of the same time.
    assert "0.625" in checked.text and "A <CPU> x1" in checked.text


def test_equal_speed_is_between_the_fastest_and_the_slowest() -> None:
    axis = report_charts._Axis([Outcome(FASTER, ((1.0, 0.25),)), Outcome(SLOWER, ((1.0, 9.0),))])
    slow, one, fast = map(axis.place, (9.0, 1.0, 0.25))
    assert report_charts._TOP == slow < one < fast < report_charts._HEIGHT - report_charts._BOTTOM
    share = math.log(1 / (0.25 * 0.97)) / math.log(report_charts._SLOWEST / (0.25 * 0.97))
    assert one == pytest.approx(slow + (1 - share) * (axis.place(0.25 * 0.97) - slow))


def test_the_page_shows_changed_clauses(tmp_path: Path) -> None:
    filled(tmp_path)
    page, _ = page_of(tmp_path)
    assert "<del>- tile 1: 4, 0: 6</del>\n<ins>+ tile 1: 8, 0: 3</ins>" in page
    assert "Winner: operation 1" in page and "Best trial: operation 1" in page
    assert difference("order 0 1", "order 0 1") == "  order 0 1"


def told(*arguments: str) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    return run(arguments, stdout, stderr), stdout.getvalue(), stderr.getvalue()


def test_the_tool_writes_the_page_of_a_folder(tmp_path: Path) -> None:
    filled(tmp_path)
    (tmp_path / "a-b-c-1-2.json").write_text("{")
    page = tmp_path / "report.html"
    code, _, errors = told("--report", str(page), "-o", str(tmp_path))
    assert code == 0 and page.read_text().startswith("<!doctype html>")
    assert errors.startswith("relax-tune: warning: tuned kernel '") and "damaged" in errors


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: path.unlink(), "has no trials.sqlite: tune a model"),
        (lambda path: path.write_bytes(b"no database" * 1000), "cannot be read: file is not a database"),
        (lambda path: path.write_bytes(b""), "cannot be read: no such table"),
    ],
)
def test_a_database_that_cannot_be_read_is_one_line(damage: object, words: str, tmp_path: Path) -> None:
    filled(tmp_path)
    assert callable(damage)
    damage(tmp_path / "trials.sqlite")
    code, _, errors = told("--report", str(tmp_path / "report.html"), "-o", str(tmp_path))
    assert code == 1 and words in errors and "Traceback" not in errors


def test_a_page_that_cannot_be_written(tmp_path: Path) -> None:
    filled(tmp_path)
    code, _, errors = told("--report", str(tmp_path), "-o", str(tmp_path))
    assert code == 1 and "cannot be written: Is a directory" in errors


# ---- progress ----


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def state(number: int, trial: int, left: float | None = 90.0) -> Progress:
    return Progress(f"kernel{number}", number, 2, trial, 64, 0.912, 0.957, left)


def test_a_terminal_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    line = ProgressLine(stream)
    for trial in range(3):
        line(state(0, trial))
    line.end()
    text = stream.getvalue()
    assert text.count("\n") == 1 and text.count("\r") == 3
    assert all(len(each) < 60 for each in text.rstrip("\n").split("\r\x1b[K"))


def test_a_log_has_a_line_for_each_kernel_and_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress_line.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    line = ProgressLine(stream, interval=30)
    for number in range(2):
        for trial in range(10):
            line(state(number, trial))
            now[0] += 8
    line.end()
    lines = stream.getvalue().splitlines()
    assert [re.findall(r"kernel(\d), trial (\d)", each)[0] for each in lines] == [
        *(("0", "0"), ("0", "4"), ("0", "8")),
        *(("1", "0"), ("1", "4"), ("1", "8")),
    ]
    assert lines[0] == ("kernel 1 of 2 kernel0, trial 0 of 64, best 0.912, all kernels 4.3% faster, 90 s left")


@pytest.mark.parametrize(("seconds", "text"), [(5, "5 s"), (600, "10 min"), (3900, "1 h 05 min")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
