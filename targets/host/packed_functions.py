# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the LLVM dialect through which graph functions reach the packed-function ABI.

Each takes tensors as a data pointer and sizes, calls, and leaves a result behind `out`; its status is 0 or -1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from ...dialects.core.infos import Info, ObjectInfo, ScalarInfo, TensorInfo, is_float
from . import abi
from .arguments import ArgumentChecks
from .llvm_text import PTR, FunctionText, call_text, has_symbol, merge
from .packed_allocate import ALLOCATE, BORROW, GIVE_BACK
from .packed_call import global_function_text
from .packed_fail import fail
from .packed_support import CALL_GLOBAL, RELEASE
from .size_code import Sizes
from .support import DECLARATIONS


def result_bytes(info: Info | None) -> int:
    """The room behind `out`: data and sizes of a tensor, an object's TVMFFIAny, eight bytes of a scalar."""
    if isinstance(info, TensorInfo):
        return 8 + 8 * len(info.shape or ())
    return abi.ANY_SIZE if isinstance(info, ObjectInfo) else 8


def add_packed_call(
    module: Any, name: str, arguments: Sequence[Info], result: Info | None, text: str | None = None
) -> str:
    """Adds a function that calls a global function with these arguments; returns its symbol.

    With a text, that is the first argument.
    """
    symbol = _symbol("call", name, arguments, result, text)
    if has_symbol(module, symbol):
        return symbol
    code = _call_text(symbol, name, arguments, result, text)
    pieces = [DECLARATIONS, global_function_text(name)]
    if result is not None:
        pieces.append(_take_text(f"{symbol}.take", name, result))
    merge(module, "\n".join([*pieces, code]))
    return symbol


def add_give_tensor(module: Any, info: TensorInfo) -> str:
    """Adds `i32 (ptr label, ptr data, sizes..., ptr any)`: leaves a tensor with a copy of the elements."""
    rank = len(info.shape or ())
    symbol = f"__relax_give.{info.dtype}.{rank}"
    if has_symbol(module, symbol):
        return symbol
    code = FunctionText(
        symbol,
        [("%label", PTR), ("%data", PTR), *((f"%s{axis}", "i64") for axis in range(rank)), ("%any", PTR)],
        "i32",
        linkage="internal",
    )
    sizes = [f"%s{axis}" for axis in range(rank)]
    shape = _stored(code, sizes)
    element = abi.element_bytes(info.dtype)
    arguments = [
        ("%label", PTR),
        (code.constant(rank, "i32"), "i32"),
        (code.constant(abi.dlpack_dtype(info.dtype), "i32"), "i32"),
        (code.constant(element), "i64"),
        (shape, PTR),
        (code.at("%any", abi.ANY_PAYLOAD), PTR),
    ]
    _require(code, code.call(ALLOCATE, arguments, "i32"), [])
    code.store(code.constant(abi.TENSOR), "i64", "%any")
    tensor = code.at(code.load("%any", abi.ANY_PAYLOAD, PTR), abi.OBJECT_HEADER)
    target = code.value(
        f"llvm.getelementptr {code.load(tensor, abi.DL_DATA, PTR)}[{code.load(tensor, abi.DL_OFFSET, 'i64')}] : "
        f"({PTR}, i64) -> {PTR}, i8"
    )
    _copy(code, target, "%data", _bytes(code, sizes, element))
    code.line(f"llvm.return {code.constant(0, 'i32')} : i32")
    merge(module, DECLARATIONS + code.render())
    return symbol


