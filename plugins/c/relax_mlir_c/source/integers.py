# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer operations of the arith dialect in C. An i1 is a C bool: true is -1 in signed operations, else 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from relax_mlir.bindings.ir import Operation, Type
from relax_mlir.bindings.mlir import ir
from relax_mlir.support.errors import RefusalError

from .expressions import BITS, UNARY, Expression, binary, call, cast, choice, integer, name, unary
from .types import integer_literal, machine_width, scalar_type
from .writer import FunctionWriter, Rule, ScalarRule, scalar

_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_OPERATORS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
#: Predicates that are true for equal operands.
_REFLEXIVE = ("==", "<=", ">=")
TRUE, FALSE = name("true"), name("false")


def is_bool(type_: Type) -> bool:
    return isinstance(type_, ir.IntegerType) and bool(type_.width == 1)


def width_of(type_: Type) -> int:
    return 64 if isinstance(type_, ir.IndexType) else int(type_.width)


def is_odd(type_: Type) -> bool:
    """Check whether C has no integers of this width."""
    return width_of(type_) != machine_width(type_)


def fitted(writer: FunctionWriter, result: Expression, type_: Type) -> Expression:
    """Truncate an integer that was computed with more bits."""
    if is_bool(type_):
        return result
    return cut(writer, cast(scalar_type(type_), result) if machine_width(type_) < 32 else result, type_)


def cut(writer: FunctionWriter, expression: Expression, type_: Type) -> Expression:
    """Truncate an integer of an odd width, with sign extension to its C type."""
    if not is_odd(type_):
        return expression
    return call(writer.helper(f"low_bits_i{machine_width(type_)}"), expression, integer(width_of(type_)))


def unsigned(value: Expression, type_: Type) -> Expression:
    """Return an integer as unsigned."""
    if is_bool(type_):
        return value
    made = cast(f"uint{machine_width(type_)}_t", value)
    return binary("&", made, integer((1 << width_of(type_)) - 1)) if is_odd(type_) else made


def _bits(writer: FunctionWriter, expression: Expression, type_: Type) -> Expression:
    """Reinterpret bits as a signed number of the type."""
    return expression if is_bool(type_) else cut(writer, cast(scalar_type(type_), expression), type_)


def _number(value: Expression) -> int | None:
    """Return the value of a literal, also for the minima that C has no literals for."""
    return {"INT32_MIN": -(2**31), "INT64_MIN": -(2**63)}.get(value.text, value.number)


def _literal(value: int, type_: Type) -> Expression:
    """Return the literal of a type for the low bits of a value."""
    width = width_of(type_)
    low = value & (1 << width) - 1
    return integer_literal(low - (1 << width) if width > 1 and low >> (width - 1) else low, f"i{width}")


# ---- arithmetic ----


def _arithmetic(operator: str, word: str, computed: Callable[[int, int], int]) -> ScalarRule:
    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        type_ = op.results[0].type
        if is_bool(type_):
            return both(*operands) if operator == "*" else _compared_bools("!=", *operands, has_sign=True)
        left, right = map(_number, operands)
        if left is not None and right is not None:
            return _literal(computed(left, right), type_)  # C would compute literals as int
        if machine_width(type_) < 32 or all(operand.is_place for operand in operands) or _never_wraps(op):
            return fitted(writer, binary(operator, *operands), type_)
        return cut(writer, call(writer.helper(f"wrap_{word}_i{machine_width(type_)}"), *operands), type_)

    return rule


def _never_wraps(op: Operation) -> bool:
    return "overflowFlags" in op.attributes and "nsw" in str(op.attributes["overflowFlags"])


def _division(rule: ScalarRule) -> ScalarRule:
    """Return 0 for a division by literal 0.

    Dead code may divide by sizes of 0, and compilers warn of visible divisions by 0.
    """
    return lambda writer, op, operands: (
        _literal(0, op.results[0].type) if operands[1].text in ("0", "false") else rule(writer, op, operands)
    )


def _make_signed_rule(operator: str) -> ScalarRule:
    return _division(lambda writer, op, operands: fitted(writer, binary(operator, *operands), op.results[0].type))


def _make_unsigned_rule(operator: str) -> ScalarRule:
    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        type_ = op.results[0].type
        if all(operand.is_place and operand.is_natural for operand in operands):
            return binary(operator, *operands)
        return _bits(writer, binary(operator, *(unsigned(operand, type_) for operand in operands)), type_)

    return _division(rule)


