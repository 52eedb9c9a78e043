# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules for arithmetic on scalars, and on the lanes of vectors one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from relax_mlir import RefusalError, ir
from relax_mlir.bindings.ir import Type
from relax_mlir.emit.arithmetic import element_type
from relax_mlir.rewriting import Operation, Value, made_by

from .wgsl_types import HALVES, register_type, width
from .writer import KernelWriter, Rule

_T = TypeVar("_T")
#: Function of an operation and its operands' texts that returns the result's text.
_Formula = Callable[..., str]

_COMPARED = {2: "<", 3: "<=", 4: ">", 5: ">=", 6: "<", 7: "<=", 8: ">", 9: ">="}
_FIRST_UNSIGNED = 6
#: Comparisons of floats. An unordered comparison is true if an operand is a NaN. Negation of the opposite comparison
#: would not do: compilers replace !(a <= b) by a > b.
_ORDERED = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<="}
_UNORDERED = {9: ">", 10: ">=", 11: "<", 12: "<="}
#: Comparisons of f64, by arith's numbers of predicates.
_WIDE = (
    "false",
    "same_f64({a}, {b})",
    "less_f64({b}, {a})",
    "at_most_f64({b}, {a})",
    "less_f64({a}, {b})",
    "at_most_f64({a}, {b})",
    "(less_f64({a}, {b}) || less_f64({b}, {a}))",
    "!(is_nan_64({a}) || is_nan_64({b}))",
    "!(less_f64({a}, {b}) || less_f64({b}, {a}))",
    "!at_most_f64({a}, {b})",
    "!less_f64({a}, {b})",
    "!at_most_f64({b}, {a})",
    "!less_f64({b}, {a})",
    "!same_f64({a}, {b})",
    "(is_nan_64({a}) || is_nan_64({b}))",
    "true",
)


def _type(op: Operation) -> Type:
    return element_type(op.results[0].type)


def _operand_type(op: Operation) -> Type:
    return element_type(op.operands[0].type)


def _kept(text: str, type_: Type) -> str:
    """Sign-extend the low bits of a number, which may exceed its type, from the width of the type."""
    bits = width(type_)
    return text if bits == 32 else f"extractBits({text}, 0u, {bits}u)"


def _write_unsigned(text: str, type_: Type) -> str:
    bits = width(type_)
    return f"u32({text})" if bits == 32 else f"extractBits(u32({text}), 0u, {bits}u)"


def _back(text: str, type_: Type) -> str:
    return _kept(f"i32({text})", type_)


# ---- integers ----


def _integers(operator: str, pair: str, truth: str = "") -> _Formula:
    """Return a formula from an operator of i32, a function of 64-bit integers, and an operator of truth values."""

    def formula(op: Operation, a: str, b: str) -> str:
        type_ = _type(op)
        if (bits := width(type_)) == 1:
            if not truth:
                raise RefusalError("it computes with numbers of one bit, which WGSL does not support")
            return f"({a} {truth} {b})"
        return f"{pair}({a}, {b})" if bits == 64 else _kept(f"({a} {operator} {b})", type_)

    return formula


def _unsigned_integers(operator: str, pair: str) -> _Formula:
    def formula(op: Operation, a: str, b: str) -> str:
        type_ = _type(op)
        if width(type_) == 64:
            return f"{pair}({a}, {b})"
        return _back(f"{_write_unsigned(a, type_)} {operator} {_write_unsigned(b, type_)}", type_)

    return formula


def _bits(operator: str) -> _Formula:
    def formula(op: Operation, a: str, b: str) -> str:
        return f"({a} != {b})" if operator == "^" and width(_type(op)) == 1 else f"({a} {operator} {b})"

    return formula


def _shift(operator: str, pair: str, *, is_unsigned: bool = False) -> _Formula:
    def formula(op: Operation, a: str, b: str) -> str:
        type_ = _type(op)
        if width(type_) == 64:
            return f"{pair}({a}, {b})"
        number = _write_unsigned(a, type_) if is_unsigned else a
        return _back(f"({number} {operator} u32({b}))", type_)

    return formula


def _choice(function: str, less: str, *, is_unsigned: bool = False) -> _Formula:
    def formula(op: Operation, a: str, b: str) -> str:
        type_ = _type(op)
        if width(type_) == 1:
            is_and = (function == "min") == is_unsigned
            return f"({a} & {b})" if is_and else f"({a} | {b})"
        if width(type_) == 64:
            first, second = (a, b) if function == "min" else (b, a)
            return f"select({b}, {a}, {less}({first}, {second}))"
        if is_unsigned:
            return f"i32({function}(u32({a}), u32({b})))"
        return f"{function}({a}, {b})"

    return formula


