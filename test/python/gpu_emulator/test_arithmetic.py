# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single instructions against numpy, Python's integers and exact fractions, on numbers that are difficult to round."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy
import pytest
from emulated import Result, kernel, run

_COUNT = 512
_LETTERS = {"u": "u", "s": "i", "b": "u", "f": "f"}


def _dtype(kind: str) -> Any:
    if kind.startswith("bf16"):
        return numpy.dtype(ml_dtypes.bfloat16)
    return numpy.dtype(f"{_LETTERS[kind[0]]}{int(kind[1:].replace('x2', '')) // 8}")


def _register(kind: str, number: int) -> str:
    bits = 32 if "x2" in kind else int(kind.lstrip("usbf"))
    return f"%{ {8: 'h', 16: 'h', 32: 'r', 64: 'd'}[bits] }{'2' if bits == 64 else ''}{number}"


def apply(instruction: str, result: str, *inputs: tuple[str, Any]) -> Any:
    """Compute each element in one thread. `instruction` has the places {0}, {1}, ...; {0} is the result."""
    count = len(inputs[0][1])
    body, names = [], [_register(result, 0)]
    for number, (kind, _) in enumerate(inputs, 1):
        names.append(_register(kind, number))
        body.append(f"mul.wide.u32 %d40, %r63, {_dtype(kind).itemsize}; add.s64 %d41, %d{number}, %d40;")
        body.append(f"ld.global.b{8 * _dtype(kind).itemsize} {names[-1]}, [%d41];")
    body.append(f"{instruction.format(*names)};")
    body.append(f"mul.wide.u32 %d40, %r63, {_dtype(result).itemsize}; add.s64 %d41, %d{len(inputs) + 1}, %d40;")
    body.append(f"st.global.b{8 * _dtype(result).itemsize} [%d41], {names[0]};")
    text = kernel("\n".join(body), len(inputs) + 1)
    arrays = [numpy.asarray(values).astype(_dtype(kind)) for kind, values in inputs]
    return run(text, *arrays, Result((count,), _dtype(result)), block=count)[-1]


def _integers(kind: str, seed: int, count: int = _COUNT) -> Any:
    dtype = _dtype(kind)
    limits = numpy.iinfo(dtype)
    random = numpy.random.default_rng(seed)
    values = random.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
    values[::3] >>= random.integers(0, limits.bits, len(values[::3])).astype(dtype)
    special = [limits.min, limits.max, 0, 1, limits.max - 1, limits.min + 1]
    values[:36] = numpy.array(special).astype(dtype).repeat(6) if seed % 2 else numpy.array(special * 6).astype(dtype)
    return values


def _floats(kind: str, seed: int, count: int = _COUNT) -> Any:
    random = numpy.random.default_rng(seed)
    dtype = _dtype(kind)
    spread = {2: 4 if kind == "f16" else 30, 4: 30, 8: 200}[dtype.itemsize]
    values = random.standard_normal(count) * 2.0 ** random.integers(-spread, spread, count)
    special = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1.0, -1.5]
    values[:49] = numpy.repeat(special, 7) if seed % 2 else numpy.array(special * 7)
    with numpy.errstate(over="ignore"):
        return values.astype(dtype)


def _same(actual: Any, expected: Any) -> None:
    actual, expected = numpy.asarray(actual), numpy.asarray(expected)
    assert actual.dtype == expected.dtype
    if expected.dtype.kind in "iu":
        wrong = actual != expected
    else:
        bits = f"u{expected.dtype.itemsize}"
        both_nan = numpy.isnan(actual.astype("f8")) & numpy.isnan(expected.astype("f8"))
        wrong = (actual.view(bits) != expected.view(bits)) & ~both_nan
    at = numpy.flatnonzero(wrong)
    assert not len(at), f"{len(at)} differ, first at {at[0]}: {actual[at[0]]!r}, expected {expected[at[0]]!r}"


Exact = Callable[..., int]


