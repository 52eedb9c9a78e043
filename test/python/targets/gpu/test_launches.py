# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of a call, and waits of the host: only for sizes that depend on elements."""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest
from emulated_gpu import run_emulated
from gpu_operator_cases import FAMILIES, cases_of, function_name, module_of
from onnx import parser
from relax_mlir.bindings.mlir import string_value
from relax_mlir.bindings.navigation import callee_of, functions_in, operations_in, symbol_name
from relax_mlir.dialects.core.ir_attributes import FORM
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax

#: They wait for how many results there are: one number, or one for each dimension.
WAITING = {"nonzero": 1, "unique": 1, "vision.all_class_non_max_suppression": 1, "dynamic_strided_slice": 2}
#: Kernels of a single thread that take no time: they write one number, or compute sizes from a few numbers.
ALONE = {"size", "dynamic_strided_slice"}


class Host:
    """Host code of a module for cuda."""

    def __init__(self, module: rx.Module):
        rx.stages("cuda").until("kernels").run(module, "cuda")
        op = module.operation
        self._functions = {symbol_name(each): each for each in functions_in(op)}
        self._kernels = {symbol_name(each): each for each in operations_in(op) if each.name == "gpu.func"}

    def forms(self, name: str = "main") -> list[str]:
        """Return the forms of the kernels that a function launches, with "alone" for a single thread."""
        kernels = [self._kernels[each.attributes["kernel"].value[-1]] for each in self._in(name, "gpu.launch_func")]
        return [
            string_value(each.attributes[FORM]) if each.attributes["known_block_size"][0] > 1 else "alone"
            for each in kernels
        ]

    def reads(self, name: str = "main") -> int:
        """Return the number of elements that a function reads from the device's memory."""
        return len(self._in(name, "memref.load"))

    def _in(self, name: str, wanted: str) -> list[Any]:
        found = []
        for each in operations_in(self._functions[name]):
            if each.name == wanted:
                found.append(each)
            elif each.name == "func.call" and callee_of(each) in self._functions:
                found += self._in(callee_of(each), wanted)
        return found


def host(build: Any, *infos: Any) -> Host:
    module = rx.Module()
    with module.function("main", infos) as f:
        results = build(*f)
        f.returns(*(results if isinstance(results, (list, tuple)) else [results]))
    return Host(module)


@pytest.mark.parametrize("is_open", [False, True], ids=["known", "open"])
@pytest.mark.parametrize("family", [each for each in FAMILIES if each != "elementwise"])
def test_who_waits_and_what_one_thread_does(family: str, is_open: bool) -> None:
    cases = cases_of(family, is_open)
    found = Host(module_of(cases, is_open))
    waiting = {name: found.reads(function_name(name)) for name in cases if found.reads(function_name(name))}
    assert waiting == {name: count for name, count in WAITING.items() if name in cases}
    alone = {name for name in cases if "alone" in found.forms(function_name(name))}
    assert alone <= ALONE, "one thread goes through elements: share them"


def test_a_loop_of_so_many_turns_waits_for_nothing() -> None:
    """Loop a constant number of times, as in ONNX."""
    text = """<ir_version: 10, opset_import: ["" : 21]>
    loop (float[4] x) => (float[4] y) <int64[1] turns = {500}, bool go = {1}> {
        y = Loop <body = body (int64 turn, bool goes_on, float[4] before) => (bool still, float[4] after) {
            still = Identity (goes_on)
            after = Mul (before, before)
        }> (turns, go, x)
    }"""
    assert Host(rx.from_onnx(parser.parse_model(text))).reads() == 0


def test_a_model_with_embeddings_waits_for_nothing() -> None:
    """Look up ids, positions and types like BERT. The reading thread checks each index."""

    def embed(ids: Any, types: Any, words: Any, kinds: Any, places: Any, gain: Any, shift: Any, weight: Any) -> Any:
        found = relax.add(relax.take(words, ids, axis=0), relax.take(kinds, types, axis=0))
        found = relax.add(found, relax.take(places, relax.arange(5), axis=0))
        return relax.nn.gelu(relax.matmul(relax.nn.layer_norm(found, gain, shift, [-1]), weight))

    ids = rx.tensor((2, 5), "int64")
    tables = [rx.tensor((size, 16)) for size in (50, 2, 8)]
    made = host(embed, ids, ids, *tables, rx.tensor((16,)), rx.tensor((16,)), rx.tensor((16, 32)))
    assert made.reads() == 0
    assert "alone" not in made.forms()


