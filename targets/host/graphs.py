# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that a device can run as one recorded graph of launches, and the entry code that runs the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import cast

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import (
    ancestors,
    callee_of,
    constant_of,
    functions_in,
    has_body,
    operations_in,
    operations_named,
    symbol_name,
)
from ...dialects.core.infos import Info, TensorInfo
from ...emit.loops import when
from ...emit.numbers import number, operation
from ...passes.memory.lower_calls.stated import memory_of
from . import abi
from .arguments import CheckedTensor
from .llvm_ops import address_of, constant, load, mark_end, stack, store, stored, type_of, view_of
from .signature import Signature
from .support import DEVICE_TABLE, PROFILE_TABLE, Support, device_function

#: Host operations that may occur in a graph: operations with the same effect at each call. They compute, allocate
#: memory and launch kernels.
_DIALECTS = ("arith.", "gpu.", "scf.", "cf.", "affine.", "builtin.")
_OPERATIONS = frozenset(
    "func.call func.return llvm.mlir.poison llvm.mlir.addressof llvm.mlir.constant llvm.mlir.zero llvm.load "
    "llvm.insertvalue llvm.extractvalue llvm.getelementptr llvm.inttoptr tir.assert tir.place".split()
)
#: Memory accesses of the host, which would have to wait for the device.
_WAITING = frozenset(("memref.load", "memref.store", "memref.copy"))
_CALLED = frozenset(("__relax_device_profile_begin", "__relax_device_profile_end"))
#: Accesses of a call to a tensor.
_READ, _WRITTEN = 1, 2
#: Names of a device kind's graphs in messages, and the name for other kinds.
_NAMES, _OTHER_NAME = {"cuda": "a CUDA graph (graphs=False launches kernels one by one)"}, "commands that are kept"
#: Layout of the state of a call (<kind>_graphs.mlir): its size in bytes, the offset of the flag that requests launches
#: after all, and the value of the first word for a call that runs by a graph.
_SCOPE_BYTES, _AGAIN, _BY_GRAPH = 56, 48, 2


def may_have_graph(kind: str, signature: Signature, kernel: Operation) -> bool:
    """Return True if a function of a program for a device kind may run as one graph."""
    is_same = bool(kind) and _is_same_each_time(signature, kernel)
    return is_same and device_function(kind, "graph_begin") is not None


def _is_same_each_time(signature: Signature, kernel: Operation) -> bool:
    """Check whether all calls of a function launch the same kernels, differing at most in addresses."""
    passed = [info for input_ in (*signature.inputs, *signature.outputs) for info in input_.infos]
    if any(_bytes_of(info) is None for info in passed):
        return False
    functions = {
        symbol_name(function): function for function in functions_in(kernel.parent.operation) if has_body(function)
    }
    names = [symbol_name(kernel)]
    for name in names:
        called = [callee_of(op) for op in operations_named(functions[name], "func.call")]
        names += [fromkey for fromkey in dict.fromkeys(called) if fromkey in functions and fromkey not in names]
    return all(_is_same(op) for function in [functions[name] for name in names] for op in operations_in(function))


def graph_of(kind: str, signature: Signature, kernel: Operation) -> dict[str, object]:
    """Return the manifest entry of a function that may be a graph, or an empty dictionary.

    When the program is loaded, the runtime estimates from the entry whether the graph is faster
    (runtime/cuda/graphs.py).
    """
    if not may_have_graph(kind, signature, kernel):
        return {}
    functions = {
        symbol_name(function): function for function in functions_in(kernel.parent.operation) if has_body(function)
    }
    described = _described(signature)
    moved = [bytes_ for bytes_, role in described for way in (_READ, _WRITTEN) if bytes_ and role & way]
    arena = cast("dict[str, int]", memory_of(kernel).get("memory", {"arena": 0}))["arena"]
    counts = {"launches": _launches(kernel, functions, {}), "copies": len(moved), "tensors": len(described)}
    memory = arena + sum(bytes_ for bytes_, _ in described)
    return {"graph": {**counts, "bytes": sum(moved), "memory": memory}}


