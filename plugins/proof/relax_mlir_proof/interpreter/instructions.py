# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions of CPUs by their definition: dot products of vectors and of tiles, so that any machine can run them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, operations_in, operations_named, operations_of, symbol_name
from relax_mlir.bindings.rewriting import replace_op
from relax_mlir.emit.arithmetic import result_of
from relax_mlir.emit.linalg import segments
from relax_mlir.emit.numbers import Number, constant, maximum, minimum, number

from .tile_instructions import definition, function_name

_CALL = "llvm.call_intrinsic"
#: Prefixes of the intrinsics of some CPUs only.
_OF_CPUS = ("llvm.x86.", "llvm.aarch64.", "llvm.nvvm.", "llvm.riscv.")
#: Casts of a tile from its words, and to them.
_TILE_CASTS = ("llvm.x86.cast.vector.to.tile", "llvm.x86.cast.tile.to.vector")
#: Accesses to the CPU's modes. The reference keeps denormal numbers.
_MODES = ("llvm.x86.sse.stmxcsr", "llvm.x86.sse.ldmxcsr", "llvm.aarch64.get.fpcr", "llvm.aarch64.set.fpcr")


def emulate_instructions(module: Operation) -> None:
    """Replace the known instructions of CPUs in a module by the arithmetic that defines them."""
    defined = {symbol_name(operation) for operation in operations_of(body_of(module))}
    calls = operations_named(module, _CALL)
    with module.context:
        if any(_name(operation) in _TILE_CASTS or function_name(_name(operation)) for operation in calls):
            _hold_tiles_as_words(module)
        for call in calls:
            name = _name(call)
            with call.location, ir.InsertionPoint(call):
                if name in _TILE_CASTS:
                    replace_op(call, call.operands)
                elif name in _MODES:
                    replace_op(call, [constant(0, result.type) for result in call.results])
                elif function := function_name(name):
                    if function not in defined:
                        defined.add(function)
                        _define(module, definition(function))
                    replace_op(call, _call_function(function, call).results)
                elif (found := _dot_product(name)) is not None:
                    replace_op(call, [found(*call.operands)])


def unknown_instruction(operation: Operation) -> str:
    """Return the name of the intrinsic of a CPU that an operation calls and that has no definition here, or ""."""
    name = _name(operation) if operation.name == _CALL else ""
    is_known = name in (*_TILE_CASTS, *_MODES) or function_name(name) or _dot_product(name) is not None
    return "" if is_known or not name.startswith(_OF_CPUS) else name


def _name(call: Operation) -> str:
    return str(call.attributes["intrin"].value)


def _define(module: Operation, text: str) -> None:
    with ir.Location.unknown():
        parsed = ir.Module.parse(text)
    for operation in operations_of(parsed.body):
        operation.detach_from_parent()
        body_of(module).append(operation)


def _call_function(function: str, call: Operation) -> Operation:
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(function),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        **segments(len(call.operands), 0),
    }
    return ir.Operation.create(
        "llvm.call", results=list(call.results.types), operands=list(call.operands), attributes=attributes
    )


def _hold_tiles_as_words(module: Operation) -> None:
    tile, words = ir.Type.parse("!llvm.x86_amx"), ir.Type.parse("vector<256xi32>")
    for operation in operations_in(module):
        inside = [value for region in operation.regions for block in region.blocks for value in block.arguments]
        for value in (*operation.results, *inside):
            if value.type == tile:
                value.set_type(words)


# ---- dot products of vectors ----


def _words(vector: Value, lanes: int, bits: int) -> Number:
    type_ = ir.VectorType.get([lanes], ir.IntegerType.get_signless(bits))
    return number(vector if vector.type == type_ else result_of("llvm.bitcast", [vector], type_))


def _integer(words: Number, part: int, bits: int, kind: str) -> Number:
    """Return a part of each word, extended to the word's width."""
    width = words.type.element_type.width
    type_ = words.type
    raised = result_of("arith.shli", [words, constant(width - bits * (part + 1), type_)], type_)
    shift = "arith.shrsi" if kind == "s" else "arith.shrui"
    return number(result_of(shift, [raised, constant(width - bits, type_)], type_))


def _integer_dot(left: str, right: str) -> Callable[..., Value]:
    """Return the addition of products of four bytes, of the signs that `left` and `right` state."""

    def dot(total: Value, one: Value, other: Value) -> Value:
        lanes = total.type.shape[0]
        factors = [(_words(one, lanes, 32), left), (_words(other, lanes, 32), right)]
        result = number(total)
        for part in range(4):
            first, second = (_integer(words, part, 8, kind) for words, kind in factors)
            result = result + first * second
        return result.value

    return dot


def _float_dot(total: Value, one: Value, other: Value) -> Value:
    """Add products of two bf16 numbers."""
    lanes = total.type.shape[0]
    result = number(total)
    for part in range(2):
        factors = []
        for value in (one, other):
            words = _words(value, lanes, 32)
            high = words & constant(-65536, words.type) if part else words << constant(16, words.type)
            factors.append(number(result_of("arith.bitcast", [high], total.type)))
        result = result + factors[0] * factors[1]
    return result.value


def _pairs_of_words(one: Value, other: Value) -> Value:
    """Return sums of two products of signed 16-bit numbers."""
    lanes = one.type.shape[0] * one.type.element_type.width // 32
    left, right = (_words(value, lanes, 32) for value in (one, other))
    products = [_integer(left, part, 16, "s") * _integer(right, part, 16, "s") for part in range(2)]
    return (products[0] + products[1]).value


def _pairs_of_bytes(one: Value, other: Value) -> Value:
    """Return sums of two products of an unsigned and a signed byte, saturated to 16 bits."""
    lanes = one.type.shape[0] * one.type.element_type.width // 16
    wide = ir.VectorType.get([lanes], ir.IntegerType.get_signless(32))
    left, right = (_words(value, lanes, 16) for value in (one, other))
    total = constant(0, wide)
    for part in range(2):
        factors = [_integer(left, part, 8, "u"), _integer(right, part, 8, "s")]
        first, second = (number(result_of("arith.extsi", [factor], wide)) for factor in factors)
        total = total + first * second
    limited = minimum(maximum(total, constant(-32768, wide)), constant(32767, wide))
    return result_of("arith.trunci", [limited], left.type)


_DOT_PRODUCTS: Sequence[tuple[str, Callable[..., Value]]] = (
    *(
        (rf"llvm\.x86\.avx(512|2)\.vpdpb{left}{right}d\.\d+", _integer_dot(left, right))
        for left, right in ("us", "ss", "uu", "su")
    ),
    (r"llvm\.aarch64\.neon\.sdot\..*", _integer_dot("s", "s")),
    (r"llvm\.aarch64\.neon\.udot\..*", _integer_dot("u", "u")),
    (r"llvm\.aarch64\.neon\.usdot\..*", _integer_dot("u", "s")),
    (r"llvm\.x86\.avx512bf16\.dpbf16ps\.\d+|llvm\.aarch64\.neon\.bfdot\..*", _float_dot),
    (r"llvm\.x86\.(sse2|avx2)\.pmadd\.wd|llvm\.x86\.avx512\.pmaddw\.d\.512", _pairs_of_words),
    (r"llvm\.x86\.(ssse3|avx2)\.pmadd\.ub\.sw(\.128)?|llvm\.x86\.avx512\.pmaddubs\.w\.512", _pairs_of_bytes),
)


def _dot_product(name: str) -> Callable[..., Value] | None:
    return next((function for pattern, function in _DOT_PRODUCTS if re.fullmatch(pattern, name)), None)
