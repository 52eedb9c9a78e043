# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compiled function takes and gives: checked once here, described in the artifact's manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...bindings.ir import Operation
from ...bindings.rewriting import located_error
from ...dialects.core.infos import Info, ObjectInfo, ScalarInfo, TensorInfo, describe, is_bool, is_float, is_int
from ...dialects.relax.function_attributes import (
    INPUT_GROUPS,
    LIST,
    NOTHING,
    RESULT_GROUPS,
    VALUE,
    Group,
    decode_groups,
)
from ...support.errors import RelaxError
from .abi import dlpack_name, element_bytes, padded_name

Result = TensorInfo | ObjectInfo


class ListInfo(NamedTuple):
    """A list of tensors: the function that works has one argument or result for each."""

    items: tuple[Any, ...]
    #: Of results: what each of any number of further tensors is like, and the two results that they are made of.
    rest: TensorInfo | None = None
    joined: tuple[Result, ...] = ()


class NothingInfo(NamedTuple):
    """None stands here: what could have been passed or given was left out when the function was made."""


class OptionalInfo(NamedTuple):
    """A result that may be None: another result, a bool, tells whether it is there."""

    present: Result
    held: Result | ListInfo


Passed = Info | ListInfo | NothingInfo
Given = Result | ListInfo | NothingInfo | OptionalInfo

_MOST_ARGUMENTS = 4096
#: Nobody has tensors of a higher rank (__relax_fail_shape).
HIGHEST_RANK = 64


@dataclass(frozen=True)
class Signature:
    """A function's name, its inputs with their names, and its results; sizes are numbers or symbols.

    A plain symbol is defined by its first occurrence in the inputs; every other one, expressions included, must
    agree with it. An expression whose symbols are nowhere plain is as good as a symbol: equal ones agree.
    """

    name: str
    inputs: tuple[tuple[str, Passed], ...]
    outputs: tuple[Given, ...]
    #: The results' names for callers, or none.
    output_names: tuple[str, ...] = ()
    #: The inputs that a call may write to.
    written: frozenset[str] = frozenset()
    #: Where the results come from, for messages, or none.
    makers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_name("function", self.name)
        counted = [len(list(single(infos))) for infos in ([info for _, info in self.inputs], self.outputs)]
        if max(len(self.inputs), len(self.outputs), *counted) > _MOST_ARGUMENTS:
            raise RelaxError(f"function '{self.name}' has more than {_MOST_ARGUMENTS} arguments or results")
        for position, (name, info) in enumerate(self.inputs):
            _check_name("argument", name)
            for each in single([info]):
                _check_input(f"function '{self.name}', argument #{position} '{name}'", each)
        for position, given in enumerate(self.outputs):
            for each in single([given]):
                _check_output(f"function '{self.name}', result #{position}", each)
        if len(self.output_names) not in (0, len(self.outputs)):
            raise RelaxError(
                f"function '{self.name}' has {len(self.outputs)} results and {len(self.output_names)} names for them"
            )

    def describe(self) -> dict[str, Any]:
        """For the manifest: plain data."""
        names = [{"name": name} for name in self.output_names] or [{} for _ in self.outputs]
        return {
            "name": self.name,
            "inputs": [{"name": name, **_describe(info), **self._use(name)} for name, info in self.inputs],
            "outputs": [{**name, **_describe(info)} for name, info in zip(names, self.outputs, strict=True)],
        }

    def _use(self, name: str) -> dict[str, bool]:
        return {"written": True} if name in self.written else {}


def single(infos: Iterable[Any]) -> Iterable[Any]:
    """What the function that works has arguments or results for, one after the other."""
    for info in infos:
        if isinstance(info, OptionalInfo):
            yield info.present
            yield from single([info.held])
        elif isinstance(info, ListInfo):
            yield from (*info.items, *info.joined)
        elif not isinstance(info, NothingInfo):
            yield info


def _check_name(kind: str, name: str) -> None:
    if not name or len(name) > 1000 or not name.isascii() or not name.isprintable() or set(name) & set('"\\'):
        raise RelaxError(f"{name!r} cannot name a compiled {kind}: expected printable ASCII without quotes")