@pytest.mark.parametrize(
    ("build", "shapes", "expected"),
    [
        (lambda x, y, z: relax.concat([x, y, z], 0), [("a", 5), ("b", 5), ("c", 5)], ["several"]),
        (lambda x: relax.split(x, 3, 1), [(4, 6)], ["several"]),
        (lambda x, y: relax.stack([x, y], 1), [("a", 5), ("a", 5)], ["several"]),
        # The second kernel writes over a part of the first kernel's output.
        (lambda x, y: relax.slice_scatter(x, y, 0, 4, 2, 1), [(3, 5), (3, 2)], ["points", "points"]),
        (lambda x: relax.nn.pad(x, (1, 1, 2, 0)), [("a", 5)], ["points"]),
        (lambda x: relax.nn.pad(x, (1, 1, 2, 0), "reflect"), [("a", 5)], ["points"]),
        (lambda x, w, b: relax.nn.relu(relax.add(relax.nn.conv2d(x, w), b)),
         [(1, 32, 14, 14), (64, 32, 1, 1), (64, 1, 1)], ["tiles"]),
        (lambda x, w, b: relax.nn.relu(relax.add(relax.nn.conv2d(x, w, padding=1), b)),
         [(1, 32, 7, 7), (64, 32, 3, 3), (64, 1, 1)], ["points", "tiles"]),
        (lambda x, w, b: relax.clip(relax.add(relax.nn.conv2d(x, w, padding=1, groups=32), b), 0, 6),
         [(1, 32, 14, 14), (32, 1, 3, 3), (32, 1, 1)], ["points", "tiles"]),
        (lambda x: relax.nn.max_pool2d(x, (3, 3), (2, 2), (1, 1)), [(1, 8, 14, 14)], ["points", "points"]),
    ],
)  # fmt: skip
def test_forms(build: Any, shapes: Any, expected: list[str]) -> None:
    assert host(build, *(rx.tensor(shape) for shape in shapes)).forms() == expected


def run(build: Any, *arrays: Any, symbols: Any = None) -> Any:
    module = rx.Module()
    shapes = symbols or [array.shape for array in arrays]
    infos = [rx.tensor(shape, str(array.dtype)) for shape, array in zip(shapes, arrays, strict=True)]
    with module.function("main", infos) as f:
        f.returns(build(*f))
    return to_numpy(run_emulated(rx.compile(module, "cuda"), *arrays))


@pytest.mark.parametrize("symbols", [None, [("a", 33), ("b", 33), ("c", 33)]], ids=["known", "open"])
def test_several_of_several_blocks(symbols: Any) -> None:
    """Concatenate parts that begin inside of a vector, with one that is empty at run time."""
    sizes = (70, 1, 41) if symbols is None else (70, 0, 41)
    arrays = [numpy.random.default_rng(size).normal(size=(size, 33)).astype("float32") for size in sizes]
    actual = run(lambda *given: relax.concat(list(given), 0), *arrays, symbols=symbols)
    numpy.testing.assert_array_equal(actual, numpy.concatenate(arrays))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("reduction", ["add", "max", "min"])
def test_integers_come_together_by_atomics(reduction: str, dtype: str) -> None:
    """Combine integers in any order. Unsigned numbers above the largest signed one keep their value."""
    given = numpy.random.default_rng(7)
    limits = numpy.iinfo(dtype)
    data, updates = (given.integers(limits.min, limits.max, size, dtype, endpoint=True) for size in (9, 500))
    indices = given.integers(-9, 9, 500)
    expected = data.copy()
    {"add": numpy.add, "max": numpy.maximum, "min": numpy.minimum}[reduction].at(expected, indices, updates)
    build = lambda x, i, u: relax.scatter_elements(x, i, u, 0, reduction)  # noqa: E731
    infos = [rx.tensor((9,), dtype), rx.tensor((500,), "int64"), rx.tensor((500,), dtype)]
    assert host(build, *infos).forms() == ["points", "threads"]
    numpy.testing.assert_array_equal(run(build, data, indices, updates), expected)


def test_an_index_outside_is_found_where_updates_come_together() -> None:
    build = lambda x, i, u: relax.scatter_elements(x, i, u, 0, "add")  # noqa: E731
    with pytest.raises(IndexError, match=re.escape("index 9 is out of range for axis 0 of size 9")):
        run(build, numpy.zeros(9, "int32"), numpy.array([0, 9, 3]), numpy.ones(3, "int32"))


def test_elements_that_go_to_one_place() -> None:
    """Keep the last element at a place, as in sequential execution."""
    x = numpy.arange(3000, dtype="float32").reshape(60, 50)
    actual = run(lambda given: relax.layout_transform(given, lambda i, j: (i + j, i + j)), x)
    expected = numpy.zeros((109, 109), "float32")
    for i in range(60):
        expected[range(i, i + 50), range(i, i + 50)] = x[i]
    numpy.testing.assert_array_equal(actual, expected)


def test_samples_of_many_classes() -> None:
    """Sample from running totals of several blocks. Sums of powers of two have no rounding error."""
    prob = numpy.full((2, 4096), 2.0**-12, "float32")
    prob[1, 1::2], prob[1, ::2] = 2.0**-11, 0
    wanted = numpy.array([0, 1, 1500, 4095, 0, 7, 4000])
    uniform = ((wanted + 0.5) * 2.0**-12).astype("float32")[:, None]
    rows = numpy.array([0, 0, 0, 0, 1, 1, 1])[:, None]
    actual = run(relax.multinomial_from_uniform, prob, uniform, rows)
    numpy.testing.assert_array_equal(actual[:, 0], [0, 1, 1500, 4095, 1, 7, 4001])
