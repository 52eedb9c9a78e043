# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In-place updates of loop-carried tensors: kernels that may write the next value over the present one."""

from __future__ import annotations

from collections.abc import Callable

from ....bindings.ir import Block, Operation, Value
from ....bindings.navigation import ancestors, last_of, made_by
from ....dialects.core.aliases import aliases
from ....dialects.core.codec import decode
from ....emit.memrefs import is_same_shape
from .memory_plan import KernelUpdate, MemoryPlan
from .overwriting import Kernel
from .planned_buffer import PlannedBuffer


def updates_of(
    plan: MemoryPlan, body: Block, first: int, kernel_of: Callable[[Operation], Kernel | None]
) -> dict[Value, KernelUpdate]:
    """Return the loop-carried tensors, arguments from `first` on, that a kernel may update in place."""
    updates: dict[Value, KernelUpdate] = {}
    for argument, yielded in zip(list(body.arguments)[first:], last_of(body).operands, strict=True):
        update = _update(plan, argument, yielded, kernel_of)
        if update is not None and all(update.buffer is not other.buffer for other in updates.values()):
            updates[argument] = update
    return updates


def _update(
    plan: MemoryPlan, argument: Value, yielded: Value, kernel_of: Callable[[Operation], Kernel | None]
) -> KernelUpdate | None:
    buffer = plan.memory_of.get(yielded)
    if buffer is None or not is_same_shape(decode(argument.type), decode(yielded.type)):
        return None
    root = buffer.root
    result = next(value for value, each in plan.buffers.items() if each is root)
    call = made_by(result, "relax.call_tir")
    if call is None or call.block != argument.owner or not _can_move(root, result, argument):
        return None
    kernel, read = kernel_of(call), _read_by(call, argument)
    if kernel is None or not read:
        return None
    written = len(call.operands) + result.result_number
    if not all(kernel.may_overwrite(place, written, is_alike=True) for place in read):
        return None
    return KernelUpdate(root, (str(call.opview.func), read[0], written))


def _can_move(root: PlannedBuffer, result: Value, argument: Value) -> bool:
    """Check whether the result's buffer can be the argument's: same element type, and no earlier contents."""
    is_plain = root.within is None and root.output is None and not root.is_divided and root.is_fixed
    return is_plain and is_same_shape(decode(result.type), decode(argument.type)) and _dtype(result) == _dtype(argument)


def _dtype(value: Value) -> object:
    return value.type.element_type


def _read_by(call: Operation, argument: Value) -> list[int]:
    """Return the positions of a call's operands that alias a loop argument, or an empty list if it is read later."""
    shown, places = [argument], list[int]()
    for value in shown:
        for use in value.uses:
            if (user := use.owner.operation) == call:
                places.append(use.operand_number)
            elif not _is_before(user, call):
                return []
            else:
                pairs = zip(user.results, aliases(user), strict=True)
                shown += [result for result, of in pairs if of is not None and of == value]
    return sorted(places)


def _is_before(user: Operation, call: Operation) -> bool:
    around = next((ancestor for ancestor in (user, *ancestors(user)) if ancestor.block == call.block), None)
    return around is not None and around != call and bool(around.is_before_in_block(call))
