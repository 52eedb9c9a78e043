# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What functions in C take: of sizes those that a kernel asks for, one where every call says that they are the same."""

from __future__ import annotations

import re

import pytest

import relax_mlir as rx

#: The kernel asks for the size of each of its parameters.
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
    """Calls the kernel with parameters of these sizes; a result has the size of the first."""
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
        # One call alone says that they are the same.
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
