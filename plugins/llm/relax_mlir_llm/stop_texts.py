# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts that end an answer."""

from __future__ import annotations

from collections.abc import Sequence


class StopTexts:
    """Search for texts that end an answer. Text that may begin a stop text waits for the next token."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = stops
        self._held = ""
        self.is_stopped = False

    def add(self, text: str) -> str:
        """Return the text that is certainly before every stop text."""
        if self.is_stopped:
            return ""
        text = self._held + text
        places = [place for stop in self._stops if (place := text.find(stop)) >= 0]
        if places:
            self.is_stopped, self._held = True, ""
            return text[: min(places)]
        keep = len(text) - max((overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[keep:]
        return text[:keep]

    def end(self) -> str:
        """Return the waiting text, at the end of an answer without a stop text."""
        held, self._held = self._held, ""
        return held


def overlap(text: str, stop: str) -> int:
    """Return the length of the longest end of a text that is the beginning of a stop text."""
    longest = min(len(text), len(stop) - 1)
    return next((length for length in range(longest, 0, -1) if text.endswith(stop[:length])), 0)