def _truncated(a: int, b: int) -> int:
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_EXACT: list[tuple[str, str, Exact]] = [
    ("add.{k}", "u32 s32 u64 s64 u16 s16", lambda a, b: a + b),
    ("sub.{k}", "u32 s32 u64 s64 u16", lambda a, b: a - b),
    ("mul.lo.{k}", "u32 s32 u64 s64 u16", lambda a, b: a * b),
    ("mul.hi.{k}", "u32", lambda a, b: a * b >> 32),
    ("mul.hi.{k}", "s32", lambda a, b: a * b >> 32),
    ("mul.hi.{k}", "u64 s64", lambda a, b: a * b >> 64),
    ("mul.hi.{k}", "u16 s16", lambda a, b: a * b >> 16),
    ("div.{k}", "u32 s32 u64 s64 s16", _truncated),
    ("rem.{k}", "u32 s32 u64 s64", lambda a, b: a if b == 0 else a - _truncated(a, b) * b),
    ("min.{k}", "u32 s32 u64 s64", min),
    ("max.{k}", "u32 s32 u64 s16", max),
]


@pytest.mark.parametrize(
    ("instruction", "kinds", "exact"), _EXACT, ids=[f"{row[0][:-4]}-{row[1][:3]}" for row in _EXACT]
)
def test_integers(instruction: str, kinds: str, exact: Exact) -> None:
    for kind in kinds.split():
        a, b = _integers(kind, 1), _integers(kind, 2)
        found = apply(instruction.format(k=kind) + " {0}, {1}, {2}", kind, (kind, a), (kind, b))
        bits, dtype = 8 * a.dtype.itemsize, a.dtype
        wanted = [exact(int(x), int(y)) % (1 << bits) for x, y in zip(a, b, strict=True)]
        _same(found, numpy.array(wanted, f"u{bits // 8}").view(dtype))


def test_wide_products_and_sums() -> None:
    for kind in ("u32", "s32"):
        a, b, c = _integers(kind, 1), _integers(kind, 2), _integers(f"{kind[0]}64", 3)
        wide = [(kind, a), (kind, b), (f"{kind[0]}64", c)]
        found = apply(f"mad.wide.{kind} {{0}}, {{1}}, {{2}}, {{3}}", f"{kind[0]}64", *wide)
        _same(found, a.astype(c.dtype) * b.astype(c.dtype) + c)


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_shifts_by_more_than_the_width(kind: str) -> None:
    a, counts = _integers(kind, 1), numpy.arange(_COUNT, dtype=numpy.uint32) % 80
    bits = int(kind[1:])
    right = [int(x) >> min(int(n), bits) for x, n in zip(a, counts, strict=True)]
    _same(apply(f"shr.{kind} {{0}}, {{1}}, {{2}}", kind, (kind, a), ("u32", counts)), numpy.array(right, a.dtype))
    left = [(int(x) << int(n)) % (1 << bits) for x, n in zip(a, counts, strict=True)]
    found = apply(f"shl.b{bits} {{0}}, {{1}}, {{2}}", f"b{bits}", (kind, a), ("u32", counts))
    _same(found, numpy.array(left, f"u{bits // 8}"))


def test_bit_fields() -> None:
    a, b = _integers("u32", 1), _integers("u32", 2)
    start, length = (numpy.random.default_rng(n).integers(0, 40, _COUNT).astype(numpy.uint32) for n in (5, 6))

    def extract(value: int, at: int, size: int, signed: bool) -> int:
        sign = value >> min(at + size - 1, 31) & 1 if signed and size else 0
        bits = [value >> at + place & 1 if place < size and at + place < 32 else sign for place in range(32)]
        return sum(bit << place for place, bit in enumerate(bits))

    fields = [(int(x), int(n), int(m)) for x, n, m in zip(a, start, length, strict=True)]
    for kind in ("u32", "s32"):
        wanted = [extract(*field, kind == "s32") for field in fields]
        found = apply(f"bfe.{kind} {{0}}, {{1}}, {{2}}, {{3}}", "u32", ("u32", a), ("u32", start), ("u32", length))
        _same(found, numpy.array(wanted, numpy.uint32))
    inserted = []
    for x, y, n, m in zip(a, b, start, length, strict=True):
        mask = (((1 << int(m)) - 1) << int(n)) % (1 << 32)
        inserted.append((int(x) << int(n)) & mask | int(y) & ~mask)
    text = "bfi.b32 {0}, {1}, {2}, {3}, {4}"
    found = apply(text, "u32", ("u32", a), ("u32", b), ("u32", start), ("u32", length))
    _same(found, numpy.array(inserted, numpy.uint32))


