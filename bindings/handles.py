# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tracked handles of a module's operations and values.

MLIR's own handles point into memory without keeping it alive.

A module stays in memory while handles of its context exist (`adopt`, `release`). Values that builders return know
their module and are tracked. Using a value that a pass has erased raises an error, instead of reading freed memory.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType
from typing import Any, TypeVar
from weakref import ref

from ..support.callbacks import fragile
from ..support.errors import RelaxError
from ..support.importing import is_own_module
from .ir import Block, Context, Location, Module, Operation, OpView, Type, Value
from .mlir import ir
from .navigation import ancestors, blocks_of, operations_in

X = TypeVar("X")

#: Handles of the module under construction, or None in passes, where created values are not tracked.
building: ContextVar[Handles | None] = ContextVar("building", default=None)
_is_checked: ContextVar[bool] = ContextVar("is_checked", default=False)

# Number of this project's modules per context id. A counted context stays alive.
_owners: Counter[int] = Counter()
#: Modules without users: the module, a function that clears memos of its context, and True if handles were returned.
_released: deque[tuple[Module, Callable[[], None], bool]] = deque()

# Dead handles are removed when the list exceeds twice the number of live handles plus this number.
_FEW = 1024


#: Lock for changes of `_owners`. Reentrant, because finalizers can run in a thread that holds the lock.
_counting = threading.RLock()


def adopt(owner: Module) -> None:
    """Count a module of a context. The caller must later pass the module to `release` once."""
    with _counting:
        _owners[id(owner.context)] += 1
    _free_released()


def is_owned(context_id: int) -> bool:
    """Check whether a context has a module that `release` has not freed."""
    return context_id in _owners


def release(owner: Module, forget: Callable[[], None], handed_out: bool = True) -> None:
    """Free a module once no handle of its context exists, or at once if none was returned to users."""
    _released.append((owner, forget, handed_out))
    _free_released()


def _free_released() -> None:
    for _ in range(len(_released)):
        try:
            owner, forget, handed_out = _released.popleft()
        except IndexError:  # another thread was faster
            return
        forget()
        if not _count_out(owner, handed_out):
            _released.append((owner, forget, handed_out))


def _count_out(owner: Module, handed_out: bool) -> bool:
    """Stop counting a module and return True, or return False while handles exist.

    A finalizer never waits for another thread, which may not exist after a fork. The module is tried again later.
    """
    if not _counting.acquire(blocking=False):
        return False
    try:
        if handed_out and _is_used(owner):
            return False
        context_id = id(owner.context)
        _owners[context_id] -= 1
        if not _owners[context_id]:
            del _owners[context_id]
        return True
    finally:
        _counting.release()


if sys.getrefcount(object()) != 1:
    raise RelaxError(
        f"this Python, {sys.version.split()[0]}, does not count references as CPython 3.10 to 3.13 do: "
        "relax_mlir could not tell which modules are in use"
    )


def _is_used(owner: Module) -> bool:
    """Check whether handles of a module's context exist, or of the module's operation through a block or region."""
    # CPython versions count references held by variables differently, so only the call holds the object. Each of our
    # modules holds one reference to the context; every other reference is a user's handle.
    if sys.getrefcount(owner.context) - 1 > _owners[id(owner.context)]:
        return True
    # Blocks hold their operation, but handles derived from blocks later do not. An OpView holds one reference to the
    # operation, while MLIR's modules create a new one.
    own = 1 if isinstance(owner, OpView) else 0
    return sys.getrefcount(owner.operation) - 1 > own


