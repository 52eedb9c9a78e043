# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # lists of words
"""Mutations of single operations that the parser accepts, so that they reach the verifiers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from corpus import Operand, SampleOp

from relax_mlir import find_op

_TYPES = (
    "i1 i8 i64 ui8 index f16 f32 f64 f8E4M3FN none complex<f32> tuple<> tuple<f32> !relax.object !relax.shape<unit> !relax.shape<[]> "
    '!relax.shape<[1]> !relax.shape<["n",4]> !relax.shape<[-1]> !relax.shape<["n*"]> !relax.shape<[1.0]> !relax.shape<i32> '
    '!relax.shape<["?"]> !relax.shape<[9223372036854775807,9223372036854775807]> '
    "tensor<f32> tensor<*xf32> tensor<*xi1> tensor<0xf32> tensor<?xf32> tensor<?x?xf32> tensor<1x1x1x1x1xf32> tensor<4xindex> "
    "tensor<2x3xcomplex<f32>> tensor<4x!relax.object> tensor<2xvector<4xf32>> tensor<4xtuple<>> tensor<4xnone> "
    "tensor<9223372036854775807xf32> tensor<9223372036854775807x9223372036854775807xi64> tensor<4xi0> tensor<4xi16777215> "
    'tensor<?xf32,#relax.sym<["n"]>> tensor<?xf32,#relax.sym<[]>> tensor<?xf32,#relax.sym<["n","m"]>> tensor<?xf32,#relax.sym<1>> '
    'tensor<?xf32,#relax.sym<["n+"]>> tensor<?xf32,#relax.sym<[4]>> tensor<4xf32,#relax.sym<["n"]>> tensor<4xf32,"x"> '
    'tensor<?x?xf32,#relax.sym<["n*m","n//m"]>> tensor<?xf32,#relax.sym<["n//0"]>> tensor<?xf32,#relax.sym<["9999999999999999999*n"]>> '
    "vector<4xf32> vector<[4]xf32> vector<f32> vector<2x3xi1> memref<4xf32> memref<*xf32> memref<?xf32,strided<[?]>> "
    "()->() (f32)->f32 !llvm.ptr !quant.uniform<i8:f32,0.1> tensor<4x!quant.uniform<i8:f32,0.1>>"
).split(" ")

_ATTRIBUTES = (
    "unit true false 0 -1 1 9223372036854775807 -9223372036854775808 340282366920938463463374607431768211455:i128 3:i8 255:ui8 -1:si8 0:index 1:i0 "
    '1.0 -0.0 0x7FC00000:f32 0x7FF0000000000000:f64 1.0e400 1.0:f16 1.0:bf16 "" "x" "NCHW" "NCHW4c" "\\00" "\\FF" "é" "n+" "float32" "?" '
    '[] [1] [-1] [1,"a"] [[1],[2]] [[]] [1.0] [unit] [0,1,2,3] [9223372036854775807,9223372036854775807] [@a] '
    "array<i64> array<i64:0> array<i64:-1> array<i64:1,1> array<i64:9223372036854775807> array<i64:1,2,3,4,5,6,7> array<i32> array<i32:1,1> "
    "array<i32:-1,2> array<i32:2147483647,2147483647> array<i1:true> array<i8:1> array<f32:1.0> array<f64:0x7FF0000000000000> "
    "dense<1>:tensor<2xi64> dense<>:tensor<0xi64> dense<1.0>:tensor<f32> sparse<0,1>:tensor<1xi64> dense_resource<b>:tensor<2xf32> "
    "{} {a=1} @a @a::@b f32 i1 index tensor<4xf32> none ()->() complex<f32> affine_map<()->()> affine_map<(d0,d1)->(d1,d0)> "
    'affine_map<(d0)->(d0,d0)> affine_map<(d0)[s0]->(d0floordivs0)> affine_set<(d0):(d0>=0)> #relax.sym<["n"]> #relax.sym<1> loc(unknown)'
).split(" ")

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?![\w.])")
_NUMBERS = "-1 0 1 2 3 7 127 128 65536 2147483648 9223372036854775807 -9223372036854775808".split(" ")


def mutate_operation(random: Random, op: SampleOp, others: Sequence[SampleOp]) -> str:
    """Return a module with the operation after one to four changes. Its operands are the function's arguments."""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        op = random.choice(_CHANGES)(random, op, random.choice(others))
    return function_text(op)


