# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Progress of a search: a line that is rewritten on a terminal, or lines at intervals elsewhere."""

from __future__ import annotations

import shutil
import time
from typing import TextIO

from .tune import Progress

#: Seconds between lines where none is rewritten, as in a log.
_INTERVAL = 30.0
_MINUTE, _HOUR = 60, 3600


class ProgressLine:
    """Writes the state of a search after each trial."""

    def __init__(self, stream: TextIO, interval: float = _INTERVAL) -> None:
        self._stream, self._interval = stream, interval
        self._is_terminal = stream.isatty()
        self._kernel, self._next = -1, 0.0
        self._has_line = False

    def __call__(self, progress: Progress) -> None:
        text = text_of(progress)
        if self._is_terminal:
            width = shutil.get_terminal_size().columns
            self._stream.write(f"\r\x1b[K{text[: width - 1]}")
            self._has_line = True
        elif progress.number != self._kernel or time.monotonic() >= self._next:
            self._next = time.monotonic() + self._interval
            self._stream.write(f"{text}\n")
        self._kernel = progress.number
        self._stream.flush()

    def end(self) -> None:
        """End the line of a terminal."""
        if self._has_line:
            self._stream.write("\n")
            self._has_line = False


def text_of(progress: Progress) -> str:
    """Return a line: task, trial, best ratio, gain of the whole program, and time left."""
    parts = [
        f"kernel {progress.number + 1} of {progress.kernels} {progress.kernel}",
        f"trial {progress.trial} of {progress.trials}",
        f"best {progress.best:.3f}",
        f"all kernels {1 - progress.whole:.1%} faster",
    ]
    if progress.seconds_left is not None:
        parts.append(f"{duration(progress.seconds_left)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Return a duration for readers, such as 45 s, 12 min or 1 h 05 min."""
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{int(seconds // _HOUR)} h {int(seconds % _HOUR // _MINUTE):02d} min"
