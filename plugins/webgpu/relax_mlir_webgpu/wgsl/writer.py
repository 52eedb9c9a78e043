# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writer of a kernel's text, with the names of values and the views of memrefs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from relax_mlir import RefusalError, ir
from relax_mlir.bindings.ir import Type
from relax_mlir.bindings.navigation import body_of, operations_named, symbol_name
from relax_mlir.dialects.tir.prim_func import ASSERT
from relax_mlir.emit.arithmetic import element_type
from relax_mlir.rewriting import Operation, Value, made_by
from relax_mlir.targets.text.text_writer import TextWriter

from .array_views import ArrayView
from .program_data import ProgramData
from .wgsl_types import literal, register_type

#: Function that writes an operation.
Rule = Callable[["KernelWriter", Operation], None]
#: Function that writes a sequence of operations.
RowRule = Callable[["KernelWriter", Sequence[Operation]], None]
#: Operations in which all threads of a block wait for each other.
BARRIERS = ("gpu.barrier", "gpu.shuffle")
#: Shared variable through which the first thread of a block broadcasts a value.
AGREED = "agreed"


class KernelWriter(TextWriter[list[str] | ArrayView]):
    """Writer of a kernel. A vector is a list of named scalars, one per lane; a memref is a view."""

    target, unknown, endless = "webgpu", "WGSL has no counterpart of it", "loop"

    def __init__(
        self, kernel: Operation, threads: int, rules: Mapping[str, Rule], in_a_row: RowRule, data: ProgramData
    ) -> None:
        super().__init__(rules, f"in kernel '{symbol_name(kernel)}'", first_number=1)
        self.kernel, self.threads = kernel, threads
        #: Function that stores a table for the kernel and returns its address.
        self.table = data.add
        self._in_a_row = in_a_row
        #: Values that WGSL's uniformity analysis proves to be the same for all threads of a block.
        self._uniform: set[Value] = set()
        #: Declarations of the block's shared memory, by name.
        self.shared: dict[str, str] = {}
        #: Kinds and messages of checks.
        self.checks: list[tuple[str, str]] = []
        self.has_barriers = holds_barrier(kernel)
        self.may_fail = bool(operations_named(kernel, ASSERT))

    def operations(self, ops: Sequence[Operation]) -> None:
        self._in_a_row(self, ops)

    # ---- values ----

    def name(self, expression: str, prefix: str = "v") -> str:
        """Declare a constant for an expression, and return its name."""
        made = self.fresh(prefix)
        self.line(f"let {made} = {expression};")
        return made

    def lanes(self, value: Value) -> list[str]:
        constant = None if value in self._known else made_by(value, "arith.constant")
        if constant is not None:
            count = value.type.shape[0] if isinstance(value.type, ir.VectorType) else 1
            self.know(value, [literal(constant.attributes["value"])] * count, is_uniform=True)
        found = self.held(value)
        assert isinstance(found, list)
        return found

    def get(self, value: Value) -> str:
        (lane,) = self.lanes(value)
        return lane

    def view(self, memref: Value) -> ArrayView:
        if not isinstance(found := self._known.get(memref), ArrayView):
            raise RefusalError(f"it passes on memory of the type {memref.type}, which WGSL cannot express")
        return found

    def know(self, value: Value, held: list[str] | ArrayView, *, is_uniform: bool = False) -> None:
        super().know(value, held)
        if is_uniform:
            self._uniform.add(value)

    def is_uniform(self, *values: Value) -> bool:
        for value in values:
            if value not in self._known and not isinstance(value.type, ir.MemRefType):
                self.lanes(value)
        return all(value in self._uniform for value in values)

    def define(self, op: Operation, lanes: Sequence[str], *, is_uniform: bool = False) -> None:
        """Define the result of an operation by one expression per lane."""
        (result,) = op.results
        register_type(element_type(result.type))
        self.know(result, [self.name(lane) for lane in lanes], is_uniform=is_uniform)

    # ---- variables: one for each lane ----

    def carry(self, op: Operation, values: Sequence[Value], arguments: Sequence[Value]) -> list[list[str]]:
        made = [self._variables(value.type, self.lanes(value)) for value in values]
        self.know_all(arguments, made)
        return made

    def leave(self, op: Operation, wanted: str, arguments: Sequence[Value] = ()) -> list[list[str]]:
        return [self._variables(result.type, ()) for result in op.results]

    def _variables(self, type_: Type, initial: Sequence[str]) -> list[str]:
        of, count = register_type(element_type(type_)), type_.shape[0] if isinstance(type_, ir.VectorType) else 1
        names = []
        for start in initial or [f"{of}()"] * count:
            names.append(self.fresh("x"))
            self.line(f"var {names[-1]}: {of} = {start};")
        return names

    def assigned(self, variable: list[str] | ArrayView, value: Value) -> Iterable[tuple[str, str, str]]:
        assert isinstance(variable, list)
        return zip(variable, self.lanes(value), itertools.repeat(""))

    def keep(self, name: str, text: str, type_: str) -> str:
        return self.name(text)

    # ---- control ----

    def condition(self, op: Operation, value: Value, *, is_negated: bool = False) -> str:
        text = self.get(value)
        if holds_barrier(op) and not self.is_uniform(value):
            text = self.agree(text, "bool")
        return f"!{text}" if is_negated else text

    @contextmanager
    def steps(self, op: Operation) -> Iterator[None]:
        lower, upper, step = op.operands[:3]
        first, end, by = (self.get(each) for each in (lower, upper, step))
        if register_type(lower.type) != "i32":
            raise RefusalError(f"it counts in {lower.type}")
        counter, index = body_of(op).arguments[0], self.fresh("step")
        is_uniform = self.is_uniform(lower, upper, step)
        if holds_barrier(op) and not is_uniform:
            # All threads take the same number of steps, each with its own counter.
            steps = self.agree(f"max(0, ({end} - {first} + {by} - 1) / {by})", "i32")
            with self.braces(f"for (var {index} = 0; {index} < {steps}; {index}++)"):
                self.know(counter, [self.name(f"{first} + {index} * {by}")])
                yield
        else:
            self.know(counter, [index], is_uniform=is_uniform)
            with self.braces(f"for (var {index} = {first}; {index} < {end}; {index} += {by})"):
                yield

    # ---- what a block's threads do together ----

    def wait(self) -> None:
        self.line("storageBarrier();")
        self.line("workgroupBarrier();")

    def agree(self, expression: str, type_: str) -> str:
        """Broadcast the first thread's value of an expression to all threads, and return the name of the value.

        All threads have the same value, but WGSL's uniformity analysis cannot prove that.
        """
        self.shared.setdefault(AGREED, f"var<workgroup> {AGREED}: u32;")
        with self.braces("if (thread == 0)"):
            self.line(f"{AGREED} = u32({expression});")
        loaded = f"workgroupUniformLoad(&{AGREED})"
        return self.name(f"{loaded} != 0u" if type_ == "bool" else f"{type_}({loaded})", "all")


def holds_barrier(op: Operation) -> bool:
    return bool(operations_named(op, *BARRIERS))
