# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What arith computes, in C."""

from __future__ import annotations

from ....bindings.ir import Operation, Type
from ....bindings.mlir import ir
from ....support.errors import RelaxError
from .expressions import Expression, binary, call, cast, choice, integer, name, unary
from .types import HALVES, attribute_literal, machine_width, scalar_type
from .writer import FunctionWriter, Rule, ScalarRule, scalar

_PREDICATES = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
#: Of these numbers and above integers are compared without sign.
_UNSIGNED = 6


def _is_bool(type_: Type) -> bool:
    return isinstance(type_, ir.IntegerType) and bool(type_.width == 1)


def _width(type_: Type) -> int:
    return 64 if isinstance(type_, ir.IndexType) else int(type_.width)


def _is_odd(type_: Type) -> bool:
    return _width(type_) != machine_width(type_)


def _fitted(writer: FunctionWriter, result: Expression, type_: Type) -> Expression:
    """An integer that was computed with more bits, cut off."""
    width = machine_width(type_)
    return _cut(writer, cast(scalar_type(type_), result) if width < 32 else result, type_)


def unsigned(value: Expression, type_: Type) -> Expression:
    """An integer, read without sign."""
    if _is_bool(type_):
        return value
    made = cast(f"uint{machine_width(type_)}_t", value)
    return binary("&", made, integer((1 << _width(type_)) - 1)) if _is_odd(type_) else made


# ---- integers ----


def _arithmetic(operator: str, word: str) -> ScalarRule:
    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        type_ = op.results[0].type
        if _is_bool(type_):
            return binary("&&" if operator == "*" else "!=", *operands)
        if _width(type_) < 32:
            return _fitted(writer, binary(operator, *operands), type_)
        if all(each.is_place for each in operands) or _never_wraps(op):
            return _fitted(writer, binary(operator, *operands), type_)
        made = call(writer.helper(f"wrap_{word}_i{machine_width(type_)}"), *operands)
        return _fitted(writer, made, type_) if _is_odd(type_) else made

    return rule


def _never_wraps(op: Operation) -> bool:
    return "overflowFlags" in op.attributes and "nsw" in str(op.attributes["overflowFlags"])


def _signed(operator: str) -> ScalarRule:
    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        return _fitted(writer, binary(operator, *operands), op.results[0].type)

    return rule


def _unsigned(operator: str) -> ScalarRule:
    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        type_ = op.results[0].type
        made = binary(operator, *(unsigned(each, type_) for each in operands))
        return _bits(writer, made, type_)

    return rule


def _bits(writer: FunctionWriter, made: Expression, type_: Type) -> Expression:
    """The number that bits stand for."""
    if _is_bool(type_):
        return made
    return _cut(writer, cast(scalar_type(type_), made), type_)


def _cut(writer: FunctionWriter, made: Expression, type_: Type) -> Expression:
    """What C has no type for is kept as the number that its bits stand for."""
    if not _is_odd(type_):
        return made
    return call(writer.helper(f"low_bits_i{machine_width(type_)}"), made, integer(_width(type_)))


def _logic(operator: str, of_bools: str) -> ScalarRule:
    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        type_ = op.results[0].type
        if _is_bool(type_):
            if of_bools == "!=" and operands[1].text == "true":
                return unary("!", operands[0])
            return _simplified(of_bools, *operands)
        return _fitted(writer, binary(operator, *operands), type_)

    return rule


def _simplified(operator: str, left: Expression, right: Expression) -> Expression:
    """What is known of sizes decides much."""
    decides = {"&&": "false", "||": "true"}.get(operator)
    for one, other in ((left, right), (right, left)):
        if one.text in ("true", "false") and decides is not None:
            return one if one.text == decides else other
    return binary(operator, left, right)


def _helped(word: str, sign: str = "i") -> ScalarRule:
    """A function of helpers.c, by the width of the integers."""

    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        type_ = op.results[0].type
        if _is_odd(type_):
            raise RelaxError(f"there is no C for it on {type_}")
        return call(writer.helper(f"{word}_{sign}{machine_width(type_)}"), *operands)

    return rule


