# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What relax-compile tells while it works: a line that changes, on a terminal only, and a table of times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from ...passes.core.instruments import Instrument
from ..opt.guard import announce

_BAR = 20
_LONGEST_NAME = 40
# Back to the line's beginning, and the line cleared.
_CLEAR = "\r\x1b[K"


class Progress:
    """Steps one after the other."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._begin = time.perf_counter()
        self._step = ""
        #: How many steps there are in all.
        self.count = 1
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Tells that a step is under way and takes its time."""
        self._step = name
        announce(name)  # for the message, should the process die of it
        self._show(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - start
            self._clear()

    def table(self) -> str:
        """A line for each step, with its time and its share."""
        total = time.perf_counter() - self._begin
        width = max(map(len, [*self.seconds, "total"]))
        lines = [f"{'stage':<{width}}  {'seconds':>8}  {'share':>6}"]
        for name, seconds in [*self.seconds.items(), ("total", total)]:
            lines.append(f"{name:<{width}}  {seconds:8.3f}  {seconds / total:6.1%}")
        return "\n".join(lines) + "\n"

    def piece(self, name: str, done: int, count: int) -> None:
        """Tells how far the step under way is; no more than the last piece that is done."""
        shown = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."
        self._show(f"{self._step} {done} of {count} {shown}".rstrip())

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
    """Tells of kernels as their code is made."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def code_made(self, kernel: str, done: int, count: int) -> None:
        if count > 1:
            self._progress.piece(kernel, done, count)
