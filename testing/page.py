# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A report as a page of HTML: the support table that the author of a codegen can publish."""

from __future__ import annotations

from html import escape

from ..support.version import VERSION
from .report import Report

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } th, td { padding: 0.2rem 0.8rem; text-align: left; }
tr:nth-child(even) { background: #8881; } .fault { color: #b00020; } .right { color: #08660d; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd; } .fault { color: #ff6b6b; }
  .right { color: #7bd88f; } }
"""


def page(report: Report) -> str:
    """All of it, in one file."""
    name = escape(report.subject.name)
    head, *rows = report.support_rows()
    lines = [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
    for row in rows:
        kind = "fault" if row[4] != "0" else "right" if row[2] != "0" else ""
        lines.append(f"<tr class='{kind}'>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>")
    faults = "".join(
        f"<li class='fault'><b>{escape(each.verdict)}</b> {escape(each.case)}: {escape(each.reason)}</li>"
        for each in report.faults
    )
    return (
        f"<!doctype html>\n<html lang='en'><meta charset='utf-8'><title>{name}: what it computes</title>"
        f"<style>{_STYLE}</style>\n<h1>{name}</h1>\n<p>{escape(report.summary())}; relax-mlir {escape(VERSION)}</p>\n"
        f"{'<h2>Faults</h2><ul>' + faults + '</ul>' if faults else ''}<table>\n{chr(10).join(lines)}\n</table></html>\n"
    )
