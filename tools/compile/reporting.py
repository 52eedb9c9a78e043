# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Journal of a compilation by relax-compile, and the page that a plug-in writes about it (--report)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ...passes.core.journal import Journal
from ...runtime.artifact import Artifact
from ...support.registry import NamedRegistry
from ..common.command_line import Arguments


class Page(Protocol):
    """Page about one compilation."""

    def check(self, artifact: Artifact) -> None:
        """Refuse options that do not fit the program, before anything is written."""

    def write(self, journal: Journal, artifact: Artifact, source: str) -> None:
        """Write the page, completely or not at all. `source` is the file of the model."""


#: Pages that plug-ins announce, as functions of the tool's arguments. `--report` writes the page `report`.
PAGES: NamedRegistry[Callable[[Arguments], Page]] = NamedRegistry("a page", plugins="page")


class Recording:
    """Journal of one compilation, and its page if one is requested."""

    def __init__(self, arguments: Arguments) -> None:
        self.page = PAGES.get("report")(arguments) if arguments["report"] is not None else None
        has_steps = self.page is not None or arguments["emit"] == "schedules"
        explains_schedules: bool = arguments["explain-schedules"]
        self.journal = Journal(steps=has_steps, schedules=explains_schedules)
        #: True if the compilation writes to the journal.
        self.is_needed = has_steps or explains_schedules or bool(arguments["partition"])
