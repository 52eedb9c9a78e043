# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PrimFuncs: `func.func` with attributes, in destination-passing style.

On tensors, the trailing parameters are the outputs, and the function returns their values. On memrefs, the outputs are
trailing parameters as well, and the function returns nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from ...bindings.ir import Attribute, Context, InsertionPoint, Location, Operation, Type, Value
from ...bindings.mlir import as_list, ir, parse_type, string_value
from ...bindings.navigation import body_of, function_type_of, functions_at, has_body, symbol_name
from ...support.errors import RelaxError, VerificationError
from ..core.codec import encode
from ..core.facts import OpPattern
from ..core.infos import Info
from ..core.ir_attributes import LOOPS, OP_PATTERN, PRIM_FUNC, SCHEDULE, attribute_problems

#: Assertion that ends a PrimFunc with an error status.
ASSERT = "tir.assert"
#: Digits of the hash of a PrimFunc's types.
TYPE_DIGITS = 6
#: First line of `tir.loops`. Its number changes when the meaning of lines changes.
LOOPS_HEADER = "# loops 1"


def is_prim_func(op: Operation) -> bool:
    operation = op.operation
    return operation.name == "func.func" and PRIM_FUNC in operation.attributes


def prim_funcs_in(op: Operation) -> list[Operation]:
    """Return the PrimFuncs of a module that have a body, or the given PrimFunc."""
    return [function for function in functions_at(op) if is_prim_func(function) and has_body(function)]


def type_key(function: Operation) -> str:
    """Return the digits of a hash of a PrimFunc's types, the head of its key (schedule/tuned_plans.py)."""
    text = str(function.attributes["function_type"])
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=TYPE_DIGITS // 2).hexdigest()


def op_pattern(op: Operation) -> OpPattern | None:
    """Return the fusion class of a PrimFunc, or None if it states none. Raise RelaxError for a malformed attribute."""
    attributes = op.operation.attributes
    if OP_PATTERN not in attributes:
        return None
    if not isinstance(attribute := attributes[OP_PATTERN], ir.StringAttr):
        raise RelaxError(f"attribute '{OP_PATTERN}' must be a string, got {attribute}")
    return OpPattern.parse(attribute.value)


def set_op_pattern(op: Operation, pattern: OpPattern | str) -> None:
    operation = op.operation
    operation.attributes[OP_PATTERN] = _pattern_attribute(pattern, operation.context)


def _pattern_attribute(pattern: OpPattern | str, context: Context) -> Attribute:
    if isinstance(pattern, str):
        pattern = OpPattern.parse(pattern)
    return ir.StringAttr.get(pattern.attribute_text, context)


def make_prim_func(
    name: str,
    inputs: Sequence[Type],
    outputs: Sequence[Type],
    body: Callable[..., object],
    *,
    ip: InsertionPoint | None = None,
    loc: Location | None = None,
    pattern: OpPattern | str | None = None,
    attributes: Mapping[str, Attribute] | None = None,
) -> Operation:
    """Create a PrimFunc at the current insertion point (or `ip=`) and return its operation.

    Inputs and outputs are types, as infos, MLIR types or text. Outputs are all tensors or all memrefs. `body` is called
    with the parameters, inputs first, and builds the function's body. On tensors it returns the outputs' values (one,
    or a sequence), on memrefs nothing.
    """
    context = _context(ip, loc)
    with context, loc or ir.Location.current or ir.Location.unknown(context):
        types = [_as_type(item, context) for item in (*inputs, *outputs)]
        results = [type_ for type_ in types[len(inputs) :] if not _is_memref(type_)]
        held = {PRIM_FUNC: ir.UnitAttr.get(), **(attributes or {})}
        if pattern is not None:
            held[OP_PATTERN] = _pattern_attribute(pattern, context)
        if problems := _problems(held, types, results):
            raise VerificationError(f"PrimFunc @{name} {problems[0]}")
        operation = _create_function(name, types, results, held, ip)
        try:
            _fill(operation, name, results, body)
        except BaseException:
            operation.erase()
            raise
    return operation


def _context(ip: InsertionPoint | None, loc: Location | None) -> Context:
    if loc is not None:
        return loc.context
    if ip is not None:
        return ip.block.owner.context
    if ir.Context.current is None:
        raise RelaxError("a PrimFunc cannot be made outside of a module: no context (use `with module.body:` or ip=)")
    return ir.Context.current


def _as_type(item: object, context: Context) -> Type:
    if isinstance(item, ir.Type):
        return item
    if isinstance(item, Info):
        return encode(item, context)
    if not isinstance(item, str):
        raise RelaxError(f"a parameter's type must be an MLIR type, an info or text, got {type(item).__name__}")
    try:
        return parse_type(item, context)
    except ValueError:
        raise RelaxError(f"'{item}' is not a type") from None


def _create_function(
    name: str,
    parameters: Sequence[Type],
    results: Sequence[Type],
    attributes: Mapping[str, Attribute],
    ip: InsertionPoint | None,
) -> Operation:
    function_type = ir.FunctionType.get(parameters, results)
    all_attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(function_type),
        **attributes,
    }
    operation = ir.Operation.create("func.func", attributes=all_attributes, regions=1, ip=ip)
    operation.regions[0].blocks.append(*parameters)
    return operation