def _check_input(where: str, info: Info) -> None:
    if isinstance(info, ObjectInfo):
        return
    if isinstance(info, ScalarInfo):
        if not (is_bool(info.dtype) or is_int(info.dtype) or is_float(info.dtype)):
            raise RelaxError(f"{where}: a scalar of type {info.dtype} cannot be passed")
        return
    if not isinstance(info, TensorInfo):
        raise RelaxError(f"{where}: {describe(info)} cannot be passed; possible are tensors, scalars and objects")
    _check_tensor(where, info)


def _check_output(where: str, info: Info) -> None:
    if isinstance(info, ObjectInfo):
        return
    if not isinstance(info, TensorInfo):
        raise RelaxError(f"{where}: {describe(info)} cannot be returned; possible are tensors and objects")
    _check_tensor(where, info)
    if None in (info.shape or ()):
        raise RelaxError(f"{where}: {describe(info)} has a size without a name: it cannot be allocated before the call")


def _check_tensor(where: str, info: TensorInfo) -> None:
    if info.shape is None or len(info.shape) > HIGHEST_RANK:
        raise RelaxError(f"{where}: {describe(info)} cannot be passed: a rank of at most {HIGHEST_RANK} is needed")
    for size in info.shape:
        if isinstance(size, int) and not 0 <= size < 2**62:
            raise RelaxError(f"{where}: {size} is no size")
    try:
        element_bytes(info.dtype)
    except RelaxError as error:
        raise RelaxError(f"{where}: {error.message}", notes=error.notes) from None


def _describe(info: Passed | Given) -> dict[str, Any]:
    if isinstance(info, OptionalInfo):
        return {**_describe(info.held), "optional": True}
    if isinstance(info, ListInfo):
        rest = {} if info.rest is None else {"rest": _describe(info.rest)}
        return {"kind": "list", "items": [_describe(each) for each in info.items], **rest}
    if isinstance(info, NothingInfo):
        return {"kind": "nothing"}
    if isinstance(info, TensorInfo):
        sizes = [size if isinstance(size, int) else None if size is None else str(size) for size in info.shape or ()]
        padded = padded_name(info.dtype)
        holds = {"holds": padded} if padded else {}
        return {"kind": "tensor", "dtype": dlpack_name(info.dtype), "shape": sizes, **holds}
    return {"kind": "scalar", "dtype": info.dtype} if isinstance(info, ScalarInfo) else {"kind": "object"}


# ---- what the attributes on a lowered function say ----


def passed_inputs(function: Operation, names: Sequence[str], inputs: Sequence[Info]) -> tuple[tuple[str, Passed], ...]:
    """What callers pass, by name."""
    return _by_groups(function, INPUT_GROUPS, names, lambda groups: _inputs(groups, inputs))


def given_outputs(function: Operation, results: Sequence[Info], outputs: Sequence[Result]) -> tuple[Given, ...]:
    """What callers get. `results` are the graph's types, `outputs` what the lowered function leaves."""
    return _by_groups(function, RESULT_GROUPS, [""] * len(outputs), lambda groups: _outputs(groups, results, outputs))


def _by_groups(
    function: Operation, name: str, names: Sequence[str], read: Callable[[Sequence[Group]], Iterable[Any]]
) -> Any:
    """What is read of an attribute's groups; without it each value is one."""
    try:
        if name in function.attributes:
            return tuple(read(decode_groups(function.attributes[name], len(names))))
        return tuple(read([Group(VALUE, 1, each) for each in names]))
    except ValueError as problem:
        raise located_error(f"attribute '{name}' {problem}", function.location) from None


def _inputs(groups: Sequence[Group], inputs: Sequence[Info]) -> Iterator[tuple[str, Passed]]:
    rest = iter(inputs)
    for group in groups:
        if group.is_optional or group.has_rest:
            raise ValueError("has what only the run tells: that is for results")
        own = tuple(next(rest) for _ in range(group.size))
        if group.kind == VALUE:
            yield group.name, own[0]
        else:
            yield group.name, ListInfo(own) if group.kind == LIST else NothingInfo()


def _outputs(groups: Sequence[Group], results: Sequence[Info], outputs: Sequence[Result]) -> Iterator[Given]:
    first = 0
    for group in groups:
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
