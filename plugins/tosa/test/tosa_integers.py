# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products, tables, types, and rescaled integers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy
from numpy import ndarray
from tosa_program import FLOATS, NUMPY, Given, Program, constant, simple


def _products() -> list[Program]:
    found = []
    for dtype, shift in (("i8", 0), ("i16", 0), ("i32", 0), ("i32", 7), ("i32", 31)):
        bound = {"i8": 127, "i16": 32767, "i32": {0: 30000, 7: 2**16, 31: 2**30}[shift]}[dtype]
        pair = [Given((3, 4), dtype, -bound, bound), Given((1, 4), dtype, -bound, bound)]
        found.append(
            simple(
                "mul",
                pair,
                _product(shift),
                ((3, 4), "i32"),
                before=[constant("s", [shift], "i8")],
                more=[("%s", "tensor<1xi8>")],
                note=f"{shift}",
            )
        )
    for dtype, rtol in FLOATS.items():
        found.append(
            simple(
                "mul",
                [Given((3, 4), dtype), Given((3, 1), dtype)],
                numpy.multiply,
                rtol=rtol,
                before=[constant("s", [0], "i8")],
                more=[("%s", "tensor<1xi8>")],
            )
        )
    zeros = [constant("y", [7], "i8"), constant("z", [-3], "i8")]
    points = [("%y", "tensor<1xi8>"), ("%z", "tensor<1xi8>")]
    found.append(
        simple("negate", [Given((40,), "i8")], lambda x: (4 - x.astype(int)).clip(-128, 127), before=zeros, more=points)
    )
    for dtype in ("f32", "i32"):
        plain = [constant(name, [0.0 if dtype == "f32" else 0], dtype) for name in "yz"]
        points = [(f"%{name}", f"tensor<1x{dtype}>") for name in "yz"]
        found.append(simple("negate", [Given((9,), dtype, -9, 9)], numpy.negative, before=plain, more=points))
    table8 = numpy.random.default_rng(1).integers(-128, 127, 256)
    table16 = numpy.random.default_rng(2).integers(-16000, 16000, 513)
    found += [
        simple(
            "table",
            [Given((50,), "i8")],
            lambda x: table8[x.astype(int) + 128],
            before=[constant("t", table8.tolist(), "i8")],
            more=[("%t", "tensor<256xi8>")],
        ),
        simple(
            "table",
            [Given((50,), "i16")],
            lambda x: _between(table16, x.astype(int)),
            ((50,), "i32"),
            before=[constant("t", table16.tolist(), "i16")],
            more=[("%t", "tensor<513xi16>")],
        ),
    ]
    casts = {
        "f32": ("i8", "i16", "i32", "f16"),
        "f16": ("i8", "i16", "i32", "f32"),
        "i8": ("f32", "f16", "i16", "i32", "i1"),
        "i16": ("f32", "i8", "i32", "i1"),
        "i32": ("f32", "i8", "i16", "i1"),
        "i1": ("i8", "i16", "i32"),
    }
    for source, targets in casts.items():
        for target in targets:
            given = Given((40,), source, -300, 300) if source[0] == "f" else Given((40,), source)
            found.append(simple("cast", [given], _cast(target), ((40,), target), note=f"to-{target}"))
    return found


def _product(shift: int) -> Callable[..., Any]:
    def product(x: ndarray, y: ndarray) -> ndarray:
        wide = x.astype("int64") * y.astype("int64")
        return (wide + (1 << (shift - 1)) >> shift if shift else wide).astype("int32")

    return product


def _between(table: ndarray, x: ndarray) -> ndarray:
    place, rest = (x >> 7) + 256, x & 127
    return (table[place] << 7) + (table[place + 1] - table[place]) * rest


def _cast(target: str) -> Callable[..., Any]:
    def cast(x: ndarray) -> ndarray:
        if x.dtype.kind == "f" and target[0] == "i":
            limits = numpy.iinfo(NUMPY[target])
            return numpy.rint(x.astype("float64")).clip(limits.min, limits.max).astype(NUMPY[target])
        return x.astype(NUMPY[target])

    return cast


