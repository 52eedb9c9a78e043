# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-inline on random modules: the public function's results and the meaning of each symbol stay the same."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from example_counts import draws
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from interpreted import run_function, same
from relax_mlir.bindings.mlir import ir
from relax_mlir.passes.graph.relax_inline import Inline

import relax_mlir as rx
from relax_mlir import RelaxError, relax

UNKNOWN = "tensor<?xf32>"
OPERATORS = ["exp", "negative", "abs", "square"]
NAMES = ["n", "k", "n_1", "m"]


def named(size: str) -> str:
    return f'tensor<?xf32, #relax.sym<["{size}"]>>'


class Function:
    """Function from one vector to another one that is `factor` times as long."""

    def __init__(self, draw: Any, module: rx.Module, name: str, callees: list[Function]):
        self.name = name
        self.draw = draw
        # The function's name for the size of its parameter. The name contains the function's name, so that a call can
        # bind it.
        self.parameter = draw(st.sampled_from([UNKNOWN, named(f"p_{name}")]))
        self.size = f"p_{name}" if self.parameter != UNKNOWN else draw(st.sampled_from(NAMES))
        with module:
            types = [ir.Type.parse(self.parameter)], [ir.Type.parse(UNKNOWN)]
            attributes = {
                "sym_name": ir.StringAttr.get(name),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(*types)),
                "sym_visibility": ir.StringAttr.get("public" if name == "main" else "private"),
            }
            function = ir.Operation.create("func.func", attributes=attributes, regions=1)
            block = function.regions[0].blocks.append(*types[0])
            with ir.InsertionPoint(block):
                value = block.arguments[0]
                if self.parameter == UNKNOWN:
                    value = relax.match_cast(value, named(self.size))
                self.factor = 1
                for _ in range(draw(st.integers(1, 4))):
                    value = self.step(value, callees)
                ir.Operation.create("func.return", operands=[relax.match_cast(value, UNKNOWN)])

    def step(self, value: Any, callees: list[Function]) -> Any:
        kinds = ["operator", "double", "shape", *["call"] * (2 if callees else 0)]
        kind = self.draw(st.sampled_from(kinds))
        if kind == "operator":
            return getattr(relax, self.draw(st.sampled_from(OPERATORS)))(value)
        if kind == "double":
            self.factor *= 2
            return relax.match_cast(relax.concat([value, value], 0), named(f"{self.factor}*{self.size}"))
        if kind == "shape":
            return relax.reshape(value, (f"{self.factor}*{self.size}",))
        callee = self.draw(st.sampled_from(callees))
        if callee.parameter != UNKNOWN and self.factor != 1:
            return value  # a second size for the callee's symbol would not fit the first
        operand = relax.match_cast(value, callee.parameter)
        call = ir.Operation.create(
            "func.call",
            results=[ir.Type.parse(UNKNOWN)],
            operands=[operand],
            attributes={"callee": ir.FlatSymbolRefAttr.get(callee.name)},
        )
        self.factor *= callee.factor
        return relax.match_cast(call.result, named(f"{self.factor}*{self.size}"))


def functions_in(module: rx.Module) -> list[str]:
    return [op.operation.attributes["sym_name"].value for op in module.body.operations]


@draws(80, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_results_stay(data: Any) -> None:
    module = rx.Module()
    callees: list[Function] = []
    for index in range(data.draw(st.integers(1, 4))):
        callees.append(Function(data.draw, module, f"f{index}", list(callees)))
    main = Function(data.draw, module, "main", callees)
    module.verify()
    argument = numpy.array(data.draw(st.lists(st.floats(-2, 2, width=32), max_size=3)), dtype=numpy.float32)
    before = str(module)
    expected = run_function(module, [argument])

    Inline()(module)
    module.verify()
    text = str(module)
    assert "call @" not in text
    assert "main" in functions_in(module)
    # Every function that was called is gone.
    assert all(name == "main" or f"call @{name}" not in before for name in functions_in(module)), before
    (result,) = run_function(module, [argument])
    assert same(expected[0], result), before
    assert len(result) == main.factor * len(argument)


def test_long_chains_of_calls() -> None:
    """Inline a chain that is longer than Python's stack."""
    count = 3000
    lines = ["func.func private @f0(%x: tensor<1xf32>) -> tensor<1xf32> { return %x : tensor<1xf32> }"]
    lines += [
        f"func.func private @f{i}(%x: tensor<1xf32>) -> tensor<1xf32> {{ %0 = call @f{i - 1}(%x) : "
        "(tensor<1xf32>) -> tensor<1xf32> return %0 : tensor<1xf32> }"
        for i in range(1, count)
    ]
    lines.append(
        f"func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {{ %0 = call @f{count - 1}(%x) : "
        "(tensor<1xf32>) -> tensor<1xf32> return %0 : tensor<1xf32> }"
    )
    module = rx.Module.parse("\n".join(reversed(lines)))
    Inline()(module)
    assert functions_in(module) == ["main"]


def test_references_other_than_calls_keep_a_function() -> None:
    """Keep functions with references other than calls, except references from functions that are removed themselves."""
    module = rx.Module.parse("""
func.func private @f(%x: tensor<1xf32>) -> tensor<1xf32> attributes {test.other = [@g]} {
  return %x : tensor<1xf32>
}
func.func private @g(%x: tensor<1xf32>) -> tensor<1xf32> {
  return %x : tensor<1xf32>
}
func.func private @dead(%x: tensor<1xf32>) -> tensor<1xf32> attributes {test.other = [@last]} {
  %0 = call @last(%x) : (tensor<1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
func.func private @last(%x: tensor<1xf32>) -> tensor<1xf32> {
  return %x : tensor<1xf32>
}
func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> attributes {test.uses = {a = [@f]}} {
  %0 = call @f(%x) : (tensor<1xf32>) -> tensor<1xf32>
  %1 = call @g(%0) : (tensor<1xf32>) -> tensor<1xf32>
  %2 = call @dead(%1) : (tensor<1xf32>) -> tensor<1xf32>
  return %2 : tensor<1xf32>
}""")
    Inline()(module)
    assert functions_in(module) == ["f", "g", "main"]


def test_malformed_symbols_are_an_error_at_their_place() -> None:
    text = """
func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = tensor.cast %x : tensor<?xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @main(%x: tensor<?xf32, #relax.sym<["n", "m"]>>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @f(%y) : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}"""
    with pytest.raises(RelaxError, match=r"@main parameter 0: .*#relax.sym names 2 dimensions, but the tensor has 1"):
        rx.Module.parse(text)
