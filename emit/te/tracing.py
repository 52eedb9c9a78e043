# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a function of places does, found by calling it where nothing is emitted: what it reads and gives."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from ...bindings.context import load_dialects
from ...bindings.ir import Context
from ...bindings.mlir import ir
from ...dialects.context import create_context
from ...dialects.core.indices import is_below, is_never_negative
from ...dialects.core.symbols_expr import Size, SymExpr, bounded_variable, terms_of, variables_of
from ...dialects.core.symbols_terms import bounds
from ...support.errors import RelaxError, blaming
from ..arithmetic import element as element_type
from ..numbers import Number, as_index, constant
from ..symbols import emit_size
from .scalars import Index, ReduceAxis, Reduction, _body

#: What tensors are emitted with.
DIALECTS = ("arith", "linalg", "math", "memref", "scf", "tensor", "tir")


class Shaped(Protocol):
    """A tensor, as far as places are concerned."""

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> tuple[Size, ...]: ...

    @property
    def dtype(self) -> str: ...


class Axis(NamedTuple):
    """A loop of a computation."""

    name: str
    extent: Size

    @property
    def variable(self) -> SymExpr:
        return bounded_variable(self.name, max(self.extent - 1, 0) if isinstance(self.extent, int) else None)


class Read(NamedTuple):
    """An element at a place that is arithmetic of the loops' variables, inside of the tensor wherever they stand."""

    tensor: Any
    at: tuple[Size, ...]


class Traced(NamedTuple):
    """What a function of places does."""

    spatial: tuple[Axis, ...]
    reduced: tuple[tuple[ReduceAxis, Axis], ...]
    reads: tuple[Read, ...]
    #: All that it asks for elements of.
    tensors: tuple[Any, ...]
    dtypes: tuple[str, ...]
    is_reduction: bool

    @property
    def axes(self) -> list[Axis]:
        return [*self.spatial, *(axis for _, axis in self.reduced)]


# ---- what functions of places ask ----


class PlacesBody:
    """Where a function is called: gives it indices and elements."""

    def __init__(self, spatial: Sequence[Axis]):
        self.spatial = list(spatial)
        self.reduced: dict[ReduceAxis, Axis] = {}

    @property
    def extents(self) -> dict[str, Size]:
        return {axis.name: axis.extent for axis in (*self.spatial, *self.reduced.values())}

    def reduce_index(self, axis: ReduceAxis) -> Index:
        if axis not in self.reduced:
            self.reduced[axis] = Axis(f"{axis.name}.r{len(self.reduced)}", axis.extent)
        own = self.reduced[axis]
        place = list(self.reduced).index(axis) + len(self.spatial)
        return Index(self.index(place) + axis.start, own.variable + axis.start)

    def indices(self) -> list[Index]:
        return [Index(self.index(place), axis.variable) for place, axis in enumerate(self.spatial)]

    def symbol(self, expression: SymExpr) -> Index:
        return Index(as_index(emit_size(expression, self.size)), expression)

    def read_of(self, tensor: Shaped, at: Sequence[Any]) -> Read | None:
        """The place, where it is known and in the tensor."""
        known = [_known(index) for index in at]
        places = tuple(place for place in known if place is not None)
        if len(places) != len(known):
            return None
        for axis, (place, size) in enumerate(zip(places, tensor.shape, strict=True)):
            if _is_outside(place, size) and 0 not in self.extents.values():
                shown = re.sub(r"\.r?[0-9]+\b", "", str(place))
                along = f"{size} elements along dimension {axis}"
                raise RelaxError(f"'{tensor.name}' has {along}, but the index is {shown}")
        variables = {name for place in places for name in variables_of(place)}
        is_affine = variables <= set(self.extents) and all(map(_is_affine, places))
        is_inside = all(map(self._is_inside, places, tensor.shape))
        return Read(tensor, places) if is_affine and is_inside else None

    def axes_to_check(self, tensor: Shaped, at: Sequence[Any]) -> list[int]:
        """The dimensions along which a place is not known to be in the tensor."""
        known = enumerate(zip(map(_known, at), tensor.shape, strict=True))
        return [axis for axis, (place, size) in known if not self._is_inside(place, size)]

    def _is_inside(self, place: Size | None, size: Size) -> bool:
        return place is not None and is_never_negative(place) and is_below(place, size, self.extents)

    def index(self, place: int) -> Number:
        raise NotImplementedError

    def size(self, name: str) -> Number | int:
        raise NotImplementedError


