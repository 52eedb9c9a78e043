# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An executable at a glance: for which machine, what functions, how many kernels, how much memory."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from .artifact import Artifact
from .signatures import signature_text

_UNITS = ("bytes", "KB", "MB", "GB", "TB")


def text(artifact: Artifact) -> str:
    """A line on the whole, one for each function."""
    lines = [f"Executable: {', '.join(_facts(artifact))}"]
    lines += [f"  {signature_text(entry)}{_kernels_text(entry)}" for entry in artifact.entries]
    return "\n".join(lines)


def html(artifact: Artifact) -> str:
    """The same for notebooks."""
    rows = [
        f"<tr><td style='text-align:left'><code>{escape(signature_text(entry))}</code></td>"
        f"<td>{'' if (count := _kernels(entry)) is None else count}</td></tr>"
        for entry in artifact.entries
    ]
    head = "<tr><th style='text-align:left'>function</th><th>kernels</th></tr>"
    return f"<div><b>Executable</b>: {escape(', '.join(_facts(artifact)))}<table>{head}{''.join(rows)}</table></div>"


def _facts(artifact: Artifact) -> list[str]:
    code = sum(each.nbytes for each in artifact.objects)
    constants = sum(each.data.nbytes for each in artifact.constants)
    count = len(artifact.entries)
    return [
        f"for {artifact.triple or 'any machine'}",
        f"{count} function{'' if count == 1 else 's'}",
        f"{_size(code)} of code",
        f"{_size(constants)} of constants",
    ]


def _kernels(entry: Mapping[str, Any]) -> int | None:
    """How many places call kernels; unknown where the program was compiled without clocks."""
    return len(entry["profile"]["sites"]) if "profile" in entry else None


def _kernels_text(entry: Mapping[str, Any]) -> str:
    count = _kernels(entry)
    return "" if count is None else f"  ({count} kernel{'' if count == 1 else 's'})"


def _size(count: int) -> str:
    number, unit = float(count), 0
    while number >= 1000 and unit < len(_UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.3g} {_UNITS[unit]}"
