# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tracing of compute bodies: a body is called once, without emission, to find its reads and results."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from ...bindings.context import load_dialects
from ...bindings.ir import Context, Value
from ...bindings.mlir import ir
from ...dialects.context import create_context, load_registered
from ...dialects.core.indices import is_below, is_never_negative
from ...dialects.core.symbols_expr import Size, SymExpr, make_variable, terms_of, variables_of
from ...dialects.core.symbols_terms import bounds
from ...support.blaming import blaming
from ...support.context import holding
from ...support.errors import RelaxError
from ..numbers import as_index
from ..symbols import emit_size
from .recording import Hole, Recording
from .scalar_expressions import Index, ReduceAxis, Reduction, Scalar, _body, of_dtype, operand, scalar

#: Dialects of the emitted code.
DIALECTS = ("arith", "linalg", "math", "memref", "scf", "tensor", "tir")


class Shaped(Protocol):
    """Name, shape and element type of a tensor."""

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> tuple[Size, ...]: ...

    @property
    def dtype(self) -> str: ...


class LoopAxis(NamedTuple):
    """Loop of a computation."""

    name: str
    extent: Size

    @property
    def variable(self) -> SymExpr:
        return make_variable(self.name, max(self.extent - 1, 0) if isinstance(self.extent, int) else None)


class ElementRead(NamedTuple):
    """Element at an index that is arithmetic over loop variables, in bounds for all of their values."""

    tensor: Any
    at: tuple[Size, ...]


class Asked(NamedTuple):
    """Element that a function reads."""

    tensor: Any
    #: Known index expressions, by dimension.
    at: tuple[Size | None, ...]
    #: The read, if the index expressions describe it completely.
    read: ElementRead | None
    #: Dimensions along which the index may be out of bounds.
    unsure: tuple[int, ...]


class Traced(NamedTuple):
    """Trace of a compute body."""

    spatial: tuple[LoopAxis, ...]
    reduced: tuple[tuple[ReduceAxis, LoopAxis], ...]
    asked: tuple[Asked, ...]
    dtypes: tuple[str, ...]
    is_reduction: bool
    recording: Recording
    #: Results of the body; for a reduction, the new values of the accumulators.
    results: tuple[Value, ...]
    #: Initial values of the reductions.
    starts: tuple[Value, ...]

    @property
    def axes(self) -> list[LoopAxis]:
        return [*self.spatial, *(axis for _, axis in self.reduced)]

    @property
    def reads(self) -> list[ElementRead]:
        return list(dict.fromkeys(each.read for each in self.asked if each.read is not None))

    @property
    def tensors(self) -> list[Any]:
        """All tensors that the body reads."""
        return list(dict.fromkeys(each.tensor for each in self.asked))


class Body(Protocol):
    """Context of a replay, which supplies the values of holes."""

    def index(self, place: int) -> Value: ...

    def size(self, name: str) -> Value: ...

    def has(self, asked: Asked) -> bool: ...

    def element(self, asked: Asked, places: Sequence[Value]) -> Value: ...

    def before(self, number: int) -> Value: ...


# ---- reads of compute bodies ----


