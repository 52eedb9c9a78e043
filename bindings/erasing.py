# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Safe erasure of operations while a C++ driver holds pointers to them.

`op.erase()` in a pattern would leave MLIR's rewrite drivers with a dangling pointer and crash the process. Therefore,
while a driver runs, the bindings' method is replaced by a method that delegates to the driver.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..support.callbacks import fragile
from ..support.context import holding
from ..support.errors import RelaxError
from .ir import Operation, OperationBase, SymbolTable
from .mlir import ir

_BASE = ir._OperationBase
_mlir_erase = _BASE.erase
_mlir_detach = _BASE.detach_from_parent
_mlir_symbol_erase = ir.SymbolTable.erase
_guard: ContextVar[Callable[[Operation], None] | None] = ContextVar("guard", default=None)
# Number of driver runs in all threads. Without runs, the methods are the bindings' own.
_runs = 0
_lock = threading.Lock()


def erase(operation: Operation) -> None:
    """Erase an operation immediately, even while a driver runs."""
    _mlir_erase(operation)


def detach(operation: Operation) -> None:
    _mlir_detach(operation)


@contextmanager
@fragile
def erasing_by(eraser: Callable[[Operation], None]) -> Iterator[None]:
    """Redirect `op.erase()` to `eraser(op)` inside the `with` statement."""
    _count(1)
    try:
        with holding(_guard, eraser):
            yield
    finally:
        _count(-1)


def _count(more: int) -> None:
    global _runs
    with _lock:
        was, _runs = _runs, _runs + more
        if not was:
            _BASE.erase, _BASE.detach_from_parent = _guarded_erase, _guarded_detach
            ir.SymbolTable.erase = _guarded_symbol_erase
        elif not _runs:
            _BASE.erase, _BASE.detach_from_parent = _mlir_erase, _mlir_detach
            ir.SymbolTable.erase = _mlir_symbol_erase


def _guarded_erase(self: OperationBase) -> None:
    if (eraser := _guard.get()) is None:
        _mlir_erase(self)
    else:
        eraser(self.operation)


def _guarded_symbol_erase(self: SymbolTable, symbol: OperationBase) -> None:
    if (eraser := _guard.get()) is None:
        _mlir_symbol_erase(self, symbol)
    else:
        eraser(symbol.operation)


def _guarded_detach(self: OperationBase) -> object:
    if _guard.get() is not None:
        raise RelaxError(f"a pattern cannot detach an operation ('{self.operation.name}'): move it, or erase it")
    return _mlir_detach(self)


_guarded_erase.__doc__ = _mlir_erase.__doc__
_guarded_symbol_erase.__doc__ = _mlir_symbol_erase.__doc__
_guarded_detach.__doc__ = _mlir_detach.__doc__
