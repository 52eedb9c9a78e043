# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Construction of tensors. Errors name the source line that created the tensor."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from ...dialects.core.infos import DTYPE_BY_NAME, dtype_name, is_bool, is_float, is_int
from ...dialects.core.symbols_expr import Size, SymExpr
from ...support.errors import RelaxError
from ...support.suggest import suggest
from .dependence_graph import check_stages
from .places import SourcePlace, place_of_caller
from .tensors import Computation, Computed, External, Placeholder, Recurrence, Scanned, Tensor, Written
from .tracing import traced


def checked_shape(shape: object, what: str, place: SourcePlace) -> tuple[Size, ...]:
    sizes = tuple(_size(size, what, place) for size in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    if math.prod(size for size in sizes if isinstance(size, int)) >= 1 << 63:
        raise place.problem(f"{what}: {sizes} are more elements than 2**63 - 1")
    return sizes


def _size(size: object, what: str, place: SourcePlace) -> Size:
    if isinstance(size, SymExpr):
        return size
    if (whole := whole_number(size)) is None or not 0 <= whole < 1 << 63:
        known = "sizes are numbers from 0 on, below 2**63, te.vars, and arithmetic of them"
        raise place.problem(f"{what}: {known}, not {size!r}")
    return whole


def whole_number(value: object) -> int | None:
    """Return an integer of Python or NumPy as an int, or None for other values."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or getattr(value, "shape", ()) != ():
        return None
    return int(value.__index__())


def checked_dtype(dtype: object, what: str, place: SourcePlace) -> str:
    known = dtype_name(dtype)
    if known is None or not any(belongs(known) for belongs in (is_float, is_int, is_bool)):
        raise place.problem(f"{what}: unknown dtype {dtype!r}{suggest(str(dtype), DTYPE_BY_NAME)}")
    return known


def checked_name(name: object, what: str, place: SourcePlace) -> str:
    if not isinstance(name, str) or not name:
        raise place.problem(f"{what}: a name is a text, not {name!r}")
    return name


def placeholder(shape: object, dtype: str | None = None, name: str = "placeholder") -> Placeholder:
    """Return an input tensor. Sizes are numbers or symbols (te.var)."""
    place = place_of_caller()
    what = f"te.placeholder '{checked_name(name, 'te.placeholder', place)}'"
    return Placeholder(checked_shape(shape, what, place), name, place, checked_dtype(dtype or "float32", what, place))


def compute(
    shape: object,
    fcompute: Callable[..., object],
    name: str = "compute",
    tag: str = "",
    attrs: object = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """Return the tensor whose element at (i, j, ...) is `fcompute(i, j, ...)`.

    If the function returns several numbers, return several tensors.
    """
    del tag, attrs, varargs_names  # these do not affect the computation
    place = place_of_caller()
    what = f"te.compute '{checked_name(name, 'te.compute', place)}'"
    sizes = checked_shape(shape, what, place)
    names = _parameters(fcompute, len(sizes), what, place)
    try:
        trace = traced(sizes, fcompute, names)
    except RelaxError as error:
        if error.message.startswith("te.compute '"):  # the error comes from a nested te.compute
            raise
        raise place.problem(f"{what}: {error.message}") from error.__cause__
    computation = Computation(sizes, name, place, trace, [])
    results = computation.results
    results.extend([Computed(sizes, name, place, computation, number) for number in range(len(trace.dtypes))])
    return results[0] if len(results) == 1 else tuple(results)


def _parameters(function: object, rank: int, what: str, place: SourcePlace) -> tuple[str, ...]:
    """Return the names of a function's parameters, one per dimension."""
    if not callable(function):
        raise place.problem(f"{what}: expected a function of {rank} indices, got {function!r}")
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # for functions written in C
        raise place.problem(f"{what}: {function!r} does not say how many indices it takes: use a lambda") from None
    names: list[str] = []
    for parameter in parameters:
        is_needed = parameter.default is inspect.Parameter.empty
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and is_needed:
            raise place.problem(f"{what}: the function has an argument '{parameter.name}', which is not given")
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}{number}" for number in range(len(names), rank)]
        elif parameter.kind is not inspect.Parameter.VAR_KEYWORD and is_needed:
            names.append(parameter.name)
    if len(names) != rank:
        raise place.problem(f"{what}: the shape has {rank} dimensions, the function {len(names)} indices")
    return tuple(names)


