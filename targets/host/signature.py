# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signature of a compiled function: inputs and results, checked here and described in the artifact's manifest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from ...bindings.ir import Operation
from ...bindings.rewriting import located_error
from ...dialects.core.infos import Info, ObjectInfo, ScalarInfo, TensorInfo, describe, is_bool, is_float, is_int
from ...dialects.core.ir_attributes import INPUT_GROUPS, RESULT_GROUPS
from ...dialects.relax.function_attributes import LIST, NOTHING, VALUE, Group, decode_groups
from ...runtime import manifest
from ...runtime.manifest import PassedValue
from ...support.errors import RelaxError
from .abi import dlpack_name, element_bytes, padded_name


class Passed(NamedTuple):
    """One argument or result of the callers, and the matching arguments or results of the kernel."""

    group: Group
    #: One info per value of the group. For a result, the infos of the values that the lowered function returns.
    infos: tuple[Info, ...]
    #: Type of each further tensor of a list with a variable length.
    rest: TensorInfo | None = None
    #: True if a call may write to this input.
    is_written: bool = False
    #: Labels of a result. The elements of such a result are indices into these strings.
    labels: tuple[str, ...] = ()

    def described(self) -> PassedValue:
        """Return the description that callers see."""
        group, held = self.group, self.infos[int(self.group.is_optional) :]
        if group.kind == LIST:
            items = held[:-2] if group.has_rest else held
            rest = None if self.rest is None else _described(self.rest)
            value = PassedValue("list", items=tuple(map(_described, items)), rest=rest)
        else:
            value = PassedValue("nothing") if group.kind == NOTHING else _described(held[0])
        value = value._replace(name=group.name, labels=self.labels)
        return value._replace(written=self.is_written, optional=group.is_optional)


def single(info: Info, name: str = "") -> Passed:
    """Return a required value that is not a list."""
    return Passed(Group(VALUE, 1, name), (info,))


_MOST_ARGUMENTS = 4096
#: Tensors of a higher rank are rejected (__relax_fail_shape).
HIGHEST_RANK = 64


@dataclass(frozen=True)
class Signature:
    """Name, named inputs and results of a function.

    Sizes are numbers or symbols.

    The first occurrence of a plain symbol in the inputs defines the symbol. Every other occurrence, expressions
    included, must agree with this definition. If the symbols of an expression never occur plainly, the expression acts
    like a symbol: equal expressions must agree.
    """

    name: str
    inputs: tuple[Passed, ...]
    outputs: tuple[Passed, ...]
    #: Locations that produce the results, for messages, or an empty tuple.
    makers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_name("function", self.name)
        counted = [sum(len(value.infos) for value in values) for values in (self.inputs, self.outputs)]
        if max(len(self.inputs), len(self.outputs), *counted) > _MOST_ARGUMENTS:
            raise RelaxError(f"function '{self.name}' has more than {_MOST_ARGUMENTS} arguments or results")
        for position, input_ in enumerate(self.inputs):
            _check_name("argument", input_.group.name)
            for info in input_.infos:
                _check_input(f"function '{self.name}', argument #{position} '{input_.group.name}'", info)
        for position, output in enumerate(self.outputs):
            for info in output.infos:
                _check_output(f"function '{self.name}', result #{position}", info)

    def describe(self) -> dict[str, object]:
        """Return the manifest entry as plain data."""
        inputs, outputs = (tuple(value.described() for value in values) for values in (self.inputs, self.outputs))
        return manifest.Signature(self.name, inputs, outputs).content()


def _check_name(kind: str, name: str) -> None:
    if not name or len(name) > 1000 or not name.isascii() or not name.isprintable() or set(name) & set('"\\'):
        raise RelaxError(f"{name!r} cannot name a compiled {kind}: expected printable ASCII without quotes")


def _check_input(where: str, info: Info) -> None:
    if isinstance(info, TensorInfo):
        _check_tensor(where, info)
    elif isinstance(info, ScalarInfo):
        if not (is_bool(info.dtype) or is_int(info.dtype) or is_float(info.dtype)):
            raise RelaxError(f"{where}: a scalar of type {info.dtype} cannot be passed")
    elif not isinstance(info, ObjectInfo):
        raise RelaxError(f"{where}: {describe(info)} cannot be passed; possible are tensors, scalars and objects")


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
        raise error.altered(f"{where}: {error.message}", location="") from None


def _described(info: Info) -> PassedValue:
    if isinstance(info, TensorInfo):
        sizes = tuple(size if size is None or isinstance(size, int) else str(size) for size in info.shape or ())
        return PassedValue("tensor", dtype=dlpack_name(info.dtype), shape=sizes, holds=padded_name(info.dtype))
    return PassedValue("scalar", dtype=info.dtype) if isinstance(info, ScalarInfo) else PassedValue("object")


# ---- the attributes of a lowered function ----


def passed_inputs(
    function: Operation, names: Sequence[str], inputs: Sequence[Info], written: Collection[int]
) -> tuple[Passed, ...]:
    """Return the arguments that callers pass.

    `written` holds the indices of the inputs that a call may write to. A list counts as written if one of its tensors
    does.
    """

    def passed(group: Group, places: slice) -> Passed:
        if group.is_optional or group.has_rest:
            raise ValueError("has what is known at run time only: that is for results")
        is_written = any(places.start <= place < places.stop for place in written)
        return Passed(group, tuple(inputs[places]), is_written=is_written)

    return _by_groups(function, INPUT_GROUPS, names, passed)


def given_outputs(function: Operation, results: Sequence[Info], outputs: Sequence[Info]) -> tuple[Passed, ...]:
    """Return the results that callers get.

    `results` are the graph's types, `outputs` the types that the lowered function produces.
    """

    def given(group: Group, places: slice) -> Passed:
        types = results[places]
        if group.is_optional and types[0] != TensorInfo((), "i1"):
            raise ValueError("has an optional without a 0-D bool in front")
        return Passed(group, tuple(outputs[places]), _joined(*types[-2:]) if group.has_rest else None)

    return _by_groups(function, RESULT_GROUPS, [""] * len(outputs), given)


def _by_groups(
    function: Operation, name: str, names: Sequence[str], read: Callable[[Group, slice], Passed]
) -> tuple[Passed, ...]:
    """Read the groups of an attribute with `read`. Without the attribute each value is a group of its own."""
    groups = [Group(VALUE, 1, text) for text in names]
    try:
        if name in function.attributes:
            groups = decode_groups(function.attributes[name], len(names))
        ends = accumulate(group.size for group in groups)
        return tuple(read(group, slice(end - group.size, end)) for group, end in zip(groups, ends, strict=True))
    except ValueError as problem:
        raise located_error(f"attribute '{name}' {problem}", function.location) from None


def _joined(data: Info, rows: Info) -> TensorInfo:
    """Return the common type of the tensors that a list with elements and rows encodes."""
    shape = rows.shape if isinstance(rows, TensorInfo) and rows.dtype == "i64" else None
    width = shape[1] if shape is not None and len(shape) == 2 else None
    if not isinstance(data, TensorInfo) or data.rank != 1 or not isinstance(width, int) or width < 1:
        raise ValueError("has a list that does not end with elements and rows of 64-bit integers")
    return TensorInfo((None,) * (width - 1), data.dtype)
