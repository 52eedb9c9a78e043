# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Type legalization: element types smaller than a byte, and floats of a byte, become i8 in memory.

A byte contains the element in its low bits. Operations that only move elements move bytes. Operations that compute get
narrow integers as they are, and small floats as f32, rounded once afterwards. So reading an i4 ignores the other bits
of the byte, and writing sets them to zero, like ml_dtypes' int4. A truth value is a byte in memory, but a bit in a
vector: vectors of truth values are read and written as bytes.
"""

from __future__ import annotations

import re
from typing import ClassVar, NamedTuple

from ...bindings.ir import Attribute, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import blocks_of, body_of, function_type_of, operations_in, operations_named, operations_of
from ...bindings.rewriting import located_error, made_again, replace_op
from ...dialects.core.elements import elements_bytes, resource_attribute
from ...emit.arithmetic import convert, result_of, with_element
from ...emit.conversions import to_float
from ...emit.numbers import Number
from ...emit.small_floats import constant_code, is_small_float, narrow_to_code, widen_code
from ..core.base import Pass
from ..core.registry import register_pass

# Operations of these dialects move elements, except the refused ones.
_MOVING_DIALECTS = frozenset("affine bufferization builtin cf func memref scf tensor ub vector".split())
_MOVING = frozenset(
    "arith.constant arith.select linalg.broadcast linalg.copy linalg.fill linalg.generic linalg.index linalg.map "
    "linalg.reduce linalg.transpose linalg.yield tir.give_tensor tir.packed tir.prefetch".split()
)
_COMPUTING_DIALECTS = frozenset(("arith", "math", "tir"))
# These operations compute on elements of memory or vectors.
_REFUSED = frozenset(
    "affine.atomic_rmw memref.atomic_rmw vector.contract vector.fma vector.multi_reduction vector.outerproduct "
    "vector.print vector.reduction vector.scan".split()
)
#: Reads and writes of vectors, with the number of their memory operand.
_TRANSFERS = {
    "vector.transfer_read": 0,
    "vector.load": 0,
    "vector.maskedload": 0,
    "vector.transfer_write": 1,
    "vector.store": 1,
    "vector.maskedstore": 0,
}


@register_pass
class StoreSmallTypes(Pass):
    """Store f8, f6, f4 and integers of 2 to 7 bits as bytes, and compute small floats in f32."""

    name: ClassVar[str] = "tir-store-small-types"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    def run(self, op: Operation) -> None:
        operations = operations_of(body_of(op))
        with op.context:
            for operation in operations:
                if operation.name == "memref.global":
                    _convert_global(operation)
                elif operation.name == "func.func":
                    _convert_function(operation)
                    _convert_truth_values(operation)


def _convert_truth_values(function: Operation) -> None:
    for op in operations_named(function, *_TRANSFERS):
        if _is_truth(op.operands[_TRANSFERS[op.name]].type.element_type):
            with op.location, ir.InsertionPoint(op):
                replace_op(op, _read_as_bytes(op) if len(op.results) else _write_as_bytes(op))


def _is_truth(element: Type) -> bool:
    return isinstance(element, ir.IntegerType) and element.width == 1


def _read_as_bytes(op: Operation) -> list[Value]:
    memory, *rest = op.operands
    # Operand with the value of masked lanes: it follows the indices, or the mask.
    place = {"vector.transfer_read": len(memory.type.shape), "vector.maskedload": len(rest) - 1}.get(op.name)
    if place is not None:
        rest[place] = _wide(rest[place])
    byte = ir.IntegerType.get_signless(8)
    (read,) = made_again(op, [_bytes_of(memory), *rest], [with_element(op.results[0].type, byte)]).results
    return [(Number(read) != 0).value]


def _write_as_bytes(op: Operation) -> list[Value]:
    operands = list(op.operands)
    memory = _TRANSFERS[op.name]
    vector = len(operands) - 1 if op.name == "vector.maskedstore" else 0
    operands[vector] = _wide(operands[vector])
    operands[memory] = _bytes_of(operands[memory])
    made_again(op, operands, [])
    return []


def _wide(bits: Value) -> Value:
    return convert("arith.extui", Number(bits), ir.IntegerType.get_signless(8)).value


def _bytes_of(memory: Value) -> Value:
    """Return the same memory with elements of bytes. For LLVM both are addresses and sizes."""
    type_ = memory.type
    byte = ir.IntegerType.get_signless(8)
    stored = ir.MemRefType.get(type_.shape, byte, type_.layout, type_.memory_space, loc=ir.Location.unknown())
    return result_of("builtin.unrealized_conversion_cast", [memory], stored)


class _SmallUse(NamedTuple):
    """Operation on small types, with its original types."""

    op: Operation
    operands: list[Type]
    results: list[Type]

    @property
    def name(self) -> str:
        return str(self.op.name)

    @property
    def dialect(self) -> str:
        return self.name.partition(".")[0]

    @property
    def small(self) -> list[Type]:
        return [type_ for type_ in (*self.operands, *self.results) if _is_small(type_)]


def _convert_function(function: Operation) -> None:
    operations = operations_in(function)
    if not any(map(_is_small, _types_in(function, operations))):
        return
    uses = [use for use in map(_use_of, operations) if use.small]
    computing = [use for use in uses if not _moves(use)]
    for use in computing:
        _check_computing(use)
    for op in (function, *operations):
        _retype(op)
    type_ = function_type_of(function)
    inputs, results = ([_convert_stored_type(each) for each in types] for types in (type_.inputs, type_.results))
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    for use in computing:
        _compute(use)


def _types_in(function: Operation, operations: list[Operation]) -> set[Type]:
    """Return the types of all values in a function, and of its signature. They are few, and rarely small."""
    signature = function_type_of(function)
    blocks = [block for op in (function, *operations) for block in blocks_of(op)]
    arguments = {argument.type for block in blocks for argument in block.arguments}
    results = {result.type for op in operations for result in op.results}
    return {*signature.inputs, *signature.results, *arguments, *results}


def _use_of(op: Operation) -> _SmallUse:
    return _SmallUse(op, [value.type for value in op.operands], [value.type for value in op.results])


def _moves(use: _SmallUse) -> bool:
    """Check whether the operation is also correct on bytes."""
    if use.name.startswith("tir.call_"):
        return all(map(_is_buffer, use.small))
    return use.name in _MOVING or (use.dialect in _MOVING_DIALECTS and use.name not in _REFUSED)


def _check_computing(use: _SmallUse) -> None:
    """Raise an error for operations that may compute other results on integers or in f32."""
    if use.dialect == "linalg":
        raise _refusal(use, "make it a linalg.generic first (linalg-generalize-named-ops)")
    if use.name in _REFUSED or use.name.startswith("tir.call_"):
        raise _refusal(use, "convert the elements before, as by arith.extf or arith.extsi")
    if use.dialect not in _COMPUTING_DIALECTS:
        raise _refusal(use, "lower it to loops over elements first")
    if any(map(_is_buffer, use.small)):
        raise _refusal(use, "make loops over the elements first (convert-elementwise-to-linalg)")


def _refusal(use: _SmallUse, help_: str) -> Exception:
    problem = f"tir-store-small-types: '{use.name}' op ({use.small[0]}) does more than move elements"
    return located_error(f"{problem}; {help_}", use.op.location)


# ---- types ----


def _element(type_: Type) -> Type:
    return type_.element_type if isinstance(type_, ir.ShapedType) else type_


def _is_small(type_: Type) -> bool:
    if isinstance(element := _element(type_), ir.IntegerType):
        return 1 < element.width < 8
    return isinstance(element, ir.FloatType) and is_small_float(str(element))


def _is_buffer(type_: Type) -> bool:
    return isinstance(type_, (ir.MemRefType, ir.UnrankedMemRefType, ir.RankedTensorType, ir.UnrankedTensorType))


def _convert_stored_type(type_: Type) -> Type:
    """Return the type with bytes for small elements."""
    if not _is_small(type_):
        return type_
    byte = ir.IntegerType.get_signless(8)
    unknown = ir.Location.unknown()
    if isinstance(type_, ir.MemRefType):
        return ir.MemRefType.get(type_.shape, byte, type_.layout, type_.memory_space, loc=unknown)
    if isinstance(type_, ir.UnrankedMemRefType):
        return ir.UnrankedMemRefType.get(byte, type_.memory_space, loc=unknown)
    if isinstance(type_, ir.RankedTensorType):
        return ir.RankedTensorType.get(type_.shape, byte, type_.encoding, loc=unknown)
    if isinstance(type_, ir.UnrankedTensorType):
        return ir.UnrankedTensorType.get(byte, loc=unknown)
    return with_element(type_, byte)


def _retype(op: Operation) -> None:
    """Change the types of an operation's results and block arguments, and its value if it is a constant."""
    if op.name == "arith.constant" and _is_small(op.results[0].type):
        op.attributes["value"] = _stored_constant(op.attributes["value"])
    arguments = [argument for block in blocks_of(op) for argument in block.arguments]
    for value in (*op.results, *arguments):
        if _is_small(value.type):
            value.set_type(_convert_stored_type(value.type))


