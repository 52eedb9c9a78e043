# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers of the schedules' tests: a PrimFunc as text, scheduled for llvm, becomes an executable."""

from __future__ import annotations

import ctypes
import functools
import mmap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.pass_manager import run_upstream
from relax_mlir.dialects.core.infos import tensor
from relax_mlir.passes.kernels.tir_apply_plan import TirApplyPlan
from relax_mlir.passes.kernels.tir_plan import TirPlan
from relax_mlir.passes.kernels.tir_store_small_types import StoreSmallTypes
from relax_mlir.passes.memory.tir_bufferize import Bufferize
from relax_mlir.runtime import Artifact, Executable, to_numpy
from relax_mlir.runtime import tensor as runtime_tensor
from relax_mlir.targets.core.common_stages import TO_LLVM
from relax_mlir.targets.core.machine import Machine
from relax_mlir.targets.host.entry import add_entry
from relax_mlir.targets.host.passes.host_lower_errors import LowerErrors
from relax_mlir.targets.host.signature import Signature, single
from relax_mlir.targets.host.support import Support
from relax_mlir.targets.llvm.objects.object_file import emit_object
from relax_mlir.targets.llvm.passes.llvm_store_narrow_floats import StoreNarrowFloats

_DIALECTS = (
    "affine", "arith", "bufferization", "builtin", "cf", "func", "linalg", "llvm", "math", "memref", "scf", "tensor",
    "transform", "vector",
)  # fmt: skip

AVX512 = Machine("x86_64", frozenset({"avx2", "avx512f"}), 64, 32)


class Shaped(NamedTuple):
    """Parameter: sizes (a name if it is known at run time only) and the element type."""

    shape: tuple[int | str, ...]
    dtype: str

    def __str__(self) -> str:
        sizes = "".join(f"{'?' if isinstance(size, str) else size}x" for size in self.shape)
        return f"tensor<{sizes}{self.dtype.replace('ui', 'i')}>"


def prim_func(inputs: Sequence[Shaped], outputs: Sequence[Shaped], body: str, pattern: str = "opaque") -> str:
    """Return the PrimFunc @k with parameters %0, %1, ... It returns the body's values %r0, %r1, ..."""
    parameters = ", ".join(f"%{index}: {each}" for index, each in enumerate((*inputs, *outputs)))
    results = ", ".join(str(each) for each in outputs)
    returned = ", ".join(f"%r{index}" for index in range(len(outputs)))
    return f"""
func.func @k({parameters}) -> ({results}) attributes {{tir.prim_func, tir.op_pattern = "{pattern}"}} {{
{body}
  return {returned} : {results}
}}"""


def schedule(module: Any, vector_bytes: int) -> None:
    """Schedule the module's loops for vectors of a size, independent of this machine."""
    target = f"llvm{{vector-bytes={vector_bytes}}}"
    TirPlan(target)(module.operation)
    TirApplyPlan(target)(module.operation)


def scheduled_text(text: str, vector_bytes: int = 64) -> str:
    """Return the function after the schedule, as text."""
    context = new_context(_DIALECTS)
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
        schedule(module, vector_bytes)
        return str(module.operation.get_asm(print_generic_op_form=False))


@functools.lru_cache(maxsize=512)
def executable(
    text: str, inputs: tuple[Shaped, ...], outputs: tuple[Shaped, ...], vector_bytes: int = 64
) -> Executable:
    """Return the PrimFunc @k of a text as function `main` of an executable."""
    context = new_context(_DIALECTS)
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
        schedule(module, vector_bytes)
        Bufferize()(module.operation)
        StoreSmallTypes()(module.operation)
        _append_caller(module, (*inputs, *outputs))
        signature = Signature(
            "main",
            tuple(single(tensor(each.shape, each.dtype), f"x{index}") for index, each in enumerate(inputs)),
            tuple(single(tensor(each.shape, each.dtype)) for each in outputs),
        )
        kernel = ir.SymbolTable(module.operation)["main_impl"].operation
        add_entry(Support(module.operation), signature, kernel)
        LowerErrors()(module.operation)
        run_upstream(module.operation, ["func.func(convert-linalg-to-loops)", *TO_LLVM])
        StoreNarrowFloats()(module.operation)
        code = emit_object(module, 2)
    return Executable(Artifact((signature.describe(),), (memoryview(code),)))


def run(text: str, inputs: Sequence[Shaped], outputs: Sequence[Shaped], *arrays: Any, vector_bytes: int = 64) -> Any:
    """Return the single result for arrays that end before unreadable memory."""
    result = executable(text, tuple(inputs), tuple(outputs), vector_bytes)["main"](
        *(runtime_tensor(at_the_end_of_memory(array)) for array in arrays)
    )
    return to_numpy(result)


def _append_caller(module: Any, parameters: Sequence[Shaped]) -> None:
    """Append a function @main_impl that calls @k, which is on memrefs by now."""
    memrefs = [str(each).replace("tensor", "memref") for each in parameters]
    arguments = ", ".join(f"%m{index}: {type_}" for index, type_ in enumerate(memrefs))
    passed = ", ".join(f"%m{index}" for index in range(len(memrefs)))
    text = f"""
func.func @main_impl({arguments}) {{
  func.call @k({passed}) : ({", ".join(memrefs)}) -> ()
  return
}}
func.func private @k({", ".join(memrefs)})
"""
    parsed = ir.Module.parse(text)  # the module has to live until the function is moved
    module.body.append(parsed.body.operations[0].operation.detach_from_parent())


def random_array(shape: Sequence[int], dtype: Any, seed: int = 0) -> Any:
    """Return an array of small numbers with sums and products that are exact in integers."""
    generator = numpy.random.default_rng(seed)
    return generator.integers(-4, 5, size=tuple(shape)).astype(dtype)


def at_the_end_of_memory(array: Any) -> Any:
    """Return the array with its last byte before unreadable memory: a read beyond it crashes."""
    page = mmap.PAGESIZE
    pages = -(-array.nbytes // page)
    memory = mmap.mmap(-1, (pages + 1) * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(address + pages * page), page, 0) == 0
    result = numpy.frombuffer(memory, array.dtype, array.size, pages * page - array.nbytes).reshape(array.shape)
    result[...] = array
    return result