def add_give_object(module: Any) -> str:
    """Adds `i32 (ptr any, ptr place)`: leaves a value there, with a reference of its own where it is an object."""
    symbol = "__relax_give_object"
    if has_symbol(module, symbol):
        return symbol
    code = FunctionText(symbol, [("%any", PTR), ("%place", PTR)], "i32", linkage="internal")
    for offset in (0, abi.ANY_PAYLOAD):
        code.store(code.load("%any", offset, "i64"), "i64", "%place", offset)
    index = code.load("%any", 0, "i32")
    is_object = code.compare("sge", index, code.constant(abi.FIRST_OBJECT, "i32"), "i32")
    keep, done = code.label(), code.label()
    code.line(f"llvm.cond_br {is_object}, {keep}, {done}")
    code.line(f"{keep}:")
    code.call("TVMFFIObjectIncRef", [(code.load("%any", abi.ANY_PAYLOAD, PTR), PTR)], "i32")
    code.line(f"llvm.br {done}")
    code.line(f"{done}:")
    code.line(f"llvm.return {code.constant(0, 'i32')} : i32")
    merge(module, f"{DECLARATIONS}\nllvm.func @TVMFFIObjectIncRef({PTR}) -> i32\n{code.render()}")
    return symbol


def _symbol(kind: str, name: str, arguments: Sequence[Info], result: Info | None, text: str | None) -> str:
    described = repr((name, tuple(arguments), result, text))
    return f"__relax_{kind}.{hashlib.sha256(described.encode()).hexdigest()[:16]}"


def argument_types(arguments: Sequence[Info]) -> list[str]:
    """What stands for the arguments, one after the other."""
    types: list[str] = []
    for info in arguments:
        if isinstance(info, TensorInfo):
            types += [PTR, *["i64"] * len(info.shape or ())]
        elif isinstance(info, ScalarInfo):
            types.append("f64" if is_float(info.dtype) else "i64")
        else:
            types.append(PTR)
    return types


def _call_text(symbol: str, name: str, arguments: Sequence[Info], result: Info | None, text: str | None) -> str:
    types = argument_types(arguments)
    parameters = [(f"%p{index}", type_) for index, type_ in enumerate(types)]
    code = FunctionText(symbol, [*parameters, ("%out", PTR)], "i32", linkage="internal")
    given = iter(f"%p{index}" for index in range(len(types)))
    first = 0 if text is None else 1
    args = code.stack(abi.ANY_SIZE * (first + len(arguments)))
    if text is not None:
        code.store(code.constant(abi.RAW_STRING), "i64", args)
        code.store(code.text(text), PTR, args, abi.ANY_PAYLOAD)
    borrowed: list[str] = []
    for position, info in enumerate(arguments):
        _store_argument(code, info, given, code.at(args, abi.ANY_SIZE * (first + position)), borrowed)
    any_ = code.stack(abi.ANY_SIZE)
    for offset in (0, abi.ANY_PAYLOAD):
        code.store(code.constant(0), "i64", any_, offset)
    count = code.constant(first + len(arguments), "i32")
    status = code.call(f"{CALL_GLOBAL}.{name}", [(args, PTR), (count, "i32"), (any_, PTR)], "i32")
    _require(code, status, borrowed)
    failures = code.constant(0, "i32")
    for tensor in borrowed:
        failures = code.value(f"llvm.or {failures}, {code.call(GIVE_BACK, [(tensor, PTR)], 'i32')} : i32")
    good = code.compare("eq", failures, code.constant(0, "i32"), "i32")
    minus = code.constant(-1, "i32")
    code.branch_unless(good, [call_text(RELEASE, [(any_, PTR)]), f"llvm.return {minus} : i32"])
    if result is None:
        code.call(RELEASE, [(any_, PTR)])
        code.line(f"llvm.return {code.constant(0, 'i32')} : i32")
    else:
        taken = code.call(f"{symbol}.take", [(any_, PTR), ("%out", PTR)], "i32")
        if not isinstance(result, ObjectInfo):
            code.call(RELEASE, [(any_, PTR)])
        code.line(f"llvm.return {taken} : i32")
    return code.render()


