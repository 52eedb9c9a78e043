# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors: given ones, and those whose elements a function tells. Nothing is computed before it is asked for."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects.core.infos import DTYPE_BY_NAME, TensorInfo, is_bool, is_float, is_int
from ...dialects.core.symbols_expr import Size, SymExpr
from ...support.errors import RelaxError
from ...support.suggest import suggest
from .scalars import body
from .tracing import Traced, traced


@dataclass(frozen=True, eq=False)
class Place:
    """A line of the program that says what a tensor is."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def problem(self, message: str) -> RelaxError:
        return RelaxError(message, location=str(self))


def place_of_caller(depth: int = 2) -> Place:
    frame = sys._getframe(depth)
    return Place(frame.f_code.co_filename, frame.f_lineno)


@dataclass(frozen=True, eq=False)
class Tensor:
    """`A[i, j]` is an element, in the function of another tensor."""

    shape: tuple[Size, ...]
    name: str
    place: Place

    @property
    def dtype(self) -> str:
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, indices: Any) -> Any:
        at = indices if isinstance(indices, tuple) else (indices,)
        if len(at) != len(self.shape):
            raise RelaxError(f"'{self.name}' has {len(self.shape)} dimensions, {len(at)} indices are given")
        return body(f"an element of '{self.name}'").element(self, at)

    def __call__(self, *indices: Any) -> Any:
        return self[indices]


@dataclass(frozen=True, eq=False)
class Placeholder(Tensor):
    """A tensor that is given."""

    given: str = "f32"

    @property
    def dtype(self) -> str:
        return self.given

    @property
    def info(self) -> TensorInfo:
        return TensorInfo(self.shape, self.given)


@dataclass(frozen=True, eq=False)
class Computation:
    """Elements of one or more tensors of a shape, by a function of their place."""

    shape: tuple[Size, ...]
    function: Callable[..., Any]
    name: str
    place: Place
    trace: Traced
    #: What reductions start from.
    starts: tuple[Any, ...]
    results: list[Tensor]


@dataclass(frozen=True, eq=False)
class Computed(Tensor):
    """The `number`-th tensor of a computation."""

    computation: Computation
    number: int = 0

    @property
    def dtype(self) -> str:
        return self.computation.trace.dtypes[self.number]


@dataclass(frozen=True, eq=False)
class External:
    """Tensors that a function writes: `function(ins, outs)` gets memory."""

    shapes: tuple[tuple[Size, ...], ...]
    dtypes: tuple[str, ...]
    sources: tuple[Tensor, ...]
    function: Callable[..., Any]
    name: str
    place: Place
    results: list[Tensor]


@dataclass(frozen=True, eq=False)
class Written(Tensor):
    """The `number`-th tensor of an external function."""

    external: External
    number: int = 0

    @property
    def dtype(self) -> str:
        return self.external.dtypes[self.number]


@dataclass(frozen=True, eq=False)
class Recurrence:
    """States whose first steps `inits` tell, and the others `updates` by the steps before."""

    inits: tuple[Tensor, ...]
    updates: tuple[Tensor, ...]
    states: tuple[Placeholder, ...]
    name: str
    place: Place
    results: list[Tensor]


@dataclass(frozen=True, eq=False)
class Scanned(Tensor):
    """The `number`-th state of a recurrence, all its steps."""

    recurrence: Recurrence
    number: int = 0

    @property
    def dtype(self) -> str:
        return self.recurrence.states[self.number].dtype


# ---- making them ----


def checked_shape(shape: Any, what: str, place: Place) -> tuple[Size, ...]:
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, (int, SymExpr)) or (isinstance(size, int) and size < 0):
            raise place.problem(f"{what}: sizes are numbers from 0 on, te.vars, and arithmetic of them, not {size!r}")
    return sizes


def checked_dtype(dtype: str, what: str, place: Place) -> str:
    known = DTYPE_BY_NAME.get(dtype, dtype)
    if not any(belongs(known) for belongs in (is_float, is_int, is_bool)):
        raise place.problem(f"{what}: unknown dtype '{dtype}'{suggest(dtype, DTYPE_BY_NAME)}")
    return known


def placeholder(shape: Any, dtype: str = "float32", name: str = "placeholder") -> Placeholder:
    """A tensor that is given; its sizes are numbers or symbols (te.var)."""
    place = place_of_caller()
    what = f"te.placeholder '{name}'"
    return Placeholder(checked_shape(shape, what, place), name, place, checked_dtype(dtype, what, place))


def compute(shape: Any, fcompute: Callable[..., Any], name: str = "compute", tag: str = "", attrs: Any = None) -> Any:
    """The tensor whose element at (i, j, ...) is `fcompute(i, j, ...)`; several tensors where that gives several."""
    del tag, attrs  # which say nothing of what is computed
    place = place_of_caller()
    sizes = checked_shape(shape, f"te.compute '{name}'", place)
    names = _parameters(fcompute, len(sizes), name, place)
    try:
        trace, starts = traced(sizes, fcompute, names)
    except RelaxError as error:
        raise place.problem(f"te.compute '{name}': {error.message}") from error.__cause__
    computation = Computation(sizes, fcompute, name, place, trace, starts, [])
    results = computation.results
    results.extend([Computed(sizes, name, place, computation, number) for number in range(len(trace.dtypes))])
    return results[0] if len(results) == 1 else tuple(results)


def _parameters(function: Callable[..., Any], rank: int, name: str, place: Place) -> tuple[str, ...]:
    """The names of a function's variables, one for each dimension."""
    if not callable(function):
        raise place.problem(f"te.compute '{name}': expected a function of {rank} indices, got {function!r}")
    names: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}{number}" for number in range(len(names), rank)]
        elif parameter.default is inspect.Parameter.empty:
            names.append(parameter.name)
    if len(names) != rank:
        raise place.problem(f"te.compute '{name}': the shape has {rank} dimensions, the function {len(names)} indices")
    return tuple(names)


