# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types in scripts against MLIR's text, and names in loops with variables of the same names."""

from __future__ import annotations

import pytest

import relax_mlir as rx

TYPES = {
    'R.Tensor((4, "n"), "float32")': 'tensor<4x?xf32, #relax.sym<[4, "n"]>>',
    'R.Tensor(("?", 2), "int8")': "tensor<?x2xi8>",
    'T.Tensor((), "bool")': "tensor<i1>",
    'R.Tensor("float16")': "tensor<*xf16>",
    'R.Shape(("n", 4))': '!relax.shape<["n", 4]>',
    "R.Shape()": "!relax.shape<unit>",
    "R.Object": "!relax.object",
    'T.Buffer((4, "?"), "float64")': "memref<4x?xf64>",
    'T.Vector((2, 4), "int32")': "vector<2x4xi32>",
    "T.float32x8": "vector<8xf32>",
    "T.bfloat16": "bf16",
    "T.index": "index",
    'I.type("complex<f32>")': "complex<f32>",
}


@pytest.mark.parametrize("text", TYPES)
def test_a_type(text: str) -> None:
    script = f"@I.ir_module(ssa=True)\nclass M:\n    @R.function(private=True)\n    def f(x: {text}) -> {text}: ...\n"
    function = rx.Module.from_script(script).operation.regions[0].blocks[0].operations[0]
    type_ = function.attributes["function_type"].value
    assert [str(type_.inputs[0]), str(type_.results[0])] == [TYPES[text]] * 2


def test_variables_of_a_nest_hide_outer_names() -> None:
    script = """@I.ir_module(ssa=True)
class M:
    @T.prim_func
    def f(C: T.Tensor((4,), "index")) -> T.Tensor((4,), "index"):
        for i in range(4):
            for i in T.grid(4):
                C[i] = i
            C[0] = i
        return C
"""
    loop, inner = str(rx.Module.from_script(script)).split("scf.for %")[1].split("linalg.generic")
    variable = loop.partition(" ")[0]
    assert "linalg.index 0" in inner
    assert f"tensor.insert %{variable} into" in inner


@pytest.mark.parametrize("argument", ['R.Tensor((4,), "float32")', 'ty=R.Tensor((4,), "float32")'])
def test_the_result_type_can_be_an_argument(argument: str) -> None:
    script = f"""@I.ir_module(ssa=True)
class M:
    @R.function(private=True)
    def f(x: R.Tensor(("n",), "float32")) -> R.Tensor((4,), "float32"):
        y = R.match_cast(x, {argument})
        return y
"""
    assert '#relax.sym<["n"]>>) -> tensor<4xf32>' in str(rx.Module.from_script(script))
