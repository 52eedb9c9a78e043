# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PrimFuncs that a rule or a converter supplies, and fresh names of functions and symbols in a module.

A PrimFunc is MLIR text, a module that contains it (@T.prim_func, te.create_prim_func), or a Python function that writes
its loops.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from ..bindings.context import load_dialects
from ..bindings.ir import Context, Operation, OpView, Type, Value
from ..bindings.mlir import as_list, ir, is_several, parse_type, string_value
from ..bindings.navigation import innermost, operations_in
from ..dialects.core.codec import decode, encode
from ..dialects.core.infos import Info, TensorInfo, signless
from ..dialects.core.symbols import SymExpr
from ..dialects.parsing import parse_module
from ..dialects.relax import dialect
from ..dialects.tir.prim_func import is_prim_func, make_prim_func, prim_funcs_in
from ..support.errors import RelaxError
from ..support.names import fresh_name
from ..support.suggest import counted


class KernelModule(Protocol):
    """Module (rx.Module) with one PrimFunc."""

    @property
    def operation(self) -> Operation: ...


Kernel = str | KernelModule | Callable[..., None]

# Dialects of rx.loops and rx.number.
_DIALECTS = ("arith", "memref", "scf")
_NOT_IN_NAMES = re.compile(r"\W+")


def call_kernel(
    kernel: Kernel, arguments: Sequence[Value], results: object, known: dict[object, str]
) -> Value | tuple[Value, ...] | None:
    """Call a kernel and return the results.

    The kernel is added to the enclosing module if it is missing there.

    `results` is the type of the result, or a list of types. `known` maps existing kernels to their names.
    """
    context = ir.Context.current
    types = [_type(each, context) for each in as_list(results)]
    module = innermost(ir.InsertionPoint.current.block.owner, "builtin.module")
    symbol = kernel_symbol(kernel, [argument.type for argument in arguments], types, known, module)
    return dialect.ops["call_tir"](symbol, list(arguments), types if is_several(results) else types[0])


def kernel_symbol(
    kernel: Kernel, inputs: Sequence[Type], outputs: Sequence[Type], known: dict[object, str], module: Operation
) -> str:
    """Return the name of a kernel for these types of arguments and results.

    The kernel is added to the module and to `known`.
    """
    # Text states its own types; equal texts share one kernel.
    held = _Copied(_text_of(kernel)) if hasattr(kernel, "operation") else kernel
    key = held if isinstance(held, str) else (held, *map(str, inputs), "->", *map(str, outputs))
    if key not in known:
        known[key] = _add(held, inputs, outputs, module)
    return known[key]


class _Copied(str):
    """Text of a valid module, with its locations and large constants."""


def _text_of(kernel: KernelModule) -> str:
    if (count := len(prim_funcs_in(kernel.operation))) != 1:
        raise RelaxError(f"a module that is called has one PrimFunc, this one has {counted(count, 'PrimFunc')}")
    return kernel.operation.get_asm(enable_debug_info=True)


def _type(item: object, context: Context) -> Type:
    if isinstance(item, ir.Type):
        return item
    if isinstance(item, Info):
        return encode(item, context)
    if not isinstance(item, str):
        raise RelaxError(f"a result's type is an info, an MLIR type or its text, got {type(item).__name__}")
    try:
        return parse_type(item, context)
    except ValueError:
        raise RelaxError(f"a result's type: '{item}' is not a type") from None


