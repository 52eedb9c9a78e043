# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handles that users hold of a module's operations and values. MLIR's own point into memory and keep nothing there.

A module stays in memory while there are handles of its context (`adopt`, `release`). Values that builders hand out know
their module and are followed: what a pass has erased says so when it is used, instead of reading freed memory.
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
from .ir import Block, Context, Location, Module, Operation, OpView, Type, Value
from .mlir import ir
from .navigation import ancestors, blocks_of, operations_in

X = TypeVar("X")

#: The handles of the module that is being built; None where what is made is not kept: in passes.
building: ContextVar[Handles | None] = ContextVar("building", default=None)
_is_checked: ContextVar[bool] = ContextVar("is_checked", default=False)

# How many modules of ours each context has, by its id: one that is counted cannot die.
_owners: Counter[int] = Counter()
#: Modules that their last user has let go, what forgets their contexts' memos, and whether handles were handed out.
_released: deque[tuple[Module, Callable[[], None], bool]] = deque()

_PACKAGE = __name__.partition(".")[0] + "."

# Handles that are gone are forgotten when there are as many again, and at least this many.
_FEW = 1024


#: Held while `_owners` changes. Finalizers run anywhere, also in a thread that holds the lock already.
_counting = threading.RLock()


def adopt(owner: Module) -> None:
    """Counts a module in, which is to be given to `release` once."""
    with _counting:
        _owners[id(owner.context)] += 1
    _free_released()


def is_owned(context_id: int) -> bool:
    """Check whether a context has a module that `release` has not freed."""
    return context_id in _owners


def release(owner: Module, forget: Callable[[], None], handed_out: bool = True) -> None:
    """Frees a module as soon as there is no handle of its context any more, or at once if none was given out."""
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
    """Stop counting a module and return True, or return False if somebody still has a handle.

    A finalizer does not wait for another thread, which a fork may have left behind: the module's turn comes again.
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
    """Whether somebody has a handle of a module's context, or a block or region of the module itself."""
    # What is counted is in no variable, which CPython counts from version to version in another way: only the call
    # itself holds it. Each of our modules has a context; everything else is somebody's handle.
    if sys.getrefcount(owner.context) - 1 > _owners[id(owner.context)]:
        return True
    # Blocks hold the operation that they are in, and handles that are made of them later nothing. A view of an
    # operation has one itself, where MLIR's modules make a new one.
    own = 1 if isinstance(owner, OpView) else 0
    return sys.getrefcount(owner.operation) - 1 > own