def _rounded_quotient(word: str, *, has_sign: bool = True) -> ScalarRule:
    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        type_ = op.results[0].type
        if is_bool(type_):
            raise RefusalError(f"C has no counterpart for it on {type_}")
        taken = operands if has_sign or not is_odd(type_) else [unsigned(operand, type_) for operand in operands]
        made = call(writer.helper(f"{word}_{'i' if has_sign else 'u'}{machine_width(type_)}"), *taken)
        return cut(writer, made, type_)

    return _division(rule)


def helped(word: str, sign: str = "i") -> ScalarRule:
    """Return the rule that calls a function of helpers.c for the width of the integers."""

    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        type_ = op.results[0].type
        if is_odd(type_):
            raise RefusalError(f"C has no counterpart for it on {type_}")
        return call(writer.helper(f"{word}_{sign}{machine_width(type_)}"), *operands)

    return rule


def _product_parts(has_sign: bool) -> Rule:
    """Return the rule for both halves of a product."""

    def rule(writer: FunctionWriter, op: Operation) -> None:
        low, high = op.results
        if is_odd(low.type):
            raise RefusalError(f"C has no counterpart for it on {low.type}")
        width = machine_width(low.type)
        left, right = (writer.atom(each, low.type) for each in writer.all(list(op.operands)))
        writer.define(low, call(writer.helper(f"wrap_mul_i{width}"), left, right))
        writer.define(high, call(writer.helper(f"high_product_i{width}"), left, right, TRUE if has_sign else FALSE))

    return rule


def _sum_and_carry(writer: FunctionWriter, op: Operation) -> None:
    total, carry = op.results
    type_ = total.type
    if is_odd(type_):
        raise RefusalError(f"C has no counterpart for it on {type_}")
    left, right = (writer.atom(each, type_) for each in writer.all(list(op.operands)))
    summed = writer.declare(call(writer.helper(f"wrap_add_i{machine_width(type_)}"), left, right), type_)
    writer.know(total, summed)
    writer.define(carry, compared(writer, "<", summed, left, type_, has_sign=False))


# ---- bits ----


def negation(value: Expression) -> Expression:
    """Return the negation of a bool."""
    return {"true": FALSE, "false": TRUE}.get(value.text) or unary("!", value)


def both(left: Expression, right: Expression) -> Expression:
    return _joined_bools("&&", left, right, neutral="true")


def either(left: Expression, right: Expression) -> Expression:
    return _joined_bools("||", left, right, neutral="false")


def _joined_bools(operator: str, left: Expression, right: Expression, neutral: str) -> Expression:
    """Return a logical operation, simplified for constant and equal operands, which known sizes make frequent."""
    for one, other in ((left, right), (right, left)):
        if one.text in ("true", "false"):
            return other if one.text == neutral else one
    return left if left == right else binary(operator, left, right)


def _logic(operator: str, of_bools: Callable[[Expression, Expression], Expression]) -> ScalarRule:
    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        type_ = op.results[0].type
        return of_bools(*operands) if is_bool(type_) else fitted(writer, binary(operator, *operands), type_)

    return rule


def _shift(operator: str, word: str, sign: str) -> ScalarRule:
    """Return the rule of a shift: C's operator for known amounts in range, else a helper function."""
    any_number = helped(word, sign)

    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        type_, by = op.results[0].type, operands[1].number
        if is_bool(type_):
            return operands[0]  # only a shift by 0 is defined
        if is_odd(type_):
            return _odd_shift(writer, op, operands)
        if by is None or not 0 <= by < width_of(type_):
            return any_number(writer, op, operands)
        if word == "shift_right" and sign == "i":
            return fitted(writer, binary(operator, *operands), type_)
        return _bits(writer, binary(operator, unsigned(operands[0], type_), operands[1]), type_)

    return rule