def _add(kernel: Kernel, inputs: Sequence[Type], outputs: Sequence[Type], module: Operation) -> str:
    """Add a kernel at the start of the module, under a fresh name."""
    load_dialects(module.context, _DIALECTS)
    symbols = ir.SymbolTable(module)
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        if isinstance(kernel, str):
            is_copied = isinstance(kernel, _Copied)
            added = _copy(kernel, module.context) if is_copied else _parse_function(kernel, module.context)
            name = fresh_name(string_value(added.attributes["sym_name"]), symbols)
            if not is_copied:
                ir.InsertionPoint.current.insert(added)
            added.attributes["sym_name"] = ir.StringAttr.get(name, module.context)
            return name
        if not callable(kernel):
            what = "MLIR text, a module of one (@T.prim_func, te.create_prim_func) or a Python function"
            raise RelaxError(f"a PrimFunc is {what}, got {type(kernel).__name__}")
        name = fresh_name(_NOT_IN_NAMES.sub("", getattr(kernel, "__name__", "")) or "kernel", symbols)
        make_prim_func(name, [_memref(input_) for input_ in inputs], [_memref(output) for output in outputs], kernel)
        return name


def _parse_function(text: str, context: Context) -> OpView:
    """Return the only function of a text, which is checked in a separate context first."""
    try:
        module = parse_module(text, "<PrimFunc>", trusted=True)
    except RelaxError as error:
        raise error.altered(
            f"{error.location}: {error.message}" if error.location else None, location="", notes=()
        ) from None
    functions = [each.operation for each in module.operation.regions[0].blocks[0].operations]
    if len(functions) != 1 or not is_prim_func(functions[0]):
        found = ", ".join(function.name for function in functions) or "nothing"
        raise RelaxError(
            f"the text of a PrimFunc must be one func.func with the attribute tir.prim_func, found {found}"
        )
    return ir.Operation.parse(str(functions[0]), context=context)


def _copy(text: str, context: Context) -> OpView:
    """Return the only PrimFunc of a module's text, inserted here."""
    module = ir.Module.parse(text, context=context)
    (function,) = prim_funcs_in(module.operation)
    function.attributes["sym_visibility"] = ir.StringAttr.get("private", context)
    return function.clone()


def _memref(type_: Type) -> Type:
    info = decode(type_)
    if isinstance(info, TensorInfo) and info.shape is None:
        raise RelaxError(f"a PrimFunc in Python needs tensors of known rank, got {type_}: write it as text")
    return parameter_type(info, type_.context, on_memrefs=True)


def parameter_type(info: Info, context: Context, *, on_memrefs: bool) -> Type:
    """Return the MLIR type of a PrimFunc's parameter for a value of the graph."""
    type_ = encode(parameter_info(info), context)
    if not on_memrefs or not isinstance(info, TensorInfo):
        return type_
    return ir.MemRefType.get(type_.shape, type_.element_type, loc=ir.Location.unknown(context))


def parameter_info(info: Info) -> Info:
    """Return the type of a PrimFunc's parameter.

    The type has no symbols, which are names of the graph's function, and no signedness, which MLIR expresses in
    operations.
    """
    if not isinstance(info, TensorInfo) or info.shape is None:
        return info
    sizes = tuple(None if isinstance(dim, SymExpr) else dim for dim in info.shape)
    return TensorInfo(sizes, signless(info.dtype))


_SYMBOLIC = re.compile(r'"[^"]*"')
_NAME = re.compile(r"[A-Za-z_]\w*")


class FreshSymbols:
    """Generator of the names `size_0`, `size_1`, ... without the symbols of the module's types."""

    def __init__(self, module: Operation):
        self._module = module
        self._used: set[str] | None = None
        self._count = 0
        #: Names handed out so far, in order.
        self.given: list[str] = []

    def next(self) -> str:
        if self._used is None:
            self._used = _symbols_in(self._module)
        while (name := f"size_{self._count}") in self._used:
            self._count += 1
        self._count += 1
        self.given.append(name)
        return name


def _symbols_in(module: Operation) -> set[str]:
    """Return a superset of the symbols in the types of a module's values."""
    texts: set[str] = set()
    for op in operations_in(module):
        texts.update(str(result.type) for result in op.results)
        for block in (block for region in op.regions for block in region.blocks):
            texts.update(str(argument.type) for argument in block.arguments)
    quoted = (match.group() for text in texts for match in _SYMBOLIC.finditer(text))
    return {name for part in quoted for name in _NAME.findall(part)}
