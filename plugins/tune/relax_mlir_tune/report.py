# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Page of a folder's trials (relax-tune --report): charts, changed plans, problems and totals, without scripts."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path

from relax_mlir.passes.kernels.schedule.tuned_plans import TunedKernel
from relax_mlir_report.page import report_style

from .files import kernels_in
from .measuring import Outcome
from .report_charts import distribution_chart, trials_chart
from .search import FINAL_TURNS
from .trials import Searched, searched_in

_MICRO = 1e6
#: Texts of plans and problems that a kernel shows.
_MOST_SHOWN = 20
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
.page { grid-template-columns: minmax(0, 1fr); max-width: 1180px; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(340px, 1fr)); gap: 14px; margin: 12px 0; }
.charts figure { margin: 0; }
figcaption { color: var(--muted); font-size: 12.5px; }
svg .trial { fill: var(--edge); } svg .bar { fill: var(--edge); }
svg .best { fill: none; stroke: var(--accent); stroke-width: 2; }
svg .failed { fill: none; stroke: var(--muted); } svg .wrong { fill: none; stroke: var(--accent); stroke-width: 2; }
svg .one { stroke: var(--muted); stroke-dasharray: 4 3; }
pre { background: var(--sunk); border: 1px solid var(--line); border-radius: 8px; padding: 9px 11px; overflow: auto; }
pre ins { color: var(--accent); text-decoration: none; } pre del { color: var(--muted); text-decoration: none; }
th { padding: 7px 8px; } th.number { text-align: right; }
"""


def page_of(folder: Path) -> tuple[str, list[str]]:
    """Return the page of a folder's trials, and a sentence for each file or row that cannot be used.

    Raises RelaxError if the folder has no trials that can be read.
    """
    searched, damaged = searched_in(folder)
    kernels, problems = kernels_in(folder)
    if damaged:
        problems.append(f"{damaged} damaged trials of '{folder}' are left out")
    shown = sorted(map(_Shown.of, searched, [kernels] * len(searched)), key=lambda each: -each.seconds)
    machines = ", ".join(dict.fromkeys(each.machine for each in searched))
    parts = [_totals(shown), _table(shown), *map(_section, shown, range(len(shown)))]
    head = f"<h1>Search of plans</h1><p>{escape(machines)}, {escape(str(folder))}</p>"
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>Search of plans</title><style>{report_style()}{_STYLE}</style></head><body>"
        f'<header class="top"><div class="names">{head}</div></header>'
        f'<div class="page"><main>{"".join(parts)}</main></div></body></html>\n'
    )
    return text, problems


class _Shown:
    """Kernel of the page: its trials, its winner, and its numbers."""

    def __init__(self, searched: Searched, winner: TunedKernel | None) -> None:
        self.searched, self.winner = searched, winner
        self.trials = [outcome for outcome in searched.outcomes if len(outcome.turns) < FINAL_TURNS]
        self.wrong = [trial for trial in self.trials if trial.is_wrong]
        self.failed = [trial for trial in self.trials if trial.problem and not trial.is_wrong]
        self.best = min((trial.ratio for trial in self.trials), default=1.0)
        self.ratio = winner.times.tuned / winner.times.default if winner is not None else 1.0
        self.seconds = searched.seconds * searched.calls

    @classmethod
    def of(cls, searched: Searched, kernels: Sequence[TunedKernel]) -> _Shown:
        """Find the winner of a kernel: of its key, from the CPU of its trials."""
        tuned_kernels = (kernel for kernel in kernels if kernel.key == searched.key)
        return cls(
            searched,
            next(
                (
                    tuned_kernel
                    for tuned_kernel in tuned_kernels
                    if searched.machine.startswith(f"{tuned_kernel.cpu} x")
                ),
                None,
            ),
        )


def _totals(shown: Sequence[_Shown]) -> str:
    seconds = sum(each.seconds for each in shown)
    ratio = sum(each.seconds * each.ratio for each in shown) / seconds if seconds else 1.0
    spent = sum(outcome.seconds for each in shown for outcome in each.searched.outcomes)
    numbers = [
        (f"{ratio:.3f}", "of the default's time, all kernels"),
        (str(len(shown)), "kernels"),
        (str(sum(each.winner is not None for each in shown)), "winners"),
        (str(sum(len(each.trials) for each in shown)), "trials"),
        (str(sum(len(each.failed) for each in shown)), "failed trials"),
        (str(sum(len(each.wrong) for each in shown)), "wrong trials"),
        (f"{spent / 60:.1f} min", "in trials"),
    ]
    tiles = "".join(f"<div><b>{escape(number)}</b><small>{escape(name)}</small></div>" for number, name in numbers)
    return f'<section id="summary" aria-label="Summary"><div class="tiles">{tiles}</div></section>'


def _table(shown: Sequence[_Shown]) -> str:
    total = sum(each.seconds for each in shown) or 1.0
    rows = []
    for number, each in enumerate(shown):
        name = f'<a href="#kernel-{number}">{escape(each.searched.kernel)}</a>'
        winner = f"{each.ratio:.3f}" if each.winner is not None else "-"
        best = f"{each.best:.3f}" if each.best < float("inf") else "-"
        cells = (
            f"{each.seconds / total:.1%}",
            f"{each.searched.seconds * _MICRO:.1f}",
            *(str(each.searched.calls), str(len(each.trials)), best, winner),
            *(str(len(each.failed)), str(len(each.wrong))),
        )
        rows.append(f"<tr><td>{name}</td>{''.join(f'<td class=number>{cell}</td>' for cell in cells)}</tr>")
    names = ("share", "default, us", "calls", "trials", "best trial", "winner", "failed", "wrong")
    head = "".join(f'<th class="number">{name}</th>' for name in names)
    body = f"<table><thead><tr><th>kernel</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<section id="kernels"><div class="head"><h2>Kernels</h2></div><div class="scroll">{body}</div></section>'


def _section(shown: _Shown, number: int) -> str:
    said = "Ratio to the default's time by trial; the line is the best so far. Crosses have no times."
    charts = (
        f'<div class="charts"><figure>{trials_chart(shown.trials)}<figcaption>{said}</figcaption></figure>'
        f"<figure>{distribution_chart(shown.trials)}<figcaption>Number of trials by ratio.</figcaption></figure></div>"
    )
    key = f'<code class="muted">{escape(shown.searched.key)}</code>'
    head = f'<div class="head"><h2>{escape(shown.searched.kernel)}</h2>{key}</div>'
    parts = [head, f"<p>{escape(_sentence(shown))}</p>", charts, _changes(shown), _problems(shown)]
    return f'<section id="kernel-{number}">{"".join(parts)}</section>'


def _sentence(shown: _Shown) -> str:
    if shown.winner is None:
        best = f" The best trial took {shown.best:.3f} of its time." if shown.best < 1 else ""
        return f"No plan is faster than the default with confidence.{best}"
    times = shown.winner.times
    return (
        f"The winner takes {times.tuned:.1f} microseconds a call, "
        f"{shown.ratio:.3f} +- {times.noise:.3f} of the default's {times.default:.1f}."
    )


def _changes(shown: _Shown) -> str:
    """Return the difference between the plans of the rules and the winner, or the best trial without a winner."""
    default, name = shown.searched.default, "Winner"
    if shown.winner is not None:
        default, plans = shown.winner.default, shown.winner.plans
    else:
        best = min((trial for trial in shown.trials if trial.ratio < 1), key=lambda trial: trial.ratio, default=None)
        if best is None:
            return ""
        plans, name = best.plans, "Best trial"
    blocks = []
    for place, (one, other) in enumerate(zip(default, plans, strict=False)):
        if one != other:
            blocks.append(f"<h3>{name}: operation {place}</h3><pre>{difference(one, other)}</pre>")
    return "".join(blocks)


def difference(one: str, other: str) -> str:
    """Return the clauses of two plans as lines: common ones, removed ones with - and added ones with +."""
    marks = {"- ": "del", "+ ": "ins"}
    lines = []
    for line in difflib.ndiff(one.split("; "), other.split("; ")):
        if line.startswith("? "):
            continue
        tag, text = marks.get(line[:2]), escape(line)
        lines.append(f"<{tag}>{text}</{tag}>" if tag else text)
    return "\n".join(lines)


def _problems(each: _Shown) -> str:
    counts = Counter(trial.problem for trial in each.failed)
    rows = [f"<li>{count} x {escape(problem)}</li>" for problem, count in counts.most_common(_MOST_SHOWN)]
    parts = [f"<h3>Failed trials</h3><ul>{''.join(rows)}</ul>"] if rows else []
    if each.wrong:
        shown = "".join(f"<pre>{escape(_plans(trial))}</pre>" for trial in each.wrong[:_MOST_SHOWN])
        parts.append(f"<h3>Wrong trials: other results than the default's</h3>{shown}")
    return "".join(parts)


def _plans(trial: Outcome) -> str:
    return "\n".join(f"operation {place}: {text}" for place, text in enumerate(trial.plans) if text)
