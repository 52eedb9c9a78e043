# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PrimFuncs, as scripts or tensor expressions, that rules and ONNX converters call."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from onnx import helper

import relax_mlir as rx
from relax_mlir import te
from relax_mlir.script import tir as T

DIALECT = rx.Dialect("called", doc="Of these tests.")


@T.prim_func
def tripled(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 16), "float32")
    B = T.match_buffer(b, (n, 16), "float32")
    for i, j in T.grid(n, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(3)


@T.prim_func
def running_sum(a: T.handle, b: T.handle):
    """Compute a running sum by loops over memory: each element depends on the one before."""
    n = T.int64()
    A = T.match_buffer(a, (n, 16), "float32")
    B = T.match_buffer(b, (n, 16), "float32")
    for i in range(n):
        B[i, 0] = A[i, 0]
        for j in range(15):
            B[i, j + 1] = B[i, j] + A[i, j + 1]


@T.prim_func
def sum_and_difference(
    A: T.Buffer((4, 16), "bfloat16"),
    B: T.Buffer((4, 16), "bfloat16"),
    C: T.Buffer((4, 16), "bfloat16"),
    D: T.Buffer((4, 16), "bfloat16"),
):
    for i, j in T.grid(4, 16):
        with T.block("CD"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + B[vi, vj]
            D[vi, vj] = A[vi, vj] - B[vi, vj]


def squared() -> rx.Module:
    x = te.placeholder((te.var("n"), 16), name="X")
    return te.create_prim_func([x, te.compute(x.shape, lambda i, j: x[i, j] * x[i, j], name="Y")])


def operator(name: str, kernel: Any, operands: str = "x", results: int = 1) -> Any:
    """Declare an operator with a rule that calls a kernel."""
    infer = (lambda call: call.x) if results == 1 else (lambda call: [call.x] * results)
    listed = " ".join(f"y{number}" for number in range(results))
    made = DIALECT.op(name, operands, infer=infer, doc="A test's.", **({"results": listed} if results > 1 else {}))

    @rx.register_legalize(f"called.{name}")
    def rule(call: Any) -> Any:
        return call.call_tir(kernel() if callable(kernel) and not hasattr(kernel, "operation") else kernel)

    return made


def program(body: Any, *infos: Any) -> Any:
    module = rx.Module()
    with module.function("main", list(infos)) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, (list, tuple)) else [made]))
    return module


CASES = {
    "tripled": (tripled, lambda x: 3 * x),
    "running_sum": (running_sum, lambda x: numpy.cumsum(x, axis=1, dtype="float32")),
    "squared": (squared, lambda x: x * x),
}
OPERATORS = {name: operator(name, kernel) for name, (kernel, _) in CASES.items()}
BOTH = operator("both", sum_and_difference, "x y", 2)


def numbers(*shape: int) -> Any:
    return numpy.random.default_rng(len(shape)).normal(size=shape).astype("float32")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rows", [5, "n"])
def test_rules_can_call_prim_funcs(name: str, rows: Any) -> None:
    """Call the operator twice: the module has the kernel once."""
    module = program(lambda x: OPERATORS[name](OPERATORS[name](x)), rx.tensor((rows, 16)))
    main, expected = rx.compile(module)["main"], CASES[name][1]
    for count in (5,) if rows == 5 else (5, 0, 1):
        x = numbers(count, 16)
        numpy.testing.assert_allclose(numpy.from_dlpack(main(x)), expected(expected(x)), rtol=1e-4, atol=1e-4)
    legalized = rx.lower(module, pipeline=rx.stages("llvm").until("legalize"))
    assert str(legalized).count("tir.prim_func") == 1


def test_several_results_of_small_floats() -> None:
    main = rx.compile(program(BOTH, rx.tensor((4, 16), "bfloat16"), rx.tensor((4, 16), "bfloat16")))["main"]
    x, y = (numbers(4, 16).astype(ml_dtypes.bfloat16), numpy.full((4, 16), 0.5, ml_dtypes.bfloat16))
    for found, expected in zip(main(x, y), (x + y, x - y), strict=True):
        numpy.testing.assert_array_equal(rx.runtime.to_numpy(found), expected)


def test_names_that_are_taken() -> None:
    """Rename a PrimFunc if another one, or one of the graph, has the name."""
    x = te.placeholder((4, 16), name="X")
    other = operator("other", te.create_prim_func([x, te.compute((4, 16), lambda i, j: x[i, j] + 1.0, name="tripled")]))
    main = rx.compile(program(lambda x: other(OPERATORS["tripled"](x)), rx.tensor((4, 16))))["main"]
    numpy.testing.assert_allclose(numpy.from_dlpack(main(numbers(4, 16))), 3 * numbers(4, 16) + 1, rtol=1e-6)


def converted(kernel: Any) -> Any:
    """Return a model of one node whose converter calls the kernel."""

    def convert(node: Any) -> Any:
        return node.call_tir(kernel, [node.tensor(0)], node.value(0).info)

    x, y = (helper.make_tensor_value_info(name, 1, ["n", 16]) for name in "xy")
    name = f"Called{len(converted.names)}"  # type: ignore[attr-defined]
    converted.names.append(name)  # type: ignore[attr-defined]
    rx.register_onnx("com.called", name)(convert)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.called", 1)]
    graph = helper.make_graph([helper.make_node(name, ["x"], ["y"], domain="com.called", name="it")], "g", [x], [y])
    return rx.from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=10))


converted.names = []  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CASES)
def test_converters_can_call_prim_funcs(name: str) -> None:
    kernel, expected = CASES[name]
    main = rx.compile(converted(kernel if hasattr(kernel, "operation") else kernel()))["main"]
    x = numbers(3, 16)
    numpy.testing.assert_allclose(numpy.from_dlpack(main(x)), expected(x), rtol=1e-5, atol=1e-5)


TEXT = """
func.func private @table(%x: tensor<8x2xf32>, %y: tensor<8x2xf32>) -> tensor<8x2xf32> attributes {tir.prim_func} {
  %c = arith.constant dense_resource<held> : tensor<8x2xf32>
  %0 = linalg.add ins(%x, %c : tensor<8x2xf32>, tensor<8x2xf32>) outs(%y : tensor<8x2xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}
"""


def test_constants_come_along() -> None:
    """Copy constants, which are next to a function's text, not in it."""
    table = numbers(8, 2)
    resources = f'{{-# dialect_resources: {{ builtin: {{ held: "0x40000000{table.tobytes().hex()}" }} }} #-}}'
    added = operator("added", rx.Module.parse(TEXT + resources))
    main = rx.compile(program(added, rx.tensor((8, 2))))["main"]
    numpy.testing.assert_allclose(numpy.from_dlpack(main(table)), 2 * table, rtol=1e-6)


def test_calls_of_other_objects_are_refused() -> None:
    two = rx.Module.parse("\n".join(TEXT.replace("@table", f"@{name}") for name in ("one", "two")))
    many, none = "this one has 2 PrimFuncs", "this one has 0 PrimFuncs"
    kinds = (
        r"a PrimFunc is MLIR text, a module of one \(@T.prim_func, te.create_prim_func\) or a Python function, got int"
    )
    for kernel, message in ((two, many), (program(lambda x: x, rx.tensor((2,))), none), (3, kinds)):
        with pytest.raises(rx.RelaxError, match=message):
            converted(kernel)
