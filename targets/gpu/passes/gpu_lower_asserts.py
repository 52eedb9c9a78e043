# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assertions of kernels: the failing thread writes a record for the host and ends.

A flag in device memory says that an assertion failed. The first failing thread sets the flag. Behind the flag is the
address of the record, in host memory. The record contains a flag, the text of the place, the text of kind and message,
and numbers. Kernels receive the host addresses of these texts and store them.

A later kernel of the same function, or of the next step of a loop, reads the flag and does nothing if it is set. A
graph of launches has its own flag, and uses the record of the launching thread. The first failure in a record stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import i64_attribute, ir
from ....bindings.navigation import (
    ancestors,
    body_of,
    functions_in,
    has_body,
    operations_named,
    operations_of,
    symbol_name,
)
from ....bindings.pass_manager import run_upstream
from ....dialects.tir.prim_func import ASSERT
from ....emit.arithmetic import result_of
from ....emit.linalg import segments
from ....emit.numbers import as_i64, number
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ...host.llvm_ops import address_of, constant, load, store, type_of
from ...host.passes.host_lower_errors import split_behind
from ...host.support import DEVICE_TABLE, Support, cut
from ..kernels.outline import kernels_in, launched, pass_more, tell_type

_LOOPS = ("scf.for", "scf.while")
#: Offsets behind the flag, and in the record.
_RECORD, _WHERE, _SITE, _NUMBERS = 8, 8, 16, 24
#: Memory orderings of LLVM.
_MONOTONIC, _ACQUIRE_RELEASE = 2, 6


@register_pass
class LowerAsserts(Pass):
    """Lower the assertions of kernels to records of failures for the host."""

    name: ClassVar[str] = "gpu-lower-asserts"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "cf", "gpu", "llvm", "scf")

    def run(self, op: Operation) -> None:
        support = Support(op)
        kernels = {symbol_name(kernel): kernel for kernel in kernels_in(op)}
        if not (asserting := {name for name, kernel in kernels.items() if operations_named(kernel, ASSERT)}):
            return
        with op.context:
            for function in [each for each in functions_in(op) if has_body(each)]:
                launches = operations_named(function, "gpu.launch_func")
                asserts = [launched(operation) in asserting for operation in launches]
                for launch, is_asserting, is_behind in zip(launches, asserts, _follow(launches, asserts), strict=True):
                    if is_behind or is_asserting:
                        sites = _AssertKernel(support, kernels[launched(launch)]).lower(is_behind=is_behind)
                        with launch.location, ir.InsertionPoint(launch):
                            flag = support.value("device_record", address_of(DEVICE_TABLE))
                            more = [flag, *([_place()] if is_asserting else []), *map(address_of, sites)]
                        pass_more(launch, more)


def _follow(launches: Sequence[Operation], asserts: Sequence[bool]) -> list[bool]:
    """Return, for each launch, whether it may run after an asserting one, including earlier steps of a loop."""
    loops = [_loops(launch) for launch in launches]
    again = [loop for own, is_asserting in zip(loops, asserts, strict=True) if is_asserting for loop in own]
    return [any(asserts[:place]) or any(loop in again for loop in own) for place, own in enumerate(loops)]


def _loops(launch: Operation) -> list[Operation]:
    return [ancestor for ancestor in ancestors(launch) if ancestor.name in _LOOPS]