def _compare(op: Operation, a: str, b: str) -> str:
    predicate, type_ = op.attributes["predicate"].value, _operand_type(op)
    bits, is_unsigned = width(type_), predicate >= _FIRST_UNSIGNED
    if predicate < 2:
        same = f"all({a} == {b})" if bits == 64 else f"({a} == {b})"
        return same if predicate == 0 else f"!{same}"
    operator = _COMPARED[predicate]
    if bits == 64:
        less = "less_u64" if is_unsigned else "less_s64"
        first, second = (a, b) if operator in ("<", ">=") else (b, a)
        return f"{'!' if '=' in operator else ''}{less}({first}, {second})"
    if bits == 1:
        # In one bit, true is the sign bit: -1 if signed.
        a, b = (f"select(0, {1 if is_unsigned else -1}, {name})" for name in (a, b))
    elif is_unsigned:
        # Sign-extended narrow numbers keep their unsigned order as u32.
        a, b = f"u32({a})", f"u32({b})"
    return f"({a} {operator} {b})"


def _sign_extend(op: Operation, a: str) -> str:
    given, type_ = _operand_type(op), _type(op)
    if width(given) == 1:
        a = f"select(0, -1, {a})"
    return f"wide_s({a})" if width(type_) == 64 else a


def _zero_extend(op: Operation, a: str) -> str:
    given, type_ = _operand_type(op), _type(op)
    number = f"select(0u, 1u, {a})" if width(given) == 1 else _write_unsigned(a, given)
    return f"vec2<u32>({number}, 0u)" if width(type_) == 64 else f"i32({number})"


def _truncate(op: Operation, a: str) -> str:
    given, type_ = _operand_type(op), _type(op)
    low = f"i32({a}.x)" if width(given) == 64 else a
    return f"(({low} & 1) != 0)" if width(type_) == 1 else _kept(low, type_)


def _index_cast(op: Operation, a: str) -> str:
    given, type_ = _operand_type(op), _type(op)
    if width(given) == 64:
        return f"index_of({a})" if width(type_) != 64 else a
    return _sign_extend(op, a) if width(type_) >= width(given) else _truncate(op, a)


def _index_cast_u(op: Operation, a: str) -> str:
    given, type_ = _operand_type(op), _type(op)
    if width(given) == 64:
        return f"index_of_u({a})"
    if isinstance(type_, ir.IndexType):
        return f"i32(min({_write_unsigned(a, given)}, 0x7fffffffu))" if width(given) == 32 else _zero_extend(op, a)
    return _zero_extend(op, a) if width(type_) >= width(given) else _truncate(op, a)


def _absolute(op: Operation, a: str) -> str:
    return f"size_64({a})" if width(_type(op)) == 64 else _kept(f"abs({a})", _type(op))


def _count(function: str, pair: str) -> _Formula:
    def formula(op: Operation, a: str) -> str:
        type_ = _type(op)
        if (bits := width(type_)) == 64:
            return f"{pair}({a})"
        number = _write_unsigned(a, type_)
        if function == "countLeadingZeros":
            return f"i32({function}({number}) - {32 - bits}u)" if bits < 32 else f"i32({function}({number}))"
        found = f"i32({function}({number}))"
        return f"min({found}, {bits})" if function == "countTrailingZeros" else found

    return formula


# ---- floats ----

#: Sums, differences and products of f64 as x * y + z. Entries are indices of operands, or the constants 1, -1 and -0.
_AS_FMA: dict[str, tuple[int | str, ...]] = {
    "arith.addf": (0, "vec2<u32>(0u, 0x3ff00000u)", 1),
    "arith.subf": (1, "vec2<u32>(0u, 0xbff00000u)", 0),
    "arith.mulf": (0, 1, "vec2<u32>(0u, 0x80000000u)"),
}


def f64_operands(op: Operation, operands: Sequence[_T]) -> list[_T | str]:
    """Return the arguments of the f64 function that computes an operation."""
    places = _AS_FMA.get(op.name, range(len(operands)))
    return [operands[place] if isinstance(place, int) else place for place in places]


