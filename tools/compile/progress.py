# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Progress of relax-compile: a changing line on terminals, and the duration of each stage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from ...passes.core.instruments import Instrument
from ..common.guard import announce

_BAR = 20
_LONGEST_NAME = 40
_NAME_WIDTH = 14
# Return to the start of the line, and clear the line.
_CLEAR = "\r\x1b[K"


class Progress:
    """Progress through consecutive steps."""

    def __init__(self, stream: TextIO, *, verbose: bool = False) -> None:
        self._stream = stream
        self._verbose = verbose
        self._is_terminal = stream.isatty()
        self._begin = time.perf_counter()
        self._step = ""
        #: Total number of steps.
        self.count = 1
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show a step and measure its time."""
        self._step = name
        announce(f"in stage {name}")  # reported if the process dies
        self._show(name)
        start = time.perf_counter()
        how = "failed"
        try:
            yield
            how = "s"
        finally:
            self.seconds[name] = time.perf_counter() - start
            self._clear()
            self._tell_time(name, self.seconds[name], how)

    def finish(self) -> None:
        """Report the total time."""
        self._tell_time("total", time.perf_counter() - self._begin, "s")

    def _tell_time(self, name: str, seconds: float, how: str) -> None:
        self.tell(name, f"{seconds:8.3f} {how}")

    def tell(self, name: str, text: str) -> None:
        """Write a row, if rows are asked for."""
        if self._verbose:
            self._stream.write(f"{name:<{_NAME_WIDTH}} {text}\n")
            self._stream.flush()

    def piece(self, name: str, done: int, count: int) -> None:
        """Show the progress within the current step: the last finished piece."""
        shown = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."
        self._show(f"{self._step} {done} of {count} {shown}".rstrip())

    def note(self, text: str) -> None:
        """Write a line that stays, in place of the changing line."""
        self._clear()
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def _show(self, name: str) -> None:
        if not self._is_terminal:
            return
        done = len(self.seconds)
        filled = _BAR * done // max(self.count, done + 1)
        bar = "#" * filled + "." * (_BAR - filled)
        self._stream.write(f"{_CLEAR}[{bar}] {done + 1}/{max(self.count, done + 1)} {name}")
        self._stream.flush()

    def _clear(self) -> None:
        if self._is_terminal:
            self._stream.write(_CLEAR)
            self._stream.flush()


class KernelProgress(Instrument):
    """Instrument that reports kernels as their code is generated."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._under_way: list[str] = []

    def code_begun(self, kernel: str) -> None:
        self._under_way.append(kernel)
        self._announce()

    def code_made(self, kernel: str, done: int, count: int) -> None:
        # Kernels from the cache have no begin event.
        if kernel in self._under_way:
            self._under_way.remove(kernel)
            self._announce()
        if count > 1:
            self._progress.piece(kernel, done, count)

    def _announce(self) -> None:
        """Announce the kernels being compiled, for messages about crashes and delays.

        The longest-running comes first.
        """
        names = [name or "the graph's functions" for name in self._under_way]
        announce(f"compiling {', '.join(names)}" if names else "in stage code")
