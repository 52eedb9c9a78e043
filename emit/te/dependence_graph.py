# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dependence graph of tensors: topological order, placeholders, and the stages of recurrences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...bindings.mlir import as_list
from ...dialects.core.infos import describe
from ...dialects.core.symbols_expr import Dim, Size, make_variable, terms_of
from ...dialects.core.symbols_terms import bounds
from ...support.blaming import blaming
from ...support.errors import RelaxError
from .places import place_of_caller
from .tensors import Computation, Computed, Placeholder, Recurrence, Scanned, Tensor, Written


def needed_by(tensor: Tensor) -> Sequence[Tensor]:
    """Return the tensors that a tensor directly depends on."""
    if isinstance(tensor, Computed):
        return tensor.computation.trace.tensors
    if isinstance(tensor, Written):
        return tensor.external.sources
    if isinstance(tensor, Scanned):
        recurrence = tensor.recurrence
        stages = stages_of(recurrence)
        own = {*recurrence.states, *(result for stage in stages for result in stage.results)}
        return (*recurrence.inits, *(each for stage in stages for each in stage.trace.tensors if each not in own))
    return ()


def ordered(outputs: Sequence[Tensor], needed: Callable[[Tensor], Sequence[Tensor]] = needed_by) -> list[Tensor]:
    """Return the outputs and all of their dependencies in topological order."""
    found: dict[Tensor, None] = {}
    waiting: list[tuple[Tensor, bool]] = [(output, False) for output in reversed(outputs)]
    while waiting:
        tensor, is_ready = waiting.pop()
        if tensor in found:
            continue
        if is_ready:
            found[tensor] = None
        else:
            waiting.append((tensor, True))
            waiting += [(each, False) for each in reversed(needed(tensor)) if each not in found]
    return list(found)


def placeholder_of(shape: Sequence[Dim], dtype: str, number: int) -> Placeholder:
    """Return a placeholder for a value of this type.

    A size that is neither a number nor a symbol gets a fresh symbol.
    """
    name = f"arg{number}"
    known = tuple(
        size if isinstance(size, int) or (size is not None and size.variables == {str(size)}) else
        make_variable(f"{name}.{axis}")
        for axis, size in enumerate(shape)
    )  # fmt: skip
    return Placeholder(known, name, place_of_caller(), dtype)


def called(function: Callable[..., object], placeholders: Sequence[Placeholder], infos: Sequence[Any]) -> list[Tensor]:
    """Return the tensors that a rule's function returns, checked against these types.

    Raise RelaxError for a mismatch.
    """
    with blaming("the function that is given to call_te", function):
        made = as_list(function(*placeholders))
    if len(made) != len(infos):
        raise RelaxError(f"call_te: the function gives {len(made)} tensors, the operator has {len(infos)} results")
    for tensor, info in zip(made, infos, strict=True):
        if not isinstance(tensor, Tensor):
            raise RelaxError(f"call_te: the function gives tensors of te, not {tensor!r}")
        pairs = zip(tensor.shape, info.shape, strict=False)
        differs = any(isinstance(x, int) and isinstance(y, int) and x != y for x, y in pairs)
        if tensor.ndim != len(info.shape) or differs or tensor.dtype != info.dtype:
            raise tensor.place.problem(f"call_te: {tensor!r} is no {describe(info)}, which the operator's result is")
    return made


def needs_memory(outputs: Sequence[Tensor]) -> bool:
    """Check whether a tensor is written by an external function or belongs to a recurrence."""
    return any(isinstance(tensor, (Written, Scanned)) for tensor in ordered(outputs))


def states_in(outputs: Sequence[Tensor]) -> dict[Placeholder, str]:
    """Return the states of recurrences, and the names of the recurrences."""
    scans = [tensor for tensor in ordered(outputs) if isinstance(tensor, Scanned)]
    return {state: scan.name for scan in scans for state in scan.recurrence.states}


def placeholders_of(outputs: Sequence[Tensor]) -> list[Placeholder]:
    """Return the placeholders, which callers supply."""
    return [tensor for tensor in ordered(outputs) if isinstance(tensor, Placeholder)]


# ---- recurrences ----


def stages_of(recurrence: Recurrence) -> list[Computation]:
    """Return the computations between the states and the updates, in order."""
    stages: dict[Computation, None] = {}
    depending: set[Tensor] = set(recurrence.states)
    for tensor in ordered(recurrence.updates, _read_at_once):
        if not isinstance(tensor, Computed):
            continue
        if any(each in depending for each in tensor.computation.trace.tensors) or tensor in recurrence.updates:
            depending.add(tensor)
            stages[tensor.computation] = None
    return list(stages)


def _read_at_once(tensor: Tensor) -> Sequence[Tensor]:
    return tensor.computation.trace.tensors if isinstance(tensor, Computed) else ()


def check_stages(recurrence: Recurrence) -> None:
    """Raise RelaxError if a step depends on anything but previous steps."""
    if recurrence.states[0].shape[0] == recurrence.first:
        return  # there is no step
    stages = stages_of(recurrence)
    own = {result for stage in stages for result in stage.results}
    steps = recurrence.states[0].shape[0]
    for stage in stages:
        if not stage.shape or stage.shape[0] != steps:
            raise RelaxError(f"'{stage.name}' depends on a state, so its first dimension is the steps, {steps}")
        t = stage.trace.spatial[0].variable
        for asked in stage.trace.asked:
            at = asked.at[0] if asked.at else None
            if asked.tensor in own and at != t:
                raise RelaxError(f"'{stage.name}' reads '{asked.tensor.name}' of another step than its own")
            if asked.tensor in recurrence.states and not _is_before(at, t):
                what = f"'{stage.name}' reads state '{asked.tensor.name}'"
                raise RelaxError(f"{what} of a step that is not known to be before its own")
    known = own | set(recurrence.states)
    for tensor in {each: None for stage in stages for each in stage.trace.tensors if each not in known}:
        if late := [each for each in ordered([tensor]) if each in known]:
            raise RelaxError(f"'{tensor.name}' depends on '{late[0].name}', but only a te.compute can in a step")


def _is_before(at: Size | None, t: Size) -> bool:
    """Check whether a step may precede t."""
    if at is None:
        return False
    _, high = bounds(terms_of(t - at))
    return high is None or high > 0
