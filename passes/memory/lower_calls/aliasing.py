# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Aliasing of tensors: results that reuse dead inputs, slices, and parts of concatenations.

overwriting.py determines the effects of a kernel from its body. A kernel that only moves elements is not called if its
results are views of its inputs. The same holds if its inputs were created in the place of its result. A stated plan
uses the same code: only the aliases that the plan states are made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from ....bindings.ir import Attribute, Operation, SymbolTable, Value
from ....bindings.mlir import ir
from ....bindings.navigation import function_type_of, has_body
from ....dialects.core.codec import decode
from ....dialects.core.infos import TensorInfo
from ....dialects.core.kernel_contract import contract_of
from ....dialects.core.operands import operand_info
from ....dialects.core.symbols import Dim, Size, at_most, equal
from ....dialects.core.symbols_expr import terms_of
from ....dialects.tir.prim_func import is_prim_func
from ....emit.memrefs import MOST_BYTES, is_same_shape
from .gathering import gatherings
from .memory_plan import (
    MemoryPlan,
    PlannedBuffer,
    dims_of,
    is_multiple,
    is_sized_at_entry,
    measure_bytes,
    padded_size,
    storage_bytes,
)
from .overwriting import Kernel, Kernels, Move
from .separate_kernel import SeparateKernel
from .updating import updates_of

#: Kinds of aliases, for tensors without memory of their own.
VIEW, PART, OPERAND = "view", "part", "operand"
_LATER = "is read later still"
_LOOPS = ("scf.for", "scf.while")