_BITS: list[tuple[str, str, Callable[[int], int]]] = [
    ("popc.b32", "u32", lambda x: x.bit_count()),
    ("popc.b64", "u64", lambda x: x.bit_count()),
    ("clz.b32", "u32", lambda x: 32 - x.bit_length()),
    ("clz.b64", "u64", lambda x: 64 - x.bit_length()),
    ("bfind.u32", "u32", lambda x: (x.bit_length() - 1) % (1 << 32)),
    ("bfind.shiftamt.u32", "u32", lambda x: 32 - x.bit_length() if x else 0xFFFFFFFF),
    ("bfind.s32", "s32", lambda x: ((x if x >= 0 else ~x).bit_length() - 1) % (1 << 32)),
    ("brev.b32", "u32", lambda x: int(f"{x:032b}"[::-1], 2)),
    ("not.b32", "u32", lambda x: ~x % (1 << 32)),
    ("cnot.b32", "u32", lambda x: int(x == 0)),
    ("neg.s32", "s32", lambda x: -x % (1 << 32)),
    ("abs.s32", "s32", lambda x: abs(x) % (1 << 32)),
    ("cvt.u32.u16", "u16", lambda x: x),
    ("cvt.s32.s8", "s32", lambda x: ((x + 128) % 256 - 128) % (1 << 32)),
    ("cvt.u32.u8", "u32", lambda x: x % 256),
    ("cvt.sat.u8.s32", "s32", lambda x: min(max(x, 0), 255)),
    ("cvt.sat.s8.s32", "s32", lambda x: min(max(x, -128), 127) % (1 << 32)),
]


@pytest.mark.parametrize(("instruction", "kind", "exact"), _BITS, ids=[row[0] for row in _BITS])
def test_bits(instruction: str, kind: str, exact: Callable[[int], int]) -> None:
    a = _integers(kind, 1)
    found = apply(f"{instruction} {{0}}, {{1}}", "u32", (kind, a))
    _same(found, numpy.array([exact(int(x)) for x in a], numpy.uint32))


def test_permutes_and_funnels() -> None:
    a, b, c = (_integers("u32", seed) for seed in (1, 2, 3))

    def bytes_of(x: int, y: int, choice: int) -> int:
        both = x.to_bytes(4, "little") + y.to_bytes(4, "little")
        found = []
        for place in range(4):
            nibble = choice >> 4 * place & 15
            byte = both[nibble & 7]
            found.append((255 if byte >> 7 else 0) if nibble & 8 else byte)
        return int.from_bytes(bytes(found), "little")

    triples = [(int(x), int(y), int(z)) for x, y, z in zip(a, b, c, strict=True)]
    three = [("u32", a), ("u32", b), ("u32", c)]
    rows: list[tuple[str, Exact]] = [
        ("prmt.b32", bytes_of),
        ("shf.l.wrap.b32", lambda x, y, n: ((y << 32 | x) << (n & 31)) >> 32),
        ("shf.r.wrap.b32", lambda x, y, n: (y << 32 | x) >> (n & 31)),
        ("shf.l.clamp.b32", lambda x, y, n: ((y << 32 | x) << min(n, 32)) >> 32),
        ("shf.r.clamp.b32", lambda x, y, n: (y << 32 | x) >> min(n, 32)),
        ("sad.u32", lambda x, y, z: abs(x - y) + z),
        ("mad.lo.u32", lambda x, y, z: x * y + z),
        ("mad.hi.u32", lambda x, y, z: (x * y >> 32) + z),
    ]
    for instruction, exact in rows:
        wanted = numpy.array([exact(*each) % (1 << 32) for each in triples], numpy.uint32)
        _same(apply(f"{instruction} {{0}}, {{1}}, {{2}}, {{3}}", "u32", *three), wanted)
    for table in (0x80, 0x96, 0xE8, 0xCA, 0x1B):
        wanted = numpy.zeros(_COUNT, numpy.uint32)
        for bit in range(32):
            row = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1)
            wanted |= ((table >> row.astype(int)) & 1).astype(numpy.uint32) << numpy.uint32(bit)
        _same(apply(f"lop3.b32 {{0}}, {{1}}, {{2}}, {{3}}, {table}", "u32", *three), wanted)
    first, second = a.view("i1").reshape(-1, 4).astype(int), b.view("i1").reshape(-1, 4).astype(int)
    wanted = ((first * second).sum(axis=1) + c.view("i4")).astype(numpy.int64).astype(numpy.int32)
    _same(apply("dp4a.s32.s32 {0}, {1}, {2}, {3}", "s32", *three), wanted)


