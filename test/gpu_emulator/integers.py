# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions on integers, bits and predicates, and instructions that move and choose values."""

from __future__ import annotations

from . import bits
from .coder import DTYPES, Coder, emits, unknown, value_kind
from .floats import emit_compare, float_binary
from .ptx import WIDTHS, Instruction

_SIGNS = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}


def is_integer(kind: str) -> bool:
    return kind[0] in "usb" and not kind.startswith("bf")


@emits("add", "sub", "addc", "subc")
def _add(coder: Coder, instruction: Instruction) -> None:
    kind, parts = value_kind(instruction), instruction.parts
    if not is_integer(kind):
        float_binary(coder, instruction)
        return
    target, first, second = instruction.operands
    a, b = coder.use(first, kind), coder.use(second, kind)
    carries, minus = parts[0] in ("addc", "subc"), parts[0].startswith("sub")
    if "sat" in parts:
        coder.set(target, kind, f"bits.saturated({a}, {b}, {minus})")
    elif carries or "cc" in parts:
        carry = coder.use("%cc", "pred") if carries else coder.constant(False, "B")
        total, out = coder.temporary(f"bits.add_carry({a}, {b}, {carry}, {minus})"), "%cc"
        coder.set(target, kind, f"{total}[0]")
        if "cc" in parts:
            coder.set(out, "pred", f"{total}[1]")
    else:
        coder.set(target, kind, f"{a} {_SIGNS[parts[0]]} {b}")


@emits("mul", "mad", "madc", "mul24", "mad24")
def _multiply(coder: Coder, instruction: Instruction) -> None:
    kind, parts = value_kind(instruction), instruction.parts
    if not is_integer(kind):
        float_binary(coder, instruction)
        return
    target, first, second, *third = instruction.operands
    if "24" in parts[0]:
        raise unknown(instruction)
    a, b = coder.use(first, kind), coder.use(second, kind)
    result = kind
    if "wide" in parts:
        result = f"{kind[0]}{16 * WIDTHS[kind]}"
        product = f"{a}.astype({DTYPES[result]}) * {b}.astype({DTYPES[result]})"
    elif "hi" in parts:
        product = f"bits.high_product({a}, {b})"
    else:
        product = f"{a} * {b}"
    if not third:
        coder.set(target, result, product)
        return
    c = coder.use(third[0], result)
    if parts[0] == "madc" or "cc" in parts:
        carry = coder.use("%cc", "pred") if parts[0] == "madc" else coder.constant(False, "B")
        total = coder.temporary(f"bits.add_carry({product}, {c}, {carry}, False)")
        coder.set(target, result, f"{total}[0]")
        if "cc" in parts:
            coder.set("%cc", "pred", f"{total}[1]")
    else:
        coder.set(target, result, f"{product} + {c}")


@emits("rem")
def _remainder(coder: Coder, instruction: Instruction) -> None:
    kind = value_kind(instruction)
    target, a, b = instruction.operands
    coder.set(target, kind, f"bits.remainder({coder.use(a, kind)}, {coder.use(b, kind)})")


@emits("and", "or", "xor")
def _logic(coder: Coder, instruction: Instruction) -> None:
    kind = value_kind(instruction)
    target, a, b = instruction.operands
    coder.set(target, kind, f"{coder.use(a, kind)} {_SIGNS[instruction.parts[0]]} {coder.use(b, kind)}")


@emits("not", "cnot")
def _not(coder: Coder, instruction: Instruction) -> None:
    kind = value_kind(instruction)
    target, a = instruction.operands
    value = coder.use(a, kind)
    coder.set(target, kind, f"~{value}" if instruction.parts[0] == "not" else f"({value} == 0).astype({DTYPES[kind]})")


@emits("shl", "shr")
def _shift(coder: Coder, instruction: Instruction) -> None:
    kind = value_kind(instruction)
    target, value, count = instruction.operands
    left = instruction.parts[0] == "shl"
    a = coder.use(value, kind)
    dtype, limit = DTYPES[kind], 8 * WIDTHS[kind]
    number = coder.literal(count)
    if number is not None:
        if number >= limit and (left or dtype[0] == "U"):
            coder.set(target, kind, f"{a} & {coder.constant(0, dtype)}")
            return
        amount = coder.constant(min(number, limit - 1), dtype)
        coder.set(target, kind, f"{a} {'<<' if left else '>>'} {amount}")
        return
    coder.set(target, kind, f"bits.shift({a}, {coder.use(count, 'u32')}, {left})")


_SHARED = {
    # name: (function of bits, kinds of the operands where they are not the instruction's, kind of the result)
    "bfe": ("bits.extract({0}, {1}, {2})", ("", "u32", "u32"), ""),
    "bfi": ("bits.insert({0}, {1}, {2}, {3})", ("", "", "u32", "u32"), ""),
    "popc": ("bits.population({0})", ("",), "u32"),
    "clz": ("bits.leading_zeros({0})", ("",), "u32"),
    "brev": ("bits.reverse({0})", ("",), ""),
    "sad": ("bits.distance({0}, {1}) + {2}", ("", "", ""), ""),
    "lop3": ("bits.logic({0}, {1}, {2}, {3})", ("b32", "b32", "b32", "u32"), ""),
    "prmt": ("bits.permute({0}, {1}, {2})", ("b32", "b32", "b32"), ""),
}


