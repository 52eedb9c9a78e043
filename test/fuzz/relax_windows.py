# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, transposed convolutions and pools over one to three dimensions: in numpy, and as recipes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
from drawing import Drawing
from graphs import Undefined
from recipes import RELAX as recipe

_LETTERS = "xyz"


def _wide(array: Any) -> Any:
    return array.astype("float64") if array.dtype.kind == "f" else array


def _surrounded(x: Any, padding: Sequence[int], value: Any, more: Sequence[int] | None = None) -> Any:
    """Pad with all befores and then all afters. `more` is added to the latter."""
    count = x.ndim - 2
    after = numpy.add(padding[count:], more or 0)
    return numpy.pad(x, ((0, 0), (0, 0), *zip(padding[:count], after, strict=True)), constant_values=value)


def _windows(padded: Any, taps: Sequence[int], strides: Sequence[int], dilation: Sequence[int]) -> Any:
    """Return windows as (batch, channels, positions..., taps...)."""
    axes = tuple(range(2, padded.ndim))
    reach = [(tap - 1) * gap + 1 for tap, gap in zip(taps, dilation, strict=True)]
    if any(size < each for size, each in zip(padded.shape[2:], reach, strict=True)):
        raise Undefined("a window that is larger than the padded data")
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, reach, axes)
    return windows[(slice(None), slice(None), *(slice(None, None, step) for step in (*strides, *dilation)))]


def _convolution(x: Any, w: Any, strides: Any, padding: Any, dilation: Any, groups: int) -> Any:
    if any(padding) and x.dtype.kind == "f" and not numpy.isfinite(w).all():
        raise Undefined("0 times infinity where the padding is: kernels leave it out")
    windows = _windows(_surrounded(_wide(x), padding, 0), w.shape[2:], strides, dilation)
    places, taps = "".join(_LETTERS[: x.ndim - 2]), "ijk"[: x.ndim - 2]
    parts = zip(numpy.split(windows, groups, 1), numpy.split(_wide(w), groups, 0), strict=True)
    product = f"nc{places}{taps},oc{taps}->no{places}"
    return numpy.concatenate([numpy.einsum(product, *part) for part in parts], 1)


def _transposed(x: Any, w: Any, strides: Any, padding: Any, output_padding: Any, dilation: Any, groups: int) -> Any:
    if x.dtype.kind == "f" and not numpy.isfinite(w).all():
        raise Undefined("0 times infinity between the elements: kernels leave it out")
    count, taps = x.ndim - 2, w.shape[2:]
    if 0 in x.shape:
        raise Undefined("a transposed convolution of nothing")
    whole = [
        (size - 1) * stride + (tap - 1) * gap + 1 + extra
        for size, stride, tap, gap, extra in zip(x.shape[2:], strides, taps, dilation, output_padding, strict=True)
    ]
    result = numpy.zeros((x.shape[0], w.shape[1] * groups, *whole), _wide(x).dtype)
    for tap in itertools.product(*map(range, taps)):
        place = tuple(
            slice(at * gap, at * gap + (size - 1) * stride + 1, stride)
            for at, gap, size, stride in zip(tap, dilation, x.shape[2:], strides, strict=True)
        )
        parts = zip(numpy.split(_wide(x), groups, 1), numpy.split(_wide(w[(..., *tap)]), groups, 0), strict=True)
        result[(..., *place)] += numpy.concatenate([numpy.einsum("nc...,co->no...", *part) for part in parts], 1)
    ends = [size - after for size, after in zip(whole, padding[count:], strict=True)]
    if any(end <= before for end, before in zip(ends, padding[:count], strict=True)):
        raise Undefined("padding removes all of it")
    return result[(..., *(slice(before, end) for before, end in zip(padding[:count], ends, strict=True)))]


