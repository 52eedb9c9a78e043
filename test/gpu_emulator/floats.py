# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions on floating-point numbers, pairs of halves among them."""

from __future__ import annotations

from .coder import DTYPES, Coder, emits, unknown, value_kind
from .ptx import WIDTHS, Instruction

_MODES = ("rn", "rz", "rm", "rp")
_PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}


def mode_of(instruction: Instruction) -> str:
    return next((part for part in instruction.parts if part in _MODES), "rn")


def wide(coder: Coder, operand: str, kind: str) -> str:
    """Return a half or bfloat16, or a pair, as float32. Pairs have two columns."""
    value = coder.use(operand, kind)
    if kind == "f16":
        return f"{value}.astype(F4)"
    if kind == "bf16":
        return f"rounding.from_bf({value})"
    if kind == "f16x2":
        return f"{value}.view(F2).reshape(-1, 2).astype(F4)"
    return f"rounding.from_bf({value}.view(U2).reshape(-1, 2))"


def narrow(kind: str, expression: str, mode: str = "rn") -> str:
    """Convert back from float32, or from float64 rounded to odd."""
    rounded = f"rounding.{'to_bf' if kind.startswith('b') else 'to_f2'}({expression}, {mode!r})"
    return f"numpy.ascontiguousarray({rounded}).reshape(-1).view(U4)" if kind in _PAIRS else rounded


def is_half(kind: str) -> bool:
    return kind in ("f16", "bf16", "f16x2", "bf16x2")


def _finish(coder: Coder, instruction: Instruction, kind: str, expression: str) -> None:
    parts = instruction.parts
    if "relu" in parts:
        raise unknown(instruction)
    if "ftz" in parts and kind == "f32":
        expression = f"rounding.flush({expression})"
    if "sat" in parts:
        expression = f"rounding.saturate({expression})"
    coder.set(instruction.operands[0], kind, expression)


def _operands(coder: Coder, instruction: Instruction, kind: str) -> list[str]:
    values = [coder.use(each, kind) for each in instruction.operands[1:]]
    return [f"rounding.flush({each})" for each in values] if "ftz" in instruction.parts and kind == "f32" else values


def _operation(name: str, values: list[str]) -> str:
    if name == "fma":
        return f"rounding.wide_fma({', '.join(values)})"
    return f"({values[0]} {dict(add='+', sub='-', mul='*')[name]} {values[1]})"


def float_binary(coder: Coder, instruction: Instruction) -> None:
    """Emit add, sub, mul, fma and mad of any floating-point type."""
    kind, parts = value_kind(instruction), instruction.parts
    if len([part for part in parts if part in WIDTHS]) > 1:
        raise unknown(instruction)
    name = {"mad": "fma"}.get(parts[0], parts[0])
    mode = mode_of(instruction)
    if is_half(kind):
        values = [wide(coder, each, kind) for each in instruction.operands[1:]]
        found = _operation(name, values)
        if "sat" in parts:
            found = f"rounding.saturate({found})"
        if "relu" in parts:
            found = f"numpy.maximum({found}, 0)"
        coder.set(instruction.operands[0], kind, narrow(kind, found, mode))
        return
    if kind == "f32x2":
        values = [f"{coder.use(each, kind)}.view(F4).reshape(-1, 2)" for each in instruction.operands[1:]]
        found = f"rounding.fma_f4({', '.join(values)}, {mode!r})" if name == "fma" else _operation(name, values)
        if mode != "rn" and name != "fma" or "ftz" in parts:
            raise unknown(instruction)
        coder.set(instruction.operands[0], kind, f"numpy.ascontiguousarray({found}).reshape(-1).view(U8)")
        return
    if kind not in ("f32", "f64"):
        raise unknown(instruction)
    values = _operands(coder, instruction, kind)
    suffix = "f4" if kind == "f32" else "f8"
    if name == "fma":
        found = f"rounding.fma_{suffix}({', '.join(values)}, {mode!r})"
    elif mode == "rn":
        found = _operation(name, values)
    elif name == "sub":
        found = f"rounding.add_{suffix}({values[0]}, -{values[1]}, {mode!r})"
    else:
        found = f"rounding.{name}_{suffix}({values[0]}, {values[1]}, {mode!r})"
    _finish(coder, instruction, kind, found)


@emits("fma")
def _fma(coder: Coder, instruction: Instruction) -> None:
    float_binary(coder, instruction)


@emits("div")
def _divide(coder: Coder, instruction: Instruction) -> None:
    kind = value_kind(instruction)
    if kind[0] in "us":
        target, a, b = instruction.operands
        coder.set(target, kind, f"bits.quotient({coder.use(a, kind)}, {coder.use(b, kind)})")
        return
    if mode_of(instruction) != "rn" or kind not in ("f32", "f64"):
        raise unknown(instruction)
    a, b = _operands(coder, instruction, kind)
    _finish(coder, instruction, kind, f"{a} / {b}")


