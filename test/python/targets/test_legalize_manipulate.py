# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that move elements, legalized by the default rules, compiled and run, against numpy."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import pytest
from element_arrays import same_bits
from example_counts import draws
from hypothesis import assume, given
from hypothesis import strategies as st
from prim_jit import run_op
from relax_mlir.passes.legalize.rules import all_rules

import relax_mlir as rx

NARROW = tuple(numpy.dtype(name) for name in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2))
DTYPES = (
    *map(numpy.dtype, "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()),
    *NARROW,
)
FAMILIES = ("legalize_manipulate", "legalize_reshape", "legalize_joining", "legalize_layout")


def bits(*shape: int, dtype: Any = "float32", seed: int = 0) -> Any:
    """Return elements with random bits, including NaN payloads: moved elements must keep all bits."""
    random = numpy.random.default_rng([seed, *shape])
    if numpy.dtype(dtype) == bool:
        return random.integers(0, 2, shape).astype(bool)
    size = numpy.dtype(dtype).itemsize
    return numpy.frombuffer(bytearray(random.bytes(math.prod(shape) * size)), dtype).reshape(shape)


def ran(name: str, *arrays: Any, **options: Any) -> Any:
    return run_op(f"relax.{name}", *arrays, **options)


# ---- one tensor ----

#: A kernel compiled once: operator, shape with symbols, attributes, numpy's answer.
Case = tuple[str, tuple[Any, ...], dict[str, Any], Callable[..., Any]]
DYNAMIC: list[Case] = [
    ("permute_dims", ("a", "b", "c"), {"axes": (2, 0, -2)}, lambda x: x.transpose(2, 0, 1)),
    ("permute_dims", ("a", "b", "c"), {}, lambda x: x.transpose()),
    ("permute_dims", ("a", "b"), {"axes": (0, 1)}, lambda x: x),
    ("permute_dims", ("a", 1, "c"), {"axes": (1, 0, 2)}, lambda x: x.transpose(1, 0, 2)),
    ("flip", ("a", "b", "c"), {"axis": 0}, lambda x: x[::-1]),
    ("flip", ("a", "b", "c"), {"axis": -1}, lambda x: x[:, :, ::-1]),
    ("flip", ("a", 4), {"axis": 1}, lambda x: x[:, ::-1]),
    ("repeat", ("a", "b"), {"repeats": 3, "axis": 0}, lambda x: x.repeat(3, 0)),
    ("repeat", ("a", "b"), {"repeats": 2, "axis": -1}, lambda x: x.repeat(2, 1)),
    ("repeat", ("a", "b"), {"repeats": 0, "axis": 1}, lambda x: x.repeat(0, 1)),
    ("repeat", ("a", "b"), {"repeats": 1, "axis": 1}, lambda x: x),
    ("repeat", ("a", "b"), {"repeats": 2}, lambda x: x.repeat(2)),
    ("tile", ("a", "b"), {"repeats": (2, 3)}, lambda x: numpy.tile(x, (2, 3))),
    ("tile", ("a", "b"), {"repeats": (3,)}, lambda x: numpy.tile(x, 3)),
    ("tile", ("a", "b"), {"repeats": (2, 1, 1, 2)}, lambda x: numpy.tile(x, (2, 1, 1, 2))),
    ("tile", ("a", "b"), {"repeats": (1, 1, 1)}, lambda x: x[None]),
    ("tile", ("a", "b"), {"repeats": (0, 2)}, lambda x: numpy.tile(x, (0, 2))),
    ("tile", ("a", "b"), {"repeats": ()}, lambda x: x),
    ("broadcast_to", ("a", 1, "c"), {"shape": (2, "a", 3, "c")},
     lambda x: numpy.broadcast_to(x[None], (2, len(x), 3, x.shape[2]))),
    ("broadcast_to", ("a",), {"shape": ("a",)}, lambda x: x),
    ("collapse_sum_to", ("a", "b"), {"shape": ("a", "b")}, lambda x: x),
    ("reshape", ("a", 4, 6), {"shape": ("a", 2, 3, 2, 2)}, lambda x: x.reshape(len(x), 2, 3, 2, 2)),
    ("reshape", ("a", "b", 6), {"shape": ("a*b", 2, 3)}, lambda x: x.reshape(math.prod(x.shape[:2]), 2, 3)),
    ("reshape", ("a", "b", 2), {"shape": ("b", "a", 2)}, lambda x: x.reshape(x.shape[1], x.shape[0], 2)),
    ("reshape", ("a", 1, "b"), {"shape": (1, "a", "b", 1)}, lambda x: x.reshape(1, len(x), x.shape[2], 1)),
    ("flatten", ("a", "b", 2), {}, lambda x: x.reshape(x.size)),
    ("expand_dims", ("a", "b"), {"axis": (0, -1, 2)}, lambda x: x[None, :, None, :, None]),
    ("squeeze", ("a", 1, "b", 1), {"axis": (-1, 1)}, lambda x: x[:, 0, :, 0]),
    ("nn.batch_flatten", ("a", "b", 2), {}, lambda x: x.reshape(len(x), x[0].size if len(x) else x.shape[1] * 2)),
]  # fmt: skip


def name_of(case: Any) -> str:
    return f"{case[0]}-{case[1]}-{case[2]}" if isinstance(case, tuple) else ""


@pytest.mark.parametrize("case", DYNAMIC, ids=name_of)
@draws(12)
@given(sizes=st.fixed_dictionaries({name: st.integers(0, 5) for name in "abc"}))
def test_sizes_known_at_run_time_only(case: Case, sizes: dict[str, int]) -> None:
    name, symbols, attributes, reference = case
    x = bits(*(sizes.get(size, size) for size in symbols))
    same_bits(ran(name, x, symbols=[symbols], default_rules=True, **attributes), reference(x))


@pytest.mark.parametrize("case", [case for case in DYNAMIC if "shape" not in case[2]][::4], ids=name_of)
def test_unnamed_sizes(case: Case) -> None:
    name, symbols, attributes, reference = case
    x = bits(*(3 if isinstance(size, str) else size for size in symbols))
    shape = [None if isinstance(size, str) else size for size in symbols]
    same_bits(ran(name, x, symbols=[shape], default_rules=True, **attributes), reference(x))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("name", "attributes", "reference"),
    [("permute_dims", {"axes": (1, 0)}, lambda x: x.T), ("flip", {"axis": 0}, lambda x: x[::-1])],
)
def test_every_element_type(name: str, attributes: Any, reference: Any, dtype: Any) -> None:
    x = bits(17, 5, dtype=dtype)
    same_bits(ran(name, x, **attributes), reference(x))


shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@draws(6)
@given(shapes, st.data())
def test_permuted_and_flipped(shape: tuple[int, ...], data: Any) -> None:
    x = bits(*shape, dtype="int16")
    axes = tuple(data.draw(st.permutations(range(len(shape)))))
    signed = tuple(axis - len(shape) * data.draw(st.integers(0, 1)) for axis in axes)
    same_bits(ran("permute_dims", x, axes=signed, default_rules=True), x.transpose(axes))
    if shape:
        same_bits(ran("flip", x, axis=signed[0]), numpy.flip(x, signed[0]))


@draws(6)
@given(shapes, st.data())
def test_repeated_and_tiled(shape: tuple[int, ...], data: Any) -> None:
    x = bits(*shape, dtype="uint8")
    counts = tuple(data.draw(st.lists(st.integers(0, 3), max_size=5)))
    same_bits(ran("tile", x, repeats=counts), numpy.tile(x, counts))
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1)) if shape else None
    repeats = data.draw(st.integers(0, 3))
    same_bits(ran("repeat", x, repeats=repeats, axis=axis, default_rules=True), x.repeat(repeats, axis))


@st.composite
def factored(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes of equally many elements: the same factors in the same order, grouped in two ways."""
    factors = draw(st.lists(st.sampled_from([1, 2, 2, 3, 0]), max_size=5))

    def grouped() -> tuple[int, ...]:
        cuts = sorted(draw(st.lists(st.integers(0, len(factors)), max_size=4)))
        ends = [0, *cuts, len(factors)]
        groups = [math.prod(factors[start:end]) for start, end in itertools.pairwise(ends)]
        return () if groups == [1] and draw(st.booleans()) else tuple(groups)

    return grouped(), grouped()


@draws(10)
@given(factored())
def test_reshaped(pair: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    old, new = pair
    # In a shape written in Python, 0 copies the size at its place.
    assume(all(size or old[index : index + 1] == (0,) for index, size in enumerate(new)))
    x = bits(*old, dtype="int8")
    same_bits(ran("reshape", x, shape=new, default_rules=True), x.reshape(new))


@draws(4)
@given(shapes, st.data())
def test_expand_dims_and_squeeze_keep_bits(shape: tuple[int, ...], data: Any) -> None:
    x = bits(*shape)
    axes = tuple(data.draw(st.lists(st.integers(0, len(shape) + 1), min_size=2, max_size=2, unique=True)))
    expanded = ran("expand_dims", x, axis=axes, default_rules=True)
    same_bits(expanded, numpy.expand_dims(x, axes))
    same_bits(ran("squeeze", expanded, axis=axes, default_rules=True), x)
    same_bits(ran("squeeze", expanded, default_rules=True), expanded.squeeze())


def test_sizes_that_do_not_fit() -> None:
    x = bits(3, 4)
    for shape, symbols, text in [
        (("m", 2), [("n", "m")], "numbers of elements: sizes 12 and 8 differ"),
        ((5, 2), [("n", "m")], "numbers of elements: sizes 12 and 10 differ"),
    ]:
        with pytest.raises(ValueError, match=re.escape(text)):
            ran("reshape", x, symbols=symbols, shape=shape, default_rules=True)
    same_bits(ran("reshape", x, symbols=[("n", "m")], shape=(6, 2), default_rules=True), x.reshape(6, 2))
    same_bits(ran("reshape", bits(1, 1), symbols=[("n", "m")], shape=(), default_rules=True), bits(1, 1).reshape(()))
    with pytest.raises(ValueError, match=r"squeezed dimension 1: sizes 4 and 1 differ"):
        ran("squeeze", x, symbols=[("n", "m")], axis=(1,), default_rules=True)
    same_bits(ran("squeeze", bits(3, 1), symbols=[("n", "m")], axis=(1,), default_rules=True), bits(3, 1)[:, 0])
    with pytest.raises(ValueError, match=r"do not broadcast: sizes 3 and 4 differ"):
        ran("broadcast_to", x, symbols=[("n", "m")], shape=(4, "m"))
    with pytest.raises(ValueError, match=r"do not broadcast: sizes 3 and 4 differ"):
        ran("broadcast_to", x, symbols=[(3, "m")], shape=("m", "m"))  # more than the result has room for
    same_bits(
        ran("broadcast_to", bits(1, 4), symbols=[("n", "m")], shape=(4, "m")), numpy.broadcast_to(bits(1, 4), (4, 4))
    )


# ---- sums that undo a broadcast ----


COLLAPSED = [
    ((2, 3, 4), (3, 1), "float16"),
    ((2, 3, 4), (4,), "int8"),
    ((2, 3, 4), (), "float32"),
    (("a", 3, "c"), (1, "c"), "bool"),
    (("a", "b", "c"), ("b", "c"), "bfloat16"),
    (("a", "b", "c"), ("b", 4), "float32"),
    (("a", "b", "c"), (3, 1), "uint64"),
    *((("a", "b", "c"), ("c - 3", "a*2"), dtype) for dtype in "float16 bfloat16 float64 int8 uint64 bool".split()),
]


@pytest.mark.parametrize(("symbols", "target", "dtype"), COLLAPSED, ids=str)
def test_collapsed_sums(symbols: Any, target: Any, dtype: Any) -> None:
    dtype = numpy.dtype(getattr(ml_dtypes, dtype, dtype))
    x = numpy.random.default_rng(1).normal(scale=40, size=(2, 3, 4)).astype("int8").astype(dtype)
    sizes = [{"b": 3, "c": 4, "c - 3": 1, "a*2": 4}.get(size, size) for size in target]
    dropped = tuple(range(3 - len(sizes)))
    ones = tuple(axis + len(dropped) for axis, size in enumerate(sizes) if size == 1)
    # All of these sums are exact before they are rounded.
    expected = x.any((*dropped, *ones)) if dtype.kind == "b" else x.astype("int64").sum((*dropped, *ones))
    expected = expected.reshape(sizes).astype(dtype)
    actual = ran("collapse_sum_to", x, symbols=[symbols], shape=target, default_rules=True)
    same_bits(actual, expected)
    if not {"c - 3", "a*2"} & set(target):
        like = ran("collapse_sum_like", x, numpy.zeros(sizes, dtype), symbols=[symbols, target], default_rules=True)
        same_bits(like, expected)


def test_collapse_sum_refuses_sizes_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match="do not broadcast: sizes 2 and 3 differ"):
        ran("collapse_sum_to", bits(3, 4), symbols=[("n", "m")], shape=("n - 1", 4))


# ---- several tensors ----


@draws(15)
@given(st.lists(st.integers(0, 4), min_size=3, max_size=3), st.integers(0, 3))
def test_joined_along_sizes_known_at_run_time_only(sizes: list[int], rows: int) -> None:
    parts = [bits(rows, size, 2, seed=index) for index, size in enumerate(sizes)]
    symbols = [("r", "a", 2), ("r", "b", 2), ("r", "c", 2)]
    same_bits(ran("concat", *parts, symbols=symbols, axis=1), numpy.concatenate(parts, 1))
    same_bits(ran("concat", *parts, symbols=[(None, "a", 2), ("r", None, 2), ("q", "c", None)], axis=-2),
         numpy.concatenate(parts, 1))  # fmt: skip
    first = [parts[0]] * 2
    same_bits(ran("stack", *first, symbols=symbols[:1] * 2, axis=1), numpy.stack(first, 1))
    same_bits(ran("stack", *first, symbols=[("r", "a", 2), (None, "b", 2)], axis=-1), numpy.stack(first, -1))


def test_joined_along_more_sizes_than_a_sum_can_name() -> None:
    parts = [bits(1 + index % 3, 1, seed=index) for index in range(4)]
    symbols = [(f"{'long_' * 210}{index}", 1) for index in range(4)]
    same_bits(ran("concat", *parts, symbols=symbols, axis=0), numpy.concatenate(parts))


def test_many_tensors_of_unknown_sizes_are_joined_in_groups() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((f"n{index}", 1)) for index in range(260)]) as f:
        f.returns(rx.relax.concat(list(f.args), axis=0))
    rx.Pipeline("relax-legalize-ops").run(module)
    text = str(module)
    # 17 groups; 16 of them, and their result with the last one.
    assert text.count('"relax.call_tir"(') == 17 + 1 + 1
    assert max(line.count("%") for line in text.splitlines() if '"relax.call_tir"(' in line) == 1 + 16


@draws(6)
@given(shapes, st.data())
def test_joined(shape: tuple[int, ...], data: Any) -> None:
    count = data.draw(st.integers(1, 4))
    parts = [bits(*shape, dtype="int16", seed=index) for index in range(count)]
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    same_bits(ran("stack", *parts, axis=axis), numpy.stack(parts, axis))
    if shape:
        axis = data.draw(st.integers(-len(shape), len(shape) - 1))
        same_bits(ran("concat", *parts, axis=axis, default_rules=True), numpy.concatenate(parts, axis))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_element_type_joined(dtype: Any) -> None:
    parts = [bits(size, 3, dtype=dtype) for size in (5, 1, 0, 11)]
    same_bits(ran("concat", *parts, axis=0), numpy.concatenate(parts))


def test_sizes_that_do_not_agree() -> None:
    x, y = bits(2, 3), bits(4, 3)
    with pytest.raises(ValueError, match=re.escape("dimension 0 of tensor #1: sizes 4 and 2 differ")):
        ran("concat", x, y, symbols=[("n", 3), ("m", 3)], axis=1)
    with pytest.raises(ValueError, match=re.escape("dimension 0 of tensor #1: sizes 4 and 2 differ")):
        ran("stack", x, y, symbols=[("n", 3), ("m", 3)])
    with pytest.raises(ValueError, match=re.escape("dimension 0 of tensor #0: sizes 2 and 4 differ")):
        ran("stack", x, y, symbols=[("n", 3), (4, 3)])


def numpys_split(x: Any, sections: Any, axis: int) -> list[Any]:
    """Split by rounding sections up. numpy's differ by at most one."""
    if isinstance(sections, int):
        length = -(-x.shape[axis] // sections)
        sections = [length * index for index in range(1, sections)]
    return numpy.split(x, sections, axis)


@pytest.mark.parametrize("sections", [2, 3, 4, (2,), (0, 1, 1, 5), ()], ids=str)
@draws(8)
@given(st.integers(0, 9), st.integers(0, 2))
def test_split_at_run_time(sections: Any, size: int, rows: int) -> None:
    x = bits(rows, size)
    for shape in [("n", "m"), (None, None)]:
        parts = ran("split", x, symbols=[shape], indices_or_sections=sections, axis=1, default_rules=True)
        expected = numpys_split(x, sections, 1)
        for part, want in zip(parts if isinstance(parts, tuple) else [parts], expected, strict=True):
            same_bits(part, want)


@draws(6)
@given(shapes.filter(len), st.data())
def test_split(shape: tuple[int, ...], data: Any) -> None:
    x = bits(*shape, dtype="int8")
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    sections = data.draw(st.integers(2, 5) | st.lists(st.integers(0, 5), min_size=1, max_size=3).map(sorted).map(tuple))
    parts = ran("split", x, indices_or_sections=sections, axis=axis)
    for part, want in zip(parts, numpys_split(x, sections, axis), strict=True):
        same_bits(part, want)


@pytest.mark.parametrize("indexing", ["ij", "xy"])
@pytest.mark.parametrize(
    "symbols", [[(3,), (2,), (4,)], [("a",), ("b",), (None,)], [(), ("b",)], [("a",)], [()]], ids=str
)
def test_meshgrid(symbols: Any, indexing: str) -> None:
    sizes = [3, 2, 4]
    arrays = [bits(*sizes[index : index + len(shape)], seed=index) for index, shape in enumerate(symbols)]
    grids = ran("meshgrid", *arrays, symbols=symbols, indexing=indexing)
    expected = numpy.meshgrid(*arrays, indexing=indexing)  # type: ignore[call-overload]
    for grid, want in zip(grids if isinstance(grids, tuple) else [grids], expected, strict=True):
        same_bits(grid, want)


# ---- layouts ----


def pad(x: Any, axis: int, to: int, value: float) -> Any:
    widths = [(0, to - x.shape[axis] if each == axis else 0) for each in range(x.ndim)]
    return numpy.pad(x, widths, constant_values=value)


def nchw4c(n: Any, c: Any, h: Any, w: Any) -> Any:
    return n, c // 4, h, w, c % 4


def from_nchw4c(n: Any, c: Any, h: Any, w: Any, rest: Any) -> Any:
    return n, c * 4 + rest, h, w


def diagonals(i: Any, j: Any) -> Any:
    return i + j, j


def blocks_of_blocks(i: Any, j: Any) -> Any:
    return j // 6, i // 2, (j % 6) // 2, i % 2, j % 2


def rows_joined(i: Any, j: Any, k: Any) -> Any:
    return k, j + i * 3


LAYOUTS = [
    (nchw4c, (2, 8, 3, 2), ("n", 8, "h", "w"), lambda x: x.reshape(2, 2, 4, 3, 2).transpose(0, 1, 3, 4, 2)),
    (nchw4c, (2, 6, 3, 2), ("n", "c", "h", "w"),
     lambda x: pad(x, 1, 8, 7.0).reshape(2, 2, 4, 3, 2).transpose(0, 1, 3, 4, 2)),
    (from_nchw4c, (2, 2, 3, 2, 4), ("n", "c", "h", "w", 4),
     lambda x: x.transpose(0, 1, 4, 2, 3).reshape(2, 8, 3, 2)),
    (blocks_of_blocks, (4, 12), ("n", 12), lambda x: x.reshape(2, 2, 2, 3, 2).transpose(2, 0, 3, 1, 4)),
    (rows_joined, (2, 3, 4), ("n", 3, "k"), lambda x: x.reshape(6, 4).T),
    (lambda i, j: (j, i), (2, 3), ("n", "m"), lambda x: x.T),
    (lambda i: (i // 4, i % 4), (0,), ("n",), lambda x: x.reshape(0, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("index_map", "shape", "symbols", "reference"), LAYOUTS)
def test_layouts(index_map: Any, shape: Any, symbols: Any, reference: Any) -> None:
    x = bits(*shape)
    for known in (shape, symbols):
        same_bits(ran("layout_transform", x, symbols=[known], index_map=index_map, pad_value=7.0), reference(x))


def test_layouts_with_holes() -> None:
    x = numpy.arange(6, dtype="int8").reshape(2, 3)
    expected = numpy.zeros((4, 3), "int8")
    for i, j in itertools.product(range(2), range(3)):
        expected[diagonals(i, j)] = x[i, j]
    for symbols in [(2, 3), ("n", "m")]:
        same_bits(ran("layout_transform", x, symbols=[symbols], index_map=diagonals), expected)


# ---- the rules themselves ----


def legalized(name: str, *infos: Any, **attributes: Any) -> str:
    module = rx.Module()
    with module.function("main", infos) as f:
        results = rx.find_op(f"relax.{name}")(*f, **attributes)
        f.returns(*(results if isinstance(results, tuple) else [results]))
    rx.LegalizeOps(target="default")(module)
    return str(module)


def test_manipulations_without_effect_make_no_kernel() -> None:
    x = rx.tensor(("n", 3))
    for name, attributes in [
        ("permute_dims", {"axes": (0, 1)}),
        ("tile", {"repeats": (1, 1)}),
        ("repeat", {"repeats": 1, "axis": 0}),
        ("concat", {"axis": 0}),
        ("split", {"indices_or_sections": 1}),
        ("broadcast_to", {"shape": ("n", 3)}),
        ("collapse_sum_to", {"shape": ("n", 3)}),
    ]:
        assert "call_tir" not in legalized(name, x, **attributes), name


def test_unknown_ranks_are_declined() -> None:
    for name, attributes in [("flip", {"axis": 0}), ("permute_dims", {}), ("tile", {"repeats": (2,)})]:
        with pytest.raises(rx.RelaxError, match=r"the rank of an operand .* is not known"):
            legalized(name, rx.tensor(None), **attributes)
    with pytest.raises(rx.RelaxError, match="leave the rank unknown: state the axes"):
        legalized("squeeze", rx.tensor(("n", 1)))


def test_every_rule_is_of_an_operator_that_is_run_here() -> None:
    run = {case[0] for case in DYNAMIC} | {"collapse_sum_like", "concat", "stack", "split", "meshgrid"}
    rules = [rule for rule in all_rules("default") if any(family in rule.place for family in FAMILIES)]
    elsewhere = {"layout_transform", "nn.pixel_shuffle", "grad.no_grad", "grad.start_checkpoint", "grad.end_checkpoint"}
    assert {rule.op.removeprefix("relax.") for rule in rules} == run | elsewhere