# ---- rescaled integers ----


def _rescales() -> list[Program]:
    found = []
    kinds = [("i8", "i8"), ("i8", "i32"), ("i32", "i8"), ("i32", "i32"), ("i32", "i16"), ("i16", "i8"), ("i48", "i16")]
    for (source, target), mode in itertools.product(kinds, ("SINGLE_ROUND", "DOUBLE_ROUND")):
        if source != "i48":
            found.append(_rescale(source, target, mode, [(1 << 30) + 12345, (1 << 30) + 777, 1 << 30], [33, 38, 35]))
    found += [
        _rescale("i32", "i8", "SINGLE_ROUND", [17000, 20000, 30000], [24, 25, 26], is_wide=False),
        _rescale("i8", "i8", "SINGLE_ROUND", [1 << 30], [30]),
        _rescale("i8", "i8", "SINGLE_ROUND", [1 << 30], [30], unsigned=(True, False)),
        _rescale("i8", "i8", "SINGLE_ROUND", [1 << 30], [30], unsigned=(False, True)),
        _rescale("i16", "i16", "SINGLE_ROUND", [1 << 30], [31], unsigned=(True, False)),
    ]
    return found


def _rescale(
    source: str,
    target: str,
    mode: str,
    multipliers: list[int],
    shifts: list[int],
    is_wide: bool = True,
    unsigned: tuple[bool, bool] = (False, False),
) -> Program:
    zero, made_zero = (0 if dtype in ("i32", "i16") else 5 for dtype in (source, target))
    if source == "i16" and unsigned[0]:
        zero = -(1 << 15)  # 32768 without a sign
    high = 1 << (20 if source == "i32" else 30)
    given = Given((7, 3), source, -high, high) if source == "i32" else Given((7, 3), source)
    kind = "i32" if is_wide else "i16"
    before = [
        constant("m", multipliers, kind),
        constant("s", shifts, "i8"),
        constant("y", [zero], source),
        constant("z", [made_zero], target),
    ]
    count = len(multipliers)
    more = [
        ("%m", f"tensor<{count}x{kind}>"),
        ("%s", f"tensor<{count}xi8>"),
        ("%y", f"tensor<1x{source}>"),
        ("%z", f"tensor<1x{target}>"),
    ]
    words = [str(each).lower() for each in (is_wide, count > 1, *unsigned)]
    attributes = (
        f"scale32 = {words[0]}, rounding_mode = #tosa.rounding_mode<{mode}>, per_channel = {words[1]}, "
        f"input_unsigned = {words[2]}, output_unsigned = {words[3]}"
    )

    def expected(x: ndarray) -> ndarray:
        made = numpy.zeros(x.shape, object)
        for place in numpy.ndindex(x.shape):
            channel = place[-1] if count > 1 else 0
            bits = x.itemsize * 8
            value = int(x[place]) % (1 << bits) - zero % (1 << bits) if unsigned[0] else int(x[place]) - zero
            half = 1 << (shifts[channel] - 1)
            if mode == "DOUBLE_ROUND" and shifts[channel] > 31:
                half += (1 << 30) if value >= 0 else -(1 << 30)
            made[place] = (value * multipliers[channel] + half >> shifts[channel]) + made_zero
        limits = numpy.iinfo(f"u{NUMPY[target]}" if unsigned[1] else NUMPY[target])
        return made.clip(limits.min, limits.max).astype(limits.dtype).view(NUMPY[target])

    note = "-".join(
        [
            "to",
            target,
            mode,
            f"{count}",
            *[
                word
                for word, is_so in zip(("narrow", "unsigned", "to_unsigned"), (not is_wide, *unsigned), strict=True)
                if is_so
            ],
        ]
    )
    return simple("rescale", [given], expected, ((7, 3), target), attributes, before=before, more=more, note=note)


INTEGERS = [*_products(), *_rescales()]
