# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Size parameters of a kernel in C: the needed sizes, and one for sizes that are equal in every call."""

from __future__ import annotations

import re

import pytest
import relax_mlir as rx
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.core.ir_attributes import SITE
from relax_mlir_c.source.same_sizes import Place, same_sizes

#: The kernel uses the size of each of its parameters.
KERNEL = """
func.func private @kernel(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) attributes {tir.prim_func} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %number = arith.constant 1.0 : f32
  %n = memref.dim %x, %zero : memref<?xf32>
  %m = memref.dim %y, %zero : memref<?xf32>
  %k = memref.dim %z, %zero : memref<?xf32>
  %some = arith.minsi %n, %m : index
  %few = arith.minsi %some, %k : index
  scf.for %i = %zero to %few step %one {
    memref.store %number, %z[%i] : memref<?xf32>
  }
  return
}
"""


def size(name: str) -> str:
    return f'tensor<?xf32, #relax.sym<["{name}"]>>'


def graph(*calls: tuple[str, str]) -> str:
    """Return calls of the kernel with parameters of these sizes. A result has the first one's size."""
    names = sorted({name for call in calls for name in call})
    parameters = ", ".join(f"%{name}: {size(name)}" for name in names)
    lines = [
        f'  %r{number} = "relax.call_tir"(%{x}, %{y}) {{func = @kernel}} : ({size(x)}, {size(y)}) -> {size(x)}'
        for number, (x, y) in enumerate(calls)
    ]
    results = ", ".join(f"%r{number}" for number in range(len(calls)))
    types = ", ".join(size(x) for x, _ in calls)
    return f"{KERNEL}func.func @main({parameters}) -> ({types}) {{\n" + "\n".join(
        [*lines, f"  return {results} : {types}", "}"]
    )


@pytest.mark.parametrize(
    ("calls", "taken", "passed"),
    [
        # The result is as long as x.
        ([("n", "n")], ["in0_size0"], [["n"]]),
        ([("n", "m")], ["in0_size0", "in1_size0"], [["n", "m"]]),
        ([("n", "n"), ("m", "m")], ["in0_size0"], [["n"], ["m"]]),
        # Only one of the calls has equal sizes.
        ([("n", "n"), ("n", "m")], ["in0_size0", "in1_size0"], [["n", "n"], ["n", "m"]]),
        ([("n", "m"), ("n", "n")], ["in0_size0", "in1_size0"], [["n", "m"], ["n", "n"]]),
        ([("n", "m"), ("m", "n")], ["in0_size0", "in1_size0"], [["n", "m"], ["m", "n"]]),
    ],
)
def test_a_kernel_takes_each_size_once(calls: list[tuple[str, str]], taken: list[str], passed: list[list[str]]) -> None:
    text = rx.sources(rx.Module.parse(graph(*calls)), "c{memory=heap}")["model.c"]
    (declared,) = re.findall(r"static void kernel\(([^)]*)\)", text)
    assert re.findall(r"int64_t (\w+)", declared) == taken
    given = re.findall(r"^ +kernel\((.*)\);", text, re.MULTILINE)
    assert [re.findall(r"\b[nm]\b", each) for each in given] == passed


def calls_of(*sites: tuple[list[str], str]) -> rx.Module:
    """Return calls of a kernel, with the graph's types of inputs and of the output."""
    text = "func.func private @kernel(memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>)\n"
    text += "func.func @main(%x: memref<?x?xf32>) {\n"
    for inputs, output in sites:
        listed = ", ".join(f'"{each}"' for each in inputs)
        site = f'{SITE} = {{inputs = [{listed}], outputs = ["{output}"]}}' if output else ""
        text += (
            f"  func.call @kernel(%x, %x, %x) {{{site}}} : (memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>) -> ()\n"
        )
    return rx.Module.parse(f"{text}  return\n}}")


@pytest.mark.parametrize(
    ("sites", "same"),
    [
        ([(["f32[n,m]", "f32[m,n]"], "f32[n,n]")], {(1, 0): (0, 1), (1, 1): (0, 0), (2, 0): (0, 0), (2, 1): (0, 0)}),
        # Two unknown sizes may differ, and so may formulas with commas.
        ([(["f32[?,m]", "f32[?,m]"], "f32[?,?]")], {(1, 1): (0, 1)}),
        ([(["f32[max(n, 1),4]", "f32[n,m]"], "f32[n,m]")], {(2, 0): (1, 0), (2, 1): (1, 1)}),
        ([(["f32[n + 1,4]", "f32[n + 1,m]"], "f32[n,4]")], {(1, 0): (0, 0), (2, 1): (0, 1)}),
        # All calls have to say so, each in its own words.
        ([(["f32[n,m]", "f32[n,k]"], "f32[n,m]"), (["f32[a,a]", "f32[a,a]"], "f32[a,a]")],
         {(1, 0): (0, 0), (2, 0): (0, 0), (2, 1): (0, 1)}),
        ([(["f32[n,n]", "f32[n,n]"], "f32[n,n]"), ([], "")], {}),
        ([(["f32[n,n]", "f32[n,n]"], "f32[n,n]"), (["f32[n,n]"], "f32[n,n]")], {}),
        ([], {}),
    ],
)  # fmt: skip
def test_sizes_that_are_equal_in_all_calls_are_found(
    sites: list[tuple[list[str], str]], same: dict[Place, Place]
) -> None:
    module = calls_of(*sites)
    found = same_sizes([op for op in operations_in(module.operation) if op.name == "func.call"])
    assert {place: first for place, first in found.items() if place != first} == same
