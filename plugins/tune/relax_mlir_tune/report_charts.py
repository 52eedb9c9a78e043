# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Charts of a kernel's trials, as SVG in a page: ratios by trial with the best so far, and their distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape

from .measuring import Outcome

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 640, 190, 40, 22, 14
#: Ratios of the axis. Slower trials are drawn at its end.
_SLOWEST, _FASTEST = 2.0, 0.8
_TICKS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0)
#: Least distance of two ticks' labels.
_APART = 13
_BINS = 24


def trials_chart(outcomes: Sequence[Outcome]) -> str:
    """Return the ratio of each trial, and the best ratio so far. Trials without times are crosses at the top."""
    axis = _Axis(outcomes)
    step = (_WIDTH - _LEFT - 10) / max(len(outcomes), 1)
    marks: list[str] = []
    path: list[str] = []
    best = 1.0
    for place, outcome in enumerate(outcomes):
        across = _LEFT + (place + 0.5) * step
        marks.append(_mark(outcome, place + 1, across, axis))
        best = min(best, outcome.ratio)
        path.append(f"{'L' if path else 'M'}{across - step / 2:.1f} {axis.place(best):.1f}H{across + step / 2:.1f}")
    line = f'<path class="best" d="{"".join(path)}"/>' if path else ""
    ends = _text(_LEFT, _HEIGHT - 6, "trial 1") + _text(_WIDTH - 10, _HEIGHT - 6, str(len(outcomes)), "end")
    return _svg("Ratio to the default's time by trial, and the best so far", [*axis.lines(), *marks, line, ends])


def _mark(outcome: Outcome, number: int, across: float, axis: _Axis) -> str:
    if outcome.turns:
        said = f"trial {number}: {outcome.ratio:.3f}"
        shape = f'<circle class="trial" cx="{across:.1f}" cy="{axis.place(outcome.ratio):.1f}" r="3">'
        return f"{shape}<title>{said}</title></circle>"
    kind = "wrong" if outcome.is_wrong else "failed"
    cross = f"M{across - 3:.1f} {_TOP - 9}l6 6m0 -6l-6 6"
    return f'<path class="{kind}" d="{cross}"><title>trial {number}: {escape(outcome.problem)}</title></path>'


def distribution_chart(outcomes: Sequence[Outcome]) -> str:
    """Return a histogram of the ratios."""
    ratios = [outcome.ratio for outcome in outcomes if outcome.turns]
    low = math.log(min([_FASTEST, *ratios]))
    high = math.log(_SLOWEST)
    counts = [0] * _BINS
    for ratio in ratios:
        counts[min(max(int(((math.log(max(ratio, 1e-9)) - low) / (high - low)) * _BINS), 0), _BINS - 1)] += 1
    width = (_WIDTH - _LEFT - 10) / _BINS
    height = (_HEIGHT - _BOTTOM - _TOP) / max(*counts, 1)
    bars = []
    for place, count in enumerate(counts):
        if not count:
            continue
        begin, end = (math.exp(low + (high - low) * (place + more) / _BINS) for more in (0, 1))
        said = f"{count} trials with ratios from {begin:.2f} to {end:.2f}"
        said = said if place < _BINS - 1 else f"{count} trials with ratios above {begin:.2f}"
        top, left = _HEIGHT - _BOTTOM - count * height, _LEFT + place * width
        shape = f'<rect class="bar" x="{left + 1:.1f}" y="{top:.1f}" width="{width - 2:.1f}"'
        bars.append(f'{shape} height="{count * height:.1f}"><title>{said}</title></rect>')
    ticks = []
    for tick in _spread(_TICKS, lambda each: (math.log(each) - low) / (high - low) * (_WIDTH - _LEFT - 10), 34):
        if math.log(tick) < low - 1e-9:
            continue
        across = _LEFT + (math.log(tick) - low) / (high - low) * (_WIDTH - _LEFT - 10)
        ticks.append(_text(across, _HEIGHT - 6, f"{tick:g}", "middle"))
    most = _text(_LEFT - 6, _TOP + 4, str(max(counts)), "end")
    base = f'<path class="axis" d="M{_LEFT} {_HEIGHT - _BOTTOM}H{_WIDTH - 10}"/>'
    return _svg("Distribution of the ratios", [base, *bars, *ticks, most])


class _Axis:
    """Vertical logarithmic axis of ratios."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        ratios = [outcome.ratio for outcome in outcomes if outcome.turns]
        self._low, self._high = math.log(min([_FASTEST, *ratios]) * 0.97), math.log(_SLOWEST)

    def place(self, ratio: float) -> float:
        share = (min(math.log(ratio), self._high) - self._low) / (self._high - self._low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)

    def lines(self) -> list[str]:
        """Return lines and labels of the ticks that have room."""
        found = []
        for tick in _spread(_TICKS, self.place, _APART):
            if math.log(tick) < self._low:
                continue
            height = self.place(tick)
            kind = "axis one" if tick == 1 else "axis"
            found.append(f'<path class="{kind}" d="M{_LEFT} {height:.1f}H{_WIDTH - 10}"/>')
            found.append(_text(_LEFT - 6, height + 4, f"{tick:g}", "end"))
        return found


def _spread(ticks: Sequence[float], place: Callable[[float], float], apart: float) -> list[float]:
    """Return the ticks, beginning with 1, with labels that do not overlap."""
    spread: list[float] = []
    for tick in sorted(ticks, key=lambda each: abs(math.log(each))):
        if all(abs(place(tick) - place(number)) >= apart for number in spread):
            spread.append(tick)
    return spread


def _text(across: float, down: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{across:.1f}" y="{down:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(name: str, parts: Iterable[str]) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(name)}">{"".join(parts)}</svg>'
