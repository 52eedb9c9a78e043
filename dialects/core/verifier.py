# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verification of an operation against its definition: operands, attributes, and inferred against stated types."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ...bindings.ir import Attributes, Operation, OpView
from ...bindings.mlir import ir, is_not_utf8
from ...bindings.rewriting import located_error
from ...support.errors import RelaxError
from ...support.suggest import counted, suggest
from .attributes import AttributeProblem
from .cache import cache_of
from .codec import TypeProblem, decode
from .equalities import contradict
from .infos import Info, ObjectInfo, ScalarInfo, ShapeInfo, TensorInfo, VectorInfo, describe, is_dtype, no_element_type
from .opdef import OPERAND_KINDS, Call, OpDef, OpProblem
from .operands import operand_info
from .symbols import Dim, SymbolError

_SEGMENTS = "operandSegmentSizes"

_INFO_CLASSES: dict[str, tuple[type, ...]] = {
    "tensor": (TensorInfo,),
    "shape": (ShapeInfo,),
    "scalar": (ScalarInfo,),
    "tensor_or_scalar": (TensorInfo, ScalarInfo),
    "elementwise": (ScalarInfo, VectorInfo),
    "object": (ObjectInfo,),
    "any": (),
    "passed": (),
}


def verify(definition: OpDef, op: OpView) -> bool:
    """Verify an operation by MLIR's protocol.

    Return True if the operation is valid, else report the problem at its location and return False.
    """
    operation = op.operation
    try:
        check(definition, operation)
    except (OpProblem, TypeProblem, SymbolError) as problem:
        operation.location.emit_error(f"'{definition.full_name}' op {problem}")
        return False
    except RelaxError as error:  # from a function in the row of another package's operator
        raise located_error(error.message, operation.location, error.notes) from error.__cause__
    except (RuntimeError, UnicodeDecodeError) as error:
        if not is_not_utf8(error):
            raise
        operation.location.emit_error(f"'{definition.full_name}' op has a string that is not UTF-8")
        return False
    return True


def check(definition: OpDef, operation: Operation) -> None:
    """Raise OpProblem or TypeProblem if the operation is invalid."""
    types = [value.type for value in operation.operands]
    attributes = operation.attributes
    verified = cache_of(operation.context).verified
    # Nothing else affects the validity of an operation, unless operand values or its surroundings matter.
    key: Hashable = None
    if not definition.value_dependent:
        key = (definition, *types, None, *operation.results.types, *items_of(attributes))
        if key in verified and definition.verify is None:
            return
    call = call_of(definition, operation)
    if key is None or key not in verified:
        check_operand_kinds(call)
        _check_results(call, [decode(type_) for type_ in operation.results.types])
        if key is not None:
            verified.remember(key, True)
    if definition.verify is not None:
        with definition.blaming("verification", definition.verify):
            definition.verify(operation, call)


def items_of(attributes: Attributes) -> list[tuple[str, Any]]:
    """Return names and attributes.

    The value is None for attributes that the bindings cannot return (locations, arrays of odd widths).
    """
    if not len(attributes):
        return []
    try:
        return list(attributes.items())
    except (TypeError, RuntimeError):
        return [(name, _get(attributes, name)) for name in attributes]


def _get(attributes: Attributes, name: str) -> Any:
    try:
        return attributes[name]
    except (TypeError, RuntimeError):
        return None


def call_of(definition: OpDef, operation: Operation) -> Call:
    """Return the operation as a Call for inference. Raise OpProblem for wrong operand counts and attributes."""
    infos = [operand_info(value) for value in operation.operands]
    operands = definition.segment(infos, segment_sizes(definition, operation, len(infos)))
    return Call(definition, operands, _decode_attributes(definition, operation.attributes))