class Handles:
    """Tracked handles of one module."""

    def __init__(self, owner: Module):
        #: MLIR's module, which lives as long as one of the handles.
        self.owner = owner
        # Only the id: a reference would count as a user's handle.
        self.context_id = id(owner.context)
        self._values: list[ref[Result | Argument]] = []
        self._operations: list[Any] = []
        self._many = _FEW
        #: Placeholder location during construction. The user's line is reported in its place.
        self._unplaced: Location | None = None
        self._lines: dict[tuple[CodeType, int], Location] = {}
        key = id(self)
        _all[key] = ref(self, lambda gone: _all.pop(key, None))

    @contextmanager
    @fragile
    def being_built(self, unplaced: Location | None) -> Iterator[None]:
        """Track the values that builders return inside, and replace the location `unplaced` by the caller's line."""
        module, before = building.set(self), self._unplaced
        self._unplaced = unplaced
        try:
            yield
        finally:
            building.reset(module)
            self._unplaced = before
            if before is None:
                # The locations would count as users' handles.
                self._lines.clear()

    def line(self, location: Location, depth: int) -> Location:
        """Return a location unchanged, or for a placeholder the line of the first caller outside this project.

        Only the file's base name is used: results must not depend on the program's folder.
        """
        if self._unplaced is None or location != self._unplaced:
            return location
        frame = sys._getframe(depth)
        while is_own_module(frame.f_globals.get("__name__", "")) and frame.f_back is not None:
            frame = frame.f_back
        key = frame.f_code, frame.f_lasti
        if (found := self._lines.get(key)) is None:
            name = os.path.basename(frame.f_code.co_filename)
            found = self._lines[key] = ir.Location.file(name, frame.f_lineno, 0, location.context)
        return found

    def result(self, value: Value, type_: Type, what: str) -> Result:
        """Return a tracked handle for the result of an operation named `what`."""
        result = Result(value)
        result.handles, result.what = self, what
        result.is_tensor = isinstance(type_, ir.RankedTensorType)
        values = self._values
        values.append(ref(result))
        if len(values) > self._many:
            self._forget_those_gone()
        return result

    def argument(self, value: Value) -> Argument:
        """Return a tracked handle for a block argument."""
        argument = Argument(value)
        argument.handles, argument.what = self, ""
        self._values.append(ref(argument))
        return argument

    def _forget_those_gone(self) -> None:
        self._values = [value for value in self._values if value() is not None]
        self._many = 2 * len(self._values) + _FEW

    def operation(self, holder: X) -> X:
        """Track the view of an operation, or an object that holds an operation, and return it.

        The object has the attributes `what` (the operation's name), `identity` (hash of one of its values) and
        `reason` (why it was erased, initially empty).
        """
        self._operations.append(ref(holder))
        return holder

    @property
    def is_followed(self) -> bool:
        """Return True while at least one handle is alive."""
        return any(value() is not None for value in (*self._values, *self._operations))

    def check(self, reason: str) -> None:
        """Mark the handles of erased operations after a change of the module."""
        self._forget_those_gone()
        self._operations = [each for each in self._operations if each() is not None]
        values, without_results = _list_remaining(self.owner.operation)
        for each in self._values:
            value = each()
            # A new value may occupy the same memory. It then has at least the same operation name.
            if value is not None and values.get(hash(value)) != value.what:
                value.reason = reason
                value.__class__ = ErasedArgument if isinstance(value, Argument) else ErasedResult
        for each in self._operations:
            holder = each()
            if holder is None or _reason(holder) or values.get(holder.identity) == holder.what:
                continue
            if holder.operation not in without_results:
                _mark_operation(holder, reason)
        self._values = [each for each in self._values if not isinstance(each(), _ERASED)]
        self._operations = [each for each in self._operations if not _reason(each())]


#: Handles of every module, by id. Copying a dictionary's values is atomic. Copying a WeakSet is not: it fails if
#: another thread creates a module meanwhile.
_all: dict[int, ref[Handles]] = {}


def _handles_around(operation: Operation, context_id: int) -> list[Handles]:
    """Return the handles of the modules that contain an operation. Other threads may be using other modules."""
    known = [handles for each in list(_all.values()) if (handles := each()) is not None]
    found = [handles for handles in known if handles.context_id == context_id and handles.is_followed]
    around = (operation, *ancestors(operation)) if found else ()
    return [handles for handles in found if handles.owner.operation in around]


