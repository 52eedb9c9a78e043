# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of OpenCL C for operations on numbers, scalars and vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relax_mlir.bindings.ir import Operation, Type
from relax_mlir.support.errors import RelaxError

from .type_text import bits_of, c_type, is_truth, lanes_of, room_of, scalar_type, signed, signed_integer

#: Returns the expression of an operation's only result for the expressions of its operands.
Rule = Callable[[Operation, Sequence[str]], str]
_FEWER_BITS_THAN_INT = 32


def converted(text: str, to: str, lanes: int) -> str:
    return f"convert_{to}({text})" if lanes > 1 else f"({to})({text})"


def _as_signed(text: str, type_: Type) -> str:
    """Return a number as a signed integer.

    If a type has fewer bits than its C type, the upper bits become copies of the sign.
    """
    name, more = signed(c_type(type_)), room_of(type_) - bits_of(type_)
    if not more:
        return f"as_{name}({text})"
    moved = converted(f"{text} << {more}", c_type(type_), lanes_of(type_))
    return converted(f"as_{name}({moved}) >> {more}", name, lanes_of(type_))


#: Operators that implement the arithmetic of one bit.
_OF_TRUTHS = {"&": "&", "|": "|", "^": "^", "+": "^", "-": "^", "*": "&"}


def _infix(sign: str) -> Rule:
    return lambda op, operands: f"{operands[0]} {sign} {operands[1]}"


def _make_integer_rule(sign: str) -> Rule:
    def rule(op: Operation, operands: Sequence[str]) -> str:
        type_, (x, y) = op.results[0].type, operands
        if is_truth(type_):
            if sign not in _OF_TRUTHS:
                raise RelaxError("it does not support truth values")
            return f"{x} {_OF_TRUTHS[sign]} {y}"
        if room_of(type_) != bits_of(type_):
            raise RelaxError(f"it does not support {type_}")
        if lanes_of(type_) == 1 and bits_of(type_) < _FEWER_BITS_THAN_INT:
            # C promotes operands to int, which overflows for products of ushorts.
            return f"({c_type(type_)})((uint){x} {sign} (uint){y})"
        return f"{x} {sign} {y}"

    return rule


def _make_signed_rule(sign: str) -> Rule:
    def rule(op: Operation, operands: Sequence[str]) -> str:
        type_ = op.results[0].type
        if room_of(type_) != bits_of(type_):
            raise RelaxError(f"it does not support {type_}")
        x, y = (_as_signed(operand, type_) for operand in operands)
        y = operands[1] if sign == ">>" else y
        text = f"{x} {sign} {y}"
        return f"as_{c_type(type_)}({text})" if lanes_of(type_) > 1 else f"({c_type(type_)})({text})"

    return rule


def _function(name: str) -> Rule:
    return lambda op, operands: f"{name}({', '.join(operands)})"


def _make_signed_function_rule(name: str) -> Rule:
    def rule(op: Operation, operands: Sequence[str]) -> str:
        type_ = op.results[0].type
        if room_of(type_) != bits_of(type_):
            raise RelaxError(f"it does not support {type_}")
        text = f"{name}({', '.join(_as_signed(operand, type_) for operand in operands)})"
        return f"as_{c_type(type_)}({text})"

    return rule


def _absolute(op: Operation, operands: Sequence[str]) -> str:
    return f"abs({_as_signed(operands[0], op.results[0].type)})"


def _truth(text: str, op: Operation) -> str:
    """Return a comparison as int. For vectors it has as many bits as its operands, and is converted."""
    lanes = lanes_of(op.results[0].type)
    return f"convert_int{lanes}({text})" if lanes > 1 else f"(int)({text})"


_INTEGER_SIGNS = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
_FIRST_UNSIGNED = 6


def _compare_integers(op: Operation, operands: Sequence[str]) -> str:
    predicate, type_ = op.attributes["predicate"].value, op.operands[0].type
    # True is -1 as a signed number, which vectors contain already.
    is_signed = 1 < predicate < _FIRST_UNSIGNED
    x, y = operands
    if is_truth(type_):
        x, y = (f"-{each}" if is_signed and lanes_of(type_) == 1 else each for each in (x, y))
        if not is_signed and lanes_of(type_) > 1:
            x, y = (f"as_uint{lanes_of(type_)}({each})" for each in (x, y))
    elif is_signed:
        x, y = (_as_signed(each, type_) for each in (x, y))
    return _truth(f"{x} {_INTEGER_SIGNS[predicate]} {y}", op)


