# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion between MLIR types and infos. An info is plain Python data; a type belongs to a context."""

from __future__ import annotations

from math import prod

from ...bindings.ir import Attribute, Context, Type
from ...bindings.mlir import DYNAMIC, ir, parse_type, string_value
from ...support.errors import RelaxError
from .cache import Table, cache_of
from .infos import (
    DTYPE_BY_NAME,
    Info,
    ObjectInfo,
    OtherInfo,
    ScalarInfo,
    ShapeInfo,
    TensorInfo,
    VectorInfo,
    describe,
    no_element_type,
)
from .symbols import Dim, SymbolError, SymExpr, parse


class TypeProblem(RelaxError, ValueError):
    """Well-formed MLIR type without a meaning in this project. The message gives the reason."""


def decode(type_: Type) -> Info:
    """Return the info of an MLIR type. Raise TypeProblem for a malformed symbolic encoding or shape."""
    infos: Table = cache_of(type_.context).infos
    info = infos.get(type_)
    return info if info is not None else infos.remember(type_, _decode_and_compare(type_))


def canonical_type(type_: Type) -> Type:
    """Return the type with its sizes in canonical form.

    Types with equal sizes then compare equal.

    Raise TypeProblem for a malformed type.
    """
    decode(type_)
    return cache_of(type_.context).canonical.get(type_, type_)


def _decode_and_compare(type_: Type) -> Info:
    info = _decode(type_)
    has_sizes = isinstance(info, ShapeInfo) or (isinstance(info, TensorInfo) and _is_symbolic(type_))
    if has_sizes and (canonical := encode(info, type_.context)) != type_:
        cache_of(type_.context).canonical.remember(type_, canonical)
    return info


def _is_symbolic(tensor_type: Type) -> bool:
    return isinstance(tensor_type, ir.RankedTensorType) and symbolic_encoding(tensor_type.encoding) is not None


def _decode(type_: Type) -> Info:
    if isinstance(type_, ir.RankedTensorType):
        shape = _decode_tensor_shape(type_)
        _check_count(shape, str(type_))
        return TensorInfo(shape, str(type_.element_type))
    if isinstance(type_, ir.UnrankedTensorType):
        return TensorInfo(None, str(type_.element_type))
    if isinstance(type_, ir.VectorType):
        return VectorInfo(tuple(type_.shape), str(type_.element_type), tuple(type_.scalable_dims))
    if isinstance(type_, (ir.IntegerType, ir.FloatType, ir.IndexType)):
        return ScalarInfo(str(type_))
    if (text := str(type_)) == "!relax.object":
        return ObjectInfo()
    if text.startswith("!relax.shape<"):
        return ShapeInfo(decode_dims(ir.DynamicType(type_).params[0], text))
    return OtherInfo(text)


def _decode_tensor_shape(type_: Type) -> tuple[Dim, ...]:
    sizes = tuple(None if size == DYNAMIC else size for size in type_.shape)
    if (symbols := symbolic_encoding(type_.encoding)) is None:
        return sizes
    if (dims := decode_dims(symbols, str(type_))) is None or len(dims) != len(sizes):
        count = "no dimensions" if dims is None else f"{len(dims)} dimensions"
        raise TypeProblem(f"{type_}: #relax.sym names {count}, but the tensor has {len(sizes)}")
    for axis, (size, dim) in enumerate(zip(sizes, dims, strict=True)):
        if isinstance(dim, int) and dim != size or isinstance(dim, SymExpr) and size is not None:
            shown = "?" if size is None else size
            raise TypeProblem(f"{type_}: dimension {axis} is {shown} in the tensor but {dim} in #relax.sym")
    return dims


def symbolic_encoding(encoding: Attribute | None) -> Attribute | None:
    """Return the dims attribute of a `#relax.sym` encoding, or None for another or no encoding."""
    if encoding is None or not isinstance(encoding, ir.DynamicAttr) or encoding.attr_name != "relax.sym":
        return None
    return encoding.params[0]


def decode_dims(attribute: Attribute, owner: str) -> tuple[Dim, ...] | None:
    """Decode sizes from an array of integers, expressions as strings, and "?".

    Return None for unit, an unknown rank.
    """
    # A parameter of a dynamic type arrives as a plain Attribute.
    if isinstance(attribute := attribute.maybe_downcast(), ir.UnitAttr):
        return None
    if not isinstance(attribute, ir.ArrayAttr):
        raise TypeProblem(f"{owner}: sizes are a list or unit, not {attribute}")
    return tuple(_decode_dim(item, owner) for item in attribute)


