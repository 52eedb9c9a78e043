# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-canonicalize changes no result, no type, and leaves nothing that it would change again: random graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from example_counts import draws
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from interpreted import function_of, run_function, same, values_in
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.codec import decode, encode
from relax_mlir.dialects.core.infos import ShapeInfo, TensorInfo
from relax_mlir.dialects.core.symbols import sym
from relax_mlir.passes.graph.relax_canonicalize import Canonicalize
from relax_mlir_proof.interpreter.held_values import stored

import relax_mlir as rx
from relax_mlir import relax

FLOATS = [0.0, -0.0, 1.0, -1.0, 2.5, -3.5, 0.5, float("nan"), float("inf"), float("-inf"), 1e30]
INTEGERS = [0, 1, -1, 2, 3, 7, 100]
EXTREMES = {"i8": [-128, 127], "i32": [-(2**31), 2**31 - 1], "ui8": [255, 128], "i64": [2**62, -(2**63)]}
ELEMENT_TYPES = ["f32", "f32", "f16", "i32", "i8", "ui8", "i64", "i1"]

UNARY = "abs negative square sign ceil floor round trunc nn.relu".split()
INTEGER_BINARY = "bitwise_and bitwise_or bitwise_xor".split()
ARITHMETIC = "add subtract multiply maximum minimum".split()
LOGICAL = "logical_and logical_or logical_xor bitwise_and bitwise_xor".split()
COMPARISONS = "equal not_equal less less_equal greater greater_equal".split()


class Graph:
    """Function under construction. Each step draws an operation with fitting operands, and runs it."""

    def __init__(self, draw: Any):
        self.draw = draw
        self.module = rx.Module()
        self.values: dict[Any, Any] = {}
        self.arguments: list[Any] = []
        self.tensors: list[Any] = []
        self.shapes: list[Any] = []

    def pick(self, items: Any) -> Any:
        return self.draw(st.sampled_from(list(items)))

    def array(self, shape: tuple[int, ...], dtype: str, splat: bool = False) -> Any:
        pool: list[Any] = [True, False] if dtype == "i1" else FLOATS if dtype[0] == "f" else INTEGERS
        pool = pool + EXTREMES.get(dtype, [])
        count = 1 if splat else int(numpy.prod(shape))
        numbers = [self.pick(pool) for _ in range(count)]
        with numpy.errstate(all="ignore"):
            array = numpy.array(numbers).astype(stored(dtype))
        return numpy.full(shape, array[0]) if splat else array.reshape(shape)

    def parameter_info(self, array: Any, dtype: str) -> TensorInfo:
        """Return a type in which each size is a number, a name or unknown. A name stands for a single size."""
        dims = [self.pick([size, size, sym(f"n{size}"), None]) for size in array.shape]
        return TensorInfo(tuple(dims), dtype)

    def value(self, tensor: Any) -> Any:
        return self.values[tensor]

    def dtype(self, tensor: Any) -> str:
        return decode(tensor.type).dtype

    def build(self) -> None:
        types = []
        for _ in range(self.draw(st.integers(1, 3))):
            dtype = self.pick(ELEMENT_TYPES)
            shape = tuple(self.draw(st.lists(st.integers(1, 3), max_size=3)))
            self.arguments.append(self.array(shape, dtype))
            types.append(encode(self.parameter_info(self.arguments[-1], dtype), self.module.context))
        with self.module:
            self.function = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get("main"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
                },
                regions=1,
            )
            self.block = self.function.regions[0].blocks.append(*types)
            for parameter, array in zip(self.block.arguments, self.arguments, strict=True):
                self.values[parameter] = array
                self.tensors.append(parameter)
            with ir.InsertionPoint(self.block):
                self.fill(types)

    def fill(self, types: list[Any]) -> None:
        for _ in range(self.draw(st.integers(3, 12))):
            STEPS[self.pick(STEPS)](self)
            self.run_new()
        returned = [value for value in [*self.tensors, *self.shapes] if self.draw(st.booleans())] or self.tensors[-1:]
        ir.Operation.create("func.return", operands=returned)
        signature = ir.FunctionType.get(types, [value.type for value in returned])
        self.function.attributes["function_type"] = ir.TypeAttr.get(signature)

    def run_new(self) -> None:
        """Run the operations of a step, including constants. Results become operands of later steps."""
        known = self.values
        self.values = values_in(self.module, self.block, self.arguments)
        for op in self.block.operations:
            for result in op.operation.results:
                if result not in known:
                    is_shape = isinstance(decode(result.type), ShapeInfo)
                    (self.shapes if is_shape else self.tensors).append(result)

    def tensor(self, *classes: str) -> Any:
        """Draw a tensor whose element type is of one of the classes f(loat), i(nteger), b(ool), or return None if there
        is none."""
        fitting = [value for value in self.tensors if not classes or _class_of(self.dtype(value)) in classes]
        return self.pick(fitting) if fitting else None

    def partner(self, tensor: Any) -> Any:
        """Draw a second operand: the same one, one that broadcasts with it, or a constant."""
        kind = self.pick(["same", "constant", "constant", "other"])
        if kind == "same":
            return tensor
        dtype, shape = self.dtype(tensor), self.value(tensor).shape
        if kind == "other":
            fitting = [value for value in self.tensors if self.dtype(value) == dtype and self.fits(tensor, value)]
            return self.pick(fitting)
        return self.constant(self.pick([(), shape, (1,)]), dtype)

    def constant(self, shape: tuple[int, ...], dtype: str) -> Any:
        # There is no arith.constant of unsigned integers.
        kind = self.pick(["zeros", "ones"] if dtype[0] == "u" else ["splat", "array", "zeros", "ones", "full"])
        if kind in ("zeros", "ones"):
            return getattr(relax, kind)(shape, dtype)
        if kind == "full":
            return relax.full(shape, relax.const(self.array((), dtype)))
        return relax.const(self.array(shape, dtype, splat=kind == "splat"))

    def fits(self, one: Any, other: Any) -> bool:
        """Check whether both values broadcast, at run time and according to their types."""
        try:
            numpy.broadcast_shapes(self.value(one).shape, self.value(other).shape)
        except ValueError:
            return False
        return True

    @staticmethod
    def shape_without(shape: tuple[int, ...], axes: list[int]) -> list[int]:
        return [size for axis, size in enumerate(shape) if axis not in axes]

    def either_side(self, tensor: Any, other: Any) -> tuple[Any, Any]:
        return (tensor, other) if self.draw(st.booleans()) else (other, tensor)