def _fill(operation: Operation, name: str, results: Sequence[Type], body: Callable[..., object]) -> None:
    block = body_of(operation)
    with ir.InsertionPoint(block):
        values = _list_returned(body(*block.arguments))
        if [value.type for value in values] != list(results):
            shown = ", ".join(str(value.type) for value in values) or "nothing"
            expected = ", ".join(map(str, results)) or "nothing"
            raise RelaxError(f"PrimFunc @{name}: the body returned {shown}, but {expected} is expected")
        ir.Operation.create("func.return", operands=values)


def _list_returned(values: object) -> list[Value]:
    if values is None:
        return []
    return [item if isinstance(item, ir.Value) else item.operation.result for item in as_list(values)]


def schedule_lines(op: Operation, name: str = SCHEDULE) -> list[str] | None:
    """Return the lines of a PrimFunc's schedule, or None if it has no schedule or names a transform sequence."""
    attributes = op.operation.attributes
    if name not in attributes or not isinstance(attributes[name], ir.ArrayAttr):
        return None
    return [string_value(line) for line in attributes[name]]


def set_schedule_lines(op: Operation, lines: Sequence[str], name: str = SCHEDULE) -> None:
    operation = op.operation
    texts = [ir.StringAttr.get(line, operation.context) for line in lines]
    operation.attributes[name] = ir.ArrayAttr.get(texts, operation.context)


def lines_without_loops(place: str, reason: str) -> list[str]:
    """Return lines for `tir.loops` that state why a PrimFunc lacks the loops of its text, beginning at a place."""
    return [LOOPS_HEADER, f"left_out({place!r}, {reason!r})"]


def is_without_loops(op: Operation) -> bool:
    """Return True if the lines of `tir.loops` only state why a PrimFunc lacks the loops of its text."""
    return (schedule_lines(op, LOOPS) or [""])[-1].startswith("left_out(")


# ---- verification ----


def check_prim_funcs(op: Operation) -> bool:
    """Report problems of the PrimFuncs of a module, nested modules included, at their locations.

    Return True if there are none.
    """
    valid = True
    for operation in functions_within(op.operation):
        for problem in verify_prim_func(operation):
            operation.location.emit_error(f"'func.func' op @{symbol_name(operation)} {problem}")
            valid = False
    return valid


def functions_within(operation: Operation) -> Iterator[Operation]:
    """Yield the operation if it is a function, or the functions of a module and its nested modules."""
    if operation.name == "func.func":
        yield operation
    elif operation.name == "builtin.module":
        for op in body_of(operation).operations:
            yield from functions_within(op.operation)


def verify_prim_func(op: Operation) -> list[str]:
    """Return the problems of a function's attributes, and of its signature if it is a PrimFunc.

    Other functions must not have a PrimFunc's attributes.
    """
    operation = op.operation
    attributes = dict(operation.attributes)
    if PRIM_FUNC not in attributes:
        present = [name for name in attributes if name.startswith("tir.")]
        problems = [
            f"has attribute '{name}' but is no PrimFunc (it has no attribute '{PRIM_FUNC}')" for name in present
        ]
        others = {name: attribute for name, attribute in attributes.items() if name not in present}
        return [*problems, *attribute_problems(operation.name, others)]
    function_type = function_type_of(operation)
    return _problems(attributes, function_type.inputs, function_type.results)


def _problems(attributes: Mapping[str, Attribute], parameters: Sequence[Type], results: Sequence[Type]) -> list[str]:
    """Return the problems of a PrimFunc with these attributes and types. MLIR's own attributes are not checked."""
    return [*attribute_problems("func.func", attributes), *_signature_problems(parameters, results)]


def _signature_problems(parameters: Sequence[Type], results: Sequence[Type]) -> Iterator[str]:
    tensor = next((i for i, type_ in enumerate(parameters) if _is_tensor(type_)), None)
    memref = next((i for i, type_ in enumerate(parameters) if _is_memref(type_)), None)
    if tensor is not None and memref is not None:
        yield (
            f"takes tensors and memrefs (parameter #{tensor} is {parameters[tensor]}, #{memref} is "
            f"{parameters[memref]}): it must be on either"
        )
    elif tensor is not None and not results:
        yield "returns nothing: on tensors it must return its outputs, which are its trailing parameters"
    if len(results) > len(parameters):
        yield f"returns {len(results)} outputs but has {len(parameters)} parameters: each output is one too"
        return
    start = len(parameters) - len(results)
    for index, result in enumerate(results):
        parameter = parameters[start + index]
        if not (_is_tensor(result) or _is_memref(result)):
            yield f"has result #{index} ({result}) that must be a tensor, of rank 0 for a scalar"
        elif not _same_buffer(parameter, result):
            output = f"parameter #{start + index} ({parameter})"
            yield f"has result #{index} ({result}) that must have the type of its output, {output}"


def _is_tensor(type_: Type) -> bool:
    return isinstance(type_, (ir.RankedTensorType, ir.UnrankedTensorType))


def _is_memref(type_: Type) -> bool:
    return isinstance(type_, (ir.MemRefType, ir.UnrankedMemRefType))


def _same_buffer(parameter: Type, result: Type) -> bool:
    """Check whether a result matches its buffer.

    Memrefs are returned between bufferization and drop-equivalent-buffer-results; layouts may differ.
    """
    if not (isinstance(parameter, ir.MemRefType) and isinstance(result, ir.MemRefType)):
        return parameter == result
    return parameter.element_type == result.element_type and list(parameter.shape) == list(result.shape)