def _launches(function: Operation, functions: Mapping[str, Operation], known: dict[str, int]) -> int:
    """Return the number of launches in a call. A loop with an unknown trip count counts its body once."""
    if (name := symbol_name(function)) not in known:
        known[name] = 0  # recursion is refused
        for op in operations_in(function):
            if op.name == "gpu.launch_func":
                known[name] += _times(op)
            elif op.name == "func.call" and callee_of(op) in functions:
                known[name] += _times(op) * _launches(functions[callee_of(op)], functions, known)
    return known[name]


def _times(op: Operation) -> int:
    """Return the number of executions of an operation per call."""
    return prod(_steps(ancestor) for ancestor in ancestors(op) if ancestor.name == "scf.for")


def _steps(loop: Operation) -> int:
    first, last, step = (constant_of(operand) for operand in list(loop.operands)[:3])
    return 1 if first is None or last is None or not step else max(0, -(-(last - first) // step))


def _described(signature: Signature) -> list[tuple[int, int]]:
    """Return (bytes, access) of each tensor, inputs before results.

    The access says whether a call reads or writes it.
    """
    roles = [(input_, _READ | (_WRITTEN if input_.is_written else 0)) for input_ in signature.inputs]
    roles += [(output, _WRITTEN) for output in signature.outputs]
    return [(_bytes_of(info) or 0, role) for each, role in roles for info in each.infos]


def _bytes_of(info: Info) -> int | None:
    """Return the bytes of a tensor with static sizes, or None."""
    if not isinstance(info, TensorInfo) or info.shape is None:
        return None
    sizes = [size for size in info.shape if isinstance(size, int)]
    return prod(sizes) * abi.element_bytes(info.dtype) if len(sizes) == len(info.shape) else None


def _is_same(op: Operation) -> bool:
    if op.name == "llvm.call":
        return "callee" in op.attributes and callee_of(op) in _CALLED
    is_known = op.name in _OPERATIONS or op.name.startswith((*_DIALECTS, "memref."))
    return is_known and op.name not in _WAITING


class GraphCall:
    """Call that may run by a graph. `tensors` are the tensors of the inputs, then those of the results."""

    def __init__(
        self, support: Support, kind: str, signature: Signature, place: int, tensors: Sequence[CheckedTensor]
    ) -> None:
        """Create the call. `place` is the index of the function in the program, `kind` the kind of the device."""
        self._support, self._kind, self._tensors = support, kind, tensors
        described = support.numbers([word for pair in _described(signature) for word in pair])
        label = support.text(f"{signature.name}, as {_NAMES.get(kind, _OTHER_NAME)}")
        self._given = stored([tensor.data for tensor in tensors])
        self._about = constant(len(tensors)), self._given, described
        self._table, self._label, self._place = address_of(DEVICE_TABLE), label, constant(place)

    def begin(self) -> list[CheckedTensor]:
        """Begin the call and return the tensors that the recorded kernels receive."""
        passed, block = stack(8 * len(self._tensors)), stack(_SCOPE_BYTES)
        for offset in (0, _AGAIN):
            store(constant(0), block, offset)
        #: State of the call, valid until its end.
        self.scope = view_of(block)
        mark_end(self.scope, f"{self._kind}_graph_leave")
        times = (
            address_of(PROFILE_TABLE)
            if PROFILE_TABLE in self._support
            else operation("llvm.mlir.zero", [], type_of("ptr")).value
        )
        operands = self._table, self._place, self._label, times, *self._about, passed, self.scope
        self._support.require(f"{self._kind}_graph_begin", *operands)
        places = enumerate(self._tensors)
        return [CheckedTensor(load(passed, 8 * place, type_of("ptr")), each.sizes) for place, each in places]

    def run(self, launch: Callable[[Sequence[CheckedTensor]], None], passed: Sequence[CheckedTensor]) -> None:
        """Launch the kernels to record with the tensors that `begin` returned, or run the graph.

        If an optional graph fails, launch the kernels directly.
        """
        i64 = ir.IntegerType.get_signless(64)
        when(number(load(self.scope, 0, i64)) != _BY_GRAPH, lambda: launch(passed))
        self._support.require(f"{self._kind}_graph_end", self._table, self._label, *self._about, self.scope)
        when(number(load(self.scope, _AGAIN, i64)) != 0, lambda: launch(self._tensors))