def test_a_sum_of_several_words_carries() -> None:
    a, b = _integers("u64", 1), _integers("u64", 2)
    for name in ("add", "sub"):
        text = f"""{{{{ .reg .b32 lo, hi, x, y, z, w; mov.b64 {{{{lo, hi}}}}, {{1}}; mov.b64 {{{{x, y}}}}, {{2}};
            {name}.cc.u32 z, lo, x; {name}c.u32 w, hi, y; mov.b64 {{0}}, {{{{z, w}}}}; }}}}"""
        _same(apply(text, "u64", ("u64", a), ("u64", b)), a + b if name == "add" else a - b)


_BINARY = {"add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply, "div.rn": numpy.divide}


@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div.rn", "min", "max", "min.NaN", "max.NaN"])
def test_floats(kind: str, name: str) -> None:
    if name == "div.rn" and kind.endswith("16"):
        name = "mul.rn"  # halves have no division
    a, b = _floats(kind, 1), _floats(kind, 2)
    found = apply(f"{name}.{kind} {{0}}, {{1}}, {{2}}", kind, (kind, a), (kind, b))
    with numpy.errstate(all="ignore"):
        wide = (a, b) if kind in ("f32", "f64") else (a.astype("f4"), b.astype("f4"))
        ufunc: Any = _BINARY.get(name.replace(".rn", "")) or _BINARY.get(name)
        if ufunc is None:
            ufunc = {"min": numpy.fmin, "max": numpy.fmax, "min.NaN": numpy.minimum, "max.NaN": numpy.maximum}[name]
        expected = ufunc(*wide).astype(a.dtype)
    zeros = (a == 0) & (b == 0)
    signs = numpy.signbit(a) | numpy.signbit(b) if name.startswith("min") else numpy.signbit(a) & numpy.signbit(b)
    if name[:3] in ("min", "max"):
        expected[zeros] = numpy.where(signs, -0.0, 0.0).astype(a.dtype)[zeros]
    _same(found, expected)


def _rounded(exact: Fraction, mode: str) -> numpy.float32:
    """Round to float32 with integer arithmetic only."""
    if exact == 0:
        return numpy.float32(0)
    negative, size = exact < 0, abs(exact)
    power = max(math.floor(math.log2(size.numerator) - math.log2(size.denominator)), -126)
    power -= size < Fraction(2) ** power and power > -126
    power += size >= Fraction(2) ** (power + 1)
    unit = Fraction(2) ** (power - 23)
    count, rest = divmod(size, unit)
    up = {"rn": rest * 2 > unit or (rest * 2 == unit and count % 2 == 1), "rz": False}
    up |= {"rm": negative and rest > 0, "rp": not negative and rest > 0}
    value = (count + up[mode]) * unit
    return numpy.float32(float(-value if negative else value))


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_roundings_of_float32(mode: str) -> None:
    random = numpy.random.default_rng(3)
    a, b = (random.standard_normal(_COUNT).astype("f4") for _ in range(2))
    c = (random.standard_normal(_COUNT) * 2.0 ** random.integers(-60, 10, _COUNT)).astype("f4")
    a[:64] *= numpy.float32(2.0**-75)  # subnormal products
    b[:64] *= numpy.float32(2.0**-60)
    c[:64] = 0
    a[64:128], b[64:128] = 1 + 2.0**-12, 1 + 2.0**-12  # in the middle between two numbers, but for a little
    c[64:128] = numpy.where(numpy.arange(64) % 2, 1, -1) * 2.0 ** -numpy.arange(40, 104).astype("f8")
    triples = [tuple(Fraction(float(v)) for v in each) for each in zip(a, b, c, strict=True)]
    values = [("f32", a), ("f32", b), ("f32", c)]
    found = apply(f"fma.{mode}.f32 {{0}}, {{1}}, {{2}}, {{3}}", "f32", *values)
    expected = numpy.array([_rounded(x * y + z, mode) for x, y, z in triples])
    _same(numpy.abs(found), numpy.abs(expected)) if mode != "rn" else _same(
        found[expected != 0], expected[expected != 0]
    )
    for name, exact in (("mul", lambda x, y: x * y), ("add", lambda x, y: x + y), ("sub", lambda x, y: x - y)):
        other = 1 if name == "mul" else 2
        found = apply(f"{name}.{mode}.f32 {{0}}, {{1}}, {{2}}", "f32", values[0], values[other])
        expected = numpy.array([_rounded(exact(each[0], each[other]), mode) for each in triples])
        _same(found[expected != 0], expected[expected != 0])


def test_a_fused_product_of_float64_is_rounded_once() -> None:
    random = numpy.random.default_rng(4)
    a, b = (random.standard_normal(_COUNT) * 2.0 ** random.integers(-40, 40, _COUNT) for _ in range(2))
    c = -a * b * (1 + 2.0**-50 * random.standard_normal(_COUNT))
    a[:32] *= 2.0**-500
    b[:32] *= 2.0**-500
    found = apply("fma.rn.f64 {0}, {1}, {2}, {3}", "f64", ("f64", a), ("f64", b), ("f64", c))
    exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a, b, c, strict=True)]
    _same(found, numpy.array(exact))


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_roundings_of_float64(mode: str) -> None:
    """Check that results lie on the right side with no closer number, and that exact results stay exact."""
    random = numpy.random.default_rng(6)
    a, b, c = (random.standard_normal(64) for _ in range(3))
    a[:16], b[:16], c[:16] = numpy.arange(-8, 8), 3.0, 0.5
    values = [("f64", a), ("f64", b), ("f64", c)]
    triples = [tuple(map(Fraction, each)) for each in zip(a, b, c, strict=True)]
    for name, used, exact in (
        ("fma", values, lambda x, y, z: x * y + z),
        ("mul", values[:2], lambda x, y, z: x * y),
        ("add", values[:2], lambda x, y, z: x + y),
    ):
        places = ", ".join(f"{{{number}}}" for number in range(len(used) + 1))
        found = apply(f"{name}.{mode}.f64 {places}", "f64", *used)
        for value, each in zip(found, triples, strict=True):
            wanted = exact(*each)
            up = mode == "rp" or (mode == "rz" and wanted < 0)
            beyond = Fraction(numpy.nextafter(value, -numpy.inf if up else numpy.inf))
            assert beyond < wanted <= Fraction(value) if up else Fraction(value) <= wanted < beyond


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_a_fused_product_of_halves_is_rounded_once(kind: str) -> None:
    a, b, c = (_floats(kind, seed)[49:] for seed in (1, 2, 3))
    found = apply(f"fma.rn.{kind} {{0}}, {{1}}, {{2}}, {{3}}", kind, (kind, a), (kind, b), (kind, c))
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
    # longdouble has 64 bits, of which float64 rounded to odd needs 53: enough for these exponents
    with numpy.errstate(over="ignore"):
        expected = numpy.array([float(each) for each in exact])
        near = expected.astype(a.dtype)
    error = [abs(Fraction(float(f)) - e) for f, e in zip(found, exact, strict=True) if numpy.isfinite(float(f))]
    best = [abs(Fraction(float(n)) - e) for n, e in zip(near, exact, strict=True) if numpy.isfinite(float(n))]
    assert len(error) == len(best) and all(x <= y for x, y in zip(error, best, strict=True))