class Handles:
    """The handles of a module that were handed out and are followed."""

    def __init__(self, owner: Module):
        #: MLIR's module, which lives as long as one of them.
        self.owner = owner
        # Its id alone: a reference would count as somebody's handle.
        self.context_id = id(owner.context)
        self._values: list[ref[Result | Argument]] = []
        self._operations: list[Any] = []
        self._many = _FEW
        #: What stands for an unknown place, while the module is being built: the line is reported instead.
        self._unplaced: Location | None = None
        self._lines: dict[tuple[CodeType, int], Location] = {}
        key = id(self)
        _all[key] = ref(self, lambda gone: _all.pop(key, None))

    @contextmanager
    @fragile
    def being_built(self, unplaced: Location | None) -> Iterator[None]:
        """Inside, what builders hand out is followed; instead of the location `unplaced` the caller's line is
        reported."""
        module, before = building.set(self), self._unplaced
        self._unplaced = unplaced
        try:
            yield
        finally:
            building.reset(module)
            self._unplaced = before
            if before is None:
                # They would count as somebody's handles.
                self._lines.clear()

    def line(self, location: Location, depth: int) -> Location:
        """For a location that says nothing, the line of the first caller outside of this package; else itself.

        Without folders: what is made of the module must not depend on where the program is.
        """
        if self._unplaced is None or location != self._unplaced:
            return location
        frame = sys._getframe(depth)
        while frame.f_globals.get("__name__", "").startswith(_PACKAGE) and frame.f_back is not None:
            frame = frame.f_back
        key = frame.f_code, frame.f_lasti
        found = self._lines.get(key)
        if found is None:
            name = os.path.basename(frame.f_code.co_filename)
            found = self._lines[key] = ir.Location.file(name, frame.f_lineno, 0, location.context)
        return found

    def result(self, value: Value, type_: Type, what: str) -> Result:
        """The result of an operation of this name."""
        result = Result(value)
        result.handles, result.what = self, what
        result.is_tensor = isinstance(type_, ir.RankedTensorType)
        values = self._values
        values.append(ref(result))
        if len(values) > self._many:
            self._forget_those_gone()
        return result

    def argument(self, value: Value) -> Argument:
        """The argument of a block."""
        argument = Argument(value)
        argument.handles, argument.what = self, ""
        self._values.append(ref(argument))
        return argument

    def _forget_those_gone(self) -> None:
        self._values = [each for each in self._values if each() is not None]
        self._many = 2 * len(self._values) + _FEW

    def operation(self, holder: X) -> X:
        """An operation's view, or an object that has an operation.

        It has a name, `what`, the hash of a value of it, `identity`, and a `reason` why it is gone, empty so far.
        """
        self._operations.append(ref(holder))
        return holder

    @property
    def is_followed(self) -> bool:
        """True while somebody holds one of the handles."""
        return any(each() is not None for each in (*self._values, *self._operations))

    def check(self, reason: str) -> None:
        """Mark the handles of erased operations, after the module was changed."""
        self._forget_those_gone()
        self._operations = [each for each in self._operations if each() is not None]
        values, without_results = _left(self.owner.operation)
        for each in self._values:
            value = each()
            # Where another one has come into the same memory, it is at least one of the same kind.
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


#: The handles of every module, by id. A copy of a dictionary's values is one step, a copy of a WeakSet is not:
#: it fails if another thread makes a module meanwhile.
_all: dict[int, ref[Handles]] = {}


def _handles_around(operation: Operation, context_id: int) -> list[Handles]:
    """Return the handles of the modules that an operation is in. Other modules may be in use by other threads."""
    known = [handles for each in list(_all.values()) if (handles := each()) is not None]
    found = [handles for handles in known if handles.context_id == context_id and handles.is_followed]
    around = (operation, *ancestors(operation)) if found else ()
    return [handles for handles in found if handles.owner.operation in around]


def _mark_operation(holder: Any, reason: str) -> None:
    # MLIR's bindings refuse it from now on.
    holder.operation._set_invalid()
    holder.reason = reason
    if isinstance(holder, ir.OpView):
        holder.__class__ = ErasedOperation


def _reason(holder: object) -> str:
    return "" if holder is None else str(object.__getattribute__(holder, "reason"))


def _left(root: Operation) -> tuple[dict[int, str], list[Operation]]:
    """What is in a module: values (what distinguishes them) with their operations' names, functions and the like.

    Arguments have no name. An operation's own hash changes with its operands.
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
    """Around what changes an operation and may erase some inside; handles of these say afterwards by what."""
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
    """An operation's result that is followed."""

    __slots__ = ("__weakref__", "handles", "is_tensor", "reason", "what")

    @property
    def owner(self) -> OpView | Block:
        owner = super().owner
        if isinstance(owner, ir.OpView):
            owner = _PlainView(owner.operation) if type(owner) is ir.OpView else owner
            owner.identity, owner.what, owner.reason = hash(self), self.what, ""
            self.handles.operation(owner)
        return owner


class _PlainView(ir.OpView):
    """Of an operation without a class of its own: the bindings' view takes no attributes."""


class Argument(ir.BlockArgument):
    """A block's argument that is followed."""

    __slots__ = ("__weakref__", "handles", "reason", "what")


def is_foreign(value: Value, handles: Handles | None, context: Context) -> bool:
    """Whether a value cannot be used in a context, by what `handles` follow. Raises RelaxError where it was erased."""
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


# What handles become whose operation is gone. The bindings' classes take one base only.
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
