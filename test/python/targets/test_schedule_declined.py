# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that a schedule declines, each with its reason, and operations just inside of each limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.rewriting import Decline
from relax_mlir.emit.structured import analyze, structured_ops
from relax_mlir.passes.kernels.schedule.vector_body import check_body
from relax_mlir.targets.llvm.plans.conv import plan_conv
from relax_mlir.targets.llvm.plans.elementwise import plan_elementwise
from relax_mlir.targets.llvm.plans.matmul import plan_matmul
from relax_mlir.targets.llvm.plans.reduction import plan_reduction
from scheduled import AVX512

SUM = "%s = arith.addf %c, %a : f32\n linalg.yield %s : f32"
PRODUCTS = "%p = arith.mulf %a, %b : f32\n %s = arith.addf %c, %p : f32\n linalg.yield %s : f32"
NEGATIVE = "%s = arith.negf %a : f32\n linalg.yield %s : f32"


def generic(inputs: dict[str, str], output: tuple[str, str], iterators: str, body: str) -> str:
    """Return an operation.

    Operands have an index (of d0, d1, ...) and a type; the body has %a, %b and the output %c.
    """
    types = [*inputs.values(), output[1]]
    dims = ", ".join(f"d{index}" for index in range(len(iterators)))
    maps = ", ".join(f"affine_map<({dims}) -> ({index})>" for index in (*inputs, output[0]))
    kinds = ", ".join('"reduction"' if letter == "r" else '"parallel"' for letter in iterators)
    parameters = ", ".join(f"%x{index}: {type_}" for index, type_ in enumerate(types))
    names = ", ".join(f"%x{index}" for index in range(len(inputs)))
    elements = [type_.removeprefix("tensor<").rpartition("x")[2].rstrip(">").partition(",")[0] for type_ in types]
    block = ", ".join(
        f"%{name}: {element}" for name, element in zip([*"ab"[: len(inputs)], "c"], elements, strict=True)
    )
    return f"""
func.func @k({parameters}) -> {output[1]} {{
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
    ins({names} : {", ".join(inputs.values())}) outs(%x{len(inputs)} : {output[1]}) {{
  ^bb0({block}):
    {body}
  }} -> {output[1]}
  return %r : {output[1]}
}}"""


def matmul(body: str = PRODUCTS, iterators: str = "ppr", right: str = "d2, d1") -> str:
    types = {"d0, d2": "tensor<8x16xf32>", right: "tensor<16x32xf32>"}
    return generic(types, ("d0, d1", "tensor<8x32xf32>"), iterators, body)


def reason(text: str, act: Callable[[Any], Any]) -> str:
    """Return the reason of a decline, or an empty text."""
    with new_context(("arith", "builtin", "func", "linalg", "math", "tensor")), ir.Location.unknown():
        module = ir.Module.parse(text)
        (operation,) = structured_ops(module.body.operations[0])
        try:
            act(analyze(operation))
        except Decline as declined:
            return str(declined)
    return ""