def test_pairs_of_halves() -> None:
    for kind in ("f16", "bf16"):
        a, b, c = (_floats(kind, seed) for seed in (1, 2, 3))
        packed = [(f"{kind}x2", each) for each in (a, b, c)]
        values = [("b32", each.view(numpy.uint32)) for _, each in packed]
        with numpy.errstate(all="ignore"):
            expected = (a.astype("f4") + b.astype("f4")).astype(a.dtype)
        _same(apply(f"add.rn.{kind}x2 {{0}}, {{1}}, {{2}}", "b32", *values[:2]).view(a.dtype), expected)
        single = apply(f"fma.rn.{kind} {{0}}, {{1}}, {{2}}, {{3}}", kind, (kind, a), (kind, b), (kind, c))
        _same(apply(f"fma.rn.{kind}x2 {{0}}, {{1}}, {{2}}, {{3}}", "b32", *values).view(a.dtype), single)


def test_pairs_of_floats() -> None:
    a, b, c = (_floats("f32", seed, 2 * _COUNT) for seed in (1, 2, 3))
    values = [("u64", each.view(numpy.uint64)) for each in (a, b, c)]
    with numpy.errstate(all="ignore"):
        for name, expected in (("add", a + b), ("sub", a - b), ("mul", a * b)):
            _same(apply(f"{name}.rn.f32x2 {{0}}, {{1}}, {{2}}", "u64", *values[:2]).view("f4"), expected)
        single = apply("fma.rn.f32 {0}, {1}, {2}, {3}", "f32", *(("f32", each[:_COUNT]) for each in (a, b, c)))
        found = apply("fma.rn.f32x2 {0}, {1}, {2}, {3}", "u64", *values).view("f4")
        _same(found[:_COUNT], single)


