# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls from tensor programs to external functions, by C's calling convention or the packed-function ABI."""

from __future__ import annotations

from ...bindings.ir import Operation
from ..core.attributes import Str
from ..core.codec import decode
from ..core.infos import Info, ObjectInfo, OtherInfo, ScalarInfo, ShapeInfo, TensorInfo, VectorInfo, describe
from ..core.opdef import Call, OpProblem
from .dialect import op


def _check_name(call: Call, what: str) -> None:
    if not call.func:
        raise OpProblem(f"attribute 'func' is empty: name the {what}")
    if any(char.isspace() or not char.isprintable() for char in call.func):
        raise OpProblem(f"attribute 'func' ({call.func!r}) must be a name without blanks")


def _check_results(operation: Operation) -> list[Info]:
    results = [decode(type_) for type_ in operation.results.types]
    if len(results) > 1:
        raise OpProblem(f"gives at most one result, but {len(results)} are stated")
    for info in results:
        if _is_buffer(info):
            raise OpProblem(f"result ({describe(info)}) cannot be returned: pass a buffer for it as an argument")
    return results


def _is_buffer(info: Info) -> bool:
    return isinstance(info, TensorInfo) or (isinstance(info, OtherInfo) and info.text.startswith("memref<"))


def _check_arguments(call: Call, kinds: tuple[type, ...], what: str) -> None:
    for index, info in enumerate(call.args):
        if isinstance(info, TensorInfo):
            raise OpProblem(
                f"operand 'args' #{index} ({describe(info)}) has no address yet: bufferize first, "
                "or call from the graph with relax.call_dps_packed"
            )
        if not isinstance(info, kinds):
            raise OpProblem(f"operand 'args' #{index} ({describe(info)}) is nothing {what} can take")


def _verify_extern(operation: Operation, call: Call) -> None:
    _check_name(call, "external function")
    _check_arguments(call, (ScalarInfo, VectorInfo, OtherInfo), "a C function")
    _check_results(operation)


def _verify_pure_extern(operation: Operation, call: Call) -> None:
    _verify_extern(operation, call)
    if not len(operation.results):
        raise OpProblem("must give a result: without one and without effects it would do nothing (use tir.call_extern)")


def _verify_packed(operation: Operation, call: Call) -> None:
    _check_name(call, "packed function")
    _check_arguments(call, (ScalarInfo, ShapeInfo, ObjectInfo, OtherInfo), "a packed function")
    for info in _check_results(operation):
        if isinstance(info, VectorInfo):
            raise OpProblem(f"result ({describe(info)}) is nothing a packed function can return")


_EXTERN = {"func": Str(doc="symbol of the C function")}
_PACKED = {"func": Str(doc="global name of the packed function")}

_NAMES = "func args ty"

op("call_extern", "*args:passed", attrs=_EXTERN | {"library": Str("", doc="package with the function")},
   results="result?", explicit="ty", signature=f"{_NAMES} library", role="call", pure=False, verify=_verify_extern,
   doc="Calls a C function, with numbers as i64, f64 or i1. ty is its result type, () for none.")  # fmt: skip
# Pure in MLIR's sense: memory that the function reads through a pointer must not change.
op("call_pure_extern", "*args:passed", attrs=_EXTERN, results="result?", explicit="ty", signature=_NAMES, role="call",
   verify=_verify_pure_extern,
   doc="Calls a C function without side effects that reads only constant memory.")  # fmt: skip
op("call_packed", "*args:any", attrs=_PACKED, results="result?", explicit="ty", signature=_NAMES, role="call",
   pure=False,
   verify=_verify_packed, doc="Calls a packed function. ty is its result type, () for none.")  # fmt: skip