def _mark_operation(holder: Any, reason: str) -> None:
    # MLIR's bindings refuse the operation from now on.
    holder.operation._set_invalid()
    holder.reason = reason
    if isinstance(holder, ir.OpView):
        holder.__class__ = ErasedOperation


def _reason(holder: object) -> str:
    return "" if holder is None else str(object.__getattribute__(holder, "reason"))


def _list_remaining(root: Operation) -> tuple[dict[int, str], list[Operation]]:
    """Return a module's values (by hash, with the operation's name), and its operations with regions but without
    results.

    Arguments have an empty name. An operation's own hash is unsuitable, as it changes with the operands.
    """
    values: dict[int, str] = {}
    without_results: list[Operation] = []

    for operation in (root, *operations_in(root)):
        values.update((hash(result), operation.name) for result in operation.results)
        values.update((hash(argument), "") for block in blocks_of(operation) for argument in block.arguments)
        if len(operation.regions) and not len(operation.results):
            without_results.append(operation)
    return values, without_results


@contextmanager
@fragile
def erasing(operation: Operation, by: str) -> Iterator[None]:
    """Mark the handles of operations that the code inside erases from an operation, with `by` as the reason."""
    if _is_checked.get():
        yield
        return
    context_id = id(operation.context)
    is_checked, module = _is_checked.set(True), building.set(None)
    try:
        yield
    finally:
        building.reset(module)
        _is_checked.reset(is_checked)
        for handles in _handles_around(operation, context_id):
            handles.check(by)


class Result(ir.OpResult):
    """Tracked handle of an operation's result."""

    __slots__ = ("__weakref__", "handles", "is_tensor", "reason", "what")

    @property
    def owner(self) -> OpView | Block:
        if isinstance(owner := super().owner, ir.OpView):
            owner = _PlainView(owner.operation) if type(owner) is ir.OpView else owner
            owner.identity, owner.what, owner.reason = hash(self), self.what, ""
            self.handles.operation(owner)
        return owner


class _PlainView(ir.OpView):
    """View of an operation without its own class. The bindings' view accepts no attributes."""


class Argument(ir.BlockArgument):
    """Tracked handle of a block argument."""

    __slots__ = ("__weakref__", "handles", "reason", "what")


def is_foreign(value: Value, handles: Handles | None, context: Context) -> bool:
    """Check whether a value belongs to another module or context. Raise RelaxError for an erased value."""
    if not isinstance(value, (Result, Argument)):
        return value.context is not context
    of = value.handles
    return of is not handles if handles is not None else of.context_id != id(context)


def _refuse(holder: object, name: str) -> object:
    if name in ("__class__", "__repr__", "__str__", "__hash__", "__eq__"):
        return object.__getattribute__(holder, name)
    raise erased_error(holder)


def _text(holder: object) -> str:
    return f"<{_erasure(holder)}>"


def erased_error(holder: object) -> RelaxError:
    return RelaxError(f"{_erasure(holder)}: look up in the module what is there now")


def _erasure(holder: object) -> str:
    what, reason = object.__getattribute__(holder, "what"), object.__getattribute__(holder, "reason")
    whose = f"a value of '{what}'" if isinstance(holder, Result) else f"'{what}'" if what else "an argument"
    return f"{whose} was erased by {reason}"


# Classes of handles whose operation was erased. The bindings' classes allow one base class only.
class ErasedResult(Result):
    __slots__ = ()
    __getattribute__ = _refuse
    __str__ = __repr__ = _text


class ErasedArgument(Argument):
    __slots__ = ()
    __getattribute__ = _refuse
    __str__ = __repr__ = _text


class ErasedOperation(ir.OpView):
    __getattribute__ = _refuse
    __str__ = __repr__ = _text


_ERASED = (ErasedResult, ErasedArgument, ErasedOperation)