def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Callable[..., Any],
    name: str = "extern",
    dtype: str | Sequence[str] | None = None,
) -> Any:
    """Tensors that `fcompute(ins, outs)` writes: memory, which rx.loops reads and writes, or another function gets."""
    place = place_of_caller()
    what = f"te.extern '{name}'"
    several = isinstance(shape, list) or (
        isinstance(shape, tuple) and bool(shape) and isinstance(shape[0], (tuple, list))
    )
    shapes = tuple(checked_shape(each, what, place) for each in (shape if several else [shape]))
    wrong = next((each for each in inputs if not isinstance(each, Tensor)), None)
    if wrong is not None:
        raise place.problem(f"{what}: inputs are tensors of te, not {wrong!r}")
    if dtype is None:
        dtypes = {each.dtype for each in inputs}
        if len(dtypes) != 1:
            raise place.problem(f"{what}: say dtype=, its inputs are of {len(dtypes)}")
        dtype = dtypes.pop()
    given = [dtype] * len(shapes) if isinstance(dtype, str) else list(dtype)
    if len(given) != len(shapes):
        raise place.problem(f"{what}: {len(shapes)} shapes and {len(given)} dtypes")
    known = tuple(checked_dtype(each, what, place) for each in given)
    external = External(shapes, known, tuple(inputs), fcompute, name, place, [])
    external.results.extend([Written(each, name, place, external, number) for number, each in enumerate(shapes)])
    return external.results if several and len(shapes) > 1 else external.results[0]


def scan(init: Any, update: Any, state_placeholder: Any, inputs: Any = None, name: str = "scan") -> Any:
    """The states of a recurrence, step by step along their first dimension: `init` gives the first ones, `update` each
    of the others by the placeholder's elements of steps before."""
    del inputs  # what the update reads tells them
    place = place_of_caller()
    inits, updates, states = (
        tuple(each) if isinstance(each, (tuple, list)) else (each,) for each in (init, update, state_placeholder)
    )
    if not len(inits) == len(updates) == len(states):
        raise place.problem(f"te.scan '{name}': {len(inits)} inits, {len(updates)} updates, {len(states)} states")
    for first, state, step in zip(inits, states, updates, strict=True):
        if not isinstance(state, Placeholder):
            raise place.problem(f"te.scan '{name}': the state is a te.placeholder, which the update reads")
        if not state.shape or first.shape[1:] != state.shape[1:] or step.shape != state.shape:
            shapes = ", ".join(f"'{each.name}' {each.shape}" for each in (first, step, state))
            raise place.problem(f"te.scan '{name}': the shapes do not fit: {shapes}")
        if not isinstance(step, Computed):
            raise place.problem(f"te.scan '{name}': the update is a te.compute")
        if not isinstance(first.shape[0], int) or first.shape[0] < 1:
            raise place.problem(f"te.scan '{name}': 'init' has {first.shape[0]} steps, expected a number of at least 1")
    recurrence = Recurrence(inits, updates, states, name, place, [])
    recurrence.results.extend([Scanned(each.shape, name, place, recurrence, n) for n, each in enumerate(states)])
    return recurrence.results[0] if len(states) == 1 else recurrence.results