def _floats(text: str, wide: str) -> _Formula:
    """Return a formula from a format with {a}, {b} and {c} for f32, and the name of a function of f64."""

    def formula(op: Operation, *operands: str) -> str:
        if str(_operand_type(op)) == "f64":
            return f"{wide}({', '.join(f64_operands(op, operands))})"
        if str(_operand_type(op)) != "f32":
            raise RefusalError(f"it computes with {_operand_type(op)}, but kernels only with f32 and f64")
        return text.format(**dict(zip("abc", operands, strict=False)))

    return formula


def _fma(op: Operation, a: str, b: str, c: str) -> str:
    """Return the text of an fma. If a literal is added, as in polynomials, devices may round twice."""
    is_number = c.endswith("f")
    return _floats("fma({a}, {b}, {c})" if is_number else "fma_f32({a}, {b}, {c})", "fma_f64")(op, a, b, c)


def _single(name: str) -> _Formula:
    """Return a formula from the name of a function that supports only f32."""

    def formula(op: Operation, *operands: str) -> str:
        if str(_operand_type(op)) != "f32":
            raise RefusalError(f"it computes with {_operand_type(op)}, but kernels only with f32")
        return f"{name}_f32({', '.join(operands)})"

    return formula


def _compare_floats(op: Operation, a: str, b: str) -> str:
    name, predicate = str(_operand_type(op)), op.attributes["predicate"].value
    if name == "f64":
        return _WIDE[predicate].format(a=a, b=b)
    if name != "f32":
        raise RefusalError(f"it compares {name}, but kernels only f32 and f64")
    # A literal is not a NaN, so a check is unnecessary.
    asked = [f"is_nan({fromkey})" for fromkey in dict.fromkeys((a, b)) if not fromkey.endswith("f")]
    unordered = f"({' || '.join(asked)})" if asked else "false"
    if predicate in _UNORDERED:
        return f"({unordered} || {a} {_UNORDERED[predicate]} {b})"
    known = {
        0: "false",
        6: f"(!{unordered} && {a} != {b})",
        7: f"!{unordered}",
        8: f"({unordered} || {a} == {b})",
        # Some compilers make != false for a NaN.
        13: unordered if a == b else f"({unordered} || {a} != {b})" if asked else f"({a} != {b})",
        14: unordered,
        15: "true",
    }
    return known[predicate] if predicate in known else f"({a} {_ORDERED[predicate]} {b})"


def _from_integer(*, is_unsigned: bool) -> _Formula:
    def formula(op: Operation, a: str) -> str:
        given, wide = _operand_type(op), str(_type(op)) == "f64"
        if not wide and str(_type(op)) not in ("f32", "f16"):
            raise RefusalError(f"it converts to {_type(op)}, but kernels only to f16, f32 and f64")
        if width(given) == 1:
            a = f"select(0u, 1u, {a})" if is_unsigned else f"select(0, -1, {a})"
        elif width(given) < 64 and is_unsigned:
            a = _write_unsigned(a, given)
        # Rounding twice is harmless: an integer that f32 cannot represent exactly is infinite in f16.
        form = "half_of_float({})" if str(_type(op)) == "f16" else "{}"
        if width(given) < 64 and not wide:
            return form.format(f"f32_of_{'u32' if is_unsigned else 'i32'}({a})")
        pair = a if width(given) == 64 else f"vec2<u32>({a}, 0u)" if is_unsigned else f"wide_s({a})"
        return form.format(f"{'f64_of' if wide else 'float_of'}_{'u64' if is_unsigned else 's64'}({pair})")

    return formula


def _to_integer(*, is_unsigned: bool) -> _Formula:
    def formula(op: Operation, a: str) -> str:
        given, type_ = str(_operand_type(op)), _type(op)
        if given not in ("f32", "f64"):
            raise RefusalError(f"it converts from {given}, but kernels only from f32 and f64")
        pair = f"{'u64' if is_unsigned else 's64'}_of_{'f64' if given == 'f64' else 'float'}({a})"
        if width(type_) == 64:
            return pair
        if width(type_) == 1:
            return f"({a} != 0f)" if given == "f32" else f"!is_zero_64({a})"
        if given == "f64":
            return _kept(f"index_of({pair})" if not is_unsigned else f"i32({pair}.x)", type_)
        return _kept(f"i32(u32({a}))" if is_unsigned else f"i32({a})", type_)

    return formula


def _longer(op: Operation, a: str) -> str:
    given, type_ = str(_operand_type(op)), str(_type(op))
    if type_ not in ("f32", "f64") or given not in ("f32", *HALVES):
        raise RefusalError(f"it converts {given} to {type_}, which kernels do not support")
    single = {"f32": "{}", "f16": "float_of_half({})", "bf16": "float_of_bfloat({})"}[given].format(a)
    return f"f64_of_f32({single})" if type_ == "f64" else single