def _decode_dim(item: Attribute, owner: str) -> Dim:
    if isinstance(item, ir.IntegerAttr):
        if item.value < 0:
            raise TypeProblem(f"{owner}: a dimension cannot be {item.value}")
        return int(item.value)
    if not isinstance(item, ir.StringAttr):
        raise TypeProblem(f"{owner}: a dimension is an integer or a string, not {item}")
    try:
        text = string_value(item)
        return None if text == "?" else parse(text)
    except (SymbolError, UnicodeDecodeError) as error:
        raise TypeProblem(f"{owner}: bad dimension {item}: {error}") from None


def encode(info: Info, context: Context) -> Type:
    """Return the MLIR type of an info."""
    encoded: Table = cache_of(context).encoded
    type_ = encoded.get(info)
    return type_ if type_ is not None else encoded.remember(info, _encode(info, context))


_LARGEST_SIZE = 2**63 - 1


def _check_count(dims: tuple[Dim, ...], owner: str) -> None:
    """Raise TypeProblem if the number of elements exceeds a 64-bit size, unless another size is 0."""
    if (count := prod(dim if isinstance(dim, int) else 0 for dim in dims)) > _LARGEST_SIZE:
        raise TypeProblem(f"{owner} has {count} elements, more than 2**63 - 1")


def _check_sizes(dims: tuple[Dim, ...] | None) -> None:
    """Raise TypeProblem for sizes outside 64 signed bits, which would overflow in MLIR's C++ code."""
    for dim in dims or ():
        if isinstance(dim, int) and dim < 0:
            raise TypeProblem(f"a dimension cannot be {dim}")
        if isinstance(dim, int) and dim > _LARGEST_SIZE:
            raise TypeProblem(f"a dimension cannot be {dim}: sizes go up to 2**63 - 1")


def _encode(info: Info, context: Context) -> Type | None:
    if isinstance(info, TensorInfo):
        _check_sizes(info.shape)
        _check_count(info.shape or (), describe(info))
        return _encode_tensor(info, context)
    if isinstance(info, ScalarInfo):
        return ir.Type.parse(info.dtype, context)
    if isinstance(info, ShapeInfo):
        _check_sizes(info.dims)
        params = ir.UnitAttr.get(context) if info.dims is None else encode_dims(info.dims, context)
        return ir.DynamicType.get("relax.shape", [params], context=context)
    if isinstance(info, VectorInfo):
        return _encode_vector(info, context)
    return ir.Type.parse("!relax.object" if isinstance(info, ObjectInfo) else info.text, context)


def _encode_tensor(info: TensorInfo, context: Context) -> Type:
    element = element_type(info.dtype, context)
    with context, ir.Location.unknown(context):
        if info.shape is None:
            return ir.UnrankedTensorType.get(element)
        sizes = [dim if isinstance(dim, int) else DYNAMIC for dim in info.shape]
        encoding = None
        if any(isinstance(dim, SymExpr) for dim in info.shape):
            encoding = ir.DynamicAttr.get("relax.sym", [encode_dims(info.shape, context)], context=context)
        return ir.RankedTensorType.get(sizes, element, encoding)


def _encode_vector(info: VectorInfo, context: Context) -> Type:
    element = element_type(info.dtype, context)
    with ir.Location.unknown(context):
        return ir.VectorType.get(list(info.shape), element, scalable=list(info.scalable) or None)


def encode_dims(dims: tuple[Dim, ...], context: Context) -> Attribute:
    """Encode sizes as an array attribute: integers, expressions as strings, and "?" for unknown sizes."""
    i64 = ir.IntegerType.get_signless(64, context)

    def dim_attribute(dim: Dim) -> Attribute:
        if isinstance(dim, int):
            return ir.IntegerAttr.get(i64, dim)
        return ir.StringAttr.get("?" if dim is None else str(dim), context)

    return ir.ArrayAttr.get([dim_attribute(dim) for dim in dims], context)


def element_type(dtype: str, context: Context) -> Type:
    """Return the MLIR element type for MLIR's or Relax's name. Raise TypeProblem for an unknown name."""
    encoded: Table = cache_of(context).encoded
    if (type_ := encoded.get(dtype)) is None:
        if (type_ := _parse_element_type(DTYPE_BY_NAME.get(dtype, dtype), context)) is None:
            raise TypeProblem(no_element_type(dtype))
        encoded.remember(dtype, type_)
    return type_


def _parse_element_type(text: str, context: Context) -> Type | None:
    try:
        type_ = parse_type(text, context)
    except ValueError:
        return None
    is_number = isinstance(type_, (ir.IntegerType, ir.FloatType, ir.IndexType, ir.ComplexType))
    return type_ if is_number else None
