# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Report of relax-compile (--report): measures the program if possible, and writes the page.

The page is a self-contained HTML file with its style, scripts and data.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from relax_mlir import __version__
from relax_mlir.passes.core.journal import Journal
from relax_mlir.runtime.artifact import Artifact
from relax_mlir.support.errors import OptionError, RelaxError
from relax_mlir.support.files import write_whole
from relax_mlir.support.highlighting import COLOURS
from relax_mlir.tools.common.command_line import Arguments, known_shape, parse_shapes
from relax_mlir.tools.compile.reporting import PAGES

if TYPE_CHECKING:
    from .links import Row

_SCRIPTS = ("text.js", "layout.js", "graph.js", "details.js", "tables.js", "memory.js", "page.js")
#: Placeholders for the parts of the page.
_PLACES = re.compile("STYLE_PLACE|DATA_PLACE|SCRIPT_PLACE")


class ReportPage:
    """Report of one compilation."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        self._shapes = _shapes(arguments)
        self._before = _earlier(arguments)

    def check(self, artifact: Artifact) -> None:
        """Refuse wrong shapes before anything is written."""
        if self._shapes:
            from .measure import check_shapes

            check_shapes(artifact, self._shapes)

    def write(self, journal: Journal, artifact: Artifact, source: str) -> None:
        """Write the page, completely or not at all."""
        from .data import Subject, report_data
        from .measure import measure

        measured = measure(artifact, self._shapes)
        subject = Subject(os.path.basename(source), self._arguments["target"], __version__, self._options())
        text = page(report_data(journal, subject, artifact, measured, self._before))
        write_whole(self._arguments["report"], text.encode())

    def _options(self) -> list[tuple[str, str]]:
        shown = [("-O", str(self._arguments["O"]))]
        return [*shown, *(("--shape", text) for text in self._arguments["shape"] or ())]


PAGES.register("report", ReportPage)


def _earlier(arguments: Arguments) -> Row | None:
    """Read the report for the comparison, before the compilation takes its time."""
    if arguments["compare"] is None:
        return None
    from .compare import read_page

    return read_page(arguments["compare"])


def _shapes(arguments: Arguments) -> dict[str, tuple[int, ...]]:
    try:
        return parse_shapes(arguments["report-shape"], known_shape)
    except RelaxError as error:
        raise OptionError(error.message.replace("--shape", "--report-shape")) from None


def page(data: Mapping[str, object]) -> str:
    """Return the text of the HTML file."""
    script = "\n".join(_part(name) for name in _SCRIPTS)
    style = "\n".join([_part("page.css"), *(f"pre .{kind} {{ color: {colour}; }}" for kind, colour in COLOURS.items())])
    parts = {"STYLE_PLACE": style, "DATA_PLACE": embedded(data), "SCRIPT_PLACE": script}
    return _PLACES.sub(lambda place: parts[place.group()], _part("page.html"))


def embedded(data: Mapping[str, object]) -> str:
    """Return JSON that is safe in a script element: no name can end the element or start a comment."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def report_style() -> str:
    """Return the style sheet of reports, for the page of another tool."""
    return _part("page.css")


def _part(name: str) -> str:
    from importlib import resources  # imported here because reports are rare

    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
