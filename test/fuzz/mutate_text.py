# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # lists of words
"""Mutations of bytes and of text token by token."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|->|[\w$.]+|[%@#!^][\w$.-]+|\s+|.', re.DOTALL)

# Tokens that have broken parsers before.
TOKENS = (
    "-1 0 1 2 4294967296 9223372036854775807 -9223372036854775808 99999999999999999999 1e400 0x7FC00000 -0.0 ? * x x0x "
    "true false unit none index i1 i0 i64 ui8 si4 i16777215 i16777216 f32 bf16 f8E4M3FN complex<f32> tensor<*xf32> "
    "tensor<f32> tensor<?xf32> tensor<0x4xf32> tensor<9223372036854775807x2xf32> vector<[4]xf32> memref<?xf32> "
    'tuple<> !relax.object !relax.shape<unit> !relax.shape<[1,"n"]> #relax.sym<["n"]> #relax.sym<[]> #relax.sym<1> '
    'array<i64> array<i64:1,-1> array<i32:0> dense<1> affine_map<(d0)->(d0)> "n" "" "\\00" "\\FF" "é" @f @f::@g %0 %a '
    "^bb0 #a = !a = : , ; = ( ) { } [ ] < > -> loc(unknown) { attributes {} func.func module return private "
    '"relax.add" "tir.exp" "relax.nn.conv2d" "relax.no" "no.op" relax.exp relax.sym builtin dtype axis // ----- /* {-# #-}'
).split(" ")

#: Behind a size, or of a tensor that has none.
_ELEMENT_TYPE = re.compile(r"(?<=[x<])(f32|f16|f64|bf16|i8|i32|i64|i1|ui8|index)(?=[>,])")
_ELEMENT_TYPES = (
    "vector<4xf32> vector<[4]xf32> complex<f32> complex<f16> si32 si8 ui64 i0 i1 i7 i1000 index f80 f128 tf32 f8E8M0FNU "
    "f4E2M1FN !llvm.ptr !relax.object none tensor<2xf32> memref<2xf32>"
).split()

_BYTES = (
    b"\0",
    b"\xff",
    b"\n",
    b"\r",
    b'"',
    b"\\",
    b"(",
    b")",
    b"<",
    b"{",
    b"%",
    b"#",
    b"-",
    b"9",
    b"\xc3",
    b"\xe2\x80\xa8",
)


def mutate_bytes(random: Random, data: bytes) -> bytes:
    """Make one to eight changes of single bytes, of slices, of the end."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        random.choice(_BYTE_CHANGES)(random, changed)
    return bytes(changed)


def _position(random: Random, data: Sequence[object]) -> int:
    return random.randrange(len(data) + 1)


def _flip(random: Random, data: bytearray) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _overwrite(random: Random, data: bytearray) -> None:
    if data:
        data[random.randrange(len(data))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))


def _insert(random: Random, data: bytearray) -> None:
    at = _position(random, data)
    data[at:at] = random.choice(_BYTES) * random.choice((1, 1, 1, 2, 70))


def _delete(random: Random, data: bytearray) -> None:
    at = _position(random, data)
    del data[at : at + random.choice((1, 1, 2, 8, 64))]


def _copy(random: Random, data: bytearray) -> None:
    begin, at = _position(random, data), _position(random, data)
    data[at:at] = data[begin : begin + random.choice((1, 4, 16, 128))]


def _truncate(random: Random, data: bytearray) -> None:
    del data[_position(random, data) :]


_BYTE_CHANGES: tuple[Callable[[Random, bytearray], None], ...] = (
    *(_flip, _overwrite) * 3,
    *(_insert, _delete, _copy),
    _truncate,
)


def mutate_tokens(random: Random, text: str, others: Sequence[str]) -> str:
    """Make one to six changes of tokens, some of which come from other texts."""
    tokens = _TOKEN.findall(text)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        random.choice(_TOKEN_CHANGES)(random, tokens, others)
    return "".join(tokens)


def mutate_element_type(random: Random, text: str) -> str:
    """Replace one element type, everywhere or in one place, by another one of tensors or of MLIR."""
    found = sorted({match[1] for match in _ELEMENT_TYPE.finditer(text)})
    if not found:
        return text
    old, new = random.choice(found), random.choice(_ELEMENT_TYPES)
    if random.random() < 0.3:
        spot = random.choice([match for match in _ELEMENT_TYPE.finditer(text) if match[1] == old])
        return text[: spot.start()] + new + text[spot.end() :]
    changed = _ELEMENT_TYPE.sub(lambda match: new if match[1] == old else match[1], text)
    # Scalars of that type as well, or the text soon contradicts itself.
    return re.sub(rf"(?<=[: (]){old}\b", new, changed) if random.random() < 0.5 else changed


def _solid(random: Random, tokens: list[str]) -> int:
    """Return the position of a token that is no white space, if a few tries find one."""
    for _ in range(4):
        at = random.randrange(len(tokens))
        if not tokens[at].isspace():
            break
    return at


def _replace_token(random: Random, tokens: list[str], others: Sequence[str]) -> None:
    if tokens:
        tokens[_solid(random, tokens)] = random.choice(TOKENS)


def _replace_alike(random: Random, tokens: list[str], others: Sequence[str]) -> None:
    """Replace a token by one of the same kind from another text: a name by a name, a number by a number."""
    if not tokens:
        return
    at = _solid(random, tokens)
    donor = _TOKEN.findall(random.choice(others))
    alike = [token for token in donor if token[:1].isdigit() == tokens[at][:1].isdigit() and token[0] == tokens[at][0]]
    alike = alike or [token for token in donor if not token.isspace()]
    if alike:
        tokens[at] = random.choice(alike)


def _delete_token(random: Random, tokens: list[str], others: Sequence[str]) -> None:
    if tokens:
        del tokens[_solid(random, tokens)]


def _double_token(random: Random, tokens: list[str], others: Sequence[str]) -> None:
    if tokens:
        at = _solid(random, tokens)
        tokens[at:at] = [tokens[at]] * random.choice((1, 1, 2, 50))


def _swap_tokens(random: Random, tokens: list[str], others: Sequence[str]) -> None:
    if tokens:
        one, other = _solid(random, tokens), _solid(random, tokens)
        tokens[one], tokens[other] = tokens[other], tokens[one]


def _insert_token(random: Random, tokens: list[str], others: Sequence[str]) -> None:
    tokens.insert(_position(random, tokens), f" {random.choice(TOKENS)} ")


def _change_lines(random: Random, tokens: list[str], others: Sequence[str]) -> None:
    """Delete, double or move lines, or insert lines of another text."""
    lines = "".join(tokens).split("\n")
    at = random.randrange(len(lines))
    choice = random.randrange(4)
    if choice == 0:
        del lines[at]
    elif choice == 1:
        lines.insert(random.randrange(len(lines) + 1), lines[at])
    elif choice == 2:
        lines.insert(random.randrange(len(lines)), lines.pop(at))
    else:
        lines.insert(at, random.choice(random.choice(others).split("\n")))
    tokens[:] = _TOKEN.findall("\n".join(lines))


_TOKEN_CHANGES: tuple[Callable[[Random, list[str], Sequence[str]], None], ...] = (
    *(_replace_token, _replace_alike) * 3,
    *(_delete_token, _double_token, _swap_tokens, _insert_token),
    _change_lines,
)
