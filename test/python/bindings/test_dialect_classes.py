# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports of the bindings when operations of upstream's dialects are handed to Python."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own: here everything has been imported.
LOWERING = """
import sys
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.bindings.mlir import dialect_module

module = rx.Module()
with module.function("main", [rx.tensor(("n", 4)), rx.tensor((4, 4))]) as f:
    f.returns(relax.exp(relax.matmul(*f)))
lowered = rx.lower(module, pipeline=rx.stages().until("legalize"))
inside = [op for function in lowered.body for op in function.body.blocks[0]]
generic = next(op for op in inside if op.operation.name == "linalg.generic")
print(type(generic).__name__, sorted({"numpy", "yaml"} & sys.modules.keys()))
linalg = dialect_module("linalg")
print(linalg.GenericOp is type(generic), callable(linalg.matmul))
"""


def test_linalg_s_classes_come_without_numpy_and_yaml() -> None:
    done = subprocess.run([sys.executable, "-c", LOWERING], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["GenericOp []", "True True"]


LLVM = """
import sys
import relax_mlir as rx
from relax_mlir.bindings.mlir import ROOT, dialect_module, ir

rx.compile(rx.Module.parse("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"))
print(f"{ROOT}.dialects._llvm_ops_gen" in sys.modules)
text = "llvm.func @f(%x: i64) -> i64 { %0 = llvm.add %x, %x : i64\\n llvm.return %0 : i64 }"
function = list(rx.Module.parse(text).body)[0]
print(ir.TypeAttr(function.operation.attributes["function_type"]).value.inputs)
llvm = dialect_module("llvm")
function = list(rx.Module.parse(text).body)[0]
print(type(function) is llvm.LLVMFuncOp, callable(llvm.translate_module_to_llvmir))
"""


def test_llvm_s_operations_get_classes_when_somebody_wants_these() -> None:
    done = subprocess.run([sys.executable, "-c", LLVM], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False", "[IntegerType(i64)]", "True True"]


GPU = """
import relax_mlir as rx
from relax_mlir.bindings.mlir import dialect_module

text = "gpu.module @m { gpu.func @f() kernel { gpu.return } }"
print(type(list(rx.Module.parse(text).body)[0]).__name__)
gpu = dialect_module("gpu")
print(type(list(rx.Module.parse(text).body)[0]) is gpu.GPUModuleOp)
"""


def test_operations_of_gpus_get_classes_when_somebody_wants_these() -> None:
    done = subprocess.run([sys.executable, "-c", GPU], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["OpView", "True"]