# ---- constants ----


def _convert_global(op: Operation) -> None:
    type_ = ir.TypeAttr(op.attributes["type"]).value
    if not _is_small(type_):
        return
    op.attributes["type"] = ir.TypeAttr.get(_convert_stored_type(type_))
    if "initial_value" in op.attributes and not isinstance(op.attributes["initial_value"], ir.UnitAttr):
        op.attributes["initial_value"] = _stored_constant(op.attributes["initial_value"])


def _stored_constant(attribute: Attribute) -> Attribute:
    if isinstance(attribute, (ir.FloatAttr, ir.IntegerAttr)):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(8), _make_signed(_code(attribute.value, attribute.type)))
    if isinstance(attribute, ir.DenseElementsAttr):
        return _stored_elements(attribute)
    return _stored_resource(attribute)


def _stored_resource(attribute: Attribute) -> Attribute:
    import numpy

    codes = numpy.frombuffer(elements_bytes(attribute), numpy.uint8)
    ones = _ones(attribute.type.element_type)
    # The array is only copied if bits have to be cleared.
    bytes_ = codes if ones == 255 else codes & ones
    return resource_attribute(bytes_.view(numpy.int8), _convert_stored_type(attribute.type))


def _code(value: float, element: Type) -> int:
    """Return the bits of a number."""
    if isinstance(element, ir.IntegerType):
        return int(value) & ((1 << element.width) - 1)
    return constant_code(value, str(element))