def _positions(x: Any, windows: Any, strides: Any, padding: Any, reach: Sequence[int], ceil_mode: bool) -> Any:
    """Drop missing windows: those of `ceil_mode` that start beyond the data."""
    count, kept = x.ndim - 2, []
    for axis, (size, stride, each) in enumerate(zip(x.shape[2:], strides, reach, strict=True)):
        over = size + padding[axis] + padding[axis + count] - each
        if over < 0:
            raise Undefined("a window that is larger than the padded data")
        places = (-(-over // stride) if ceil_mode else over // stride) + 1
        if ceil_mode and (places - 1) * stride >= size + padding[axis]:
            places -= 1
        kept.append(slice(places))
    return windows[(slice(None), slice(None), *kept)]


def _pooled(x: Any, value: Any, pool_size: Any, strides: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
    reach = [(tap - 1) * gap + 1 for tap, gap in zip(pool_size, dilation, strict=True)]
    padded = _surrounded(x, padding, value, strides if ceil_mode else None)
    return _positions(x, _windows(padded, pool_size, strides, dilation), strides, padding, reach, ceil_mode)


def _taps(x: Any) -> tuple[int, ...]:
    return tuple(range(x.ndim, 2 * x.ndim - 2))


def _max_pool(x: Any, **settings: Any) -> Any:
    least = -numpy.inf if x.dtype.kind == "f" else numpy.iinfo(x.dtype).min
    return _pooled(x, least, **settings).max(_taps(x))


def _avg_pool(x: Any, count_include_pad: bool, **settings: Any) -> Any:
    """Divide without the elements beyond the padding in windows of `ceil_mode`."""
    ones = numpy.ones(x.shape, "int64")
    if count_include_pad:
        ones = _surrounded(ones, settings["padding"], 1)
        counts = _pooled(ones, 0, **{**settings, "padding": [0] * len(settings["padding"])})
    else:
        counts = _pooled(ones, 0, **settings)
    sums = _pooled(_wide(x), 0, **settings).sum(_taps(x))
    counts = numpy.maximum(counts.sum(_taps(x)), 1)[(..., *(slice(size) for size in sums.shape[2:]))]
    if x.dtype.kind == "f":
        return sums / counts
    counts = counts.astype(sums.dtype)  # of u64 and i64 numpy makes f64
    return (sums - numpy.fmod(sums, counts)) // counts


def _adaptive_pool(x: Any, output_size: Sequence[int]) -> Any:
    if 0 in x.shape[2:]:
        raise Undefined("a mean of nothing")
    wide, result = _wide(x), numpy.zeros((*x.shape[:2], *output_size))
    bounds = [
        [(at * size // count, -(-(at + 1) * size // count)) for at in range(count)]
        for size, count in zip(x.shape[2:], output_size, strict=True)
    ]
    for at in itertools.product(*map(range, output_size)):
        window = tuple(slice(*bounds[axis][each]) for axis, each in enumerate(at))
        result[(..., *at)] = wide[(..., *window)].mean(tuple(range(2, x.ndim)))
    return result


_RANKS = (1, 2, 3)
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    f"relax.nn.{name}": function
    for rank in _RANKS
    for name, function in {
        f"conv{rank}d": _convolution,
        f"conv{rank}d_transpose": _transposed,
        f"max_pool{rank}d": _max_pool,
        f"avg_pool{rank}d": _avg_pool,
        f"adaptive_avg_pool{rank}d": _adaptive_pool,
    }.items()
}


def _per_axis(d: Drawing, rank: int, choices: Sequence[int]) -> tuple[int, ...]:
    return tuple(d.random.choice(choices) for _ in range(rank))


@recipe(2.5)
def _draw_convolution(d: Drawing) -> None:
    rank = d.random.choice((1, 2, 2, 2, 3))
    x = d.some("fffi", rank=rank + 2)
    channels, groups = x.sizes[1], 1
    if not isinstance(channels, int) or not channels:
        raise Undefined("channels of no known number")
    if channels > 1 and d.random.random() < 0.3:
        groups = channels
    outputs = groups * d.random.choice((1, 2)) if groups > 1 else d.random.choice((1, 3, 8))
    window = _per_axis(d, rank, (1, 2, 3))
    given = {
        "strides": _per_axis(d, rank, (1, 1, 2)),
        "padding": _per_axis(d, 2 * rank, (0, 1, 1, 2)),
        "dilation": _per_axis(d, rank, (1, 1, 2)),
        "groups": groups,
    }
    if d.random.random() < 0.6:
        return d.add(f"relax.nn.conv{rank}d", [x, d.like(x, (outputs, channels // groups, *window))], **given)
    extra = tuple(d.random.randrange(stride) for stride in given["strides"])
    weight = d.like(x, (channels, outputs // groups, *window))
    return d.add(f"relax.nn.conv{rank}d_transpose", [x, weight], output_padding=extra, **given)


@recipe(1.5)
def _draw_pool(d: Drawing) -> None:
    rank = d.random.choice((1, 2, 2, 3))
    x = d.some("fffi", rank=rank + 2)
    window = _per_axis(d, rank, (1, 2, 3))
    name = d.random.choice(("max", "avg"))
    given = {"count_include_pad": d.random.random() < 0.5} if name == "avg" else {}
    d.add(
        f"relax.nn.{name}_pool{rank}d",
        [x],
        pool_size=window,
        strides=_per_axis(d, rank, (1, 2, 3)),
        padding=tuple(d.random.randrange(each) for each in window * 2),
        dilation=_per_axis(d, rank, (1, 1, 2)),
        ceil_mode=d.random.random() < 0.3,
        **given,
    )


@recipe(0.5)
def _draw_adaptive_pool(d: Drawing) -> None:
    rank = d.random.choice((1, 2, 3))
    x = d.some("f", rank=rank + 2)
    d.add(f"relax.nn.adaptive_avg_pool{rank}d", [x], output_size=_per_axis(d, rank, (1, 2, 3, 5)))
