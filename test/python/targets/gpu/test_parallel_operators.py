# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that a CPU computes in sequence use all threads of a GPU.

No kernel has a single thread. Results of sizes with several blocks are compared on the emulator, which also finds
races.
"""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest
from emulated_gpu import run_emulated
from onnx_oracle import run_onnx
from prim_jit import compiled, dtype_name
from relax_mlir.runtime import to_numpy

import relax_mlir as rx


def ran(name: str, *arguments: Any, symbols: Any = (), **attributes: Any) -> Any:
    """Return an operator's results, compiled for cuda."""
    arrays = [each for each in arguments if isinstance(each, numpy.ndarray)]
    shapes = [tuple(shape) for shape in symbols] or [array.shape for array in arrays]
    infos = tuple(rx.tensor(shape, dtype_name(array)) for shape, array in zip(shapes, arrays, strict=True))
    literals = tuple(None if isinstance(each, numpy.ndarray) else (each,) for each in arguments)
    executable = compiled(f"relax.{name}", infos, literals, tuple(attributes.items()), "cuda")
    results = run_emulated(executable, *arrays)
    return tuple(map(to_numpy, results)) if isinstance(results, (tuple, list)) else to_numpy(results)


def forms(name: str, *infos: Any, **attributes: Any) -> list[str]:
    """Return the forms of an operator's kernels, with "thread" for a single thread."""
    module = rx.Module()
    with module.function("main", infos) as f:
        f.returns(*rx.bindings.mlir.as_list(rx.find_op(f"relax.{name}")(*f, **attributes)))
    rx.stages("cuda").until("kernels").run(module, "cuda")
    found = re.findall(r'gpu\.form = "(\w+)", .*?known_block_size = array<i32: (\d+)', str(module))
    return [form if int(threads) > 1 else "thread" for form, threads in found]


def floats(*shape: Any) -> Any:
    return rx.tensor(shape, "float32")


def places(*shape: Any) -> Any:
    return rx.tensor(shape, "int64")


