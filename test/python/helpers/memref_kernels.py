# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on memrefs, as text of their loops, for tests of their reads and writes."""

from __future__ import annotations

from relax_mlir.dialects.tir.prim_func import prim_funcs_in
from relax_mlir.passes.memory.lower_calls.overwriting import Kernel

import relax_mlir as rx

HEAD = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : TYPE
"""


def kernel_of(body: str, type_: str = "memref<64xf32>", out: str = "", attributes: str = "tir.prim_func") -> Kernel:
    """Return the analysis of a kernel with an input %x, an input %w of 64 indices, and an output %y."""
    parameters = f"%x: {type_}, %w: memref<64xindex>, %y: {out or type_}"
    head = HEAD.replace("TYPE", type_)
    module = rx.Module.parse(f"func.func @f({parameters}) attributes {{{attributes}}} {{{head}{body}\n  return\n}}")
    (function,) = prim_funcs_in(module.operation)
    with module.context:
        return Kernel(function)


def loop(body: str, counter: str = "i", bounds: str = "%c0 to %c64 step %c1") -> str:
    return f"scf.for %{counter} = {bounds} {{\n{body}\n}}\n"


READ, WRITE = "%a = memref.load %x[{}] : {}\n", "memref.store %a, %y[{}] : {}\n"


def move(source: str, target: str, type_: str = "memref<64xf32>") -> str:
    return READ.format(source, type_) + WRITE.format(target, type_)


_VECTORS = """
  %v = vector.transfer_read %x[{0}], %z {{in_bounds = [true]}} : {2}, vector<{3}xf32>
  vector.transfer_write %v, %y[{1}] {{in_bounds = [true]}} : vector<{3}xf32>, {2}
"""


def vectors(source: str, target: str, length: int, type_: str = "memref<64xf32>") -> str:
    return _VECTORS.format(source, target, type_, length)
