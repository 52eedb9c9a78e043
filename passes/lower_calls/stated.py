# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A memory plan as attributes: relax-plan-memory writes them, relax-lower-calls follows them.

On an operation `relax.memory = ["arena 64; 128 bytes; live 3 to 5"]`, for each result what comes first counts: bytes
from the start of the arena, `slot 0` of those of a symbolic size, `result 0` of the function, `own` memory allocated
where it is made, or nothing where no memory is made. On the function `relax.memory_plan`: the arena's bytes, the sizes
of the slots, and for people the largest sum of what is alive at a time (`peak`) and the sum of all (`sum`).
"""

from __future__ import annotations

from collections.abc import Callable

from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir
from ...bindings.rewriting import located_error
from ...dialects.core.symbols import Dim, SymExpr
from ...support.errors import RelaxError
from .memrefs import ALIGNMENT
from .plan import Buffer, Plan, end_of, is_sized_at_entry, lifetimes, make_plan, padded

MEMORY = "relax.memory"
MEMORY_PLAN = "relax.memory_plan"


def state_plan(function: Operation, plan: Plan) -> None:
    """Writes a plan on the function and its operations."""
    texts: dict[Operation, list[str]] = {}
    for value, buffer in plan.buffers.items():
        owner = value.owner.operation
        own = texts.setdefault(owner, [""] * len(owner.results))
        own[list(owner.results).index(value)] = _text(buffer)
    for operation, own in texts.items():
        operation.attributes[MEMORY] = ir.ArrayAttr.get([ir.StringAttr.get(text) for text in own])
    i64 = ir.IntegerType.get_signless(64)
    fixed = [buffer for buffer in plan.buffers.values() if buffer.offset is not None]
    numbers = {"arena": plan.fixed_bytes, "peak": most_alive(fixed), "sum": sum(map(padded, fixed))}
    function.attributes[MEMORY_PLAN] = ir.DictAttr.get(
        {
            **{name: ir.IntegerAttr.get(i64, number) for name, number in numbers.items()},
            "slots": ir.ArrayAttr.get([ir.StringAttr.get(str(size)) for size in plan.slots]),
        }
    )


def memory_of(function: Operation) -> dict[str, object]:
    """What the manifest says of a function's temporaries; nothing where no plan is stated."""
    if MEMORY_PLAN not in function.attributes:
        return {}
    stated = function.attributes[MEMORY_PLAN]
    numbers = {name: stated[name].value for name in ("arena", "peak", "sum")}
    return {"memory": {**numbers, "slots": [size.value for size in stated["slots"]]}}


def most_alive(buffers: list[Buffer]) -> int:
    """The largest sum of bytes that are alive at one time."""
    changes: dict[int, int] = {}
    for buffer in buffers:
        changes[buffer.first] = changes.get(buffer.first, 0) + padded(buffer)
        changes[buffer.last + 1] = changes.get(buffer.last + 1, 0) - padded(buffer)
    alive = most = 0
    for _, change in sorted(changes.items()):
        alive += change
        most = max(most, alive)
    return most


def _text(buffer: Buffer) -> str:
    place = "own"
    for name in ("offset", "slot", "output"):
        number = getattr(buffer, name)
        if number is not None:
            place = f"{_WORDS[name]} {number}"
    size = "unknown size" if buffer.size is None else f"{buffer.size} bytes"
    return f"{place}; {size}; live {buffer.first} to {buffer.last}"


_WORDS = {"offset": "arena", "slot": "slot", "output": "result"}


def plan_of(function: Operation, knows: Callable[[Dim], bool]) -> Plan:
    """The plan that is stated, if it works, or one made now. Raises RelaxError for one that does not."""
    if MEMORY_PLAN not in function.attributes:
        return make_plan(function, knows)
    plan = lifetimes(function, knows)
    for value, buffer in plan.buffers.items():
        problem = _follow(_stated(value), buffer, knows)
        if problem:
            raise _refusal(value, problem)
    _check_apart(plan)
    plan.fixed_bytes = max((end_of(each) for each in plan.buffers.values() if each.offset is not None), default=0)
    _take_slots(plan)
    return plan


def check_plan(function: Operation, knows: Callable[[Dim], bool]) -> None:
    """Raises RelaxError for a plan that is stated and does not work."""
    if MEMORY_PLAN in function.attributes:
        plan_of(function, knows)


def _stated(value: Value) -> str:
    owner = value.owner.operation
    texts = list(owner.attributes[MEMORY]) if MEMORY in owner.attributes else []
    index = list(owner.results).index(value)
    return str(texts[index].value) if index < len(texts) and isinstance(texts[index], ir.StringAttr) else ""


def _refusal(value: Value, problem: str) -> RelaxError:
    return located_error(f'{MEMORY} = "{_stated(value)}": {problem}', value.owner.location)


def _follow(text: str, buffer: Buffer, knows: Callable[[Dim], bool]) -> str:
    """Gives a buffer the place that is stated, or tells why it cannot have it."""
    word, _, number = text.partition(";")[0].strip().partition(" ")
    written, buffer.output = buffer.output, None
    if word == "own":
        return ""
    if word not in _WORDS.values() or not number.isdecimal():
        return "expected 'arena <bytes>', 'slot <number>', 'result <number>' or 'own'"
    where = int(number)
    if word == "result":
        buffer.output = where
        return "" if where == written else f"it cannot be written into result {where} of the function"
    if not is_sized_at_entry(buffer, knows):
        return "nothing tells its size when the function begins: its memory is its own"
    if word == "slot":
        buffer.slot = where
        return "" if isinstance(buffer.size, SymExpr) else "its size is a number: it lies in the arena"
    buffer.offset = where
    if not isinstance(buffer.size, int):
        return "its size is symbolic: it lies in a slot"
    return "" if where % ALIGNMENT == 0 else f"places are multiples of {ALIGNMENT} bytes"


def _check_apart(plan: Plan) -> None:
    """Raises RelaxError where two that are alive at one time lie over each other."""
    alive: list[tuple[Value, Buffer]] = []
    for value, buffer in sorted(plan.buffers.items(), key=lambda item: item[1].first):
        alive = [(other, each) for other, each in alive if each.last >= buffer.first]
        for other, each in alive:
            if _meet(each, buffer):
                raise _refusal(value, f"it lies over the result of '{other.owner.name}', which is read later still")
        alive.append((value, buffer))


def _meet(one: Buffer, other: Buffer) -> bool:
    if one.offset is not None and other.offset is not None:
        return one.offset < end_of(other) and other.offset < end_of(one)
    return one.slot is not None and one.slot == other.slot


def _take_slots(plan: Plan) -> None:
    """The slots that are in use, each of one size."""
    sizes: dict[int, SymExpr] = {}
    for value, buffer in plan.buffers.items():
        if buffer.slot is not None:
            assert isinstance(buffer.size, SymExpr)
            if sizes.setdefault(buffer.slot, buffer.size) != buffer.size:
                raise _refusal(value, f"slot {buffer.slot} is for {sizes[buffer.slot]} bytes, not for {buffer.size}")
    numbers = {number: index for index, number in enumerate(sorted(sizes))}
    for buffer in plan.buffers.values():
        buffer.slot = None if buffer.slot is None else numbers[buffer.slot]
    plan.slots = [sizes[number] for number in sorted(sizes)]