class Sharing:
    """Assignment of a plan's tensors with known lifetimes to shared memory."""

    def __init__(
        self,
        plan: MemoryPlan,
        function: Operation,
        knows: Callable[[Dim], bool],
        kernels: Kernels,
        stated: Mapping[PlannedBuffer, str] | None = None,
    ):
        """Prepare the analysis.

        `kernels` is a cache by name, which grows. `stated` has the required places of buffers.
        """
        self._plan = plan
        self._knows = knows
        self._symbols = SymbolTable(function.parent.operation)
        self._kernels = kernels
        #: Cache keyed by the calls' symbol attributes, which are faster to read.
        self._called: dict[Attribute, Kernel | None] = {}
        self._stated = stated
        #: Reason why a result could not overwrite the last tried operand.
        self.problems: dict[Value, str] = {}

    def share_all(self) -> None:
        """Create all possible and requested aliases. Removable calls come first."""
        for _, op in self._plan.operations:
            if op.name == "scf.for":
                self._gather(op)
        calls = [(position, op) for position, op in self._plan.operations if op.name == "relax.call_tir"]
        calls = [(position, op) for position, op in calls if not self._is_needless(op)]
        for position, op in calls:
            operands, results = list(op.operands), list(op.results)
            for result in results:
                self._overwrite_any(position, op, result, operands)
            # The memory taken by one result must stay live with it.
            for result in results:
                self._cover(position, op, result, operands)
        for _, op in self._plan.operations:
            if op.name in _LOOPS:
                body, first = (op.regions[-1].blocks[0], 1 if op.name == "scf.for" else 0)
                self._plan.updates.update(updates_of(self._plan, body, first, self._kernel))

    def _gather(self, loop: Operation) -> None:
        """Assign the rows gathered by a loop to their final place from the start, without a copy."""
        for argument, gathering in gatherings(loop, self._moves).items():
            self._plan.gathered[argument] = gathering
            self._plan.left_out.add(gathering.call.opview.func)

    def _is_wanted(self, buffer: PlannedBuffer | None, *place: object) -> bool:
        """Check whether a place is acceptable for a buffer: any place, or the stated place."""
        return self._stated is None or buffer is not None and self._stated[buffer] == " ".join(map(str, place))

    # ---- each alias is made if no objection is found ----

    def _is_needless(self, op: Operation) -> bool:
        """Check whether a call only moves elements, and make it redundant, completely or in part, by aliasing."""
        if self._stated is not None:
            reads = [read for operand in op.operands if (read := self._plan.memory_of.get(operand)) is not None]
            if not any(self._stated.get(buffer) in (VIEW, PART) for buffer in (*reads, *self._list_results(op))):
                return False  # avoids the analysis of its kernel
        moves = self._moves(op)
        return bool(moves) and (self._show(op, moves) or self._join(op, moves))

    def _overwrite_any(self, position: int, op: Operation, result: Value, operands: Sequence[Value]) -> None:
        """Write a result over the first suitable operand."""
        made = self._plan.buffers.get(result)
        for index, operand in enumerate(operands):
            if self._stated is None and operand not in self._plan.memory_of:
                continue  # a weight, in most cases
            if not self._is_wanted(made, OPERAND, index):
                continue
            problem = self._against_overwriting(position, op, result, made, index, operands)
            if made is not None and not problem:
                read = self._plan.memory_of[operand]
                _put(made, read.root, read.start)
                self._plan.over[result] = index
                self._plan.written_over.add((op.opview.func, index, _parameter(op, result)))
                return
            if self._stated is not None:
                self.problems[result] = problem

    def _against_overwriting(
        self,
        position: int,
        op: Operation,
        result: Value,
        buffer: PlannedBuffer | None,
        index: int,
        operands: Sequence[Value],
    ) -> str:
        read = self._plan.memory_of.get(operands[index])
        if buffer is None or read is None:
            return "is no memory of this function"
        root = read.root
        if root.last > position:
            return _LATER
        if buffer.within is not None or any(other.root is root for other in self._list_results(op)):
            return "has another result in its place"
        if equal(read.size, buffer.size) is not True:
            return "has another size"
        if any(factor % storage_bytes(buffer.info.dtype) for factor in terms_of(read.start).values()):
            return "begins where no element of the result may begin"
        if not is_sized_at_entry(root, self._knows) and read.info.dtype != buffer.info.dtype:
            return "has another type"
        if buffer.output is not None and not self._can_be_output(root, buffer):
            return "cannot be a result of the function"
        if (kernel := self._kernel(op)) is None:
            return "goes to something that is no PrimFunc on memrefs"
        written, is_alike = len(operands) + result.result_number, _are_alike(operands[index], buffer)
        for other, held in enumerate(map(self._plan.memory_of.get, operands)):
            if held is None or held.root is not root:
                continue
            if held.start != read.start or not kernel.may_overwrite(other, written, is_alike):
                return "is read there after its place is written"
        return ""

    def _list_results(self, op: Operation) -> list[PlannedBuffer]:
        return [self._plan.buffers[result] for result in op.results if result in self._plan.buffers]

    def _can_be_output(self, root: PlannedBuffer, buffer: PlannedBuffer) -> bool:
        """Check whether memory can be a function's result, which has one type and starts at the memory's start."""
        if root.is_divided or root.info.dtype != buffer.info.dtype or equal(root.size, buffer.size) is not True:
            return False
        return len(root.path) == 1 and all(map(self._knows, dims_of(root.info)))

    def _cover(self, position: int, op: Operation, result: Value, operands: Sequence[Value]) -> None:
        """Let a result of another size overlap operands that the kernel has read completely before it writes."""
        made = self._plan.buffers.get(result)
        if made is None or made.within is not None or made.output is not None or made.first < position:
            return
        held = list(map(self._plan.memory_of.get, operands))
        roots = {root for read in held if read is not None and (root := read.root).last == position}
        for root in roots.difference(other.root for other in self._list_results(op)) if roots else ():
            places = [index for index, read in enumerate(held) if read is not None and read.root is root]
            is_fixed = made.room is not None and root.room is not None
            if is_fixed and self._may_overlap(made, root) and self._is_read_first(op, places, result):
                made.covers.add(root)

    def _may_overlap(self, planned_buffer: PlannedBuffer, root: PlannedBuffer) -> bool:
        """Check whether the stated places allow the overlap, in the arena or in a slot."""
        if self._stated is None:
            return True
        (word, _, place), (other, _, behind) = (
            self._stated.get(buffer, "").partition(" ") for buffer in (planned_buffer, root)
        )
        if word != other or word not in ("arena", "slot"):
            return False
        if word == "slot" or not place.isdecimal() or not behind.isdecimal():
            return True  # the exact overlap is determined, or refused, when the plan is followed
        return int(place) < int(behind) + padded_size(root) and int(behind) < int(place) + padded_size(planned_buffer)

    def _is_read_first(self, op: Operation, operands: Sequence[int], result: Value) -> bool:
        kernel, written = self._kernel(op), _parameter(op, result)
        return kernel is not None and all(kernel.may_overwrite(index, written, is_alike=False) for index in operands)

    def _show(self, op: Operation, moves: Sequence[Move]) -> bool:
        """Make all results views of the operands if the kernel only moves elements suitably."""
        by_output = {move.output - len(op.operands): move for move in moves}
        if len(by_output) < len(moves) or set(by_output) != set(range(len(op.results))):
            return False
        found = []
        for index, result in enumerate(op.results):
            move = by_output[index]
            source, made = self._plan.memory_of.get(op.operands[move.input]), self._plan.buffers.get(result)
            if source is None or made is None or not self._is_plain(made) or not self._stays(source.root):
                return False
            if not self._is_wanted(made, VIEW):
                return False
            start = -move.distance * storage_bytes(made.info.dtype)
            if not self._is_inside(made.size, start, source) or source.info.dtype != made.info.dtype:
                return False
            found.append((made, source, start))
        for made, source, start in found:
            made.is_view = True
            _put(made, source.root, source.start + start)
        self._leave_out(op)
        return True

    def _join(self, op: Operation, moves: Sequence[Move]) -> bool:
        """Create operands of a concatenation directly in the place of the result. Other operands are copied."""
        if len(op.results) != 1 or [move.input for move in moves] != list(range(len(op.operands))):
            return False
        made = self._plan.buffers.get(op.results[0])
        # A function result qualifies as well: its parts are as good as parts of the arena.
        if made is None or made.is_written or not is_sized_at_entry(made, self._knows):
            return False
        starts = [move.distance * storage_bytes(made.info.dtype) for move in moves]
        if not self._are_apart(starts, [measure_bytes(decode(operand.type))[0] for operand in op.operands], made):
            return False
        parts: dict[PlannedBuffer, int] = {}
        for index, operand in enumerate(op.operands):
            part = self._plan.memory_of.get(operand)
            # The operand's buffer must have the operand's size: a view of another size is checked only at run time,
            # after the write.
            is_whole = part is not None and equal(part.size, measure_bytes(decode(operand.type))[0]) is True
            if part is not None and is_whole and part not in parts and self._can_be_part(part, made):
                parts[part] = index  # an operand that occurs twice is created in one place only
        kernel = self._kernel(op)
        if not parts or kernel is None or not kernel.can_leave_out(parts.values(), len(moves)):
            return False
        for part, index in parts.items():
            _put(part, made, starts[index])
        if len(parts) == len(moves):
            self._leave_out(op)
        else:
            self._plan.put_there[op] = tuple(parts.values())
        return True

    def _are_apart(self, starts: Sequence[Size], sizes: Sequence[Dim], outer: PlannedBuffer) -> bool:
        """Check whether tensors of these sizes lie inside a buffer without overlap."""
        places = list(zip(starts, sizes, strict=True))
        if not all(self._is_inside(size, start, outer) for start, size in places):
            return False
        # Known offsets come first, in order. Symbolic offsets follow in the given order.
        places.sort(key=lambda place: place[0] if isinstance(place[0], int) else MOST_BYTES)
        pairs = pairwise(places)
        return all(size is not None and at_most(start + size, following) for (start, size), (following, _) in pairs)

    def _can_be_part(self, part: PlannedBuffer, whole: PlannedBuffer) -> bool:
        """Check whether memory can be part of another buffer from the beginning."""
        is_alike = part.path == whole.path and part.info.dtype == whole.info.dtype
        return is_alike and part.within is None and self._is_plain(part) and self._is_wanted(part, PART)

    def _leave_out(self, op: Operation) -> None:
        self._plan.needless.update(op.results)
        self._plan.left_out.add(op.opview.func)

    def _is_plain(self, buffer: PlannedBuffer) -> bool:
        """Check whether a buffer is arena memory whose elements do not change after creation."""
        return buffer.output is None and self._stays(buffer)

    def _stays(self, buffer: PlannedBuffer) -> bool:
        """Check whether a buffer, possibly the caller's, is sized at entry and its elements do not change after
        creation."""
        return not buffer.is_written and is_sized_at_entry(buffer, self._knows)

    def _is_inside(self, size: Dim, start: Size, outer: PlannedBuffer) -> bool:
        """Check whether `size` bytes from an offset lie inside a buffer, at a valid alignment."""
        if size is None or outer.size is None or not self._knows(start) or not is_multiple(start, self._plan.step):
            return False
        return at_most(0, start) and at_most(start + size, outer.size)

    # ---- kernels ----

    def _moves(self, op: Operation) -> Sequence[Move]:
        if (kernel := self._kernel(op)) is None or not kernel.pairs:
            return ()
        return kernel.moves(kernel.fixed or tuple(map(operand_info, (*op.operands, *op.results))))

    def _kernel(self, op: Operation) -> Kernel | None:
        if (symbol := op.attributes["func"]) not in self._called:
            if (name := op.opview.func) not in self._kernels:
                self._kernels[name] = self._look_at(name)
            self._called[symbol] = self._kernels[name]
        return self._called[symbol]

    def _look_at(self, name: str) -> Kernel | None:
        function = self._symbols[name].operation if name in self._symbols else None
        if function is None or not has_body(function) or not is_prim_func(function):
            return None
        if (contract := contract_of(function)) is not None:
            return SeparateKernel(contract)
        is_on_tensors = any(isinstance(type_, ir.RankedTensorType) for type_ in function_type_of(function).inputs)
        return None if is_on_tensors else Kernel(function)


def _parameter(op: Operation, result: Value) -> int:
    """Return the index of the kernel parameter of a result."""
    return len(op.operands) + int(result.result_number)


def _are_alike(operand: Value, buffer: PlannedBuffer) -> bool:
    """Check whether equal element positions of both tensors are equal byte positions."""
    info = decode(operand.type)
    if not isinstance(info, TensorInfo) or storage_bytes(info.dtype) != storage_bytes(buffer.info.dtype):
        return False
    return (measure_bytes(info)[1] and buffer.is_fixed) or is_same_shape(info, buffer.info)


def _put(inner: PlannedBuffer, outer: PlannedBuffer, start: Size) -> None:
    """Place a buffer inside another one, and extend the outer buffer's lifetime."""
    outer = outer.root
    inner.within, inner.shift = outer, start
    outer.first, outer.last = min(outer.first, inner.first), max(outer.last, inner.last)
    outer.has_several_types |= inner.has_several_types or inner.info.dtype != outer.info.dtype
    outer.is_divided |= inner.is_divided or start != 0 or outer.has_several_types
    outer.is_written |= inner.is_written
    if inner.output is not None:
        outer.output, inner.output = inner.output, None