class Tracing:
    """Call of a compute body: supplies indices and elements."""

    def __init__(self, spatial: Sequence[LoopAxis], recording: Recording):
        self.spatial = list(spatial)
        self.recording = recording
        self.reduced: dict[ReduceAxis, LoopAxis] = {}
        self.asked: dict[Hole, Asked] = {}

    @property
    def extents(self) -> dict[str, Size]:
        return {axis.name: axis.extent for axis in (*self.spatial, *self.reduced.values())}

    def reduce_index(self, axis: ReduceAxis) -> Index:
        own = self.reduced.setdefault(axis, LoopAxis(f"{axis.name}.r{len(self.reduced)}", axis.extent))
        number = next(number for number, each in enumerate(self.reduced) if each is axis)
        return self._index(len(self.spatial) + number, own) + axis.start

    def indices(self) -> list[Index]:
        return [self._index(place, axis) for place, axis in enumerate(self.spatial)]

    def _index(self, place: int, axis: LoopAxis) -> Index:
        """Return the index of a loop, created outside of branches, where linalg has no indices."""
        with ir.InsertionPoint.at_block_begin(self.recording.module.body):
            return Index(self.recording.hole("index", Hole(lambda body: body.index(place))), axis.variable)

    def symbol(self, expression: SymExpr) -> Index:
        def size(name: str) -> Scalar:
            return self.recording.hole("index", Hole(lambda body: body.size(name)))

        return Index(as_index(emit_size(expression, size)), expression)

    def before(self, number: int, dtype: str) -> Scalar:
        return self.recording.hole(dtype, Hole(lambda body: body.before(number)))

    def element(self, tensor: Shaped, at: Sequence[object]) -> Scalar:
        indices = [self._place(tensor, each) for each in at]
        known = tuple(index if isinstance(index, int) else index.at for index in indices)
        asked = self._ask(tensor, known)
        hole = Hole(lambda body, *places: body.element(asked, places), lambda body: bool(body) and body.has(asked))
        self.asked[hole] = asked
        return self.recording.hole(tensor.dtype, hole, *map(as_index, indices))

    def _place(self, tensor: Shaped, index: object) -> Index | int:
        if isinstance(index, (slice, type(None), type(...), str)):
            raise RelaxError(f"'{tensor.name}' is asked for one element: an index is a number, not {index!r}")
        known = operand(index)
        if isinstance(known, (bool, float)) or (isinstance(known, Scalar) and known.is_float):
            shown = known.dtype if isinstance(known, Scalar) else repr(known)
            raise RelaxError(f"'{tensor.name}': an index is an integer, not {shown}")
        if isinstance(known, (int, Index)):
            return known
        return Index(known.to("index"))

    def _ask(self, tensor: Shaped, at: tuple[Size | None, ...]) -> Asked:
        extents = self.extents
        for axis, (place, size) in enumerate(zip(at, tensor.shape, strict=True)):
            if place is not None and _is_outside(place, size) and self._may_run_twice(place):
                shown = re.sub(r"\.r?[0-9]+\b", "", str(place))
                along = f"{size} elements along dimension {axis}"
                raise RelaxError(f"'{tensor.name}' has {along}, but the index is {shown}")
        unsure = tuple(
            axis
            for axis, (place, size) in enumerate(zip(at, tensor.shape, strict=True))
            if place is None or not (is_never_negative(place) and is_below(place, size, extents))
        )
        places = tuple(place for place in at if place is not None)
        variables = {name for place in places for name in variables_of(place)}
        # For a loop without steps, linalg requires a last index.
        runs = variables <= set(extents) and all(extents[name] != 0 for name in variables)
        is_affine = len(places) == len(at) and runs
        is_read = is_affine and not unsure and all(map(_is_affine, places))
        return Asked(tensor, at, ElementRead(tensor, places) if is_read else None, unsure)

    def _may_run_twice(self, place: Size) -> bool:
        """Check that no loop is empty and that no loop of the index has a single step.

        Otherwise an index out of bounds is no error: the read may be in a branch that is never taken.
        """
        extents = self.extents
        own = [extents[name] for name in variables_of(place) if name in extents]
        return 0 not in extents.values() and 1 not in own


def _is_outside(place: Size, size: Size) -> bool:
    """Check whether the index is out of bounds at every step."""
    low, high = bounds(terms_of(place))
    is_after = low is not None and isinstance(size, int) and low >= size
    return size != 0 and ((high is not None and high < 0) or is_after)


def _is_affine(place: Size) -> bool:
    """Check whether MLIR can express an index: sums of variables times numbers, // and % by numbers."""
    for monomial in terms_of(place):
        if len(monomial) > 1 or any(atom.kind in ("min", "max") for atom in monomial):
            return False
        for atom in monomial:
            if atom.kind != "variable" and (not isinstance(atom.args[1], int) or not _is_affine(atom.args[0])):
                return False
    return True