def test_pairs_of_halves_are_compared() -> None:
    for kind in ("f16", "bf16"):
        a, b = (_floats(kind, seed, 2 * _COUNT) for seed in (1, 2))
        text = f"""setp.lt.{kind}x2 %p1|%p2, {{1}}, {{2}};
            selp.u32 %r30, 1, 0, %p1; selp.u32 %r31, 2, 0, %p2; add.u32 {{0}}, %r30, %r31"""
        found = apply(text, "u32", ("b32", a.view("u4")), ("b32", b.view("u4")))
        less = a.astype("f8") < b.astype("f8")
        _same(found, (less[::2] + 2 * less[1::2]).astype("u4"))


def test_long_integers_are_rounded_once() -> None:
    values = numpy.array([(1 << 62) + (1 << 54) + bit for bit in (0, 1, -1)] * 16, numpy.int64)  # between two bfloat16
    for sign in (1, -1):
        up, down = float((1 << 62) + (1 << 55)), float(1 << 62)
        found = apply("cvt.rn.bf16.s64 {0}, {1}", "bf16", ("s64", sign * values))
        assert found.astype("f8").tolist() == [sign * each for each in (down, up, down)] * 16
    near = numpy.array([(1 << 60) + (1 << 36) + bit for bit in (0, 1, -1)] * 16, numpy.int64)
    _same(apply("cvt.rn.f32.s64 {0}, {1}", "f32", ("s64", near)), near.astype("f4"))


_TO_INTEGER = {"rni": numpy.rint, "rzi": numpy.trunc, "rmi": numpy.floor, "rpi": numpy.ceil}


@pytest.mark.parametrize("mode", list(_TO_INTEGER))
def test_floats_to_integers_saturate(mode: str) -> None:
    for kind in ("f32", "f64", "f16"):
        a = _floats(kind, 1)
        a[60:200] = (numpy.arange(140) / 4 - 17).astype(a.dtype)
        for to in ("s32", "u32", "s64", "u64"):
            limits = numpy.iinfo(_dtype(to))
            wide = _TO_INTEGER[mode](a.astype("f8"))
            expected = [0 if v != v else int(min(max(v, limits.min), 2.0**70)) for v in wide]
            expected = [min(max(each, limits.min), limits.max) for each in expected]
            _same(apply(f"cvt.{mode}.{to}.{kind} {{0}}, {{1}}", to, (kind, a)), numpy.array(expected, _dtype(to)))