@emits("bfe", "bfi", "popc", "clz", "brev", "sad", "lop3", "prmt", "bfind", "shf", "dp4a")
def _bits(coder: Coder, instruction: Instruction) -> None:
    kind, parts = value_kind(instruction), instruction.parts
    target, *operands = instruction.operands
    name = parts[0]
    if name == "bfind":
        shifts = "shiftamt" in parts
        coder.set(target, "u32", f"bits.find({coder.use(operands[0], kind)}, {shifts})")
        return
    if name == "shf":
        low, high, count = (coder.use(each, "u32") for each in operands)
        coder.set(target, "b32", f"bits.funnel({low}, {high}, {count}, {parts[1] == 'l'}, {'clamp' in parts})")
        return
    if name == "prmt" and len(parts) > 2:
        raise unknown(instruction)
    if name == "dp4a":
        first, second = parts[1], parts[2]
        signed = "s32" if "s32" in (first, second) else "u32"
        values = [coder.use(operands[0], first), coder.use(operands[1], second), coder.use(operands[2], signed)]
        coder.set(target, signed, f"bits.dot4({', '.join(values)})")
        return
    if name not in _SHARED:
        raise unknown(instruction)
    expression, kinds, result = _SHARED[name]
    values = [coder.use(each, wanted or kind) for each, wanted in zip(operands, kinds, strict=True)]
    coder.set(target, result or kind, expression.format(*values))


@emits("setp", "set")
def _compare(coder: Coder, instruction: Instruction) -> None:
    kind, parts = value_kind(instruction), instruction.parts
    target, first, second, *third = instruction.operands
    compared = emit_compare(coder, parts[1], kind, first, second)
    if kind.endswith("x2"):
        _compare_pairs(coder, instruction, compared)
        return
    combine = next((part for part in parts[2:] if part in ("and", "or", "xor")), None)
    other = f"~({compared})"
    if combine is not None:
        mate = coder.use(third[0], "pred")
        compared, other = (f"({each}) {_SIGNS[combine]} {mate}" for each in (compared, other))
    if parts[0] == "set":
        result = next(part for part in parts[2:] if part in WIDTHS)
        true = coder.constant(1.0 if result == "f32" else -1 if result[0] == "s" else 0xFFFFFFFF, DTYPES[result])
        coder.set(target, result, f"numpy.where({compared}, {true}, {coder.constant(0, DTYPES[result])})")
        return
    both = target.split("|")
    if len(both) == 2:
        compared, other = coder.temporary(compared), coder.temporary(other)
        coder.set(both[1].strip(), "pred", other)
    coder.set(both[0].strip(), "pred", compared)


def _compare_pairs(coder: Coder, instruction: Instruction, compared: str) -> None:
    """Compare pairs: the lower halves give the first predicate, the upper halves the second one."""
    both = instruction.operands[0].split("|")
    if len(both) != 2 or len(instruction.operands) != 3 or instruction.parts[0] != "setp":
        raise unknown(instruction)
    pair = coder.temporary(compared)
    for number, target in enumerate(both):
        coder.set(target.strip(), "pred", f"numpy.ascontiguousarray({pair}[:, {number}])")


@emits("selp")
def _select(coder: Coder, instruction: Instruction) -> None:
    kind = value_kind(instruction)
    target, a, b, condition = instruction.operands
    values = f"{coder.use(a, kind)}, {coder.use(b, kind)}"
    coder.set(target, kind, f"numpy.where({coder.use(condition, 'pred')}, {values})")


@emits("slct")
def _select_by_sign(coder: Coder, instruction: Instruction) -> None:
    kinds = [part for part in instruction.parts if part in WIDTHS]
    target, a, b, c = instruction.operands
    sign = f"{coder.use(c, kinds[1])} >= {coder.constant(0, DTYPES[kinds[1]])}"
    coder.set(target, kinds[0], f"numpy.where({sign}, {coder.use(a, kinds[0])}, {coder.use(b, kinds[0])})")


@emits("mov")
def _move(coder: Coder, instruction: Instruction) -> None:
    kind = value_kind(instruction)
    target, value = instruction.operands
    if value.startswith("{"):
        parts = coder.elements(value)
        narrow = f"u{8 * WIDTHS[kind] // len(parts)}"
        joined = ", ".join(coder.use(each, narrow) for each in parts)
        coder.set(target, f"b{8 * WIDTHS[kind]}", f"bits.join({DTYPES[f'b{8 * WIDTHS[kind]}']}, {joined})")
    elif target.startswith("{"):
        parts = coder.elements(target)
        narrow = f"u{8 * WIDTHS[kind] // len(parts)}"
        pieces = coder.temporary(f"bits.split({coder.use(value, kind)}, {DTYPES[narrow]})")
        for number, each in enumerate(parts):
            if each != "_":
                coder.set(each, narrow, f"{pieces}[{number}]")
    else:
        coder.set(target, kind, coder.use(value, kind))


@emits("cvta")
def _to_address(coder: Coder, instruction: Instruction) -> None:
    """Convert addresses: windows of state spaces have fixed generic addresses."""
    parts = instruction.parts
    space = next(part for part in parts[1:] if part not in ("to",) and part not in WIDTHS).split("::")[0]
    target, value = instruction.operands
    kind = value_kind(instruction)
    name, sign = value, "-" if "to" in parts else "+"
    base = coder.use(name, "u64") if kind[1:] == "64" else f"{coder.use(name, 'u32')}.astype(U8)"
    if space not in ("shared", "local"):
        coder.set(target, kind, base)
        return
    window = coder.constant(bits.WINDOWS[space], "U8")
    moved = f"{base} {sign} {window}"
    coder.set(target, kind, moved if kind[1:] == "64" else f"({moved}).astype(U4)")


@emits("isspacep")
def _is_in_space(coder: Coder, instruction: Instruction) -> None:
    target, value = instruction.operands
    space = instruction.parts[1].split("::")[0]
    coder.set(target, "pred", f"bits.in_space({coder.use(value, 'u64')}, {space!r})")