def _class_of(dtype: str) -> str:
    return "b" if dtype == "i1" else dtype[0].replace("u", "i")


def operator(name: str) -> Any:
    found = relax
    for part in name.split("."):
        found = getattr(found, part)
    return found


def unary(graph: Graph) -> None:
    x = graph.tensor("f", "i")
    if x is not None:
        operator(graph.pick(UNARY))(x)


def twice(graph: Graph) -> None:
    x = graph.tensor("f", "i")
    if x is not None:
        operator(graph.pick(UNARY))(operator(graph.pick(UNARY))(x))


def invert(graph: Graph) -> None:
    x = graph.tensor("b")
    if x is not None:
        relax.logical_not(x)
    y = graph.tensor("i")
    if y is not None:
        relax.bitwise_not(y)


def arithmetic(graph: Graph) -> None:
    x = graph.tensor("f", "i")
    if x is not None:
        operator(graph.pick(ARITHMETIC))(*graph.either_side(x, graph.partner(x)))


def regroup(graph: Graph) -> None:
    x = graph.tensor("i")
    if x is not None:
        name = graph.pick(["add", "multiply", *INTEGER_BINARY])
        operator(name)(operator(name)(x, graph.partner(x)), graph.constant((), graph.dtype(x)))


def divide(graph: Graph) -> None:
    x = graph.tensor("f", "i")
    if x is not None and graph.dtype(x)[0] != "u":
        by = relax.const(numpy.array(graph.pick([1, 2, 3]), dtype=stored(graph.dtype(x))))
        names = ["divide", "power"] if graph.dtype(x)[0] == "f" else ["divide", "floor_divide"]
        operator(graph.pick(names))(x, by)