_scratch = threading.local()


def _scratch_context() -> Context:
    if not hasattr(_scratch, "context"):
        _scratch.context = create_context()
        load_dialects(_scratch.context, DIALECTS)
    context: Context = _scratch.context
    load_registered(context)  # load dialects and operators declared since
    return context


def traced(shape: Sequence[Size], function: Callable[..., object], names: Sequence[str]) -> Traced:
    """Trace a function. Raise RelaxError if it is invalid."""
    spatial = tuple(
        LoopAxis(f"{name}.{place}", size) for place, (name, size) in enumerate(zip(names, shape, strict=True))
    )
    with _scratch_context() as context, ir.Location.unknown(context):
        recording = Recording()
        tracing = Tracing(spatial, recording)
        with ir.InsertionPoint(recording.module.body), calling(tracing, function):
            if isinstance(made := given_by(function(*tracing.indices())), Reduction):
                dtypes, results = _trace_combiner(made, tracing)
            else:
                dtypes, results = [value.dtype for value in made], made
        if "index" in dtypes:
            raise RelaxError('an index is given: say of which type, i.astype("int64")')
        recording.finish()
        if not all(map(recording.holds, results)):
            raise RelaxError("a number of another function is given: what it is only that one knows")
        starts = made.starts if isinstance(made, Reduction) else ()
        _require_alike(starts, recording)
        needed = recording.holes(results)
    order = made.axes if isinstance(made, Reduction) else ()
    for axis in order:
        tracing.reduced.setdefault(axis, LoopAxis(f"{axis.name}.r{len(tracing.reduced)}", axis.extent))
    stray = next((axis for axis in tracing.reduced if all(axis is not each for each in order)), None)
    if stray is not None:
        raise RelaxError(f"reduce axis '{stray.name}' is used, and no reduction goes along it")
    asked = tuple(value for hole, value in tracing.asked.items() if hole in needed)
    kept, first = (tuple(value.value for value in values) for values in (results, starts))
    return Traced(spatial, tuple(tracing.reduced.items()), asked, tuple(dtypes), bool(order), recording, kept, first)


def _trace_combiner(reduction: Reduction, tracing: Tracing) -> tuple[list[str], list[Scalar]]:
    """Return the types of a reduction's values, and the values after a step."""
    dtypes = [value.dtype for value in reduction.values]
    before = [tracing.before(number, dtype) for number, dtype in enumerate(dtypes)]
    made = list(map(operand, reduction.combine(before, reduction.values)))
    if len(made) != len(dtypes):
        raise RelaxError(f"the reduction's function gives {len(made)} values of {len(dtypes)}")
    for result, dtype in zip(made, dtypes, strict=True):
        if isinstance(result, Scalar) and result.dtype != dtype:
            raise RelaxError(f"the reduction's function gives {result.dtype} of two {dtype}")
    return dtypes, [of_dtype(result, dtype) for result, dtype in zip(made, dtypes, strict=True)]


def _require_alike(starts: Sequence[Scalar], recording: Recording) -> None:
    """Raise RelaxError unless a reduction's initial values are constants, because they are created before its loops."""
    if any(not recording.holds(start) for start in starts) or recording.holes(starts, whole=False):
        raise RelaxError("what a reduction starts from is a constant")


@contextmanager
def calling(body: object, function: Callable[..., object]) -> Iterator[None]:
    with holding(_body, body), blaming("the function of the tensor's elements", function):
        yield


def given_by(made: object) -> Reduction | list[Scalar]:
    """Return the results of a body: numbers, or a reduction."""
    if isinstance(made, Reduction):
        return made
    several = list(made) if isinstance(made, (tuple, list)) else [made]
    if len(several) == 1 and isinstance(several[0], Reduction):
        return several[0]
    if not several:
        raise RelaxError("a function of places gives a number, not nothing")
    try:
        return list(map(scalar, several))
    except RelaxError as error:
        raise error.altered(f"a function of places gives numbers: {error.message}", location="", notes=()) from None
