# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of test/lit_graphs.py: types in full, modules of parts, and lines that diagnostics count."""

from __future__ import annotations

from pathlib import Path

import lit_graphs
from lit_schedules import script_of

TEXT = '''# RUN: graphs %s | relax-opt -
"""Short."""


# expected-error @+1 {{no}}
def main(x: f32[2 * n, 4], y: bf16, shape: f32["?"]) -> R.Tuple(i64[3], u8[n]):
    y: bool[n] = R.f(x, "f32[4]", out_sinfo=f32[n, 1])


# -----
@T.prim_func
def kernel(X: f16[4], n: T.index) -> f16[4]:
    return X


# -----
@I.ir_module
class Own:
    @R.function(private=True)
    def f(x: f32) -> f32: ...
'''
SCRIPT = """from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module(ssa=True)
class Module:


    @R.function
    # expected-error @+1 {{no}}
    def main(x: R.Tensor(("2 * n", 4), "float32"), y: R.Tensor((), "bfloat16"), shape: R.Tensor(("?",), "float32")) -> R.Tuple(R.Tensor((3,), "int64"), R.Tensor(("n",), "uint8")):
        y: R.Tensor(("n",), "bool") = R.f(x, "f32[4]", out_sinfo=R.Tensor(("n", 1), "float32"))


# -----
@I.ir_module(ssa=True)
class Module:
    @T.prim_func
    def kernel(X: T.Tensor((4,), "float16"), n: T.index) -> T.Tensor((4,), "float16"):
        return X


# -----
@I.ir_module
class Own:
    @R.function(private=True)
    def f(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"): ..."""  # noqa: E501


def test_short_scripts_become_modules_with_full_types(tmp_path: Path) -> None:
    assert lit_graphs.expand(TEXT) == SCRIPT
    path = tmp_path / "a.py"
    path.write_text(TEXT)
    assert script_of(path) == SCRIPT
