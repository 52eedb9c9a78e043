# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of the error: bars by layer, and error against size and time, as text and as SVG in a page."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from .study import Point

#: Ratio in dB that pictures show for equal tensors.
_MOST_DB = 120.0
_WIDTH, _HEIGHT, _MARGIN = 640, 280, 48
_TEXT_WIDTH, _TEXT_HEIGHT = 60, 14
_COLORS = {"local": "#4477aa", "fake": "#ee6677"}
_LEGEND = {"local": "this layer alone", "fake": "accumulated"}
_STYLE = (
    "body{font:14px sans-serif;margin:2em;max-width:72em}pre{overflow:auto;font-size:12px}"
    "svg text{font:11px sans-serif;fill:currentColor}svg{max-width:100%}"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}}"
)


class _Axes(NamedTuple):
    """Linear axes of a plot."""

    least_x: float
    most_x: float
    least_y: float
    most_y: float

    def share(self, x: float, y: float) -> tuple[float, float]:
        return _part(x, self.least_x, self.most_x), _part(y, self.least_y, self.most_y)


def _part(value: float, least: float, most: float) -> float:
    return (value - least) / (most - least) if most > least else 0.5


def _limit(db: float) -> float:
    return max(min(db, _MOST_DB), -_MOST_DB)


def _axes(places: Sequence[tuple[float, float]]) -> _Axes:
    xs, ys = [x for x, _ in places], [y for _, y in places]
    return _Axes(min(xs), max(xs), min(ys), max(ys))


# ---- text ----


def as_text(points: Sequence[Point]) -> str:
    """Return error against size as text, with a list of the points."""
    if not points:
        return "no variant is measured: call explore(), or state a budget\n"
    places = [(float(each.bytes), _limit(each.snr)) for each in points]
    axes = _axes(places)
    rows = [[" "] * _TEXT_WIDTH for _ in range(_TEXT_HEIGHT)]
    for number, place in enumerate(places):
        x, y = axes.share(*place)
        row = rows[round((1 - y) * (_TEXT_HEIGHT - 1))]
        row[round(x * (_TEXT_WIDTH - 1))] = _mark(number)
    lines = [f"{axes.most_y:7.1f} dB"]
    lines += ["        |" + "".join(row).rstrip() for row in rows]
    lines += [f"{axes.least_y:7.1f} dB " + "-" * (_TEXT_WIDTH - 2)]
    lines += [f"        {_size(axes.least_x)}{_size(axes.most_x):>{_TEXT_WIDTH - len(_size(axes.least_x))}}"]
    for number, point in enumerate(points):
        time = "" if point.seconds is None else f", {point.seconds * 1e3:.3g} ms"
        score = "" if point.score is None else f", score {point.score:g}"
        chosen = ", chosen" if point.is_chosen else ""
        lines.append(
            f"{_mark(number)}  {point.label}: {point.real_layers} layers real, {_limit(point.snr):.1f} dB, "
            f"{_size(point.bytes)}{time}{score}{chosen}"
        )
    return "\n".join(lines) + "\n"


def _mark(number: int) -> str:
    return "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36]


def _size(count: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.0f} B"


# ---- page ----


def as_html(
    tables: Mapping[str, str], layers: Sequence[tuple[str, Mapping[str, float]]], points: Sequence[Point]
) -> str:
    """Return a page with tables, bars of layers, and plots of the points."""
    parts = []
    if any(ratios for _, ratios in layers):
        parts.append(f"<h2>Signal-to-noise ratio of layers</h2>{_bars(layers)}")
    if points:
        sizes = _plot(points, lambda each: float(each.bytes), _size)
        parts.append(f"<h2>Error against bytes of constants</h2>{sizes}")
    if timed := [point for point in points if point.seconds is not None]:
        times = _plot(timed, lambda each: each.seconds or 0.0, lambda seconds: f"{seconds * 1e3:.3g} ms")
        parts.append(f"<h2>Error against time of a call</h2>{times}")
    if points:
        tables = {**tables, "Measured variants": as_text(points)}
    parts += [f"<h2>{html.escape(title)}</h2><pre>{html.escape(text)}</pre>" for title, text in tables.items()]
    head = f'<meta charset="utf-8"><title>Quantization</title><style>{_STYLE}</style>'
    body = "\n".join(["<h1>Quantization</h1>", *parts])
    return f"<!DOCTYPE html>\n<html><head>{head}</head><body>{body}</body></html>\n"


def _bars(layers: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Return horizontal bars, two for each layer: its own error, and the accumulated one."""
    ratios = [_limit(each[name]) for _, each in layers for name in _COLORS if name in each]
    most = max([*ratios, 1.0])
    made, top, left = [], 8, 200
    for node, each in layers:
        made.append(_words(left - 6, top + 12, node[-30:], "end"))
        for name, color in _COLORS.items():
            if name in each:
                length = max(_limit(each[name]), 0) / most * (_WIDTH - left - 60)
                title = f"{node}: {_LEGEND[name]}, {_limit(each[name]):.1f} dB"
                made.append(
                    f'<rect x="{left}" y="{top}" width="{length:.1f}" height="7" fill="{color}">'
                    f"<title>{html.escape(title)}</title></rect>"
                )
                made.append(_words(left + length + 4, top + 7, f"{_limit(each[name]):.1f}", "start"))
            top += 9
        top += 6
    for name, color in _COLORS.items():
        made.append(f'<rect x="{left}" y="{top + 4}" width="9" height="9" fill="{color}"/>')
        made.append(_words(left + 14, top + 12, _LEGEND[name], "start"))
        left += 140
    return _svg(made, top + 20)


def _plot(points: Sequence[Point], x_of: Callable[[Point], float], shown: Callable[[float], str]) -> str:
    places = [(x_of(each), _limit(each.snr)) for each in points]
    axes = _axes(places)
    width, height = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN
    bottom, right = _MARGIN + height, _MARGIN + width
    made = [f'<path d="M{_MARGIN} {_MARGIN}V{bottom}H{right}" fill="none" stroke="currentColor"/>']
    made.append(_words(_MARGIN - 4, _MARGIN + 4, f"{axes.most_y:.1f}", "end"))
    made.append(_words(_MARGIN - 4, bottom, f"{axes.least_y:.1f}", "end"))
    made.append(_words(_MARGIN - 4, _MARGIN - 16, "dB", "end"))
    made.append(_words(_MARGIN, bottom + 16, shown(axes.least_x), "start"))
    made.append(_words(right, bottom + 16, shown(axes.most_x), "end"))
    for number, (point, place) in enumerate(zip(points, places, strict=True)):
        x, y = axes.share(*place)
        at_x, at_y = _MARGIN + x * width, bottom - y * height
        color = "#ee6677" if point.is_chosen else "#4477aa"
        title = f"{point.label}: {point.real_layers} layers real, {place[1]:.1f} dB, {shown(place[0])}"
        made.append(
            f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="5" fill="{color}"><title>{html.escape(title)}</title></circle>'
        )
        made.append(_words(at_x + 7, at_y - 5, _mark(number), "start"))
    return _svg(made, _HEIGHT)


def _words(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _svg(parts: Sequence[str], height: float) -> str:
    size = f'viewBox="0 0 {_WIDTH} {math.ceil(height)}" width="{_WIDTH}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'