def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Callable[..., object],
    name: str = "extern",
    dtype: str | Sequence[str] | None = None,
) -> Any:
    """Return tensors that `fcompute(ins, outs)` writes.

    The function receives memory, for rx.loops or for another function.
    """
    place = place_of_caller()
    what = f"te.extern '{checked_name(name, 'te.extern', place)}'"
    several = isinstance(shape, (tuple, list)) and bool(shape) and isinstance(shape[0], (tuple, list))
    shapes = tuple(checked_shape(each, what, place) for each in (shape if several else [shape]))
    sources = _tensors(inputs, f"{what}: inputs", place)
    if not callable(fcompute):
        raise place.problem(f"{what}: expected a function of inputs and outputs, got {fcompute!r}")
    if dtype is None:
        dtypes = {source.dtype for source in sources}
        if len(dtypes) != 1:
            raise place.problem(f"{what}: say dtype=, its inputs are of {len(dtypes)}")
        dtype = dtypes.pop()
    given = list(dtype) if isinstance(dtype, (tuple, list)) else [dtype] * len(shapes)
    if len(given) != len(shapes):
        raise place.problem(f"{what}: {len(shapes)} shapes and {len(given)} dtypes")
    known = tuple(checked_dtype(each, what, place) for each in given)
    external = External(shapes, known, sources, fcompute, name, place, [])
    external.results.extend([Written(each, name, place, external, number) for number, each in enumerate(shapes)])
    return external.results if len(shapes) > 1 else external.results[0]


def _tensors(given: object, what: str, place: SourcePlace) -> tuple[Tensor, ...]:
    several = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if wrong := [each for each in several if not isinstance(each, Tensor)]:
        raise place.problem(f"{what} are tensors of te, not {wrong[0]!r}")
    return several


def scan(init: object, update: object, state_placeholder: object, inputs: object = None, name: str = "scan") -> Any:
    """Return the states of a recurrence, for each step along their first dimension.

    `init` gives the first steps. `update` computes each further step from the placeholder's elements of previous steps.
    """
    del inputs  # the update reads them already
    place = place_of_caller()
    what = f"te.scan '{checked_name(name, 'te.scan', place)}'"
    inits, updates, states = (
        _tensors(given, f"{what}: {word}", place)
        for given, word in ((init, "inits"), (update, "updates"), (state_placeholder, "states"))
    )
    recurrence = Recurrence(inits, updates, states, name, place, [])  # type: ignore[arg-type]  # checked below
    try:
        _check(recurrence)
        check_stages(recurrence)
    except RelaxError as error:
        raise place.problem(f"{what}: {error.message}") from None
    recurrence.results.extend([Scanned(state.shape, name, place, recurrence, n) for n, state in enumerate(states)])
    return recurrence.results[0] if len(states) == 1 else recurrence.results


def _check(recurrence: Recurrence) -> None:
    inits, updates, states = recurrence.inits, recurrence.updates, recurrence.states
    if not states or not len(inits) == len(updates) == len(states):
        raise RelaxError(f"{len(inits)} inits, {len(updates)} updates, {len(states)} states")
    if len(set(states)) < len(states) or len(set(updates)) < len(updates):
        raise RelaxError("each state has a placeholder and an update of its own")
    for first, state, step in zip(inits, states, updates, strict=True):
        if not isinstance(state, Placeholder):
            raise RelaxError("the state is a te.placeholder, which the update reads")
        if not state.shape or first.shape[1:] != state.shape[1:] or step.shape != state.shape:
            shapes = ", ".join(f"'{each.name}' {each.shape}" for each in (first, step, state))
            raise RelaxError(f"the shapes do not fit: {shapes}")
        if not first.dtype == state.dtype == step.dtype:
            dtypes = ", ".join(f"'{each.name}' {each.dtype}" for each in (first, step, state))
            raise RelaxError(f"the dtypes do not fit: {dtypes}")
        if not isinstance(step, Computed):
            raise RelaxError("the update is a te.compute")
        if state.shape[0] != states[0].shape[0] or first.shape[0] != inits[0].shape[0]:
            raise RelaxError("the states have as many steps, and their inits, too")
    first_steps, steps = inits[0].shape[0], states[0].shape[0]
    if not isinstance(first_steps, int) or first_steps < 1:
        raise RelaxError(f"'init' has {first_steps} steps, expected a number of at least 1")
    if isinstance(steps, int) and first_steps > steps:
        raise RelaxError(f"'init' has {first_steps} steps, the state {steps}")
