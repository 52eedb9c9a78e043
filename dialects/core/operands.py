# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python values as operands. SSA values are used directly; shapes and numbers become operations that produce them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...bindings.ir import Attribute, Operation, OpView, Value
from ...bindings.mlir import i64_attribute, ir, string_value
from .attributes import AttributeProblem, AttrKind, Float, Int, size_of
from .codec import decode, element_type, encode_dims
from .infos import Info, ScalarInfo, ShapeInfo, TensorInfo, dtype_name, is_bool, is_float, is_int, is_unsigned
from .known import KnownTensor
from .opdef import OpProblem
from .symbols import SymbolError, SymExpr, parse

if TYPE_CHECKING:  # types for stubs of operators
    from collections.abc import Callable, Sequence
    from typing import TypeAlias, TypedDict

    from ...bindings.ir import InsertionPoint, Location

    class At(TypedDict, total=False):
        """Location and insertion point of an operation; by default the current ones."""

        loc: Location | None
        ip: InsertionPoint | None

    Create: TypeAlias = Callable[..., Value]
    ScalarLike: TypeAlias = Value | SymExpr | str | float | bool
    BoundLike: TypeAlias = int | str | SymExpr
    ShapeLike: TypeAlias = Value | SymExpr | str | int | Sequence[SymExpr | str | int]
    DTypeLike: TypeAlias = str | type | Any
    TypesLike: TypeAlias = str | Info | Sequence[str | Info] | Any


def as_value(value: object) -> Any:
    """Return the SSA value of a value or of an operation with one result, or None for other objects.

    A KnownTensor is returned unchanged.
    """
    if isinstance(value, (Value, KnownTensor)):
        return value
    if isinstance(value, (Operation, OpView)) and len(value.operation.results) == 1:
        return value.operation.results[0]
    return None


def as_operand(value: object, kind: str, name: str, create: Create) -> Value:
    """Return the SSA value for an operand.

    `create(name, info, attributes, *operands)` builds an operation if one is needed.
    """
    if isinstance(ssa := as_value(value), KnownTensor):
        return ssa.in_graph()
    if ssa is not None:
        return _as_tensor(ssa, create) if kind == "tensor" else ssa
    if kind == "shape":
        return _shape_operand(value, name, create)
    is_number = hasattr(value, "__array__") or isinstance(value, (int, float))
    is_several = isinstance(value, (list, tuple)) or (is_number and getattr(value, "ndim", 0) > 0)
    is_symbol = isinstance(value, (str, SymExpr))
    is_single = (is_number or (is_symbol and kind != "passed")) and not is_several
    if kind == "scalar" or (kind in ("tensor_or_scalar", "passed") and is_single):
        return _scalar_operand(value, name, create)
    can_be_constant = kind.startswith("tensor") and (is_number or is_several)
    hint = " (make it one with relax.const)" if can_be_constant else ""
    raise OpProblem(f"operand '{name}' must be an SSA value, got {type(value).__name__}{hint}")


def _as_tensor(value: Value, create: Create) -> Value:
    """Return the value, converted to a tensor if it is a scalar."""
    if not isinstance(value.type, (ir.IntegerType, ir.FloatType, ir.IndexType)):
        return value
    dtype = str(value.type)
    info = TensorInfo((), "i64" if dtype == "index" else dtype)
    return create("relax.scalar_to_tensor", info, {}, value)


def _shape_operand(value: Any, name: str, create: Create) -> Value:
    try:
        items = (value,) if isinstance(value, (str, SymExpr)) or hasattr(value, "__index__") else tuple(value)
    except TypeError:
        raise OpProblem(
            f"operand '{name}' must be a shape: a tuple of sizes or a value, got {type(value).__name__}"
        ) from None
    dims = tuple(as_dim(item, name) for item in items)
    return create("relax.shape_expr", ShapeInfo(dims), {"dims": encode_dims(dims, ir.Context.current)})


def as_dim(item: object, name: str) -> int | SymExpr:
    """Return a size, given as an integer, a symbolic expression or its text."""
    try:
        return size_of(item)
    except (SymbolError, AttributeProblem) as problem:
        raise OpProblem(f"operand '{name}': bad dimension {item!r}: {problem}") from None


def _scalar_operand(value: object, name: str, create: Create) -> Value:
    if isinstance(value, (str, SymExpr)):
        if isinstance(dim := as_dim(value, name), SymExpr):
            return create("relax.prim_value", ScalarInfo("i64"), {"value": ir.StringAttr.get(str(dim))})
        value = dim
    if getattr(value, "dtype", None) is not None:
        return _typed_operand(value, name, create)
    if isinstance(value, bool):
        return create("arith.constant", ScalarInfo("i1"), {"value": ir.BoolAttr.get(value)})
    if hasattr(value, "__index__"):
        attribute = i64_attribute(_number(Int(), value, name))
        return create("arith.constant", ScalarInfo("i64"), {"value": attribute})
    if hasattr(value, "__float__") and not isinstance(value, type):
        number = ir.FloatAttr.get_f64(_number(Float(), value, name))
        return create("arith.constant", ScalarInfo("f64"), {"value": number})
    raise OpProblem(f"operand '{name}' must be a number or a scalar value, got {type(value).__name__}")


def _typed_operand(value: Any, name: str, create: Create) -> Value:
    """Return a scalar operand that keeps the element type of a NumPy number or the like."""
    dtype = dtype_name(value.dtype) or ""
    if is_unsigned(dtype) and getattr(value, "shape", None) == ():
        return _scalar_operand(int(value), name, create)  # scalars have no sign: convert to a Python integer
    if getattr(value, "shape", None) != () or not (is_float(dtype) or is_int(dtype) or is_bool(dtype)):
        raise OpProblem(f"operand '{name}' must be a number or a scalar value, got {type(value).__name__} {value!r}")
    type_ = element_type(dtype, ir.Context.current)
    exact = ir.FloatAttr.get(type_, float(value)) if is_float(dtype) else ir.IntegerAttr.get(type_, int(value))
    return create("arith.constant", ScalarInfo(dtype), {"value": exact})


def _number(kind: AttrKind, value: object, name: str) -> int:
    try:
        return kind.normalize(value)
    except AttributeProblem as problem:
        raise OpProblem(f"operand '{name}' {problem}") from None


def operand_info(value: Value) -> Info:
    """Return the info of an SSA value. The info of a scalar includes its value if the defining operation states it."""
    if not isinstance(info := decode(value.type), ScalarInfo):
        return info
    if isinstance(owner := value.owner, ir.Block):
        return info
    operation = owner.operation
    if operation.name not in ("arith.constant", "relax.prim_value") or "value" not in operation.attributes:
        return info
    return info._replace(value=_known_value(operation.attributes["value"], info.dtype))


def _known_value(attribute: Attribute, dtype: str) -> SymExpr | float | None:
    if isinstance(attribute, ir.StringAttr):
        try:
            return parse(string_value(attribute))
        except (SymbolError, UnicodeDecodeError):
            return None
    if isinstance(attribute, ir.BoolAttr):
        return bool(attribute.value)
    if isinstance(attribute, ir.IntegerAttr):
        return bool(attribute.value) if dtype == "i1" else int(attribute.value)
    return float(attribute.value) if isinstance(attribute, ir.FloatAttr) else None