class _AssertKernel:
    def __init__(self, support: Support, kernel: Operation):
        self._support = support
        self._kernel = kernel
        #: Globals of kinds and messages, with the kernel's argument for each.
        self._sites: dict[str, Value] = {}

    def lower(self, *, is_behind: bool) -> list[str]:
        """Lower the assertions, and return the sites that the launch passes to the kernel.

        The launch passes the flag, the place and the sites. A kernel without assertions receives only the flag. With
        `is_behind`, the kernel ends early if an earlier kernel failed.
        """
        kernel = self._kernel
        run_upstream(kernel, ["lower-affine", "convert-scf-to-cf"], verify=False)
        entry, pointer = body_of(kernel), type_of("ptr")
        asserts = bool(operations_named(kernel, ASSERT))
        with kernel.location:
            self._flag = entry.add_argument(pointer, kernel.location)
            self._place = entry.add_argument(pointer, kernel.location) if asserts else self._flag
            for block in list(kernel.regions[0].blocks):
                split_behind(block, (ASSERT,), self._branch)
            if is_behind:
                self._leave_early()
        tell_type(kernel)
        return list(self._sites)

    def _leave_early(self) -> None:
        """End the kernel early if the flag is set, because its inputs may be invalid."""
        entry = body_of(self._kernel)
        ops = operations_of(entry)
        rest, end = entry.create_after(), self._kernel.regions[0].blocks.append()
        for op in ops:
            if op.name != "memref.alloca":
                rest.append(op)
        with ir.InsertionPoint(entry):
            _branch_if(number(load(self._flag, 0, ir.IntegerType.get_signless(32))) == 0, rest, end)
        with ir.InsertionPoint(end):
            ir.Operation.create("gpu.return")

    def _branch(self, op: Operation, rest: Block) -> None:
        blocks = self._kernel.regions[0].blocks
        failed, first, reports, end = (blocks.append() for _ in range(4))
        with ir.InsertionPoint(op):
            _branch_if(op.operands[0], rest, failed)
        with ir.InsertionPoint(failed):
            _branch_if(_taken_first(self._flag), first, end)
        with ir.InsertionPoint(first):
            record = load(self._flag, _RECORD, type_of("ptr"))
            # A graph has its own flag. An earlier failure may be in the record and not have been raised yet.
            taken = load(record, 0, ir.IntegerType.get_signless(32))
            _branch_if(number(taken) == 0, reports, end)
        with ir.InsertionPoint(reports):
            store(self._place, record, _WHERE)
            store(self._site(op), record, _SITE)
            for position, value in enumerate(list(op.operands)[1:]):
                store(as_i64(value).value, record, _NUMBERS + 8 * position)
            # After the host sees this flag, it waits for the other fields.
            store(constant(1, 32), record, 0)
            ir.Operation.create("cf.br", successors=[end])
        with ir.InsertionPoint(end):
            ir.Operation.create("gpu.return")
        op.erase()

    def _site(self, op: Operation) -> Value:
        if (name := _site_global(self._support, op.opview.kind, op.opview.message)) not in self._sites:
            self._sites[name] = body_of(self._kernel).add_argument(type_of("ptr"), self._kernel.location)
        return self._sites[name]


def _taken_first(flag: Value) -> Value:
    """Set the flag atomically. Return True if this thread is the first."""
    ordering = {
        f"{when}_ordering": i64_attribute(order)
        for when, order in (("success", _ACQUIRE_RELEASE), ("failure", _MONOTONIC))
    }
    swapped = ir.Operation.create(
        "llvm.cmpxchg",
        results=[ir.Type.parse("!llvm.struct<(i32, i1)>")],
        operands=[flag, constant(0, 32), constant(1, 32)],
        attributes=ordering,
    )
    place = ir.DenseI64ArrayAttr.get([1])
    return result_of("llvm.extractvalue", [swapped.result], ir.IntegerType.get_signless(1), position=place)


def _branch_if(condition: Value, yes: Block, no: Block) -> None:
    ir.Operation.create("cf.cond_br", operands=[condition], successors=[yes, no], attributes=segments(1, 0, 0))


def _site_global(support: Support, kind: str, message: str) -> str:
    """Return the name of the global with the addresses of kind and message."""
    return support.texts([kind, f"%s: {cut(message).replace('%', '%%').replace('{}', '%lld')}"])


def _place() -> Value:
    return result_of("tir.place", [], type_of("ptr"))
