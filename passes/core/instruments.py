# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instruments that observe a running pipeline: printing of IR, timing, callbacks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from ...bindings.ir import Operation
from ...bindings.mlir import print_asm
from ...bindings.navigation import ancestors, outermost
from ...support.errors import RelaxError
from ...support.files import replacing


class Instrument:
    """Observer that is called before and after each pass. `op` is the operation that the pass runs on."""

    def __repr__(self) -> str:
        """Return a text without the address, so that output is reproducible."""
        return f"<{type(self).__name__}>"

    def before_pass(self, name: str, op: Operation) -> None:
        """Handle the start of a pass on an operation."""

    def after_pass(self, name: str, op: Operation) -> None:
        """Handle the success of a pass after its result was verified."""

    def pass_failed(self, name: str, op: Operation) -> None:
        """Handle the failure of a pass. The operation may be partly transformed."""

    def code_begun(self, kernel: str) -> None:
        """Handle the start of code generation for a kernel. Several kernels may be compiled at the same time."""

    def code_made(self, kernel: str, done: int, count: int) -> None:
        """Handle the completion of a kernel's native code, compiled or cached: piece `done` of the total.

        The name is empty for the code of the graph's functions, and for a program in one object.
        """


def follows_passes(instrument: Instrument) -> bool:
    """Check whether an instrument observes passes, and not only code generation."""
    hooks = "before_pass", "after_pass", "pass_failed"
    return any(getattr(type(instrument), name) is not getattr(Instrument, name) for name in hooks)


class Callback(Instrument):
    """Instrument that calls functions `(pass name, operation)` before and after each pass."""

    def __init__(
        self, before: Callable[[str, Any], None] | None = None, after: Callable[[str, Any], None] | None = None
    ):
        self._before, self._after = before, after

    def before_pass(self, name: str, op: Operation) -> None:
        if self._before:
            self._before(name, op)

    def after_pass(self, name: str, op: Operation) -> None:
        if self._after:
            self._after(name, op)


class PrintIR(Instrument):
    """Instrument that prints the IR like mlir-opt.

    `before` and `after` are pass names, or True for all passes.

    With `folder`, each dump is a file in a tree with a folder per operation. Numbers give the order.
    `builtin_module_m/func_func_f/0_1_cse.mlir` is the second dump of @f, after the first dump of the module. Set
    `shows_scripts` if `show` returns scripts: headers are then Python comments.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        before: Iterable[str] | bool = (),
        after: Iterable[str] | bool = (),
        only_changes: bool = False,
        after_failure: bool = False,
        module_scope: bool = False,
        show: Callable[[Any], str] | None = None,
        shows_scripts: bool = False,
        folder: str | None = None,
    ):
        self._stream = stream
        self._before = before if isinstance(before, bool) else frozenset(before)
        self._after = after if isinstance(after, bool) else frozenset(after)
        self._only_changes = only_changes
        self._after_failure = after_failure
        self._module_scope = module_scope
        self._show = show or (lambda op: print_asm(op, assume_verified=True))
        self._shows_scripts = shows_scripts
        self._folder = folder
        # Keyed by the operations' hashes, as handles of operations that a pass erases must not be kept.
        self._dumps: dict[int, int] = {}
        self._texts: list[str] = []

    @staticmethod
    def _select(names: bool | frozenset[str], name: str) -> bool:
        return names if isinstance(names, bool) else name in names

    def before_pass(self, name: str, op: Operation) -> None:
        if self._select(self._before, name):
            self._print("Before", name, op)
        if self._only_changes:
            self._texts.append(print_asm(op, assume_verified=True))

    def after_pass(self, name: str, op: Operation) -> None:
        unchanged = self._only_changes and self._texts.pop() == print_asm(op, assume_verified=True)
        if not unchanged and self._select(self._after, name):
            self._print("After", name, op)

    def pass_failed(self, name: str, op: Operation) -> None:
        if self._only_changes:
            self._texts.pop()
        if self._after_failure or self._select(self._after, name):
            self._print("After", f"{name} Failed", op, generic=True)

    def _print(self, when: str, name: str, op: Operation, *, generic: bool = False) -> None:
        symbol = f": @{_symbol(op)}" if _symbol(op) else ""
        where = "" if op.name == "builtin.module" else f" ('{op.name}' operation{symbol})"
        shown = outermost(op) if self._module_scope else op
        # IR after a failed pass may be invalid: only the generic form is safe to print.
        text = print_asm(shown, print_generic_op_form=True, assume_verified=True) if generic else self._show(shown)
        comment, suffix = ("#", "py") if self._shows_scripts and not generic else ("//", "mlir")
        dump = f"{comment} -----// IR Dump {when} {name}{where} //----- {comment}\n" + text.rstrip("\n") + "\n\n"
        if self._folder is None:
            self._stream.write(dump)
        else:
            self._write_file(self._folder, f"{name.partition(' ')[0]}.{suffix}", op, dump)

    def _write_file(self, folder: str, file: str, op: Operation, dump: str) -> None:
        self._dumps[hash(op)] = self._dumps.get(hash(op), -1) + 1
        around = [op, *ancestors(op)][::-1]
        # Upstream's numbering: an enclosing operation takes the first number as if it had been dumped itself.
        numbers = [str(self._dumps.setdefault(hash(operation), 0)) for operation in around]
        path = os.path.join(folder, *map(_folder_name, around), f"{'_'.join(numbers)}_{file}")
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with replacing(path) as written:
                written.write(dump.encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise RelaxError(f"cannot write the IR to '{path}': {error.strerror}") from None


def _symbol(op: Operation) -> str:
    return str(op.attributes["sym_name"]).strip('"') if "sym_name" in op.attributes else ""


def _folder_name(op: Operation) -> str:
    """Return a folder name like `func_func_f` for `func.func @f`, without characters that file names cannot contain."""
    return f"{op.name.replace('.', '_')}_{_symbol(op) or 'no-symbol-name'}".replace("/", "_").replace("\0", "_")


class Timing(Instrument):
    """Wall time per pass, in order of first use. `report()` formats the times like mlir-opt."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._started: list[float] = []
        self._begin = time.perf_counter()

    def before_pass(self, name: str, op: Operation) -> None:
        self._started.append(time.perf_counter())

    def after_pass(self, name: str, op: Operation) -> None:
        self.add(name, time.perf_counter() - self._started.pop())

    def pass_failed(self, name: str, op: Operation) -> None:
        self.after_pass(name, op)

    def add(self, name: str, seconds: float) -> None:
        """Add time of work outside passes, such as parsing and printing."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def report(self) -> str:
        total = time.perf_counter() - self._begin
        rows = [*self.seconds.items(), ("Rest", max(total - sum(self.seconds.values()), 0.0)), ("Total", total)]
        bar = "===" + "-" * 73 + "==="
        lines = [bar, "... Execution time report ...".center(79).rstrip(), bar]
        lines += [f"  Total Execution Time: {total:.4f} seconds", "", "  ----Wall Time----  ----Name----"]
        lines += [f"  {seconds:8.4f} ({seconds / total:6.1%})  {name}" for name, seconds in rows]
        return "\n".join(lines) + "\n"