#: Comparisons by arith's numbers, 1 to 14: first the ordered ones, then the ones that are true for NaN.
_FLOAT_COMPARISONS = {
    1: "{0} == {1}", 2: "{0} > {1}", 3: "{0} >= {1}", 4: "{0} < {1}", 5: "{0} <= {1}", 6: "islessgreater({0}, {1})",
    7: "isordered({0}, {1})", 8: "!islessgreater({0}, {1})", 9: "!({0} <= {1})", 10: "!({0} < {1})",
    11: "!({0} >= {1})", 12: "!({0} > {1})", 13: "{0} != {1}", 14: "isunordered({0}, {1})",
}  # fmt: skip


def _compare_floats(op: Operation, operands: Sequence[str]) -> str:
    predicate = op.attributes["predicate"].value
    if predicate not in _FLOAT_COMPARISONS:
        raise RelaxError("a comparison that is never or always true is a constant")
    return _truth(_FLOAT_COMPARISONS[predicate].format(*operands), op)


def _extreme(above: str, zeros: str) -> Rule:
    """Return the rule of a maximum or minimum.

    The result is NaN if an operand is. Zeros of different sign are combined by their bits; equal operands have the same
    bits otherwise.
    """

    def rule(op: Operation, operands: Sequence[str]) -> str:
        type_, (x, y) = op.results[0].type, operands
        lanes = lanes_of(type_)
        bits = f"u{signed_integer(type_)}{lanes if lanes > 1 else ''}"
        both = f"as_{bits}({x}) {zeros} as_{bits}({y})"
        equal = f"as_{c_type(type_)}({both if lanes > 1 else f'({bits})({both})'})"
        if lanes == 1:
            return f"{x} {above} {y} ? {x} : {y} {above} {x} ? {y} : {x} == {y} ? {equal} : {x} + {y}"
        inner = f"select(select({x} + {y}, {equal}, {x} == {y}), {y}, {y} {above} {x})"
        return f"select({inner}, {x}, {x} {above} {y})"

    return rule


def _select(op: Operation, operands: Sequence[str]) -> str:
    condition, yes, no = operands
    type_, lanes = op.results[0].type, lanes_of(op.operands[0].type)
    if lanes == 1:
        return f"{condition} ? {yes} : {no}"
    return f"select({no}, {yes}, convert_{signed_integer(type_)}{lanes}({condition}))"


# ---- conversions ----


def _extend_signed(op: Operation, operands: Sequence[str]) -> str:
    from_, to = op.operands[0].type, op.results[0].type
    lanes, wide = lanes_of(to), c_type(to)
    text = (operands[0] if lanes > 1 else f"-{operands[0]}") if is_truth(from_) else _as_signed(operands[0], from_)
    return f"as_{wide}({converted(text, signed(wide), lanes)})"


def _extend_unsigned(op: Operation, operands: Sequence[str]) -> str:
    from_, to = op.operands[0].type, op.results[0].type
    text = f"as_uint{lanes_of(to)}({operands[0]} & 1)" if is_truth(from_) and lanes_of(to) > 1 else operands[0]
    return converted(text, c_type(to), lanes_of(to))


def _truncate(op: Operation, operands: Sequence[str]) -> str:
    from_, to = scalar_type(op.operands[0].type), op.results[0].type
    if is_truth(to):
        text = converted(f"{operands[0]} & ({from_})1", c_type(to), lanes_of(to))
        return f"-{text}" if lanes_of(to) > 1 else text
    kept = f" & ({from_}){(1 << bits_of(to)) - 1:#x}" if room_of(to) != bits_of(to) else ""
    return converted(operands[0] + kept, c_type(to), lanes_of(to))


def _cast_index(extend: Rule) -> Rule:
    def rule(op: Operation, operands: Sequence[str]) -> str:
        from_, to = bits_of(op.operands[0].type), bits_of(op.results[0].type)
        if from_ == to:
            return operands[0]
        return (extend if from_ < to else _truncate)(op, operands)

    return rule


def _from_signed(op: Operation, operands: Sequence[str]) -> str:
    from_, to = op.operands[0].type, op.results[0].type
    text = operands[0] if is_truth(from_) and lanes_of(to) > 1 else _as_signed(operands[0], from_)
    return converted(f"-{operands[0]}" if is_truth(from_) and lanes_of(to) == 1 else text, c_type(to), lanes_of(to))


def _from_unsigned(op: Operation, operands: Sequence[str]) -> str:
    text = f"{operands[0]} & 1" if is_truth(op.operands[0].type) else operands[0]
    return converted(text, c_type(op.results[0].type), lanes_of(op.results[0].type))


def _to_signed(op: Operation, operands: Sequence[str]) -> str:
    to = op.results[0].type
    return f"as_{c_type(to)}({converted(operands[0], signed(c_type(to)), lanes_of(to))})"


def _convert(op: Operation, operands: Sequence[str]) -> str:
    return converted(operands[0], c_type(op.results[0].type), lanes_of(op.results[0].type))


def _bitcast(op: Operation, operands: Sequence[str]) -> str:
    return f"as_{c_type(op.results[0].type)}({operands[0]})"


