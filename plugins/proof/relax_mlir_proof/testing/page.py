# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""HTML pages of reports: the support table of a codegen for its users, and the values of a program."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from relax_mlir.support.version import VERSION

from .each import ACCUMULATED, Observed, cells
from .report import Report
from .verdicts import Verdict

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } th, td { padding: 0.2rem 0.8rem; text-align: left; }
tr:nth-child(even) { background: #8881; } .fault { color: #b00020; } .right { color: #08660d; }
.accumulated { color: #8a5a00; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd; } .fault { color: #ff6b6b; }
  .right { color: #7bd88f; } .accumulated { color: #ffc45c; } }
"""


def page(report: Report) -> str:
    """Return the report as one HTML file."""
    head, *rows = report.support_rows()
    kinds = ["fault" if row[4] != "0" else "right" if row[2] != "0" else "" for row in rows]
    faults = "".join(
        f"<li class='fault'><b>{escape(fault.verdict)}</b> {escape(fault.case)}: {escape(fault.reason)}"
        f"{_again(fault)}</li>"
        for fault in report.faults
    )
    listed = f"<h2>Faults</h2><ul>{faults}</ul>" if faults else ""
    about = f"{report.summary()}; relax-mlir {VERSION}"
    return _page(report.subject.name, ": what it computes", about, listed, _table(head, rows, kinds))


def _again(verdict: Verdict) -> str:
    """Return the command that runs a fault's case again, if the case is kept."""
    return f"<br><code>{escape(verdict.again)}</code>" if verdict.again else ""


def page_of_values(name: str, by: str, values: Sequence[Observed]) -> str:
    """Return a page with the result of each kernel and part: right, accumulated error, or fault."""
    head = ("node", "kernel or part", "error with right inputs", "error in the program", "")
    rows = [(*cells(value), value.problem) for value in values]
    kinds = [
        "right" if not value.problem else "accumulated" if value.problem == ACCUMULATED else "fault" for value in values
    ]
    about = f"{len(values)} values beside {by}, {kinds.count('fault')} wrong; relax-mlir {VERSION}"
    return _page(name, ": each value", about, "", _table(head, rows, kinds))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], kinds: Sequence[str]) -> str:
    """Return an HTML table with rows coloured by kind."""
    lines = [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
    for row, kind in zip(rows, kinds, strict=True):
        lines.append(f"<tr class='{kind}'>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>")
    return f"<table>\n{chr(10).join(lines)}\n</table>"


def _page(name: str, what: str, about: str, faults: str, table: str) -> str:
    return (
        f"<!doctype html>\n<html lang='en'><meta charset='utf-8'><title>{escape(name)}{what}</title>"
        f"<style>{_STYLE}</style>\n<h1>{escape(name)}</h1>\n<p>{escape(about)}</p>\n{faults}{table}</html>\n"
    )