def shift(graph: Graph) -> None:
    x = graph.tensor("i")
    if x is not None and graph.dtype(x)[0] != "u":
        by = relax.const(numpy.array(graph.pick([0, 1, 5]), dtype=stored(graph.dtype(x))))
        operator(graph.pick(["left_shift", "right_shift"]))(x, by)


def integer_bits(graph: Graph) -> None:
    x = graph.tensor("i")
    if x is not None:
        operator(graph.pick(INTEGER_BINARY))(*graph.either_side(x, graph.partner(x)))


def logical(graph: Graph) -> None:
    x = graph.tensor("b")
    if x is not None:
        operator(graph.pick(LOGICAL))(*graph.either_side(x, graph.partner(x)))


def compare(graph: Graph) -> None:
    x = graph.tensor()
    result = operator(graph.pick(COMPARISONS))(*graph.either_side(x, graph.partner(x)))
    if graph.draw(st.booleans()):
        relax.logical_not(result)


def choose(graph: Graph) -> None:
    condition = graph.tensor("b")
    x = graph.tensor()
    if condition is None or not graph.fits(condition, x):
        condition = graph.constant((), "i1")
    elif graph.draw(st.booleans()):
        condition = relax.logical_not(condition)
    relax.where(condition, x, graph.pick([x, graph.constant((), graph.dtype(x))]))


def convert(graph: Graph) -> None:
    x = graph.tensor("b", "i")
    if x is not None:
        for _ in range(graph.draw(st.integers(1, 2))):
            x = relax.astype(x, graph.pick(["i8", "i32", "i64", "ui8", "i1"]))
        relax.astype(x, graph.pick(["f16", "f32", "f64"]))
    y = graph.tensor("f")
    if y is not None:
        relax.astype(relax.astype(y, graph.pick(["f32", "f64", "f16"])), graph.pick(["f32", "f64", "f16", "i1"]))


def permute(graph: Graph) -> None:
    x = graph.tensor()
    rank = graph.value(x).ndim
    for _ in range(graph.draw(st.integers(1, 2))):
        axes = graph.draw(st.permutations(range(rank)))
        x = relax.permute_dims(x, graph.pick([None, [axis - graph.pick([0, rank]) for axis in axes]]))