def function_text(op: SampleOp) -> str:
    arguments, makers, names = [], [], []
    for index, operand in enumerate(op.operands):
        names.append(f"%{index}")
        if operand.maker:
            makers.append(f"  %{index} = {operand.maker}\n")
        else:
            arguments.append(f"%{index}: {operand.type}")
    attributes = ", ".join(f"{name} = {value}" for name, value in op.attributes)
    types = ", ".join(operand.type for operand in op.operands)
    result = f"%r:{len(op.results)} = " if op.results else ""
    return (
        f"func.func @f({', '.join(arguments)}) {{\n{''.join(makers)}"
        f'  {result}"{op.name}"({", ".join(names)}) {{{attributes}}} : ({types}) -> ({", ".join(op.results)})\n'
        "  return\n}\n"
    )


def _any_type(random: Random, old: str, other: SampleOp) -> str:
    pool = [operand.type for operand in other.operands] + list(other.results)
    choice = random.randrange(3)
    if choice == 0 and pool:
        return random.choice(pool)
    return _renumbered(random, old) if choice == 1 else random.choice(_TYPES)


def _renumbered(random: Random, text: str) -> str:
    """Replace one of the text's numbers. Sizes in `4x3xf32` are numbers, too."""
    spread = re.sub(r"(?<=\d)x|(?<=[?\]])x", " x ", text)
    places = list(_NUMBER.finditer(spread))
    if not places:
        return text
    place = random.choice(places)
    return (spread[: place.start()] + random.choice(_NUMBERS) + spread[place.end() :]).replace(" x ", "x")


def _change_operand_type(random: Random, op: SampleOp, other: SampleOp) -> SampleOp:
    if not op.operands:
        return op
    at = random.randrange(len(op.operands))
    changed = Operand(_any_type(random, op.operands[at].type, other), "")
    return op._replace(operands=(*op.operands[:at], changed, *op.operands[at + 1 :]))


def _change_maker(random: Random, op: SampleOp, other: SampleOp) -> SampleOp:
    makers = [at for at, operand in enumerate(op.operands) if operand.maker]
    if not makers:
        return _change_attribute(random, op, other)
    at = random.choice(makers)
    operand = op.operands[at]
    changed = operand._replace(maker=_renumbered(random, operand.maker))
    return op._replace(operands=(*op.operands[:at], changed, *op.operands[at + 1 :]))


def _change_result_type(random: Random, op: SampleOp, other: SampleOp) -> SampleOp:
    if not op.results:
        return op
    at = random.randrange(len(op.results))
    return op._replace(results=(*op.results[:at], _any_type(random, op.results[at], other), *op.results[at + 1 :]))


def _change_counts(random: Random, op: SampleOp, other: SampleOp) -> SampleOp:
    """Drop, double, reorder or replace operands or results."""
    choice = random.randrange(6)
    if choice == 0:
        return op._replace(operands=op.operands[:-1])
    if choice == 1:
        return op._replace(operands=op.operands + op.operands[:1] * random.choice((1, 40)))
    if choice == 2:
        return op._replace(operands=tuple(random.sample(op.operands, len(op.operands))))
    if choice == 3:
        return op._replace(operands=other.operands)
    return op._replace(results=op.results[1:] if choice == 4 else op.results + other.results)


def _change_attribute(random: Random, op: SampleOp, other: SampleOp) -> SampleOp:
    if not op.attributes:
        return _add_attribute(random, op, other)
    at = random.randrange(len(op.attributes))
    name, old = op.attributes[at]
    choice = random.randrange(4)
    if choice == 0:
        return op._replace(attributes=(*op.attributes[:at], *op.attributes[at + 1 :]))
    if choice == 1 and other.attributes:
        value = random.choice(other.attributes)[1]
    else:
        value = _renumbered(random, old) if choice == 2 else random.choice(_ATTRIBUTES)
    return op._replace(attributes=(*op.attributes[:at], (name, value), *op.attributes[at + 1 :]))


def _add_attribute(random: Random, op: SampleOp, other: SampleOp) -> SampleOp:
    """Add an attribute that the operator knows, so that its value is checked, or rarely one of another operator."""
    names = [*find_op(op.name).attrs] or ([name for name, _ in other.attributes] if random.random() < 0.1 else [])
    taken = {name for name, _ in op.attributes}
    free = [name for name in names if name not in taken]
    if not free:
        return _change_operand_type(random, op, other)
    value = random.choice(_ATTRIBUTES)
    if other.attributes and random.random() < 0.3:
        value = random.choice(other.attributes)[1]
    return op._replace(attributes=(*op.attributes, (random.choice(free), value)))


def _change_name(random: Random, op: SampleOp, other: SampleOp) -> SampleOp:
    return op._replace(name=other.name)


_CHANGES: tuple[Callable[[Random, SampleOp, SampleOp], SampleOp], ...] = (
    *(_change_operand_type,) * 4,
    *(_change_attribute, _add_attribute) * 3,
    *(_change_maker, _change_result_type, _change_counts) * 2,
    _change_name,
)