def _shift(operator: str, word: str, sign: str) -> ScalarRule:
    """By a number that is known, C's operator; else what is right for any number."""
    helped = _helped(word, sign)

    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        type_, by = op.results[0].type, operands[1].number
        if by is None or not 0 <= by < _width(type_) or _is_odd(type_):
            if _is_odd(type_):
                return _odd_shift(writer, op, operands)
            return helped(writer, op, operands)
        if word == "shift_right" and sign == "i":
            return _fitted(writer, binary(operator, *operands), type_)
        return _bits(writer, binary(operator, unsigned(operands[0], type_), operands[1]), type_)

    return rule


def _odd_shift(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    type_ = op.results[0].type
    value = unsigned(operands[0], type_) if op.name == "arith.shrui" else operands[0]
    word = {"arith.shli": "shift_left_i", "arith.shrsi": "shift_right_i", "arith.shrui": "shift_right_i"}[op.name]
    width = machine_width(type_)
    moved = call(writer.helper(f"{word}{width}"), cast(scalar_type(type_), value), operands[1])
    return call(writer.helper(f"low_bits_i{width}"), moved, integer(_width(type_)))


def _extremum(operator: str, has_sign: bool) -> ScalarRule:
    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        type_ = op.results[0].type
        left, right = (writer.atom(each, type_) for each in operands)
        pair = (left, right) if has_sign else (unsigned(left, type_), unsigned(right, type_))
        return choice(binary(operator, *pair), left, right)

    return rule


def _compare_integers(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    predicate, type_ = int(op.attributes["predicate"].value), op.operands[0].type
    if operands[0] == operands[1] and not operands[0].reads:
        return Expression("true" if _PREDICATES[predicate] in ("==", "<=", ">=") else "false")
    if predicate >= _UNSIGNED:
        operands = [unsigned(each, type_) for each in operands]
    return binary(_PREDICATES[predicate], *operands)._replace(is_place=False)


# ---- floats ----


def _of_floats(operator: str) -> ScalarRule:
    return lambda writer, op, operands: binary(operator, *operands)


def _suffix(type_: Type) -> str:
    return "" if str(type_) == "f64" else "f"


def c_function(function: str) -> ScalarRule:
    """A function of <math.h>."""
    return lambda writer, op, operands: call(function + _suffix(op.results[0].type), *operands)


def _float_helper(word: str) -> ScalarRule:
    return lambda writer, op, operands: call(writer.helper(f"{word}{_width(op.results[0].type)}"), *operands)


#: By the number of the predicate: what is written, of an ordered one, and whether its contrary is meant.
_ORDERED = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<="}
_UNORDERED = {9: "<=", 10: "<", 11: ">=", 12: ">"}
_ONE, _ORD, _UEQ, _UNE, _UNO = 6, 7, 8, 13, 14


def _compare_floats(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    predicate, type_ = int(op.attributes["predicate"].value), op.operands[0].type
    if predicate in (0, 15):
        return Expression("true" if predicate else "false")
    is_same = op.operands[0] == op.operands[1]
    if predicate in _ORDERED and not is_same:
        return binary(_ORDERED[predicate], *operands)
    if predicate in _UNORDERED:
        return unary("!", binary(_UNORDERED[predicate], *operands))
    if is_same and predicate in (_UNE, _UNO, 1, _ORD):
        found = call("isnan", operands[0])
        return found if predicate in (_UNE, _UNO) else unary("!", found)
    if predicate == _UNE:
        return binary("!=", *operands)
    left, right = (writer.atom(each, type_) for each in operands)
    if predicate in (_ORD, _UNO):
        found = binary("||", call("isnan", left), call("isnan", right))
        return found if predicate == _UNO else unary("!", found)
    found = binary("||", binary("<", left, right), binary(">", left, right))
    return found if predicate == _ONE else unary("!", found) if predicate == _UEQ else binary("==", left, right)


# ---- conversions ----


def _to_index(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    source, target = op.operands[0].type, op.results[0].type
    if machine_width(source) == machine_width(target) and not _is_odd(target):
        return operands[0]
    if _width(source) > _width(target):
        return _truncate(writer, op, operands)
    return _extend(writer, op, operands) if _is_bool(source) else cast(scalar_type(target), operands[0])


def _to_index_unsigned(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    source, target = op.operands[0].type, op.results[0].type
    if _width(source) >= _width(target):
        return _to_index(writer, op, operands)
    return cast(scalar_type(target), unsigned(operands[0], source))


def _extend(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    target = scalar_type(op.results[0].type)
    if _is_bool(op.operands[0].type):
        return _fitted(writer, unary("-", cast(target, operands[0])), op.results[0].type)
    return cast(target, operands[0])


def _extend_unsigned(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    return cast(scalar_type(op.results[0].type), unsigned(operands[0], op.operands[0].type))


def _truncate(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    type_ = op.results[0].type
    if _is_bool(type_):
        return binary("!=", binary("&", operands[0], integer(1)), integer(0))
    return _cut(writer, cast(scalar_type(type_), operands[0]), type_)


def _to_float(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    type_ = op.operands[0].type
    operand = unary("-", cast("int32_t", operands[0])) if _is_bool(type_) else operands[0]
    return _of_float(writer, cast(_computed(op), operand), op)


def _to_float_unsigned(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    return _of_float(writer, cast(_computed(op), unsigned(operands[0], op.operands[0].type)), op)


def _computed(op: Operation) -> str:
    return "double" if str(op.results[0].type) == "f64" else "float"


def _of_float(writer: FunctionWriter, value: Expression, op: Operation) -> Expression:
    dtype = str(op.results[0].type)
    return call(writer.helper(f"{dtype}_of_f32"), value) if dtype in HALVES else value


def _to_integer(sign: str) -> ScalarRule:
    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        source, type_ = op.operands[0].type, op.results[0].type
        value, dtype = operands[0], str(source)
        if dtype in HALVES:
            value, dtype = call(writer.helper(f"f32_of_{dtype}"), value), "f32"
        if _is_bool(type_):
            return binary("!=", value, integer(0))
        made = call(writer.helper(f"{sign}{machine_width(type_)}_of_{dtype}"), value)
        return _fitted(writer, made, type_) if _is_odd(type_) else made

    return rule


def _widen(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    source, target = str(op.operands[0].type), str(op.results[0].type)
    value = call(writer.helper(f"f32_of_{source}"), operands[0]) if source in HALVES else operands[0]
    return cast("double", value) if target == "f64" else value


def _narrow(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    source, target = str(op.operands[0].type), str(op.results[0].type)
    if target == "f32":
        return cast("float", operands[0])
    # Rounded to odd in between, so that what follows rounds as if it were the first to.
    value = call(writer.helper("odd_f32_of_f64"), operands[0]) if source == "f64" else operands[0]
    return call(writer.helper(f"{target}_of_f32"), value)


def _bitcast(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    source, target = op.operands[0].type, op.results[0].type
    kinds = [isinstance(type_, ir.FloatType) for type_ in (source, target)]
    if kinds[0] == kinds[1]:
        return operands[0]
    if str(source) in HALVES:
        return cast("int16_t", operands[0])
    if str(target) in HALVES:
        return cast("uint16_t", operands[0])
    width = _width(target if kinds[0] else source)
    return call(writer.helper(f"bits_of_f{width}" if kinds[0] else f"f{width}_of_bits"), operands[0])


# ---- both ----


def _constant(writer: FunctionWriter, op: Operation) -> None:
    writer.know(op.results[0], attribute_literal(op.attributes["value"]))


def _select(writer: FunctionWriter, op: Operation) -> None:
    condition, yes, no = op.operands
    result = op.results[0]
    if isinstance(result.type, ir.MemRefType):
        raise RelaxError("it chooses between memories")
    if result.type in (ir.IntegerType.get_signless(1, result.context),):
        taken = writer.all([condition, yes, no])
        writer.define(result, _bool_choice(*taken))
        return
    writer.define(result, choice(*writer.all([condition, yes, no])))


def _bool_choice(condition: Expression, yes: Expression, no: Expression) -> Expression:
    if no.text == "false":
        return binary("&&", condition, yes)
    if yes.text == "true":
        return binary("||", condition, no)
    return choice(condition, yes, no)


def _product_parts(has_sign: bool) -> Rule:
    """Both halves of a product."""

    def rule(writer: FunctionWriter, op: Operation) -> None:
        low, high = op.results
        width = machine_width(low.type)
        left, right = (writer.atom(each, low.type) for each in writer.all(list(op.operands)))
        writer.define(low, call(writer.helper(f"wrap_mul_i{width}"), left, right))
        sign = name("true" if has_sign else "false")
        writer.define(high, call(writer.helper(f"high_product_i{width}"), left, right, sign))

    return rule


def _sum_and_carry(writer: FunctionWriter, op: Operation) -> None:
    total, carry = op.results
    left, right = (writer.atom(each, total.type) for each in writer.all(list(op.operands)))
    summed = writer.declare(call(writer.helper(f"wrap_add_i{machine_width(total.type)}"), left, right), total.type)
    writer.know(total, summed)
    writer.define(carry, binary("<", unsigned(summed, total.type), unsigned(left, total.type)))


def _same(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    return operands[0]


_RULES: dict[str, ScalarRule] = {
    "addi": _arithmetic("+", "add"),
    "subi": _arithmetic("-", "sub"),
    "muli": _arithmetic("*", "mul"),
    "divsi": _signed("/"),
    "remsi": _signed("%"),
    "divui": _unsigned("/"),
    "remui": _unsigned("%"),
    "floordivsi": _helped("floor_div"),
    "ceildivsi": _helped("ceil_div"),
    "ceildivui": _helped("ceil_div", "u"),
    "andi": _logic("&", "&&"),
    "ori": _logic("|", "||"),
    "xori": _logic("^", "!="),
    "shli": _shift("<<", "shift_left", "i"),
    "shrsi": _shift(">>", "shift_right", "i"),
    "shrui": _shift(">>", "shift_right", "u"),
    "maxsi": _extremum(">", True),
    "minsi": _extremum("<", True),
    "maxui": _extremum(">", False),
    "minui": _extremum("<", False),
    "cmpi": _compare_integers,
    "addf": _of_floats("+"),
    "subf": _of_floats("-"),
    "mulf": _of_floats("*"),
    "divf": _of_floats("/"),
    "negf": lambda writer, op, operands: unary("-", operands[0]),
    "remf": c_function("fmod"),
    "maximumf": _float_helper("max_f"),
    "minimumf": _float_helper("min_f"),
    "maxnumf": c_function("fmax"),
    "minnumf": c_function("fmin"),
    "cmpf": _compare_floats,
    "index_cast": _to_index,
    "index_castui": _to_index_unsigned,
    "extsi": _extend,
    "extui": _extend_unsigned,
    "trunci": _truncate,
    "sitofp": _to_float,
    "uitofp": _to_float_unsigned,
    "fptosi": _to_integer("i"),
    "fptoui": _to_integer("u"),
    "extf": _widen,
    "truncf": _narrow,
    "bitcast": _bitcast,
}

RULES: dict[str, Rule] = {
    **{f"arith.{word}": scalar(rule) for word, rule in _RULES.items()},
    "builtin.unrealized_conversion_cast": scalar(_same),
    "arith.constant": _constant,
    "arith.select": _select,
    "arith.mulsi_extended": _product_parts(True),
    "arith.mului_extended": _product_parts(False),
    "arith.addui_extended": _sum_and_carry,
}