def _shorter(op: Operation, a: str) -> str:
    given, type_ = str(_operand_type(op)), str(_type(op))
    if given not in ("f32", "f64") or type_ not in ("f32", *HALVES):
        raise RefusalError(f"it converts {given} to {type_}, which kernels do not support")
    single = f"f32_of_f64({a})" if given == "f64" else a
    return {"f32": "{}", "f16": "half_of_float({})", "bf16": "bfloat_of_float({})"}[type_].format(single)


def _same_bits(op: Operation, a: str) -> str:
    given, type_ = register_type(_operand_type(op)), register_type(_type(op))
    if (given, type_) == ("u32", "i32"):
        return _kept(f"i32({a})", _type(op))
    if (given, type_) == ("i32", "u32"):
        return f"extractBits(u32({a}), 0u, 16u)"
    return a if given == type_ else f"bitcast<{type_}>({a})"


def _select(op: Operation, condition: str, yes: str, no: str) -> str:
    return f"select({no}, {yes}, {condition})"


#: Formulas of operations that compute each lane separately.
FORMULAS: dict[str, _Formula] = {
    "arith.addi": _integers("+", "add_64", "!="),
    "arith.subi": _integers("-", "sub_64", "!="),
    "arith.muli": _integers("*", "mul_64", "&"),
    "arith.divsi": _integers("/", "div_s64"),
    "arith.remsi": _integers("%", "rem_s64"),
    "arith.divui": _unsigned_integers("/", "div_u64"),
    "arith.remui": _unsigned_integers("%", "rem_u64"),
    "arith.andi": _bits("&"),
    "arith.ori": _bits("|"),
    "arith.xori": _bits("^"),
    "arith.shli": _shift("<<", "shl_64"),
    "arith.shrsi": _shift(">>", "shr_s64"),
    "arith.shrui": _shift(">>", "shr_u64", is_unsigned=True),
    "arith.minsi": _choice("min", "less_s64"),
    "arith.maxsi": _choice("max", "less_s64"),
    "arith.minui": _choice("min", "less_u64", is_unsigned=True),
    "arith.maxui": _choice("max", "less_u64", is_unsigned=True),
    "arith.cmpi": _compare,
    "arith.extsi": _sign_extend,
    "arith.extui": _zero_extend,
    "arith.trunci": _truncate,
    "arith.index_cast": _index_cast,
    "arith.index_castui": _index_cast_u,
    "math.absi": _absolute,
    "math.ctlz": _count("countLeadingZeros", "zeros_before_64"),
    "math.cttz": _count("countTrailingZeros", "zeros_behind_64"),
    "math.ctpop": _count("countOneBits", "ones_64"),
    "arith.addf": _floats("{a} + {b}", "fma_f64"),
    "arith.subf": _floats("{a} - {b}", "fma_f64"),
    "arith.mulf": _floats("{a} * {b}", "fma_f64"),
    "arith.divf": _floats("{a} / {b}", "div_f64"),
    "arith.negf": _floats("-({a})", "negative_f64"),
    "arith.maximumf": _floats("most_f32({a}, {b})", "most_f64"),
    "arith.minimumf": _floats("least_f32({a}, {b})", "least_f64"),
    "arith.maxnumf": _floats("most_number_f32({a}, {b})", "most_number_f64"),
    "arith.minnumf": _floats("least_number_f32({a}, {b})", "least_number_f64"),
    "arith.cmpf": _compare_floats,
    "arith.sitofp": _from_integer(is_unsigned=False),
    "arith.uitofp": _from_integer(is_unsigned=True),
    "arith.fptosi": _to_integer(is_unsigned=False),
    "arith.fptoui": _to_integer(is_unsigned=True),
    "arith.extf": _longer,
    "arith.truncf": _shorter,
    "arith.bitcast": _same_bits,
    "arith.select": _select,
    "math.absf": _floats("abs({a})", "size_f64"),
    "math.ceil": _floats("ceil({a})", "ceil_f64"),
    "math.floor": _floats("floor({a})", "floor_f64"),
    "math.trunc": _floats("trunc({a})", "trunc_f64"),
    "math.round": _floats("round_away({a})", "round_f64"),
    "math.roundeven": _floats("round({a})", "even_f64"),
    "math.sqrt": _floats("sqrt({a})", "sqrt_f64"),
    "math.rsqrt": _floats("1f / sqrt({a})", "rsqrt_f64"),
    "math.fma": _fma,
    "math.copysign": _floats("with_sign({a}, {b})", "with_sign_f64"),
    **{f"math.{name}": _single(name) for name in "sin cos tan sinh cosh asinh acosh atanh cbrt".split()},
    "math.powf": _single("pow"),
    "math.isnan": _floats("is_nan({a})", "is_nan_64"),
}