def segment_sizes(definition: OpDef, operation: Operation, count: int) -> Sequence[int] | None:
    if not definition.segmented:
        return None
    names = [operand.name for operand in definition.operands]
    if _SEGMENTS not in operation.attributes:
        raise OpProblem(f"misses attribute '{_SEGMENTS}': how many operands each of {', '.join(names)} has")
    attribute = operation.attributes[_SEGMENTS]
    sizes = list(attribute) if isinstance(attribute, ir.DenseI32ArrayAttr) else []
    if len(sizes) != len(names) or sum(sizes) != count or min(sizes) < 0:
        raise OpProblem(
            f"attribute '{_SEGMENTS}' {attribute} does not split {counted(count, 'operand')} into {', '.join(names)}"
        )
    for operand, size in zip(definition.operands, sizes, strict=True):
        if operand.arity != "variadic" and size > 1 or operand.arity == "single" and size != 1:
            expected = "one value" if operand.arity == "single" else "at most one value"
            raise OpProblem(f"operand '{operand.name}' takes {expected}, got {size}")
    return sizes


def _decode_attributes(definition: OpDef, attributes: Attributes) -> dict[str, object]:
    present = dict(items_of(attributes))
    for name in present:
        # Names with a dot are annotations by others; MLIR accepts them on any operation.
        segments = name == _SEGMENTS and definition.segmented
        if name not in definition.attrs and "." not in name and not segments:
            known = ", ".join(definition.attrs) or "none"
            raise OpProblem(f"has no attribute '{name}'{suggest(name, definition.attrs)} (known: {known})")
    decoded = {}
    for name, kind in definition.attrs.items():
        if name not in present:
            if kind.required:
                raise OpProblem(f"misses attribute '{name}' ({kind.expects})")
            decoded[name] = kind.default
            continue
        try:
            decoded[name] = kind.decode(present[name])
        except AttributeProblem as problem:
            raise OpProblem(f"attribute '{name}' {problem}") from None
    return decoded


def check_operand_kinds(call: Call) -> None:
    """Raise OpProblem for an operand whose kind differs from the definition."""
    for operand in call.definition.operands:
        classes = _INFO_CLASSES[operand.kind]
        info = call.operands[operand.name]
        infos = info if operand.arity == "variadic" else (info,) if info is not None else ()
        for item in infos:
            if classes and not isinstance(item, classes):
                raise OpProblem(
                    f"operand '{operand.name}' must be {OPERAND_KINDS[operand.kind][1]}, got {describe(item)}"
                )
            _check_element_type(item, f"operand '{operand.name}'")


def _check_element_type(info: Info | None, what: str) -> None:
    if isinstance(info, TensorInfo) and not is_dtype(info.dtype):
        raise OpProblem(f"{what} is a {describe(info)}: {no_element_type(info.dtype)}")


def _check_results(call: Call, stated: Sequence[Info]) -> None:
    definition = call.definition
    for index, info in enumerate(stated):
        _check_element_type(info, f"result #{index}")
    if definition.infer is None:
        return
    inferred = definition.infer_results(call)
    if len(inferred) != len(stated):
        raise OpProblem(f"gives {counted(len(inferred), 'result')} here, but {len(stated)} are stated")
    for index, (expected, actual) in enumerate(zip(inferred, stated, strict=True)):
        if not compatible(expected, actual):
            name = definition.results[min(index, len(definition.results) - 1)].name
            which = f"'{name}'" if len(stated) == 1 else f"#{index} ('{name}')"
            raise OpProblem(f"result {which} is stated as {describe(actual)}, but {describe(expected)} is inferred")


def compatible(inferred: Info, stated: Info) -> bool:
    """Check whether a stated type agrees with an inferred type: no fact known to both may differ."""
    if isinstance(inferred, TensorInfo) and isinstance(stated, TensorInfo):
        return inferred.dtype == stated.dtype and compatible_dims(inferred.shape, stated.shape)
    if isinstance(inferred, ShapeInfo) and isinstance(stated, ShapeInfo):
        return compatible_dims(inferred.dims, stated.dims)
    if isinstance(inferred, ScalarInfo) and isinstance(stated, ScalarInfo):
        return inferred.dtype == stated.dtype
    return inferred == stated


def compatible_dims(inferred: Sequence[Dim] | None, stated: Sequence[Dim] | None) -> bool:
    """Check whether sizes agree.

    A size agrees with an unknown size, an equal size, and an expression that may equal it.
    """
    if inferred is None or stated is None:
        return True
    if len(inferred) != len(stated):
        return False
    return not any(contradict(one, other) for one, other in zip(inferred, stated, strict=True))