def reshape(graph: Graph) -> None:
    x = graph.tensor()
    size = graph.value(x).size
    if not size:  # in a shape that Python gives, 0 means something else
        return
    factors = [n for n in (1, 2, 3) if size % n == 0]
    for _ in range(graph.draw(st.integers(1, 2))):
        n = graph.pick(factors)
        shape = graph.pick([(size,), (n, size // n), (1, size // n, n), tuple(graph.value(graph.tensor()).shape)])
        if numpy.prod(shape) != size:
            shape = (size,)
        x = relax.reshape(x, shape) if graph.draw(st.booleans()) else relax.flatten(x)


def expand(graph: Graph) -> None:
    x = graph.tensor()
    rank = graph.value(x).ndim
    axes = graph.draw(st.lists(st.integers(-rank - 1, rank), max_size=1))
    y = relax.expand_dims(x, axes)
    if graph.draw(st.booleans()):
        relax.expand_dims(y, graph.draw(st.lists(st.integers(0, rank + 1), max_size=2, unique=True)) if axes else [0])
    if axes and graph.draw(st.booleans()):
        relax.squeeze(y, graph.pick([axes, [axes[0] % (rank + 1)]]))


def squeeze(graph: Graph) -> None:
    x = graph.tensor()
    shape = graph.value(x).shape
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    known = decode(x.type).shape
    axes = [axis for axis in ones if graph.draw(st.booleans())]
    if known is not None and all(known[axis] == 1 for axis in axes):
        y = relax.squeeze(x, axes)
        if graph.draw(st.booleans()):
            relax.expand_dims(y, axes)
        if len(ones) > len(axes) and graph.draw(st.booleans()):
            relax.squeeze(y, [axis for axis, size in enumerate(graph.shape_without(shape, axes)) if size == 1][:1])


def broadcast(graph: Graph) -> None:
    x = graph.tensor()
    shape = graph.value(x).shape
    target = tuple(3 if size == 1 and graph.draw(st.booleans()) else size for size in shape)
    y = relax.broadcast_to(x, target)
    relax.broadcast_to(y, graph.pick([target, (2, *target)]))


def move(graph: Graph) -> None:
    x = graph.tensor()
    rank = graph.value(x).ndim
    relax.tile(x, graph.pick([[1], [1, 1], [2], [1] * rank]))
    if rank:
        axis = graph.draw(st.integers(-rank, rank - 1))
        relax.flip(relax.flip(x, axis), graph.pick([axis, axis % rank, 0]))
        relax.repeat(x, graph.pick([1, 2]), graph.pick([axis, None]))


def take_part(graph: Graph) -> None:
    x = graph.tensor()
    rank = graph.value(x).ndim
    if not rank:
        return
    axis = graph.draw(st.integers(0, rank - 1))
    begin, end, stride = graph.pick([0, 1, -1, -100]), graph.pick([1, 3, 100, 2**63 - 1, -1]), graph.pick([1, 1, 2])
    relax.strided_slice(x, [axis], [begin], [end], graph.pick([None, [stride]]))


def join(graph: Graph) -> None:
    x = graph.tensor()
    rank = graph.value(x).ndim
    if not rank:
        relax.stack([x], 0)
        return
    axis = graph.draw(st.integers(-rank, rank - 1))
    parts = relax.split(x, graph.pick([1, 2, [1], [1, 2], [2, 100], []]), axis)
    parts = list(parts) if isinstance(parts, (list, tuple)) else [parts]
    joined = relax.concat(graph.pick([parts, parts[:1], parts[::-1], [*parts, x]]), graph.pick([axis, axis % rank]))
    relax.concat([joined, graph.pick([x, joined])], axis)


def shapes(graph: Graph) -> None:
    x = graph.tensor()
    shape = relax.shape_of(x)
    tensor = relax.shape_to_tensor(shape)
    relax.size(x)
    again = relax.tensor_to_shape(tensor)
    relax.shape_to_tensor(again)
    relax.reshape(x, graph.pick([shape, again]))
    relax.shape_of(relax.broadcast_to(x, shape))


def cast(graph: Graph) -> None:
    x = graph.tensor()
    info = decode(x.type)
    if info.shape is None:
        return
    less = info.with_shape(graph.pick([None, tuple(graph.pick([dim, None]) for dim in info.shape)]))
    relax.match_cast(x, less)


STEPS: dict[str, Callable[[Graph], None]] = {
    step.__name__: step
    for step in (unary, twice, invert, arithmetic, regroup, divide, shift, integer_bits, logical, compare, choose,
                 convert, permute, reshape, expand, squeeze, broadcast, move, take_part, join, shapes, cast)
}  # fmt: skip


@draws(150, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_results_and_types_stay(data: Any) -> None:
    graph = Graph(data.draw)
    graph.build()
    module = graph.module
    module.verify()
    before = str(module)
    signature = str(graph.function.attributes["function_type"])
    expected = run_function(module, graph.arguments)

    Canonicalize()(module)
    module.verify()
    assert str(function_of(module).operation.attributes["function_type"]) == signature
    results = run_function(module, graph.arguments)
    assert all(same(*pair) for pair in zip(expected, results, strict=True)), before

    once = str(module)
    Canonicalize()(module)
    assert str(module) == once


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"fold_limit": -1}, "pass 'relax-canonicalize': fold-limit must be 0 or more, got -1"),
        ({"max_iterations": 0}, "pass 'relax-canonicalize': max-iterations must be 1 or more, got 0"),
    ],
)
def test_options_are_checked(options: dict[str, int], problem: str) -> None:
    with pytest.raises(rx.RelaxError, match=problem):
        Canonicalize(**options)
    (name, value), *_ = options.items()
    with pytest.raises(rx.RelaxError, match=problem):
        rx.Pipeline(f"relax-canonicalize{{{name.replace('_', '-')}={value}}}")


def test_fold_limit_counts_elements() -> None:
    for limit, folded in [(3, False), (4, True)]:
        module = rx.Module.parse("""
func.func @main() -> tensor<4xi32> {
  %a = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %b = arith.constant dense<2> : tensor<i32>
  %0 = "relax.multiply"(%a, %b) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}""")
        Canonicalize(fold_limit=limit)(module)
        assert ("relax.multiply" not in str(module)) is folded