# ---- vectors ----


def _broadcast(op: Operation, operands: Sequence[str]) -> str:
    type_ = op.results[0].type
    if lanes_of(op.operands[0].type) == lanes_of(type_):
        return operands[0]
    text = f"-{operands[0]}" if is_truth(type_) else operands[0]
    return f"({c_type(type_)})({text})"


def _from_elements(op: Operation, operands: Sequence[str]) -> str:
    type_ = op.results[0].type
    if lanes_of(type_) == 1:
        return operands[0]
    listed = ", ".join(f"-{operand}" if is_truth(type_) else operand for operand in operands)
    return f"({c_type(type_)})({listed})"


def _extract(op: Operation, operands: Sequence[str]) -> str:
    type_, places = op.operands[0].type, list(op.attributes["static_position"])
    if len(places) != len(type_.shape) or len(operands) > 1:
        raise RelaxError("only single lanes at constant positions can be extracted from vectors")
    place = 0
    for size, each in zip(type_.shape, places, strict=True):
        place = place * size + each
    if lanes_of(type_) == 1:
        return operands[0]
    text = f"{operands[0]}.s{place:x}"
    return f"{text} & 1" if is_truth(type_) else text


def _plain(op: Operation, operands: Sequence[str]) -> str:
    return operands[0]


_ARITHMETIC: Mapping[str, Rule] = {
    **{f"arith.{name}": _make_integer_rule(sign) for name, sign in (
        ("addi", "+"), ("subi", "-"), ("muli", "*"), ("divui", "/"), ("remui", "%"), ("shli", "<<"), ("shrui", ">>"),
        ("andi", "&"), ("ori", "|"), ("xori", "^"))},
    **{f"arith.{name}": _make_signed_rule(sign) for name, sign in (("divsi", "/"), ("remsi", "%"), ("shrsi", ">>"))},
    **{f"arith.{name}": _infix(sign) for name, sign in (("addf", "+"), ("subf", "-"), ("mulf", "*"), ("divf", "/"))},
    "arith.minui": _function("min"), "arith.maxui": _function("max"),
    "arith.minsi": _make_signed_function_rule("min"), "arith.maxsi": _make_signed_function_rule("max"),
    "arith.maximumf": _extreme(">", "&"), "arith.minimumf": _extreme("<", "|"),
    "arith.negf": lambda op, operands: f"-{operands[0]}",
    "arith.remf": _function("fmod"), "arith.minnumf": _function("fmin"), "arith.maxnumf": _function("fmax"),
    "arith.cmpi": _compare_integers, "arith.cmpf": _compare_floats, "arith.select": _select,
}  # fmt: skip
_CONVERSIONS: Mapping[str, Rule] = {
    "arith.extsi": _extend_signed,
    "arith.extui": _extend_unsigned,
    "arith.trunci": _truncate,
    "arith.index_cast": _cast_index(_extend_signed),
    "arith.index_castui": _cast_index(_extend_unsigned),
    "arith.sitofp": _from_signed,
    "arith.uitofp": _from_unsigned,
    "arith.fptosi": _to_signed,
    "arith.fptoui": _convert,
    "arith.extf": _convert,
    "arith.truncf": _convert,
    "arith.bitcast": _bitcast,
    "vector.bitcast": _bitcast,
}
#: Functions of the math dialect, with their names in C if different.
_FUNCTIONS = {
    "absf": "fabs", "ceil": "", "floor": "", "round": "", "roundeven": "rint", "trunc": "", "sqrt": "", "rsqrt": "",
    "fma": "", "copysign": "", "exp": "", "exp2": "", "expm1": "", "log": "", "log2": "", "log10": "", "log1p": "",
    "sin": "", "cos": "", "tan": "", "asin": "", "acos": "", "atan": "", "atan2": "", "sinh": "", "cosh": "",
    "tanh": "", "asinh": "", "acosh": "", "atanh": "", "erf": "", "erfc": "", "powf": "pow", "cbrt": "",
    "ctlz": "clz", "ctpop": "popcount",
}  # fmt: skip
RULES: Mapping[str, Rule] = {
    **_ARITHMETIC,
    **_CONVERSIONS,
    **{f"math.{name}": _function(c or name) for name, c in _FUNCTIONS.items()},
    "math.absi": _absolute,
    "math.isnan": lambda op, operands: _truth(f"isnan({operands[0]})", op),
    "math.isinf": lambda op, operands: _truth(f"isinf({operands[0]})", op),
    "math.isfinite": lambda op, operands: _truth(f"isfinite({operands[0]})", op),
    "vector.broadcast": _broadcast,
    "vector.from_elements": _from_elements,
    "vector.extract": _extract,
    "vector.shape_cast": _plain,
    "vector.fma": _function("fma"),
}