def _make_signed(code: int) -> int:
    """Return a byte as the signed number that attributes of i8 take."""
    return code - 256 if code > 127 else code


def _stored_elements(attribute: Attribute) -> Attribute:
    import numpy

    type_ = attribute.type
    stored = _convert_stored_type(type_)
    if attribute.is_splat:
        return ir.DenseElementsAttr.get_splat(stored, _stored_constant(attribute.get_splat_value()))
    codes = numpy.frombuffer(_codes(attribute), numpy.int8)
    if isinstance(type_, ir.VectorType):
        return ir.Attribute.parse(f"dense<{codes.reshape(type_.shape).tolist()}> : {stored}")
    return ir.DenseElementsAttr.get(codes, shape=list(type_.shape), type=stored.element_type)


def _codes(attribute: Attribute) -> bytes:
    """Return the bits of the elements, a byte each, from the attribute's text. The bindings do not provide them."""
    text, element = str(attribute).rpartition(" : ")[0], attribute.type.element_type
    if '"' in text:
        return bytes(code & _ones(element) for code in bytes.fromhex(text.split('"')[1].removeprefix("0x")))
    return bytes(_code_in(word, element) for word in re.findall(r"[-+.\w]+", text.removeprefix("dense")))


def _code_in(word: str, element: Type) -> int:
    """Return the bits of an element in the text of an attribute. A NaN is written as its bits."""
    if word.startswith("0x"):
        return int(word, 16)
    return _code(int(word) if isinstance(element, ir.IntegerType) else float(word), element)


def _ones(element: Type) -> int:
    return (1 << element.width) - 1


# ---- arithmetic ----


def _compute(use: _SmallUse) -> None:
    """Rebuild the operation between conversions from and to bytes. Its values have been retyped to bytes before."""
    op = use.op
    with op.location, ir.InsertionPoint(op):
        pairs = list(zip(op.operands, use.operands, strict=True))
        if op.name == "arith.bitcast":
            results = [pairs[0][0]]
        elif op.name in ("arith.extf", "arith.truncf"):
            results = [_round(_load(*pairs[0]), use.results[0]).value]
        else:
            results = _compute_wide(op, [_load(*pair).value for pair in pairs], use.results)
    replace_op(op, results)


def _compute_wide(op: Operation, operands: list[Value], types: list[Type]) -> list[Value]:
    operation = made_again(op, operands, list(map(_computing, types)))
    return [_round(Number(result), type_).value for result, type_ in zip(operation.results, types, strict=True)]


def _computing(type_: Type) -> Type:
    """Return the type that an operation computes in instead of a small type."""
    is_small_number = _is_small(type_) and isinstance(_element(type_), ir.FloatType)
    return with_element(type_, ir.F32Type.get()) if is_small_number else type_


def _load(value: Value, type_: Type) -> Number:
    """Return the number in a byte, or the numbers in a vector of bytes."""
    code = Number(value)
    if not _is_small(type_):
        return code
    if isinstance(element := _element(type_), ir.FloatType):
        return widen_code(code, str(element), "f32")
    return convert("arith.trunci", code, ir.IntegerType.get_signless(element.width))


def _round(x: Number, type_: Type) -> Number:
    """Return the stored form of a computed number: a byte if its type is small."""
    element = _element(type_)
    if not _is_small(type_):
        return to_float(x, str(element)) if isinstance(element, ir.FloatType) else x
    code = narrow_to_code(x, str(element)) if isinstance(element, ir.FloatType) else x
    return code if code.bits == 8 else convert("arith.extui", code, ir.IntegerType.get_signless(8))