def _store_argument(code: FunctionText, info: Info, given: Any, slot: str, borrowed: list[str]) -> None:
    if isinstance(info, TensorInfo):
        data = next(given)
        shape = _stored(code, [next(given) for _ in info.shape or ()])
        arguments = [
            (code.constant(len(info.shape or ()), "i32"), "i32"),
            (code.constant(abi.dlpack_dtype(info.dtype), "i32"), "i32"),
            (shape, PTR),
            (data, PTR),
            (code.at(slot, abi.ANY_PAYLOAD), PTR),
        ]
        _require(code, code.call(BORROW, arguments, "i32"), borrowed)
        code.store(code.constant(abi.TENSOR), "i64", slot)
        borrowed.append(code.load(slot, abi.ANY_PAYLOAD, PTR))
    elif isinstance(info, ScalarInfo):
        kind = abi.FLOAT if is_float(info.dtype) else abi.BOOL if info.dtype == "i1" else abi.INT
        code.store(code.constant(kind), "i64", slot)
        code.store(next(given), "f64" if kind == abi.FLOAT else "i64", slot, abi.ANY_PAYLOAD)
    else:
        value = next(given)
        for offset in (0, abi.ANY_PAYLOAD):
            code.store(code.load(value, offset, "i64"), "i64", slot, offset)


def _require(code: FunctionText, status: str, borrowed: Sequence[str]) -> None:
    """Goes on if the status is 0; else ends the tensors and returns -1, with the error as it is."""
    good = code.compare("eq", status, code.constant(0, "i32"), "i32")
    minus = code.constant(-1, "i32")
    releases = [f"{code.fresh()} = {call_text('TVMFFIObjectDecRef', [(tensor, PTR)], 'i32')}" for tensor in borrowed]
    code.branch_unless(good, [*releases, f"llvm.return {minus} : i32"])


def _take_text(symbol: str, name: str, info: Info) -> str:
    """`i32 (ptr any, ptr out)`: checks what a function returned and leaves what it is made of behind `out`."""
    code = FunctionText(symbol, [("%any", PTR), ("%out", PTR)], "i32", linkage="internal")
    if isinstance(info, ObjectInfo):
        for offset in (0, abi.ANY_PAYLOAD):
            code.store(code.load("%any", offset, "i64"), "i64", "%out", offset)
    else:
        sizes = Sizes(code, name)
        checks = ArgumentChecks(code, sizes, name, 1, what="result")
        values = checks.check(0, "", info, "%any")
        if isinstance(info, TensorInfo):
            _take_tensor(code, info, [value for value, _ in values])
        else:
            value, type_ = values[0]
            if type_ == "i1":
                value, type_ = code.value(f"llvm.zext {value} : i1 to i64"), "i64"
            code.store(value, type_, "%out")
    code.line(f"llvm.return {code.constant(0, 'i32')} : i32")
    return code.render()


def _take_tensor(code: FunctionText, info: TensorInfo, values: Sequence[str]) -> None:
    """A copy in memory of our own, which `free` ends, with its sizes."""
    rank = len(info.shape or ())
    sizes = list(values[3 : 3 + rank])
    size = _bytes(code, sizes, abi.element_bytes(info.dtype))
    padded = code.value(f"llvm.add {size}, {code.constant(64)} : i64")
    whole = code.value(f"llvm.and {padded}, {code.constant(-64)} : i64")
    data = code.call("aligned_alloc", [(code.constant(64), "i64"), (whole, "i64")], PTR)
    there = code.value(f'llvm.icmp "ne" {data}, {code.null()} : {PTR}')
    code.require(there, fail(code, "memory", "out of memory, %lld bytes needed", whole))
    _copy(code, data, values[1], size)
    code.store(data, PTR, "%out")
    for axis, extent in enumerate(sizes):
        code.store(extent, "i64", "%out", 8 + 8 * axis)


def _stored(code: FunctionText, sizes: Sequence[str]) -> str:
    shape = code.stack(8 * len(sizes))
    for axis, size in enumerate(sizes):
        code.store(size, "i64", shape, 8 * axis)
    return shape


def _bytes(code: FunctionText, sizes: Sequence[str], element: int) -> str:
    total = code.constant(element)
    for size in sizes:
        total = code.value(f"llvm.mul {total}, {size} : i64")
    return total


def _copy(code: FunctionText, target: str, source: str, size: str) -> None:
    code.line(f'"llvm.intr.memcpy"({target}, {source}, {size}) <{{isVolatile = false}}> : ({PTR}, {PTR}, i64) -> ()')