@emits("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh")
def _function(coder: Coder, instruction: Instruction) -> None:
    kind, name = value_kind(instruction), instruction.parts[0]
    if mode_of(instruction) != "rn":
        raise unknown(instruction)
    if is_half(kind):
        value = wide(coder, instruction.operands[1], kind)
        coder.set(instruction.operands[0], kind, narrow(kind, f"rounding.approximate({name!r}, {value})"))
        return
    (value,) = _operands(coder, instruction, kind)
    if "approx" in instruction.parts and kind == "f32":
        found = f"rounding.approximate({name!r}, {value})"
    elif name == "rcp":
        found = f"{coder.constant(1.0, DTYPES[kind])} / {value}"
    elif name == "sqrt":
        found = f"numpy.sqrt({value})"
    elif name == "rsqrt" and kind == "f64":
        found = f"1 / numpy.sqrt({value})"
    else:
        raise unknown(instruction)
    _finish(coder, instruction, kind, found)


_SIGN_BITS = {"f16": (0x8000, "U2"), "bf16": (0x8000, "U2"), "f32": (1 << 31, "U4"), "f64": (1 << 63, "U8")}
_SIGN_BITS |= {"f16x2": (0x80008000, "U4"), "bf16x2": (0x80008000, "U4")}


@emits("neg", "abs")
def _sign(coder: Coder, instruction: Instruction) -> None:
    kind, name = value_kind(instruction), instruction.parts[0]
    target, a = instruction.operands
    if kind[0] in "us":
        value = coder.use(a, kind)
        coder.set(target, kind, f"-{value}" if name == "neg" else f"numpy.abs({value})")
        return
    mask, dtype = _SIGN_BITS[kind]
    value = coder.use(a, f"b{8 * WIDTHS[kind]}")
    bit = coder.constant(mask, dtype)
    result = f"b{8 * WIDTHS[kind]}"
    found = f"{value} ^ {bit}" if name == "neg" else f"{value} & ~{bit}"
    coder.set(target, result, found)
    if "ftz" in instruction.parts and kind == "f32":
        coder.set(target, kind, f"rounding.flush({coder.use(target, kind)})")


@emits("copysign")
def _copysign(coder: Coder, instruction: Instruction) -> None:
    kind = value_kind(instruction)
    target, sign, size = instruction.operands
    coder.set(target, kind, f"numpy.copysign({coder.use(size, kind)}, {coder.use(sign, kind)})")


@emits("min", "max")
def _extreme(coder: Coder, instruction: Instruction) -> None:
    kind, parts = value_kind(instruction), instruction.parts
    name = {"min": "least", "max": "greatest"}[parts[0]]
    target, *others = instruction.operands
    if "xorsign" in parts or "abs" in parts:
        raise unknown(instruction)
    if kind[0] in "us":
        a, b = (coder.use(each, kind) for each in others)
        found = f"numpy.{'minimum' if parts[0] == 'min' else 'maximum'}({a}, {b})"
        coder.set(
            target, kind, f"numpy.maximum({found}, {coder.constant(0, DTYPES[kind])})" if "relu" in parts else found
        )
        return
    values = [wide(coder, each, kind) for each in others] if is_half(kind) else _operands(coder, instruction, kind)
    found = values[0]
    for value in values[1:]:
        found = f"rounding.{name}({found}, {value}, {'NaN' in parts})"
    if is_half(kind):
        coder.set(target, kind, narrow(kind, found))
    else:
        _finish(coder, instruction, kind, found)


@emits("testp")
def _test(coder: Coder, instruction: Instruction) -> None:
    kind, what = value_kind(instruction), instruction.parts[1]
    target, a = instruction.operands
    value = coder.use(a, kind)
    tiny = coder.constant(2.0**-126 if kind == "f32" else 2.0**-1022, DTYPES[kind])
    tests = {
        "finite": f"numpy.isfinite({value})",
        "infinite": f"numpy.isinf({value})",
        "number": f"~numpy.isnan({value})",
        "notanumber": f"numpy.isnan({value})",
        "normal": f"numpy.isfinite({value}) & (numpy.abs({value}) >= {tiny})",
        "subnormal": f"(numpy.abs({value}) < {tiny})",
    }
    coder.set(target, "pred", tests[what])


_ORDERED = {"eq": "==", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
_OPPOSITE = {"ltu": ">=", "leu": ">", "gtu": "<=", "geu": "<"}


def emit_compare(coder: Coder, name: str, kind: str, first: str, second: str) -> str:
    """Return an expression with one bool for each thread. numpy's comparisons with NaN are false, like ordered ones."""
    if is_half(kind):
        a, b = wide(coder, first, kind), wide(coder, second, kind)
    else:
        a, b = coder.use(first, kind), coder.use(second, kind)
    if kind == "f32" and coder.instruction and "ftz" in coder.instruction.parts:
        a, b = f"rounding.flush({a})", f"rounding.flush({b})"
    if name in ("num", "nan"):
        ordered = f"(({a} == {a}) & ({b} == {b}))"
        return ordered if name == "num" else f"~{ordered}"
    is_float = kind[0] == "f" or kind.startswith("bf")
    if name == "ne":
        return f"(({a} < {b}) | ({a} > {b}))" if is_float else f"({a} != {b})"
    if name in _ORDERED:
        return f"({a} {_ORDERED[name]} {b})"
    if name == "neu":
        return f"({a} != {b})"
    if name == "equ":
        return f"~(({a} < {b}) | ({a} > {b}))"
    return f"~({a} {_OPPOSITE[name]} {b})"