def planned(plan: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda op: plan(op, AVX512)


VECTOR, ROWS = "tensor<32xf32>", "tensor<8x32xf32>"
NOTHING = ""


@pytest.mark.parametrize(
    ("plan", "text", "expected"),
    [
        (plan_matmul, matmul(), NOTHING),
        (plan_matmul, matmul(SUM), "it is no sum of products"),
        (plan_matmul, matmul(PRODUCTS.replace("addf", "maximumf")), "it is no sum"),
        (plan_matmul, matmul("%p = arith.mulf %a, %b : f32\n linalg.yield %p : f32"), "an output is not combined with"),
        (plan_matmul, matmul(PRODUCTS.replace("%c", "%b").replace("%p = arith.mulf %a, %b", "%p = arith.mulf %a, %c")),
         "output #0 depends on what was reduced before in more than one way"),
        (plan_matmul, matmul(PRODUCTS.replace("addf", "subf")), "output #0 is not reduced by a known operation"),
        (plan_matmul, generic({"d0": VECTOR}, ("d0", VECTOR), "p", NEGATIVE), "it reduces nothing"),
        (plan_matmul, generic({"d1, d0": "tensor<9x32xf32>", "": "tensor<f32>"}, ("d0", VECTOR), "pr", PRODUCTS),
         "it is no sum of products of two inputs"),
        (plan_matmul, generic({"d0 + d1": VECTOR, "d1": "tensor<5xf32>"}, ("d0", "tensor<28xf32>"), "pr", PRODUCTS),
         "its indices are sums"),
        (plan_conv, generic({"d0 + d1": VECTOR, "d1": "tensor<5xf32>"}, ("d0", "tensor<28xf32>"), "pr", PRODUCTS),
         NOTHING),
        (plan_reduction, generic({"d0, d1": ROWS}, ("d0", "tensor<8xf32>"), "pr", SUM), NOTHING),
        (plan_reduction, generic({"d0": VECTOR}, ("d0", VECTOR), "p", NEGATIVE), "it reduces nothing"),
        (plan_elementwise, generic({"d0": VECTOR}, ("d0", VECTOR), "p", NEGATIVE), NOTHING),
        (plan_elementwise, generic({"d0, d1": ROWS}, ("d0", "tensor<8xf32>"), "pr", SUM), "it reduces"),
    ],
)  # fmt: skip
def test_plans(plan: Callable[..., Any], text: str, expected: str) -> None:
    found = reason(text, planned(plan))
    assert found.startswith(expected) and bool(found) == bool(expected), found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (generic({"d0 floordiv 2": "tensor<16xf32>"}, ("d0", VECTOR), "p", NEGATIVE), "is no sum of loop dimensions"),
        (generic({"d0 * 2 + 1": "tensor<64xf32>"}, ("d0", VECTOR), "p", NEGATIVE), NOTHING),
        (generic({"d1, d0": "tensor<8x32xf32>"}, ("d0, d1", "tensor<32x8xf32>"), "pp", NEGATIVE), NOTHING),
        (generic({"d0": 'tensor<32xf32, "mine">'}, ("d0", VECTOR), "p", NEGATIVE), "an operand has an encoding"),
        (generic({"d0, d1": ROWS}, ("d0", "tensor<8xf32>"), "pp", SUM), "are no permutation of the parallel loops"),
        (generic({"d0": VECTOR}, ("d0, d0", "tensor<32x32xf32>"), "p", NEGATIVE), "are no permutation of the parallel"),
    ],
)  # fmt: skip
def test_forms(text: str, expected: str) -> None:
    found = reason(text, lambda op: None)
    assert expected in found and bool(found) == bool(expected), found


_EXTRACT = """%i = linalg.index 0 : index
    %v = tensor.extract %x0[%i] : tensor<32xf32>
    """


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (NEGATIVE, NOTHING),
        (f"{_EXTRACT} linalg.yield %v : f32", NOTHING),
        ("%j = arith.constant 31 : index\n %k = linalg.index 0 : index\n %i = arith.subi %j, %k : index\n"
         "%v = tensor.extract %x0[%i] : tensor<32xf32>\n linalg.yield %v : f32",
         "its body moves single elements and computes nothing"),
        (f"{_EXTRACT} %n = arith.negf %v : f32\n linalg.yield %n : f32", NOTHING),
        ("%i = arith.constant 2 : i32\n %s = math.fpowi %a, %i : f32, i32\n linalg.yield %s : f32", "a 'math.fpowi'"),
        ("%n = arith.extf %a : f32 to f128\n %s = arith.truncf %n : f128 to f32\n linalg.yield %s : f32",
         "its body computes with f128"),
    ],
)  # fmt: skip
def test_bodies(body: str, expected: str) -> None:
    found = reason(generic({"d0": VECTOR}, ("d0", VECTOR), "p", body), check_body)
    assert expected in found and bool(found) == bool(expected), found