def _known(index: Any) -> Size | None:
    if isinstance(index, ReduceAxis):
        return index.index.at
    return index if isinstance(index, (int, SymExpr)) else getattr(index, "at", None)


def _is_outside(place: Size, size: Size) -> bool:
    """Whether no step is in the tensor."""
    low, high = bounds(terms_of(place))
    return (high is not None and high < 0) or (low is not None and isinstance(size, int) and low >= size > 0)


def _is_affine(place: Size) -> bool:
    """Whether MLIR can say it: sums of variables times numbers, // and % by numbers."""
    for monomial in terms_of(place):
        if len(monomial) > 1 or any(atom.kind in ("min", "max") for atom in monomial):
            return False
        for atom in monomial:
            if atom.kind != "variable" and (not isinstance(atom.args[1], int) or not _is_affine(atom.args[0])):
                return False
    return True


class _Tracing(PlacesBody):
    """In a module of its own: elements are numbers of their types."""

    def __init__(self, spatial: Sequence[Axis]):
        super().__init__(spatial)
        self.reads: dict[Read, None] = {}
        self.tensors: dict[Shaped, None] = {}

    def index(self, place: int) -> Number:
        del place
        return constant(0, "index")

    def size(self, name: str) -> Number | int:
        del name
        return constant(1, "index")

    def element(self, tensor: Shaped, at: Sequence[Any]) -> Number:
        read = self.read_of(tensor, at)
        if read is not None:
            self.reads[read] = None
        self.tensors[tensor] = None
        return constant(0, element_type(tensor.dtype)).of(tensor.dtype)


_scratch = threading.local()


def _scratch_context() -> Context:
    if not hasattr(_scratch, "context"):
        _scratch.context = create_context()
        load_dialects(_scratch.context, DIALECTS)
    context: Context = _scratch.context
    return context


def traced(shape: Sequence[Size], function: Callable[..., Any], names: Sequence[str]) -> tuple[Traced, tuple[Any, ...]]:
    """What a function does, and what its reduction starts from. Raises RelaxError."""
    spatial = tuple(Axis(f"{name}.{place}", size) for place, (name, size) in enumerate(zip(names, shape, strict=True)))
    tracing = _Tracing(spatial)
    with _scratch_context() as context, ir.Location.unknown(context):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body), calling(tracing):
            made = given_by(function(*tracing.indices()))
            values = made.values if isinstance(made, Reduction) else made
            dtypes = tuple(value.dtype for value in values)
            if any(dtype == "index" for dtype in dtypes):
                raise RelaxError('an index is given: say of which type, i.astype("int64")')
    order = list(made.axes) if isinstance(made, Reduction) else []
    for axis in order:
        tracing.reduced.setdefault(axis, Axis(f"{axis.name}.r{len(tracing.reduced)}", axis.extent))
    stray = next((axis for axis in tracing.reduced if axis not in order), None)
    if stray is not None:
        raise RelaxError(f"reduce axis '{stray.name}' is used, and no reduction goes along it")
    reduced = tuple(tracing.reduced.items())
    starts = made.starts if isinstance(made, Reduction) else ()
    return Traced(spatial, reduced, tuple(tracing.reads), tuple(tracing.tensors), dtypes, bool(order)), starts


@contextmanager
def calling(body: PlacesBody) -> Iterator[None]:
    token = _body.set(body)
    try:
        with blaming("the function of the tensor's elements"):
            yield
    finally:
        _body.reset(token)


def given_by(made: Any) -> Any:
    """Numbers, or a reduction."""
    if isinstance(made, Reduction):
        return made
    several = list(made) if isinstance(made, (tuple, list)) else [made]
    if len(several) == 1 and isinstance(several[0], Reduction):
        return several[0]
    return [_number(each) for each in several]


def _number(value: Any) -> Number:
    if isinstance(value, Reduction):
        raise RelaxError("a reduction is all that a function of places can give")
    if isinstance(value, bool):
        return constant(value, "i1")
    if isinstance(value, (int, float)):
        return constant(value, "i32" if isinstance(value, int) else "f32")
    if not isinstance(value, Number):
        raise RelaxError(f"a function of places gives numbers, not {type(value).__name__}")
    return value
