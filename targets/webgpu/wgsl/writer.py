# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of a kernel while it is written: lines, names, and what each value is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import operations_in, operations_of, symbol_name
from ....bindings.rewriting import located_error
from ....dialects.tir.prim_func import ASSERT
from ....support.errors import RefusalError
from .array_views import ArrayView
from .program_data import ProgramData
from .wgsl_types import element_of, literal, register_type

#: What writes an operation.
Rule = Callable[["KernelWriter", Operation], None]
#: What writes some in a row.
RowRule = Callable[["KernelWriter", Sequence[Operation]], None]
#: What all threads of a block wait for each other in.
BARRIERS = ("gpu.barrier", "gpu.shuffle")
#: What a block's threads agree on goes through this variable.
AGREED = "agreed"


class KernelWriter:
    """A vector's lanes are scalars, each with a name; a memref is where its elements are."""

    def __init__(
        self, kernel: Operation, threads: int, rules: dict[str, Rule], in_a_row: RowRule, data: ProgramData
    ) -> None:
        self.kernel, self.threads = kernel, threads
        #: Gives the address of a table that the kernel reads.
        self.table = data.add
        self._rules, self._in_a_row = rules, in_a_row
        self._lanes: dict[Value, list[str]] = {}
        self._views: dict[Value, ArrayView] = {}
        #: What is the same for all threads of a block, as WGSL's rules for barriers see it.
        self._uniform: set[Value] = set()
        self._lines: list[str] = []
        self._depth = 1
        self._count = 0
        #: Declarations of the block's own memory, by name.
        self.shared: dict[str, str] = {}
        #: The places of checks: kinds and messages.
        self.checks: list[tuple[str, str]] = []
        self.has_barriers = any(op.name in BARRIERS for op in operations_in(kernel))
        self.may_fail = any(op.name == ASSERT for op in operations_in(kernel))

    # ---- lines ----

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def braces(self, head: str) -> Iterator[None]:
        self.line(f"{head} {{")
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    # ---- values ----

    def fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def name(self, expression: str, prefix: str = "v") -> str:
        """A constant for an expression."""
        made = self.fresh(prefix)
        self.line(f"let {made} = {expression};")
        return made

    def variable(self, type_: str, initial: str) -> str:
        made = self.fresh("x")
        self.line(f"var {made}: {type_} = {initial};")
        return made

    def know(self, value: Value, lanes: Sequence[str], *, is_uniform: bool = False) -> None:
        self._lanes[value] = list(lanes)
        if is_uniform:
            self._uniform.add(value)

    def know_view(self, value: Value, view: ArrayView) -> None:
        self._views[value] = view

    def lanes(self, value: Value) -> list[str]:
        if value not in self._lanes:
            maker = None if isinstance(value.owner, Block) else value.owner.operation
            if maker is None or maker.name != "arith.constant":
                raise RefusalError(f"it reads a {value.type}, which has no value here")
            count = value.type.shape[0] if isinstance(value.type, ir.VectorType) else 1
            self.know(value, [literal(maker.attributes["value"])] * count, is_uniform=True)
        return self._lanes[value]

    def get(self, value: Value) -> str:
        (lane,) = self.lanes(value)
        return lane

    def view(self, memref: Value) -> ArrayView:
        if memref not in self._views:
            raise RefusalError(f"memory of the type {memref.type} is passed on, which WGSL cannot do")
        return self._views[memref]

    def is_uniform(self, *values: Value) -> bool:
        for value in values:
            if value not in self._lanes and not isinstance(value.type, ir.MemRefType):
                self.lanes(value)
        return all(value in self._uniform for value in values)

    def define(self, op: Operation, lanes: Sequence[str], *, is_uniform: bool = False) -> None:
        """The first result, lane by lane, by expressions."""
        (result,) = op.results
        register_type(element_of(result.type))
        self.know(result, [self.name(each) for each in lanes], is_uniform=is_uniform)

    # ---- operations ----

    def block(self, block: Block) -> Operation:
        """All but the last operation, which it returns."""
        *ops, end = operations_of(block)
        self._in_a_row(self, ops)
        return end

    def operation(self, op: Operation) -> None:
        rule = self._rules.get(op.name)
        try:
            if rule is None:
                raise RefusalError("WGSL has no counterpart of it")
            rule(self, op)
        except RefusalError as error:
            if error.location:
                raise
            text = (
                f"target 'webgpu' cannot write '{op.name}' op in kernel '{symbol_name(self.kernel)}': {error.message}"
            )
            raise located_error(text, op.location, error.notes) from None

    # ---- what a block's threads do together ----

    def wait(self) -> None:
        self.line("storageBarrier();")
        self.line("workgroupBarrier();")

    def agree(self, expression: str, type_: str) -> str:
        """The first thread's, for all: where they have the same that WGSL does not see to be so."""
        self.shared.setdefault(AGREED, f"var<workgroup> {AGREED}: u32;")
        with self.braces("if (thread == 0)"):
            self.line(f"{AGREED} = u32({expression});")
        loaded = f"workgroupUniformLoad(&{AGREED})"
        return self.name(f"{loaded} != 0u" if type_ == "bool" else f"{type_}({loaded})", "all")


def holds_barrier(op: Operation) -> bool:
    return any(each.name in BARRIERS for each in operations_in(op))
