# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Summaries of called PrimFuncs. A function with dynamic sizes is copied for a call with static ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....bindings.ir import Operation
from ....bindings.navigation import body_of, functions_in, innermost, last_of, operations_of, symbol_name
from ....dialects.core.codec import decode, encode
from ....dialects.core.infos import Info, TensorInfo
from ....dialects.verification import verify_ir
from ....emit.kernels import parameter_info
from ....support.errors import RelaxError
from ..params.signature import state_type
from .prim_info import PrimInfo, is_plain_generic, prim_info


class PrimInfos:
    """Summaries of the functions in the module around an operation, computed on first use."""

    def __init__(self, op: Operation):
        module = innermost(op, "builtin.module")
        self._functions = {symbol_name(function): function for function in functions_in(module)}
        self._infos: dict[str, PrimInfo | None] = {}
        self._called: dict[object, PrimInfo | None] = {}

    def __getitem__(self, name: str) -> PrimInfo | None:
        if name not in self._infos:
            function = self._functions.get(name)
            self._infos[name] = None if function is None else prim_info(function)
        return self._infos[name]

    def called(self, name: str, call: Operation) -> PrimInfo | None:
        """Return the summary of a function for a call's types, or None if fusion cannot take part in it."""
        if (info := self[name]) is None:
            return None
        types = (name, *(value.type for value in (*call.operands, *call.results)))
        if types not in self._called:
            self._called[types] = _with_types(info, [parameter_info(decode(type_)) for type_ in types[1:]])
        return self._called[types]


def _with_types(info: PrimInfo, passed: Sequence[Info]) -> PrimInfo | None:
    if (known := [decode(type_) for type_ in info.parameters]) == passed:
        return info
    if len(known) != len(passed) or not all(map(_leaves_open, known, passed)):
        return None
    copy = _copy_with_sizes(info.function, passed)
    found = None if copy is None else prim_info(copy)
    return None if found is None else replace(found, original=info.function)


def _leaves_open(known: Info, passed: Info) -> bool:
    """Check whether a parameter equals the passed value except for sizes that the parameter leaves dynamic."""
    if not isinstance(known, TensorInfo) or not isinstance(passed, TensorInfo):
        return known == passed
    if known.shape is None or passed.shape is None or known.rank != passed.rank:
        return False
    sizes = zip(known.shape, passed.shape, strict=True)
    return known.with_shape(passed.shape) == passed and all(one in (None, other) for one, other in sizes)


def _copy_with_sizes(function: Operation, passed: Sequence[Info]) -> Operation | None:
    """Return a copy outside of any module, or None if it is invalid or has results of other sizes."""
    copy = function.clone(ip=False).operation
    body = body_of(copy)
    for argument, info in zip(body.arguments, passed, strict=True):
        argument.set_type(encode(info, function.context))
    for op in filter(is_plain_generic, operations_of(body)):
        for result, output in zip(op.results, list(op.operands)[-len(op.results) :], strict=True):
            result.set_type(output.type)
    types = [value.type for value in last_of(body).operands]
    with copy.context:
        state_type(copy)
    try:
        verify_ir(copy, "other sizes")
    except RelaxError:
        return None
    return copy if types == [argument.type for argument in body.arguments][-len(types) :] else None
