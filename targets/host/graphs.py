# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which functions a device can run as one graph of launches, recorded once, and how their entries have it do so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import callee_of, functions_in, has_body, operations_in, symbol_name
from ...dialects.core.infos import Info, TensorInfo
from ...emit.loops import when
from ...emit.numbers import number, operation
from . import abi
from .arguments import Tensor
from .llvm_ops import address_of, constant, load, mark_end, stack, store, stored, type_of, view_of
from .signature import Signature
from .support import DEVICE_TABLE, PROFILE_TABLE, Support

#: What host code may consist of: all that does the same at each call. It computes, takes memory, and launches kernels.
_DIALECTS = ("arith.", "gpu.", "scf.", "cf.", "affine.", "builtin.")
_OPERATIONS = frozenset(
    "func.call func.return llvm.mlir.poison llvm.mlir.addressof llvm.mlir.constant llvm.mlir.zero llvm.load "
    "llvm.insertvalue llvm.extractvalue llvm.getelementptr llvm.inttoptr tir.assert tir.place".split()
)
#: Of operations on memory: those that read or write it from the host, who would have to wait for the device.
_WAITING = frozenset(("memref.load", "memref.store", "memref.copy"))
_CALLED = frozenset(("__relax_device_profile_begin", "__relax_device_profile_end"))
#: What is done with a tensor.
_READ, _WRITTEN = 1, 2
#: Words of what is known of a call under way; a call by the graph that was recorded before (device_graphs.mlir).
_SCOPE_BYTES, _BY_GRAPH = 48, 2


def is_same_each_time(signature: Signature, kernel: Operation) -> bool:
    """Whether all calls of a function launch the same kernels, with other addresses at most."""
    passed = [info for each in (*signature.inputs, *signature.outputs) for info in each.infos]
    if any(_bytes_of(info) is None for info in passed):
        return False
    functions = {symbol_name(each): each for each in functions_in(kernel.parent.operation) if has_body(each)}
    return all(_is_same(op) for function in _reached(kernel, functions) for op in operations_in(function))


def _bytes_of(info: Info) -> int | None:
    """Of a tensor whose sizes are all numbers."""
    if not isinstance(info, TensorInfo) or info.shape is None:
        return None
    sizes = [size for size in info.shape if isinstance(size, int)]
    return prod(sizes) * abi.element_bytes(info.dtype) if len(sizes) == len(info.shape) else None


def _reached(function: Operation, functions: Mapping[str, Operation]) -> list[Operation]:
    """A function and those that it calls, directly or not, each once."""
    names = [symbol_name(function)]
    for name in names:
        called = [callee_of(op) for op in operations_in(functions[name]) if op.name == "func.call"]
        names += [each for each in dict.fromkeys(called) if each in functions and each not in names]
    return [functions[name] for name in names]


def _is_same(op: Operation) -> bool:
    if op.name == "llvm.call":
        return "callee" in op.attributes and callee_of(op) in _CALLED
    is_known = op.name in _OPERATIONS or op.name.startswith((*_DIALECTS, "memref."))
    return is_known and op.name not in _WAITING


class GraphCall:
    """A call that may run by a graph: `tensors` are those of inputs and then of results."""

    def __init__(self, support: Support, signature: Signature, place: int, tensors: Sequence[Tensor]) -> None:
        """`place` is the function's among the program's."""
        self._support, self._tensors = support, tensors
        roles = [_READ | (_WRITTEN if each.is_written else 0) for each in signature.inputs for _ in each.infos]
        roles += [_WRITTEN] * (len(tensors) - len(roles))
        infos = [info for each in (*signature.inputs, *signature.outputs) for info in each.infos]
        bytes_ = [_bytes_of(info) or 0 for info in infos]
        described = support.numbers([word for pair in zip(bytes_, roles, strict=True) for word in pair])
        label = support.text(f"{signature.name}, as a graph of the device (graphs=True)")
        self._given = stored([each.data for each in tensors])
        self._about = constant(len(tensors)), self._given, described
        self._table, self._label, self._place = address_of(DEVICE_TABLE), label, constant(place)

    def begin(self) -> list[Tensor]:
        """The tensors as kernels get them, where they are launched."""
        passed, block = stack(8 * len(self._tensors)), stack(_SCOPE_BYTES)
        store(constant(0), block)
        #: What is known of the call, until its end.
        self.scope = view_of(block)
        mark_end(self.scope, "device_graph_leave")
        times = (
            address_of(PROFILE_TABLE)
            if PROFILE_TABLE in self._support
            else operation("llvm.mlir.zero", [], type_of("ptr")).value
        )
        operands = self._table, self._place, self._label, times, *self._about, passed, self.scope
        self._support.require("device_graph_begin", *operands)
        places = enumerate(self._tensors)
        return [Tensor(load(passed, 8 * place, type_of("ptr")), each.sizes) for place, each in places]

    def run(self, launch: Callable[[], None]) -> None:
        """Launches what is to be recorded, or the graph."""
        mode = load(self.scope, 0, ir.IntegerType.get_signless(64))
        when(number(mode) != _BY_GRAPH, launch)
        self._support.require("device_graph_end", self._table, self._label, *self._about, self.scope)
