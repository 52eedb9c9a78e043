# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of lowered graph functions on values of the packed-function ABI."""

from __future__ import annotations

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ..core.attributes import DType, Str
from ..core.infos import Info, ScalarInfo
from ..core.ir_attributes import PACKED_DTYPES, PACKED_TYPES
from ..core.opdef import Call, OpProblem
from .dialect import op


def _nothing(call: Call) -> list[Info]:
    return []


def _verify_give_tensor(operation: Operation, call: Call) -> None:
    source = operation.operands[0].type
    if not isinstance(source, ir.MemRefType):
        raise OpProblem(f"operand 'source' ({source}) must be a memref")


def _verify_packed(operation: Operation, call: Call) -> None:
    """Check tir.dtypes and tir.types.

    The attributes state facts that memrefs and pointers lack: signedness, and expected results.
    """
    attributes = operation.attributes
    for name, count in ((PACKED_DTYPES, len(operation.operands)), (PACKED_TYPES, len(operation.results))):
        if name not in attributes or not isinstance(attributes[name], ir.ArrayAttr) or len(attributes[name]) != count:
            raise OpProblem(f"attribute '{name}' must be a list of {count}")


def _verify_place(operation: Operation, call: Call) -> None:
    if [str(result.type) for result in operation.results] != ["!llvm.ptr"]:
        raise OpProblem("gives an address, an !llvm.ptr")


op("packed", "*args:any", attrs={"func": Str(doc="the global name of the packed function")}, results="*results",
   explicit="ty", signature="func args ty", verify=_verify_packed, pure=False,
   doc="Calls a packed function with memrefs as tensors; the caller owns the results.")  # fmt: skip
op("release", "value:any", results="", infer=_nothing, pure=False,
   doc="Ends the ownership of an object that tir.packed gave.")  # fmt: skip
op("give_tensor", "source:any place:any", attrs={"dtype": DType(doc="the element type with its sign")}, results="",
   infer=_nothing, verify=_verify_give_tensor, pure=False,
   doc="Leaves a new tensor with a copy of the elements at the place, for the caller to own.")  # fmt: skip
op("give_object", "source:any place:any", results="", infer=_nothing, pure=False,
   doc="Leaves a reference to an object at the place, for the caller to own.")  # fmt: skip
op("return_unless_ok", "status:scalar", results="", infer=_nothing, pure=False,
   doc="Ends the function with the status unless it is 0; memory that it holds is given back first.")  # fmt: skip
op("place", "", results="*text", explicit="ty", signature="ty", verify=_verify_place, pure=False,
   doc="The text, of C, that errors begin with which the function raises.")  # fmt: skip
op("random_key", infer=lambda call: ScalarInfo("i64"), role="effect", pure=False,
   doc="How often the loaded program has asked for one before.")  # fmt: skip