def test_conversions_between_floats() -> None:
    a = _floats("f32", 1)
    a[100:300] = numpy.linspace(-3, 3, 200, dtype="f4") * numpy.float32(1e-6)  # subnormal halves
    with numpy.errstate(over="ignore"):
        _same(apply("cvt.rn.f16.f32 {0}, {1}", "f16", ("f32", a)), a.astype("f2"))
        _same(apply("cvt.rn.bf16.f32 {0}, {1}", "bf16", ("f32", a)), a.astype(ml_dtypes.bfloat16))
        _same(apply("cvt.f64.f32 {0}, {1}", "f64", ("f32", a)), a.astype("f8"))
        b = _floats("f64", 1)
        _same(apply("cvt.rn.f32.f64 {0}, {1}", "f32", ("f64", b)), b.astype("f4"))
        halves = apply("cvt.rn.f16x2.f32 {0}, {1}, {2}", "b32", ("f32", a), ("f32", a[::-1].copy())).view("f2")
        _same(halves, numpy.stack([a[::-1], a], axis=1).astype("f2").reshape(-1))
    for kind in ("f16", "bf16"):
        half = _floats(kind, 2)
        _same(apply(f"cvt.f32.{kind} {{0}}, {{1}}", "f32", (kind, half)), half.astype("f4"))
    for kind in ("s32", "u32", "s64", "u64"):
        integers = _integers(kind, 1)
        _same(apply(f"cvt.rn.f32.{kind} {{0}}, {{1}}", "f32", (kind, integers)), integers.astype("f4"))
        _same(apply(f"cvt.rn.f64.{kind} {{0}}, {{1}}", "f64", (kind, integers)), integers.astype("f8"))
    clipped = numpy.where(numpy.isnan(a), 0, numpy.clip(a, 0, 1)).astype("f4")
    _same(numpy.abs(apply("cvt.sat.f32.f32 {0}, {1}", "f32", ("f32", a))), numpy.abs(clipped))


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
def test_comparisons_know_nan(kind: str) -> None:
    a, b = _floats(kind, 1), _floats(kind, 2)
    b[100:300] = a[100:300]
    x, y = a.astype("f8"), b.astype("f8")
    unordered = numpy.isnan(x) | numpy.isnan(y)
    plain = {"eq": x == y, "ne": (x != y) & ~unordered, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}
    rows = {**plain, **{f"{name}u": held | unordered for name, held in plain.items()}}
    rows |= {"num": ~unordered, "nan": unordered}
    for name, expected in rows.items():
        text = f"setp.{name}.{kind} %p1, {{1}}, {{2}}; selp.u32 {{0}}, 1, 0, %p1"
        _same(apply(text, "u32", (kind, a), (kind, b)), expected.astype("u4"))


def test_predicates_combine() -> None:
    a, b = _integers("s32", 1), _integers("s32", 2)
    text = """setp.gt.s32 %p3, {2}, 5; setp.lt.and.s32 %p1|%p2, {1}, {2}, %p3;
        selp.u32 %r30, 1, 0, %p1; selp.u32 %r31, 2, 0, %p2; add.u32 {0}, %r30, %r31"""
    less = a < b
    expected = (less & (b > 5)) + 2 * (~less & (b > 5))
    _same(apply(text, "u32", ("s32", a), ("s32", b)), expected.astype("u4"))


@pytest.mark.parametrize("name", ["ex2", "lg2", "sin", "cos", "tanh", "rcp", "rsqrt", "sqrt"])
def test_approximations_are_near(name: str) -> None:
    a = numpy.abs(_floats("f32", 5)[49:]) if name in ("lg2", "rsqrt", "sqrt") else _floats("f32", 5)[49:]
    functions: dict[str, Any] = {"ex2": numpy.exp2, "lg2": numpy.log2, "rcp": lambda x: 1 / x}
    functions |= {"rsqrt": lambda x: 1 / numpy.sqrt(x)}
    with numpy.errstate(all="ignore"):
        expected = functions.get(name, getattr(numpy, name, None))(a.astype("f8"))
        found = apply(f"{name}.approx.f32 {{0}}, {{1}}", "f32", ("f32", a))
        _same(found, expected.astype("f4"))


def test_subnormals_are_flushed_by_ftz_instructions() -> None:
    a = numpy.array([1e-40, -1e-40, 1e-30, 1.0] * 8, "f4")
    one = numpy.ones(32, "f4")
    kept = apply("mul.rn.f32 {0}, {1}, {2}", "f32", ("f32", a), ("f32", one))
    flushed = apply("mul.rn.ftz.f32 {0}, {1}, {2}", "f32", ("f32", a), ("f32", one))
    _same(kept, a)
    _same(flushed, numpy.array([0.0, -0.0, 1e-30, 1.0] * 8, "f4"))