def _odd_shift(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    type_ = op.results[0].type
    value = unsigned(operands[0], type_) if op.name == "arith.shrui" else operands[0]
    word = {"arith.shli": "shift_left_i", "arith.shrsi": "shift_right_i", "arith.shrui": "shift_right_i"}[op.name]
    moved = call(writer.helper(f"{word}{machine_width(type_)}"), cast(scalar_type(type_), value), operands[1])
    return cut(writer, moved, type_)


# ---- comparisons ----


def compared(
    writer: FunctionWriter, operator: str, left: Expression, right: Expression, type_: Type, *, has_sign: bool = True
) -> Expression:
    """Return a comparison, folded if it is constant for the types' ranges, since compilers warn of such comparisons."""
    if is_bool(type_):
        return _compared_bools(operator, left, right, has_sign=has_sign)
    if left == right:
        return TRUE if operator in _REFLEXIVE else FALSE
    decided = _decide_comparison(operator, _range(left, type_, has_sign), _range(right, type_, has_sign))
    if decided is not None:
        return TRUE if decided else FALSE
    if left.number is not None or right.number is not None:
        # Widened or masked values may never equal the constant, of which compilers would warn.
        left, right = (
            writer.atom(expression, type_) if expression.level in (BITS, UNARY) else expression
            for expression in (left, right)
        )
    if not has_sign and operator not in ("==", "!="):
        left, right = unsigned(left, type_), unsigned(right, type_)
    return binary(operator, left, right)


def _compared_bools(operator: str, left: Expression, right: Expression, *, has_sign: bool) -> Expression:
    if left == right:
        return TRUE if operator in _REFLEXIVE else FALSE
    if operator in ("==", "!="):
        for one, other in ((left, right), (right, left)):
            if one.text in ("true", "false"):
                return other if (one.text == "true") == (operator == "==") else negation(other)
        return binary(operator, left, right)
    if has_sign != operator.startswith("<"):
        left, right = right, left
    # Now the left operand is the larger one.
    return either(left, negation(right)) if operator.endswith("=") else both(left, negation(right))


def _range(value: Expression, type_: Type, has_sign: bool) -> tuple[int, int]:
    """Return the minimum and maximum of a value."""
    number, width = _number(value), width_of(type_)
    least = -(1 << (width - 1)) if has_sign else 0
    if number is None:
        return least, least + (1 << width) - 1
    read = number if has_sign else number & (1 << width) - 1
    return read, read


def _decide_comparison(operator: str, left: tuple[int, int], right: tuple[int, int]) -> bool | None:
    if operator in (">", ">="):
        return _decide_comparison(operator.replace(">", "<"), right, left)
    if operator in ("==", "!="):
        is_apart = left[1] < right[0] or right[1] < left[0]
        is_one = left[0] == left[1] == right[0] == right[1]
        return (operator == "==") is is_one if is_apart or is_one else None
    always, never = (left[1] < right[0], left[0] >= right[1])
    if operator == "<=":
        always, never = (left[1] <= right[0], left[0] > right[1])
    return True if always else False if never else None


def _compare(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    word = _PREDICATES[int(op.attributes["predicate"].value)]
    has_sign, (left, right) = not word.startswith("u"), operands
    made = compared(writer, _OPERATORS[word[-2:]], left, right, op.operands[0].type, has_sign=has_sign)
    return replace(made, is_place=False)


def _extremum(operator: str, *, has_sign: bool) -> ScalarRule:
    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        type_ = op.results[0].type
        if is_bool(type_):
            return both(*operands) if has_sign == (operator == ">") else either(*operands)
        left, right = (writer.atom(operand, type_) for operand in operands)
        is_left = compared(writer, operator, left, right, type_, has_sign=has_sign)
        return chosen(is_left, left, right)

    return rule


def chosen(condition: Expression, yes: Expression, no: Expression) -> Expression:
    if condition.text in ("true", "false"):
        return yes if condition.text == "true" else no
    return yes if yes == no else choice(condition, yes, no)


_SCALAR: dict[str, ScalarRule] = {
    "addi": _arithmetic("+", "add", int.__add__),
    "subi": _arithmetic("-", "sub", int.__sub__),
    "muli": _arithmetic("*", "mul", int.__mul__),
    "divsi": _make_signed_rule("/"),
    "remsi": _make_signed_rule("%"),
    "divui": _make_unsigned_rule("/"),
    "remui": _make_unsigned_rule("%"),
    "floordivsi": _rounded_quotient("floor_div"),
    "ceildivsi": _rounded_quotient("ceil_div"),
    "ceildivui": _rounded_quotient("ceil_div", has_sign=False),
    "andi": _logic("&", both),
    "ori": _logic("|", either),
    "xori": _logic("^", lambda left, right: _compared_bools("!=", left, right, has_sign=True)),
    "shli": _shift("<<", "shift_left", "i"),
    "shrsi": _shift(">>", "shift_right", "i"),
    "shrui": _shift(">>", "shift_right", "u"),
    "maxsi": _extremum(">", has_sign=True),
    "minsi": _extremum("<", has_sign=True),
    "maxui": _extremum(">", has_sign=False),
    "minui": _extremum("<", has_sign=False),
    "cmpi": _compare,
}

RULES: dict[str, Rule] = {
    **{f"arith.{word}": scalar(rule) for word, rule in _SCALAR.items()},
    "arith.mulsi_extended": _product_parts(True),
    "arith.mului_extended": _product_parts(False),
    "arith.addui_extended": _sum_and_carry,
}
