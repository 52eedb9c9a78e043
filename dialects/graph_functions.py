# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graph functions of a module, and the sizes that are known at their entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from ..bindings.ir import Operation, Value
from ..bindings.navigation import body_of, functions_at, has_body
from .core.codec import decode
from .core.infos import Info, ScalarInfo, TensorInfo
from .core.ir_attributes import GRAPH_INPUTS
from .core.symbols import Dim, SymExpr
from .tir.prim_func import is_prim_func


def graph_functions(op: Operation) -> list[Operation]:
    """Return the functions with a body, other than PrimFuncs and lowered functions, of a module or the operation
    itself."""
    return [
        function
        for function in functions_at(op)
        if not is_prim_func(function) and has_body(function) and GRAPH_INPUTS not in function.attributes
    ]


def input_symbols(inputs: Sequence[Info]) -> frozenset[str]:
    """Return the symbols and expressions that occur as sizes of the inputs."""
    dims = [dim for info in inputs if isinstance(info, TensorInfo) for dim in info.shape or ()]
    scalars = [info.value for info in inputs if isinstance(info, ScalarInfo)]
    return frozenset(str(dim) for dim in (*dims, *scalars) if isinstance(dim, SymExpr))


def knows_at_entry(function: Operation) -> Callable[[Dim], bool]:
    """Return a function that checks whether a size is computable at function entry from the sizes of the inputs."""
    return knows_from(body_of(function).arguments)


def knows_from(arguments: Iterable[Value]) -> Callable[[Dim], bool]:
    """Return a function that checks whether a size is computable from the sizes of these arguments."""
    symbols = input_symbols([decode(argument.type) for argument in arguments])
    return lru_cache(maxsize=4096)(lambda dim: _is_known(dim, symbols))


def _is_known(dim: Dim, symbols: frozenset[str]) -> bool:
    return (str(dim) in symbols or dim.variables <= symbols) if isinstance(dim, SymExpr) else dim is not None


def is_sized(info: TensorInfo, symbols: frozenset[str]) -> bool:
    """Check whether a caller that knows these symbols and expressions can compute the tensor's sizes."""
    if info.shape is None:
        return False
    return all(_is_known(dim, symbols) for dim in info.shape)
