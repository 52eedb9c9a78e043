# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-fuse-ops and tir-fuse: fused graphs compute the same as unfused graphs and numpy; kernels of known graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.tir.prim_func import is_prim_func
from relax_mlir.passes.graph.relax_fuse_ops import FuseOps

import relax_mlir as rx
from relax_mlir import relax

N = ("n", 6)


def floats(*shape: int, seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("float32")


def built(inputs: Any, body: Any) -> rx.Module:
    module = rx.Module()
    with module.function("main", inputs) as f:
        values = body(*f)
        f.returns(*(values if isinstance(values, tuple) else (values,)))
    return module


def lowered(module: rx.Module, stage: str = "fuse", fuse: str = "relax-fuse-ops,tir-fuse") -> rx.Module:
    for each in rx.stages("llvm", 0).replace("fuse", fuse).until(stage):
        each.pipeline("llvm").run(module)
    return module


def calls(module: rx.Module) -> list[str]:
    found = operations_in(module.operation)
    return [op.opview.func for op in found if op.name == "relax.call_tir"]


def kernels(inputs: Any, body: Any, fuse: str = "relax-fuse-ops,tir-fuse") -> list[str]:
    return calls(lowered(built(inputs, body), fuse=fuse))


def run(executable: Any, *arrays: Any) -> list[Any]:
    results = executable["main"](*arrays)
    is_one = not isinstance(results, (list, tuple)) and type(results).__name__ not in ("Array", "List")
    return [numpy.from_dlpack(each) for each in ([results] if is_one else results)]


def both(module: rx.Module, fuse: str = "relax-fuse-ops,tir-fuse") -> tuple[Any, Any]:
    """Return the module compiled with fusion and without."""
    fused = rx.compile(module, pipeline=rx.stages().replace("fuse", fuse))
    return fused, rx.compile(module, pipeline=rx.stages().drop("fuse"))


# ---- random graphs ----


class Value(NamedTuple):
    """Value of a random graph with its shape, and whether there is no sum before it."""

    value: Any
    shape: tuple[Any, ...]
    is_exact: bool


_UNARY: dict[str, Callable[..., Any]] = {
    "tanh": numpy.tanh,
    "negative": numpy.negative,
    "abs": numpy.abs,
    "sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
    "floor": numpy.floor,
}
_BINARY: dict[str, Callable[..., Any]] = {
    "add": numpy.add,
    "subtract": numpy.subtract,
    "multiply": numpy.multiply,
    "maximum": numpy.maximum,
}
_ROW, _SQUARE = floats(6, seed=8), floats(6, 6, seed=9)
Step = tuple[str, int, int]


def apply(space: Any, kind: str, left: Any, right: Any, n: Any) -> Any:
    """Apply a step to the graph's values (`space` is relax) or to arrays (it is None)."""
    if kind in _UNARY:
        return getattr(space, kind)(left) if space else _UNARY[kind](left)
    if kind in _BINARY:
        return getattr(space, kind)(left, right) if space else _BINARY[kind](left, right)
    if kind == "scale":
        return space.multiply(left, space.const(0.3, "float32")) if space else left * numpy.float32(0.3)
    if kind == "add row":
        return space.add(left, space.const(_ROW)) if space else left + _ROW
    if kind == "permute":
        return space.permute_dims(left) if space else left.T
    if kind == "matmul":
        return space.matmul(left, space.const(_SQUARE)) if space else left @ _SQUARE
    if kind == "where":
        return space.where(space.greater(left, right), left, right) if space else numpy.maximum(left, right)
    if kind == "softmax":
        return space.nn.softmax(left, axis=0) if space else _softmax(left)
    if kind == "evens":
        return space.strided_slice(left, [1], [0], [6], [2]) if space else left[:, ::2]
    if kind == "flat":
        return space.reshape(left, ("n*6",)) if space else left.reshape(-1)
    if kind == "unflat":
        return space.reshape(left, N) if space else left.reshape(n, 6)
    if kind == "spread":
        return space.broadcast_to(left, N) if space else numpy.broadcast_to(left, (n, 6))
    name, axis, keepdims = kind.split()
    if space:
        return getattr(space, name)(left, axis=[int(axis)], keepdims=keepdims == "True")
    return getattr(numpy, name)(left, axis=int(axis), keepdims=keepdims == "True")


def _softmax(x: Any) -> Any:
    powers = numpy.exp(x - x.max(axis=0, keepdims=True)) if x.size else x
    return powers / powers.sum(axis=0, keepdims=True)


def kinds_for(left: Value, right: Value) -> list[str]:
    shape = left.shape
    kinds = [*_UNARY, "scale"]
    if shape == right.shape:
        kinds += [*_BINARY, "where"] * 2
    elif is_broadcast(shape, right.shape):
        kinds += [*_BINARY] * 2
    if shape and shape[-1] == 6:
        kinds += ["add row", "spread"] if shape != N else ["add row", "flat", "evens", "matmul", "softmax"]
    if len(shape) == 2:
        kinds += ["permute", "permute"]
        kinds += [f"{name} {axis} {keep}" for name in ("sum", "max") for axis in (0, 1) for keep in (True, False)]
    return [*kinds, "unflat"] if shape == ("n*6",) else kinds


def is_broadcast(large: tuple[Any, ...], small: tuple[Any, ...]) -> bool:
    """Check whether the second shape broadcasts to the first."""
    tail = large[len(large) - len(small) :]
    return len(small) <= len(large) and all(b in (a, 1) for a, b in zip(tail, small, strict=True))


def shape_of(value: Any) -> tuple[Any, ...]:
    return tuple(dim if isinstance(dim, int) else str(dim) for dim in decode(value.type).shape)


@draws(25)
@given(st.data())
def test_random_graphs(data: Any) -> None:
    steps: list[Step] = []
    module = rx.Module()
    with module.function("main", [rx.tensor(N), rx.tensor(N), rx.tensor((6,)), rx.tensor(("n", 1))]) as f:
        values = [Value(value, tuple(shape), True) for value, shape in zip(f, (N, N, (6,), ("n", 1)), strict=True)]
        for _ in range(data.draw(st.integers(2, 16))):
            left, right = (data.draw(st.integers(0, len(values) - 1)) for _ in range(2))
            kind = data.draw(st.sampled_from(kinds_for(values[left], values[right])))
            made = apply(relax, kind, values[left].value, values[right].value, None)
            exact = values[left].is_exact and values[right].is_exact and not kind.startswith("sum")
            steps.append((kind, left, right))
            values.append(Value(made, shape_of(made), exact))
        picked = data.draw(st.lists(st.integers(4, len(values) - 1), min_size=1, max_size=4))
        f.returns(*(values[index].value for index in picked))
    epilogues = data.draw(st.booleans())
    fused, plain = both(module, "relax-fuse-ops{epilogues=true},tir-fuse" if epilogues else "relax-fuse-ops,tir-fuse")
    for n in (1, 5, 37):
        arrays = [floats(n, 6), floats(n, 6, seed=4), floats(6, seed=5), floats(n, 1, seed=6)]
        results, expected = run(fused, *arrays), run(plain, *arrays)
        for kind, left, right in steps:
            arrays.append(apply(None, kind, arrays[left], arrays[right], n))
        scale = max(1, *(numpy.abs(each).max() for each in arrays))
        for index, result, same in zip(picked, results, expected, strict=True):
            note = f"value {index} of {steps} for n = {n}"
            if values[index].is_exact:
                numpy.testing.assert_array_equal(result, same, f"fused and not, {note}")
            if not any(kind == "floor" for kind, *_ in steps):
                numpy.testing.assert_allclose(
                    result, arrays[index], 1e-3, 1e-4 * scale, err_msg=f"against numpy, {note}"
                )


# ---- dynamic sizes ----


def test_producers_of_operands_read_by_size_are_not_inlined() -> None:
    """Do not inline a producer into an operand that is read by its size. Operators after it are fused."""

    def body(x: Any, y: Any) -> Any:
        both_ = relax.add(relax.tanh(x), relax.negative(y))
        return relax.match_cast(both_, rx.tensor(("k", 6)))

    def longer(x: Any, y: Any) -> Any:
        return relax.multiply(relax.abs(body(x, y)), relax.const(2.0, "float32"))

    inputs = [rx.tensor(N), rx.tensor(("m", 6))]
    assert kernels(inputs, longer) == ["tanh", "negative", "add_sizes", "add", "fused_abs_multiply"]
    fused, plain = both(built(inputs, longer))
    for n, m in ((5, 5), (5, 1), (1, 5), (1, 1)):
        x, y = floats(n, 6), floats(m, 6, seed=4)
        (result,), (same,) = run(fused, x, y), run(plain, x, y)
        numpy.testing.assert_array_equal(result, same)
        numpy.testing.assert_allclose(result, 2 * numpy.abs(numpy.tanh(x) - y), rtol=1e-5)


def test_loops_that_run_zero_times() -> None:
    fused, _ = both(built([rx.tensor(N)], lambda x: (relax.exp(relax.tanh(x)), relax.sum(relax.abs(x), axis=[0]))))
    exponents, sums = run(fused, floats(0, 6))
    assert exponents.shape == (0, 6) and sums.tolist() == [0] * 6


def test_tensors_without_dimensions() -> None:
    inputs = [rx.tensor(()), rx.tensor((4,))]
    fused, _ = both(built(inputs, lambda x, y: (relax.add(relax.exp(x), x), relax.add(relax.negative(x), y))))
    x, y = numpy.array(0.5, "float32"), floats(4)
    one, row = run(fused, x, y)
    numpy.testing.assert_allclose(one, numpy.exp(x) + x, rtol=1e-6)
    numpy.testing.assert_array_equal(row, y - x)


# ---- how many kernels ----


def gelu(x: Any, bias: Any) -> Any:
    h = relax.add(x, bias)
    inner = relax.erf(relax.multiply(h, relax.const(0.70710678, "float32")))
    return relax.multiply(relax.multiply(h, relax.add(inner, relax.const(1.0, "float32"))), relax.const(0.5, "float32"))


SQUARE = [rx.tensor((8, 8))]
PAIR = [rx.tensor((8, 8)), rx.tensor((8, 8))]


def diamond(x: Any) -> Any:
    middle = relax.exp(x)
    return relax.add(relax.multiply(middle, x), relax.negative(middle))


def returned_in_the_middle(x: Any) -> Any:
    middle = relax.exp(x)
    return middle, relax.negative(middle)


def behind_a_kernel(x: Any) -> Any:
    """Return a kernel that needs the middle value both for a product and for the sum with it."""
    middle = relax.exp(x)
    return relax.add(middle, relax.matmul(middle, x))


def for_two_sums(x: Any) -> Any:
    middle = relax.exp(x)
    return relax.sum(middle, axis=[0]), relax.sum(middle, axis=[1])


def first_to_the_sum(x: Any) -> Any:
    middle = relax.exp(x)
    return relax.nn.softmax(middle), relax.sum(relax.multiply(middle, middle), axis=[0])


def in_two_orders(x: Any) -> Any:
    middle = relax.exp(x)
    return relax.add(middle, relax.permute_dims(middle))


def returned_in_two_orders(x: Any) -> Any:
    middle = relax.exp(x)
    return middle, relax.permute_dims(middle)


def sum_of_exp(x: Any) -> Any:
    return relax.sum(relax.abs(relax.exp(x)), axis=[0])


@pytest.mark.parametrize(
    ("inputs", "body", "expected"),
    [
        ([rx.tensor(N), rx.tensor((6,))], gelu, ["fused_add_multiply_erf_add_multiply_multiply"]),
        (SQUARE, diamond, ["fused_exp_multiply_negative_add"]),
        (SQUARE, returned_in_the_middle, ["fused_exp_negative"]),
        (SQUARE, behind_a_kernel, ["exp", "matmul", "add"]),
        (SQUARE, for_two_sums, ["exp", "sum", "sum_1"]),
        (SQUARE, first_to_the_sum, ["exp", "nn_softmax", "fused_multiply_sum"]),
        # Fused, exp would be computed twice for each element.
        (SQUARE, in_two_orders, ["exp", "fused_permute_dims_add"]),
        (SQUARE, returned_in_two_orders, ["exp", "permute_dims"]),
        (SQUARE, lambda x: relax.permute_dims(relax.exp(x)), ["fused_exp_permute_dims"]),
        (SQUARE, lambda x: relax.sum(relax.permute_dims(relax.abs(x)), axis=[0]), ["fused_abs_permute_dims_sum"]),
        # The sum of f32 is in f64, whose vectors have half the lanes.
        ([rx.tensor((999, 8))], sum_of_exp, ["fused_exp_abs", "sum"]),
        ([rx.tensor((999, 8))], lambda x: relax.max(relax.abs(relax.exp(x)), axis=[0]), ["fused_exp_abs_max"]),
        # One function that waits for another.
        (SQUARE, lambda x: relax.tanh(relax.abs(relax.exp(x))), ["fused_exp_abs", "tanh"]),
        (SQUARE, lambda x: relax.add(relax.tanh(x), relax.exp(x)), ["fused_tanh_exp_add"]),
        (SQUARE, lambda x: relax.matmul(relax.exp(x), x), ["exp", "matmul"]),
        (SQUARE, lambda x: relax.exp(relax.reshape(relax.exp(x), (64,))), ["exp", "exp_1"]),
        # A row is cheap to compute again for each row of the result, but for functions like exp.
        ([rx.tensor((8, 8)), rx.tensor((8,))], lambda x, y: relax.add(x, relax.abs(y)), ["abs", "add"]),
        ([rx.tensor((8, 8)), rx.tensor((8,))], lambda x, y: relax.add(x, relax.negative(y)), ["fused_negative_add"]),
        ([rx.tensor((8, 8)), rx.tensor((8,))], lambda x, y: relax.add(x, relax.exp(y)), ["exp", "add"]),
        ([rx.tensor((1, 8)), rx.tensor((8,))], lambda x, y: relax.add(x, relax.exp(y)), ["fused_exp_add"]),
    ],
)  # fmt: skip
def test_kernels_of_known_graphs(inputs: Any, body: Any, expected: list[str]) -> None:
    assert kernels(inputs, body) == expected


def test_epilogues() -> None:
    def body(x: Any, y: Any) -> Any:
        return relax.exp(relax.add(relax.matmul(x, y), x))

    assert kernels(PAIR, body) == ["matmul", "fused_add_exp"]
    assert kernels(PAIR, body, "relax-fuse-ops{epilogues=true},tir-fuse") == ["fused_matmul_add_exp"]


def test_an_epilogue_reads_where_it_writes() -> None:
    square = [rx.tensor((6, 6)), rx.tensor((6, 6))]

    def body(x: Any, y: Any) -> Any:
        return relax.permute_dims(relax.matmul(x, y))

    names = kernels(square, body, "relax-fuse-ops{epilogues=true},tir-fuse")
    assert names == ["matmul", "permute_dims"], "a transposed product was written over what is still read of it"


def test_limits() -> None:
    def body(x: Any) -> Any:
        for _ in range(5):
            x = relax.abs(x)
        return x

    assert len(kernels(SQUARE, body, "relax-fuse-ops{max-ops=2},tir-fuse")) == 3
    assert len(kernels(SQUARE, body, "relax-fuse-ops{max-ops=1},tir-fuse")) == 5
    assert kernels(PAIR, relax.add, "relax-fuse-ops{max-parameters=1},tir-fuse") == ["add"]
    assert len(kernels(PAIR, lambda x, y: relax.add(relax.exp(x), y), "relax-fuse-ops{max-parameters=2},tir-fuse")) == 2


def test_nothing_is_allocated() -> None:
    def body(x: Any, row: Any) -> Any:
        h = gelu(x, row)
        return h, relax.negative(h), relax.sum(relax.abs(relax.permute_dims(h)), axis=[0])

    module = lowered(built([rx.tensor(N), rx.tensor((6,))], body), "bufferize")
    prim_funcs = [op for op in operations_in(module.operation) if is_prim_func(op)]
    names = [op.attributes["sym_name"].value for op in prim_funcs]
    assert len(prim_funcs) == 2, f"fused into {names}, not into two kernels"
    assert "memref.alloc" not in "".join(map(str, prim_funcs))


def test_equal_groups_share_a_function() -> None:
    def body(x: Any, y: Any) -> Any:
        left, right = (relax.matmul(relax.tanh(relax.add(each, y)), y) for each in (x, y))
        third = relax.exp(relax.negative(relax.matmul(x, x)))
        return relax.negative(relax.exp(left)), relax.negative(relax.exp(right)), third

    names = kernels(PAIR, body)
    assert names.count("fused_exp_negative") == 2
    assert names.count("fused_negative_exp") == 1


def test_uncalled_prim_funcs_are_removed() -> None:
    module = lowered(built(SQUARE, lambda x: (relax.exp(relax.abs(x)), relax.matmul(relax.abs(x), x))))
    found = [op.attributes["sym_name"].value for op in operations_in(module.operation) if is_prim_func(op)]
    assert sorted(found) == ["fused_abs_exp_abs", "matmul"]


def test_readers_of_one_tensor_in_equal_loops_share_a_kernel() -> None:
    def body(x: Any, y: Any) -> Any:
        product = relax.matmul(x, y)
        return relax.exp(x), product, relax.abs(x), relax.add(x, product), relax.negative(y)

    # The last reads something else.
    assert kernels(PAIR, body) == ["matmul", "fused_exp_abs_add", "negative"]
    assert len(kernels(PAIR, body, "relax-fuse-ops{beside=false},tir-fuse")) == 5
    fused, _ = both(built(PAIR, body))
    x, y = floats(8, 8), floats(8, 8, seed=4)
    expected = (numpy.exp(x), x @ y, numpy.abs(x), x + x @ y, -y)
    for result, same in zip(run(fused, x, y), expected, strict=True):
        numpy.testing.assert_allclose(result, same, rtol=1e-5, atol=1e-5)


def test_twice_the_same_text() -> None:
    def body(x: Any, y: Any) -> Any:
        return diamond(x), gelu(x, y), relax.sum(relax.multiply(relax.exp(y), x), axis=[1]), diamond(y)

    texts = {str(lowered(built(PAIR, body))) for _ in range(2)}
    assert len(texts) == 1
    # Fusion of fused kernels finds nothing more.
    module = lowered(built(PAIR, body))
    rx.Pipeline("relax-fuse-ops,tir-fuse").run(module)
    assert str(module) in texts


def test_control_flow() -> None:
    module = rx.Module.parse(
        """
func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %b = tensor.extract %c[] : tensor<i1>
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %r = scf.if %b -> (tensor<4xf32>) {
    %1 = "relax.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "relax.add"(%1, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  } else {
    scf.yield %0 : tensor<4xf32>
  }
  %s = "relax.negative"(%r) : (tensor<4xf32>) -> tensor<4xf32>
  return %s : tensor<4xf32>
}"""
    )
    fused, _ = both(module)
    x = floats(4)
    (result,) = run(fused, numpy.array(True), x)
    numpy.testing.assert_allclose(result, -numpy.tanh(numpy.exp(x)) - numpy.exp(x), rtol=1e-5)
    assert calls(lowered(module)) == ["exp", "fused_tanh_add", "negative"]


def test_reads_of_an_overwritten_buffer_come_first() -> None:
    module = rx.Module.parse(
        """
func.func @double(%x: memref<4xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %x[%i] : memref<4xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %x[%i] : memref<4xf32>
  }
  return
}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.negative"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.call_tir_inplace"(%0) {func = @double, inplace_indices = [0]} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "relax.tanh"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}"""
    )
    fused, _ = both(module)
    x = floats(4)
    doubled, result = run(fused, x)
    numpy.testing.assert_allclose(doubled, 2 * numpy.exp(x), rtol=1e-5)
    numpy.testing.assert_allclose(result, numpy.tanh(-numpy.exp(x)), rtol=1e-5)


def test_locations_and_names() -> None:
    module = lowered(
        rx.Module.parse(
            """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("one"("a.py":1:2))
  %1 = "relax.add"(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("two"("a.py":3:4))
  return %1 : tensor<4xf32>
}"""
        )
    )
    (call,) = [op for op in operations_in(module.operation) if op.name == "relax.call_tir"]
    assert str(call.location) == 'loc(fused["one"("a.py":1:2), "two"("a.py":3:4)])'
    (function,) = [op for op in operations_in(module.operation) if is_prim_func(op)]
    assert function.attributes["relax.operator"].value == "relax.exp+relax.add"
    assert function.attributes["tir.op_pattern"].value == "elemwise"


def test_bad_options() -> None:
    with pytest.raises(rx.RelaxError, match="max-ops=0: expected at least 1"):
        FuseOps(max_ops=0)