@pytest.mark.parametrize(
    ("name", "infos", "attributes", "expected"),
    [
        ("cumsum", [floats(4, 1000)], {"axis": 1}, ["blocks"]),
        ("cumsum", [floats(4, 20000)], {"axis": 1}, ["blocks"] * 3),
        ("cumsum", [floats(100, 50)], {"axis": 1}, ["threads"]),
        ("sort", [floats(8, 1000)], {}, ["blocks"]),
        ("argsort", [floats(8, 3000)], {}, ["blocks", "threads", "threads"]),
        ("topk", [floats(1, 50000)], {"k": 50}, ["blocks"] * 3),
        ("nonzero", [floats(100, 70)], {}, ["blocks", "threads"]),
        ("scatter_nd", [floats(9, 4), places(20, 1), floats(20, 4)], {}, ["points", *["threads"] * 3]),
        ("scatter_nd", [floats(9, 4), places(1, 1), floats(1, 4)], {}, ["points", "threads"]),
        ("scatter_nd", [floats(9, 4), places(20, 1), floats(20, 4)], {"reduction": "add"},
         ["points", "threads", "blocks", "threads"]),
        ("argmax", [floats(100000)], {}, ["row_parts", "rows"] * 2),
        ("max", [floats(100000, 4)], {"axis": 0}, ["point_parts", "rows"]),
        ("max", [floats("n")], {}, ["row_parts", "rows"]),
        # Each thread checks its own index: nothing before, and the host does not wait.
        ("take", [floats(100, 8), places(20)], {"axis": 0}, ["points"]),
        ("gather_nd", [floats(100, 8), places(20, 2)], {}, ["points"]),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_forms(name: str, infos: Any, attributes: Any, expected: list[str]) -> None:
    assert forms(name, *infos, **attributes) == expected


random = numpy.random.default_rng


@pytest.mark.parametrize("size", [1023, 1025, 8192, 8193, 20000])
def test_scans_of_several_spans(size: int) -> None:
    """Scan sizes below and above a span, and the size that one block scans alone."""
    x = random(size).integers(-9, 9, (2, size, 2)).astype("int32")
    total = numpy.cumsum(x, axis=1, dtype="int64")
    symbols = [("a", "b", "c")]
    numpy.testing.assert_array_equal(ran("cumsum", x, axis=1, dtype="int64", symbols=symbols), total)
    before = ran("cumsum", x, axis=1, dtype="int64", exclusive=True)
    numpy.testing.assert_array_equal(before, total - x)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8"])
@pytest.mark.parametrize("size", [511, 1025, 2500])
def test_sorting_of_several_pieces(size: int, dtype: str) -> None:
    """Sort many equal elements stably, with NaN last."""
    x = random(size).integers(0, 200, (2, size)).astype(dtype)
    if dtype.startswith("float"):
        x[:, ::97] = numpy.nan
    order = numpy.argsort(x, axis=1, kind="stable")
    numpy.testing.assert_array_equal(ran("argsort", x, symbols=[("m", "n")]), order)
    numpy.testing.assert_array_equal(ran("sort", x), numpy.take_along_axis(x, order, 1))


@pytest.mark.parametrize("k", [1, 40, 256, 257, 2000])
def test_the_first_of_several_pieces(k: int) -> None:
    """Keep 40 of each piece of 4000 elements once, and of 256 twice. Larger k are sorted."""
    x = random(k).integers(0, 900, (2, 4000)).astype("float32")
    order = numpy.argsort(-x, axis=1, kind="stable")[:, :k]
    for symbols in ((), [("m", "n")]):
        values, indices = ran("topk", x, k=k, symbols=symbols)
        numpy.testing.assert_array_equal(indices, order)
        numpy.testing.assert_array_equal(values, numpy.take_along_axis(x, order, 1))


def test_nonzero_of_several_spans() -> None:
    x = random(1).random((3, 3001)) < 0.3
    for symbols in ((), [("m", "n")]):
        numpy.testing.assert_array_equal(ran("nonzero", x, symbols=symbols), numpy.nonzero(x))


@pytest.mark.parametrize("is_sorted", [True, False])
def test_unique_of_several_spans(is_sorted: bool) -> None:
    x = random(2).integers(-300, 300, 9000).astype("int32")
    values, firsts, inverse, counts = numpy.unique(x, return_index=True, return_inverse=True, return_counts=True)
    if not is_sorted:
        order = numpy.argsort(firsts)
        values, firsts, counts = values[order], firsts[order], counts[order]
        inverse = numpy.argsort(order)[inverse]
    actual = ran("unique", x, is_sorted, True, True, True, symbols=[("n",)])
    for one, other in zip(actual, (values, firsts, inverse, counts), strict=True):
        numpy.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("reduction", ["update", "add", "mul", "max"])
def test_many_writes_to_each_place(reduction: str) -> None:
    """Combine updates in their order, to the bit: floats are added in the order of the updates."""
    given = random(3)
    data, updates = given.normal(size=(40, 3)).astype("float32"), given.normal(size=(3000, 3)).astype("float32")
    indices = given.integers(-40, 40, (3000, 1))
    expected = data.copy()
    combine = {"update": lambda _, new: new, "add": numpy.add, "mul": numpy.multiply, "max": numpy.maximum}[reduction]
    for place, update in zip(indices[:, 0], updates, strict=True):
        expected[place] = combine(expected[place], update)
    for symbols in ((), [("a", 3), ("m", 1), ("m", 3)]):
        actual = ran("scatter_nd", data, indices, updates, reduction=reduction, symbols=symbols)
        numpy.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("reduction", ["update", "add"])
def test_writes_outside_are_refused(reduction: str) -> None:
    """Refuse an index without a write, which the emulator would report."""
    data, indices = numpy.zeros((4, 3), "float32"), numpy.array([[1], [4], [0]])
    with pytest.raises(IndexError, match="index 4 is out of range for axis 0 of size 4"):
        ran("scatter_nd", data, indices, numpy.ones((3, 3), "float32"), reduction=reduction)


@pytest.mark.parametrize("symbols", [False, True])
@pytest.mark.parametrize(
    ("name", "shape", "axis"),
    [("sum", (3, 20000), 1), ("max", (20000, 3), 0), ("argmax", (30000,), 0), ("argmin", (5000, 7), 0),
     ("sum", (2, 70), None), ("variance", (90, 100), None)],
)  # fmt: skip
def test_reductions_to_few_results(name: str, shape: Any, axis: int | None, symbols: bool) -> None:
    """Reduce in parts, with a smaller last part, and find NaN in any part."""
    x = random(4).normal(size=shape).astype("float32")
    named = [tuple("abc"[: len(shape)])] if symbols else ()
    expected = getattr(numpy, {"variance": "var"}.get(name, name))
    numpy.testing.assert_allclose(ran(name, x, axis=axis, symbols=named), expected(x.astype("f8"), axis), rtol=1e-6)
    x.reshape(-1)[x.size - 5] = numpy.nan
    numpy.testing.assert_allclose(ran(name, x, axis=axis, symbols=named), expected(x.astype("f8"), axis), rtol=1e-6)


def test_boxes_of_several_spans() -> None:
    given = random(5)
    first = given.random((1, 1500, 2))
    boxes = numpy.concatenate([first, first + given.uniform(0.01, 0.2, first.shape)], -1).astype("float32")
    scores = given.random((1, 2, 1500)).astype("float32")
    limits = numpy.array(60), numpy.array([0.3], "float32"), numpy.array([0.2], "float32")
    actual, total = ran("vision.all_class_non_max_suppression", boxes, scores, *limits)
    (expected,) = run_onnx("NonMaxSuppression", boxes, scores, limits[0].reshape(1), *limits[1:])
    numpy.testing.assert_array_equal(actual, expected)
    assert total.tolist() == [len(expected)]


@pytest.mark.parametrize("shape", [(8,), (3, 8), (40, 100)])
def test_what_a_team_reads_is_overwritten_when_all_have_read_it(shape: tuple[int, ...]) -> None:
    """Overwrite a median's prefix at -O0 in the kernel that counts with it, after all threads have read it."""
    x = numpy.random.default_rng(5).standard_normal(shape).astype("float32")
    module = rx.Module()
    with module.function("main", [rx.tensor(shape)]) as f:
        f.returns(rx.relax.median(*f, axis=[-1])[0])
    found = run_emulated(rx.compile(module, "cuda", opt_level=0, cache=False), x)
    assert (to_numpy(found) == numpy.sort(x)[..., (shape[-1] - 1) // 2]).all()
