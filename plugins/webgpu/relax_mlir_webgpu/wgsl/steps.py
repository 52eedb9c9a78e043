# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long sequences of arithmetic with large helpers, such as functions of f64, as a loop over a table of steps.

Drivers inline each call of a function. Each sum or product of f64 is hundreds of instructions, and compiling a
polynomial of f64 took drivers minutes. A loop contains one copy of each operation; a step selects the operation and
its registers. Steps and constants are in the program's memory, because compilers took longest for an array in the
kernel.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count

from relax_mlir import RefusalError, ir
from relax_mlir.bindings.ir import Type
from relax_mlir.bindings.navigation import users_of
from relax_mlir.emit.arithmetic import element_type
from relax_mlir.rewriting import Operation, Value

from .formulas import FORMULAS, f64_operands
from .helpers import helpers_of
from .wgsl_types import PAIR, register_type
from .writer import KernelWriter

#: Minimum number of calls of large helpers in a sequence for a loop, and the characters of a large helper, with the
#: helpers that it calls.
_FEWEST_CALLS, _LARGE_HELPER = 6, 1500
_CONSTANT = re.compile(r"vec2<u32>\((\d+)u, (\d+)u\)")
#: Conversion of a number to a register of two words, and back.
_PACKED = {PAIR: "{}", "bool": "vec2<u32>(u32({}), 0u)", "u32": "vec2<u32>({}, 0u)"}
_UNPACKED = {PAIR: "{}", "bool": "({}.x != 0u)", "u32": "{}.x"}


def write_operations(writer: KernelWriter, ops: Sequence[Operation]) -> None:
    """Write a block's operations. An operation without a formula ends a sequence."""
    run: list[Operation] = []
    for op in ops:
        if op.name in FORMULAS:
            run.append(op)
        else:
            if op.name != "arith.constant":
                _write_run(writer, run)
                run = []
            writer.operation(op)
    _write_run(writer, run)


def _write_run(writer: KernelWriter, ops: Sequence[Operation]) -> None:
    calls = {op.results[0]: _lanes(op.results[0].type) for op in ops if _is_large(op)}
    if sum(calls.values()) < _FEWEST_CALLS:
        before, steps, after = ops, [], []
    else:
        before, steps, after = _split(ops, calls)
    for op in before:
        writer.operation(op)
    if steps:
        _Steps(writer, steps).write()
    for op in after:
        writer.operation(op)


def _split(ops: Sequence[Operation], calls: dict[Value, int]) -> tuple[list[Operation], ...]:
    """Split operations at the calls of large helpers, and return three lists of operations.

    The first operations use no result of a call. The second ones are the calls and the operations between them. No call
    uses the results of the third ones.
    """
    behind, needed = set(calls), set(calls)
    for op in ops:
        if any(operand in behind for operand in op.operands):
            behind.add(op.results[0])
    for op in reversed(ops):
        if op.results[0] in needed:
            needed.update(op.operands)
    before = [op for op in ops if op.results[0] not in behind]
    steps = [op for op in ops if op.results[0] in behind and op.results[0] in needed]
    return before, steps, [op for op in ops if op.results[0] in behind and op.results[0] not in needed]


def _is_large(op: Operation) -> bool:
    try:
        return _helpers_size(_case(op)) > _LARGE_HELPER
    except RefusalError:
        return False  # The rule reports the reason when the operation is written.


@cache
def _helpers_size(text: str) -> int:
    return len(helpers_of(text))


def _case(op: Operation) -> str:
    """Return the expression that a step computes from registers a, b and c."""
    if _is_fma(op):
        return "fma_f64(a, b, c)"
    operands = [_unpack(name, value.type) for name, value in zip("abc", op.operands, strict=False)]
    return _pack(FORMULAS[op.name](op, *operands), op.results[0].type)


def _is_fma(op: Operation) -> bool:
    return op.name in ("arith.addf", "arith.subf", "arith.mulf", "math.fma") and _is_f64(op.results[0].type)


def _is_f64(type_: Type) -> bool:
    return str(element_type(type_)) == "f64"


def _pack(text: str, type_: Type) -> str:
    return _PACKED.get(register_type(element_type(type_)), "vec2<u32>(bitcast<u32>({}), 0u)").format(text)


def _unpack(text: str, type_: Type) -> str:
    name = register_type(element_type(type_))
    return _UNPACKED.get(name, f"bitcast<{name}>({{}}.x)").format(text)


