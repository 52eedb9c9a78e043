# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory plans as attributes, which relax-plan-memory writes and relax-lower-calls follows.

An operation's attribute has one text per result: `relax.memory = ["arena 64; 128 bytes; live 3 to 5"]`. Only the first
part is binding.

- `arena 64`: bytes from the start of the arena
- `slot 0 + 4*n`: an offset in a slot of symbolic size
- `result 0`: the function's result
- `stack`: a small tensor of a loop or a branch
- `own`: memory allocated at the definition
- `operand 1`: the result overwrites operand 1
- `view`: the result is a view of an operand's part
- `part`: the result is created where the call that reads it would move it. Such a call is removed, or moves only the
  other operands.
- empty: no memory is created

The function's attribute `relax.memory_plan` has the arena's bytes and the slots' sizes. For information it also has
the peak of live bytes (`peak`) and the sum of all buffers (`sum`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir, string_array
from ....bindings.rewriting import located_error
from ....dialects.core.ir_attributes import MEMORY, MEMORY_PLAN
from ....dialects.core.size_bounds import symbol_ranges
from ....dialects.core.symbols import Dim, Size, SymbolError, SymExpr, parse
from ....dialects.core.symbols_expr import extremum
from ....emit.memrefs import ALIGNMENT
from ....support.errors import RelaxError
from .aliasing import OPERAND, PART, VIEW, Sharing
from .arranging import may_meet, most_alive
from .memory_plan import (
    MemoryPlan,
    PlannedBuffer,
    end_of,
    is_behind,
    is_multiple,
    is_sized_at_entry,
    lifetimes,
    may_be_on_stack,
    padded_size,
    place_all,
    storage_bytes,
)
from .overwriting import Kernels


def state_plan(function: Operation, plan: MemoryPlan) -> None:
    """Write a plan to the attributes of the function and its operations."""
    for _, operation in plan.operations:
        own = [(value, plan.buffers.get(value)) for value in operation.results]
        texts = ["" if buffer is None else _text(value, buffer, plan) for value, buffer in own]
        if any(texts):
            operation.attributes[MEMORY] = string_array(texts)
    i64 = ir.IntegerType.get_signless(64)
    fixed = [buffer for buffer in plan.buffers.values() if buffer.root.offset is not None]
    peak = most_alive({buffer: padded_size(buffer) for buffer in fixed if buffer.within is None})
    # A data-dependent part has an unknown size, but lies inside a counted buffer.
    total = sum(padded_size(buffer) for buffer in fixed if buffer.room is not None)
    numbers = {"arena": plan.fixed_bytes, "peak": peak, "sum": total}
    function.attributes[MEMORY_PLAN] = ir.DictAttr.get(
        {
            **{name: ir.IntegerAttr.get(i64, number) for name, number in numbers.items()},
            "slots": ir.ArrayAttr.get([ir.StringAttr.get(str(size)) for size in plan.slots]),
        }
    )


def memory_of(function: Operation) -> dict[str, object]:
    """Return the manifest entry for a function's temporaries, or an empty dictionary without a stated plan."""
    if MEMORY_PLAN not in function.attributes:
        return {}
    stated = function.attributes[MEMORY_PLAN]
    numbers = {name: stated[name].value for name in ("arena", "peak", "sum")}
    memory = {**numbers, "slots": [size.value for size in stated["slots"]]}
    ranges = {name: list(range_) for name, range_ in symbol_ranges(function).items()}
    # With ranges, the numbers apply to the largest sizes.
    return {"memory": {**memory, "ranges": ranges} if ranges else memory}


def _text(value: Value, buffer: PlannedBuffer, plan: MemoryPlan) -> str:
    place = "own"
    for name in ("offset", "slot", "output"):
        if (number := getattr(buffer, name)) is not None:
            place = f"{_WORDS[name]} {number}"
    if buffer.is_on_stack:
        place = "stack"
    if buffer.slot is not None and buffer.shift != 0:
        place += f" + {buffer.shift}"
    if buffer.within is not None:
        place = _place_within(value, buffer, plan)
    size = "unknown size" if buffer.size is None else f"{buffer.size} bytes"
    if buffer.room is not None and buffer.room != buffer.size:
        size += f", at most {buffer.room}"
    return f"{place}; {size}; live {buffer.first} to {buffer.last}"


def _place_within(value: Value, buffer: PlannedBuffer, plan: MemoryPlan) -> str:
    if buffer.is_view:
        return VIEW
    return f"{OPERAND} {plan.over[value]}" if value in plan.over else PART


_WORDS = {"offset": "arena", "slot": "slot", "output": "result"}


def make_plan(function: Operation, knows: Callable[[Dim], bool], kernels: Kernels) -> MemoryPlan:
    """Make a plan. `knows(dim)` checks whether a size is computable at entry, and `kernels` caches analysed kernels."""
    plan = lifetimes(function, knows)
    Sharing(plan, function, knows, kernels).share_all()
    place_all(plan, knows)
    return plan


def plan_of(function: Operation, knows: Callable[[Dim], bool], kernels: Kernels) -> MemoryPlan:
    """Return the stated plan, or a new plan if none is stated. Raise RelaxError for an invalid plan."""
    if MEMORY_PLAN not in function.attributes:
        return make_plan(function, knows, kernels)
    plan = lifetimes(function, knows)
    sharing = Sharing(plan, function, knows, kernels, {each: _place(value) for value, each in plan.buffers.items()})
    sharing.share_all()
    for value, buffer in plan.roots.items():
        problem = _not_shared(value, sharing) or _follow(_place(value), buffer, knows)
        if problem:
            raise _refusal(value, problem)
    _check_apart(plan)
    plan.fixed_bytes = max((end_of(root) for root in plan.roots.values() if root.offset is not None), default=0)
    _take_slots(plan)
    return plan


def _place(value: Value) -> str:
    return _stated_text(value).partition(";")[0].strip()


def _stated_text(value: Value) -> str:
    owner = value.owner.operation
    texts = list(owner.attributes[MEMORY]) if MEMORY in owner.attributes else []
    index = list(owner.results).index(value)
    return str(texts[index].value) if index < len(texts) and isinstance(texts[index], ir.StringAttr) else ""


def _refusal(value: Value, problem: str) -> RelaxError:
    return located_error(f'{MEMORY} = "{_stated_text(value)}": {problem}', value.owner.location)


def _not_shared(value: Value, sharing: Sharing) -> str:
    """Return the reason why a stated alias was not possible, or ""."""
    word, _, number = _place(value).partition(" ")
    name = value.owner.name
    if word == OPERAND and number.isdecimal():
        untried = "is made in its place" if int(number) < len(value.owner.operands) else "is not there"
        return f"operand {number} of '{name}' {sharing.problems.get(value, untried)}"
    problems = {
        VIEW: f"'{name}' does not just show parts of what it reads",
        PART: "nothing just puts it next to others",
    }
    return problems.get(word, "")


def _follow(text: str, buffer: PlannedBuffer, knows: Callable[[Dim], bool]) -> str:
    """Assign the stated place to a buffer. Return the reason if this is not possible, or ""."""
    word, _, number = text.partition(" ")
    number, _, behind = number.partition(" + ")
    written, buffer.output = buffer.output, None
    if word == "own":
        return ""
    if word == "stack":
        buffer.is_on_stack = may_be_on_stack(buffer)
        return "" if buffer.is_on_stack else "on the stack are small tensors of fixed size, in loops and branches"
    if word not in _WORDS.values() or not number.isdecimal() or behind and word != "slot":
        return "expected 'arena <bytes>', 'slot <number>', 'result <number>', 'operand <number>', 'stack' or 'own'"
    where = int(number)
    if word == "result":
        buffer.output = where
        return "" if where == written else f"it cannot be written into result {where} of the function"
    if not is_sized_at_entry(buffer, knows):
        return "its size is unknown when the function begins: its memory is its own"
    if word == "slot":
        return _follow_in_slot(where, behind, buffer, knows)
    buffer.offset = where
    if buffer.room is None:
        return "its size is symbolic: its place is in a slot"
    return "" if where % ALIGNMENT == 0 else f"places are multiples of {ALIGNMENT} bytes"


def _follow_in_slot(slot: int, behind: str, buffer: PlannedBuffer, knows: Callable[[Dim], bool]) -> str:
    if not isinstance(buffer.size, SymExpr):
        return "its size is a number: its place is in the arena"
    try:
        buffer.slot, buffer.shift = slot, parse(behind or "0")
    except SymbolError as error:
        return str(error)
    step = storage_bytes(buffer.info.dtype)
    if not knows(buffer.shift) or not is_behind(buffer.shift, 0, buffer.size):
        return f"it is unknown where {buffer.shift} is, or that it is in the slot"
    return "" if is_multiple(buffer.shift, step) else f"places of such elements are multiples of {step} bytes"


def _check_apart(plan: MemoryPlan) -> None:
    """Raise RelaxError if two live buffers overlap."""
    alive: list[tuple[Value, PlannedBuffer]] = []
    for value, buffer in sorted(plan.roots.items(), key=lambda item: item[1].first):
        alive = [(other, each) for other, each in alive if each.last >= buffer.first]
        for other, planned_buffer in alive:
            if _meet(planned_buffer, buffer) and not may_meet(planned_buffer, buffer):
                raise _refusal(value, f"it overlaps the result of '{other.owner.name}', which is read later still")
        alive.append((value, buffer))


def _meet(one: PlannedBuffer, other: PlannedBuffer) -> bool:
    if one.offset is not None and other.offset is not None:
        return one.offset < end_of(other) and other.offset < end_of(one)
    if one.slot is None or one.slot != other.slot:
        return False
    assert isinstance(one.size, SymExpr) and isinstance(other.size, SymExpr)
    is_before = is_behind(other.shift, _end_in_slot(one), one.size)
    return not is_before and not is_behind(one.shift, _end_in_slot(other), other.size)


def _end_in_slot(buffer: PlannedBuffer) -> Size:
    assert buffer.size is not None
    return buffer.shift + buffer.size


def _take_slots(plan: MemoryPlan) -> None:
    """Number the slots in use, each as large as its contents."""
    ends: dict[int, dict[Size, Value]] = {}
    for value, buffer in plan.roots.items():
        if buffer.slot is not None:
            ends.setdefault(buffer.slot, {})[_end_in_slot(buffer)] = value
    sizes = {number: _largest(end) for number, end in ends.items()}
    numbers = {number: index for index, number in enumerate(sorted(sizes))}
    for buffer in plan.buffers.values():
        buffer.slot = None if buffer.slot is None else numbers[buffer.slot]
    plan.slots = [size for _, size in sorted(sizes.items()) if isinstance(size, SymExpr)]


def _largest(ends: Mapping[Size, Value]) -> Size:
    try:
        return extremum("max", ends)
    except SymbolError as error:
        *_, value = ends.values()
        raise _refusal(value, f"the size of its slot is unknown: {error}") from None
