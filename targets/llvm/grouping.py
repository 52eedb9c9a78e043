# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A lowered function's inputs and results as callers see them: lists and optionals are several of them, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...bindings.rewriting import located_error
from ...dialects.core.infos import Info, TensorInfo
from ...dialects.relax.function_attributes import (
    INPUT_GROUPS,
    LIST,
    NOTHING,
    RESULT_GROUPS,
    VALUE,
    Group,
    decode_groups,
)
from .signature import Given, ListInfo, NothingInfo, OptionalInfo, Passed, Result


def passed_inputs(function: Any, names: Sequence[str], inputs: Sequence[Info]) -> tuple[tuple[str, Passed], ...]:
    """What callers pass, by name."""
    return _checked(function, INPUT_GROUPS, lambda: tuple(_inputs(function, names, inputs)))


def given_outputs(function: Any, results: Sequence[Info], outputs: Sequence[Result]) -> tuple[Given, ...]:
    """What callers get. `results` are the graph's types, `outputs` what the lowered function leaves."""
    return _checked(function, RESULT_GROUPS, lambda: tuple(_outputs(function, results, outputs)))


def _checked(function: Any, attribute: str, work: Callable[[], Any]) -> Any:
    try:
        return work()
    except ValueError as problem:
        raise located_error(f"attribute '{attribute}' {problem}", function.location) from None


def _inputs(function: Any, names: Sequence[str], inputs: Sequence[Info]) -> Iterator[tuple[str, Passed]]:
    if INPUT_GROUPS not in function.attributes:
        yield from zip(names, inputs, strict=True)
        return
    rest = iter(inputs)
    for group in decode_groups(function.attributes[INPUT_GROUPS], len(inputs)):
        if group.is_optional or group.has_rest:
            raise ValueError("has what only the run tells: that is for results")
        own = tuple(next(rest) for _ in range(group.size))
        if group.kind == VALUE:
            yield group.name, own[0]
        else:
            yield group.name, ListInfo(own) if group.kind == LIST else NothingInfo()


def _outputs(function: Any, results: Sequence[Info], outputs: Sequence[Result]) -> Iterator[Given]:
    if RESULT_GROUPS not in function.attributes:
        yield from outputs
        return
    first = 0
    for group in decode_groups(function.attributes[RESULT_GROUPS], len(outputs)):
        end = first + group.size
        own, types = outputs[first:end], results[first:end]
        first = end
        if not group.is_optional:
            yield _given(group, types, own)
            continue
        if types[0] != TensorInfo((), "i1"):
            raise ValueError("has an optional without a 0-D bool in front")
        yield OptionalInfo(own[0], _given(group._replace(size=group.size - 1), types[1:], own[1:]))


def _given(group: Group, types: Sequence[Info], outputs: Sequence[Result]) -> Any:
    if group.kind == NOTHING:
        return NothingInfo()
    if group.kind == VALUE:
        return outputs[0]
    if not group.has_rest:
        return ListInfo(tuple(outputs))
    return ListInfo(tuple(outputs[:-2]), _joined(*types[-2:]), tuple(outputs[-2:]))


def _joined(data: Info, rows: Info) -> TensorInfo:
    """What any of the tensors is like that elements and rows join."""
    shape = rows.shape if isinstance(rows, TensorInfo) and rows.dtype == "i64" else None
    width = shape[1] if shape is not None and len(shape) == 2 else None
    if not isinstance(data, TensorInfo) or data.rank != 1 or not isinstance(width, int) or width < 1:
        raise ValueError("has a list that does not end with elements and rows of 64-bit integers")
    return TensorInfo((None,) * (width - 1), data.dtype)