def _lanes(type_: Type) -> int:
    return int(type_.shape[0]) if isinstance(type_, ir.VectorType) else 1


class _Steps:
    """Loop over the steps of a sequence.

    Values are in registers, a private array of the thread: first the inputs of the sequence, then the results of steps.
    """

    def __init__(self, writer: KernelWriter, ops: Sequence[Operation]) -> None:
        self._writer, self._ops = writer, ops
        own = {op.results[0] for op in ops}
        #: Results that the rest of the kernel uses; these keep their registers. Others are free after their last step.
        self._kept = [op.results[0] for op in ops if not all(map(own.intersection, _results_of_users(op)))]
        self._last = {value: place for place, op in enumerate(ops) for value in op.operands if value in own}
        texts = [text for op in ops for value in _values(op) if value not in own for text in self._texts(value)]
        constants = [fromkey for fromkey in dict.fromkeys(texts) if _CONSTANT.fullmatch(fromkey)]
        #: Registers of the sequence's inputs by their texts, constants first.
        self._given = {text: number for number, text in enumerate(dict.fromkeys([*constants, *texts]))}
        self._constants = [int(word) for constant in constants for word in _CONSTANT.fullmatch(constant).groups()]  # type: ignore[union-attr]
        self._places: dict[Value, list[int]] = {}
        self._free: list[int] = []
        self._numbers = count(len(self._given))
        self._cases: dict[str, int] = {}

    def write(self) -> None:
        rows = [row for place, op in enumerate(self._ops) for row in self._rows(place, op)]
        words = [*self._constants, *(word for row in rows for word in row)]
        table = self._writer.table(struct.pack(f"<{len(words)}I", *words)) // 4
        writer, registers, known = self._writer, self._writer.fresh("r"), len(self._constants) // 2
        writer.line(f"var {registers}: array<vec2<u32>, {next(self._numbers)}>;")
        # Drivers unroll a loop if they know that its trip count is the size of an array.
        with writer.braces(f"for (var i = 0; i < {known} + i32(zero); i++)"):
            writer.line(f"{registers}[i] = read_64({table} + 2 * i);")
        for text, number in list(self._given.items())[known:]:
            writer.line(f"{registers}[{number}] = {text};")
        with writer.braces(f"for (var i = 0; i < {len(rows)} + i32(zero); i++)"):
            writer.line(f"let step = {table + len(self._constants)} + 4 * i;")
            for place, name in enumerate("abc"):
                writer.line(f"let {name} = {registers}[read(step + {place})];")
            writer.line("let how = read(step + 3);")
            writer.line("var made: vec2<u32>;")
            with writer.braces("switch (how & 0xffffu)"):
                for text, number in self._cases.items():
                    writer.line(f"case {number}u: {{ made = {text}; }}")
                writer.line("default: {}")
            writer.line(f"{registers}[how >> 16u] = made;")
        for value in self._kept:
            texts = [_unpack(f"{registers}[{place}]", value.type) for place in self._places[value]]
            writer.know(value, [writer.name(text) for text in texts])

    def _rows(self, place: int, op: Operation) -> Iterator[tuple[int, ...]]:
        """Yield one step per lane: the registers of three operands, and a word of the case and the result's register.

        The register is the upper half of the word.
        """
        case = self._cases.setdefault(_case(op), len(self._cases))
        a, b, c = [*map(self._registers, _values(op)), [0], [0]][:3]
        made = self._places[op.results[0]] = [self._new() for _ in range(_lanes(op.results[0].type))]
        for value in dict.fromkeys(op.operands):
            if self._last.get(value) == place and value not in self._kept:
                self._free += self._places[value]
        for lane, to in enumerate(made):
            yield *(each[lane % len(each)] for each in (a, b, c)), case | to << 16

    def _registers(self, value: Value | str) -> list[int]:
        known = None if isinstance(value, str) else self._places.get(value)
        return known or [self._given[text] for text in self._texts(value)]

    def _texts(self, value: Value | str) -> list[str]:
        return [value] if isinstance(value, str) else [_pack(lane, value.type) for lane in self._writer.lanes(value)]

    def _new(self) -> int:
        return self._free.pop() if self._free else next(self._numbers)


def _values(op: Operation) -> list[Value | str]:
    """Return the operands of a step."""
    return f64_operands(op, list(op.operands)) if _is_fma(op) else list(op.operands)


def _results_of_users(op: Operation) -> Iterator[list[Value]]:
    return (list(user.results) for user in users_of(op.results[0]))