#: Sums. Compilers simplify (a + b) - a to b, as if arithmetic were exact.
_SUMS = ("arith.addf", "arith.subf", "math.fma")


def _operands_apart(writer: KernelWriter, op: Operation) -> list[list[str]]:
    """Return the lanes of the operands. Hide an operand from the compiler if it is a sum that shares a term with `op`.

    Otherwise the compiler would simplify both sums together.
    """
    lanes = [writer.lanes(value) for value in op.operands]
    if op.name not in _SUMS or str(element_type(op.results[0].type)) != "f32":
        return lanes
    own = {_make_key(value) for value in op.operands}
    for place, value in enumerate(op.operands):
        maker = made_by(value, *_SUMS)
        if maker is not None and own & {_make_key(operand) for operand in maker.operands}:
            lanes[place] = [f"apart({lane}, zero)" for lane in lanes[place]]
    return lanes


def _make_key(value: Value) -> object:
    """Return a key that is equal for equal values up to the sign, and for constants of equal absolute value."""
    if (maker := made_by(value, "arith.constant")) is None:
        negated = made_by(value, "arith.negf")
        return value if negated is None else negated.operands[0]
    number = maker.attributes["value"]
    number = number.get_splat_value() if isinstance(number, ir.DenseElementsAttr) else number
    return abs(number.value) if isinstance(number, ir.FloatAttr) else number


def _make_lane_rule(formula: _Formula) -> Rule:
    def write(writer: KernelWriter, op: Operation) -> None:
        for value in op.operands:
            register_type(element_type(value.type))
        lanes = _operands_apart(writer, op)
        count = max(map(len, lanes))
        spread = [lane if len(lane) == count else lane * count for lane in lanes]
        made = [formula(op, *operands) for operands in zip(*spread, strict=True)]
        writer.define(op, made, is_uniform=writer.is_uniform(*op.operands))

    return write


def _constant(writer: KernelWriter, op: Operation) -> None:
    register_type(element_type(op.results[0].type))
    writer.lanes(op.results[0])


# ---- products with all their bits ----


def _whole_product(*, is_unsigned: bool) -> Rule:
    def write(writer: KernelWriter, op: Operation) -> None:
        a, b = (writer.lanes(operand) for operand in op.operands)
        type_ = _type(op)
        if width(type_) != 32:
            raise RefusalError(f"it computes all bits of a product of {type_}, but kernels only of i32")
        low, high = [], []
        for x, y in zip(a, b, strict=True):
            if is_unsigned:
                made = writer.name(f"product_32(u32({x}), u32({y}))")
            else:
                made = writer.name(f"mul_64(wide_s({x}), wide_s({y}))")
            low.append(writer.name(f"i32({made}.x)"))
            high.append(writer.name(f"i32({made}.y)"))
        writer.know(op.results[0], low)
        writer.know(op.results[1], high)

    return write


def _sum_with_carry(writer: KernelWriter, op: Operation) -> None:
    a, b = (writer.lanes(operand) for operand in op.operands)
    type_ = _type(op)
    if (bits := width(type_)) not in (32, 64):
        raise RefusalError(f"it computes the carry of a sum of {type_}, but kernels only of i32 and i64")
    add = "add_64({}, {})" if bits == 64 else "({} + {})"
    sums = [writer.name(add.format(*each)) for each in zip(a, b, strict=True)]
    less = "less_u64({}, {})" if bits == 64 else "(u32({}) < u32({}))"
    writer.know(op.results[0], sums)
    writer.know(op.results[1], [writer.name(less.format(*each)) for each in zip(sums, a, strict=True)])


RULES: dict[str, Rule] = {
    **{name: _make_lane_rule(formula) for name, formula in FORMULAS.items()},
    "arith.constant": _constant,
    "arith.mulsi_extended": _whole_product(is_unsigned=False),
    "arith.mului_extended": _whole_product(is_unsigned=True),
    "arith.addui_extended": _sum_with_carry,
}
