# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions in place of instructions on tiles (AMX), which follow Intel's manual element by element.

A tile is a vector of its 256 words.
"""

from __future__ import annotations

import re

_NAME = re.compile(r"llvm\.x86\.(tilezero|tileloadd64|tilestored64|tdp(?:bf16ps|fp16ps|b[su][su]d))\.internal")
_TILE = "vector<256xi32>"

#: The value of part `at` of words, by a type of words: one, or a row of them.
_FLOATS = {
    "bf16": """
      %x{name}{at} = llvm.{take} %{name}, %{number}_{bits} : {type}
      %{name}{at} = llvm.bitcast %x{name}{at} : {type} to {float}""",
    "fp16": """
      %w{name}{at} = llvm.lshr %{name}, %{number}_{shift} : {type}
      %x{name}{at} = llvm.trunc %w{name}{at} : {type} to {short}
      %y{name}{at} = llvm.bitcast %x{name}{at} : {short} to {half}
      %{name}{at} = llvm.fpext %y{name}{at} : {half} to {float}""",
}
_BYTE = """
      %x{name}{at} = llvm.shl %{name}, %{number}_{shift} : {type}
      %{name}{at} = llvm.{signed} %x{name}{at}, %{number}_24 : {type}"""
_TYPES = {
    "scalar": {"number": "one", "type": "i32", "float": "f32", "short": "i16", "half": "f16"},
    "vector": {
        "number": "row", "type": "vector<16xi32>", "float": "vector<16xf32>", "short": "vector<16xi16>",
        "half": "vector<16xf16>",
    },
}  # fmt: skip
_NUMBERS = (0, 8, 16, 24, -65536)

_FUNCTION = """
llvm.func internal @emulated_{name}({parameters}) {result}attributes {{no_inline}} {{
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  %row = llvm.mlir.constant(64 : i64) : i64
  %rows = llvm.zext %m : i16 to i64
{begin}
  llvm.br ^loop(%zero : i64)
^loop(%r: i64):
  %goes = llvm.icmp "slt" %r, %rows : i64
  llvm.cond_br %goes, ^body, ^done
^body:
  %at = llvm.mul %r, %row : i64
{body}
^next:
  %r2 = llvm.add %r, %one : i64
  llvm.br ^loop(%r2 : i64)
^done:
{end}
}}
"""
_SLOT = "  %{name} = llvm.alloca %one x vector<256xi32> : (i64) -> !llvm.ptr\n"
_KEPT = "  llvm.store %{name}_tile, %{name} : vector<256xi32>, !llvm.ptr\n"
_MOVED = """
  %there = llvm.mul %r, %stride : i64
  %far = llvm.getelementptr %p[%there] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %near = llvm.getelementptr %t[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %moved = llvm.load %{source} {{alignment = 1 : i64}} : !llvm.ptr -> vector<16xi32>
  llvm.store %moved, %{target} {{alignment = 1 : i64}} : vector<16xi32>, !llvm.ptr
  llvm.br ^next"""
_RETURNED = "  %all = llvm.load %{name} : !llvm.ptr -> vector<256xi32>\n  llvm.return %all : vector<256xi32>"
_PRODUCTS = """
  %cp = llvm.getelementptr %c[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.br ^inner(%zero : i64)
^inner(%g: i64):
  %more = llvm.icmp "slt" %g, %groups : i64
  llvm.cond_br %more, ^product, ^next
^product:
  %ga = llvm.mul %g, %four : i64
  %gb = llvm.mul %g, %row : i64
  %ia = llvm.add %at, %ga : i64
  %ap = llvm.getelementptr %a[%ia] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %bp = llvm.getelementptr %b[%gb] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %l = llvm.load %ap : !llvm.ptr -> i32
  %v = llvm.load %bp {alignment = 4 : i64} : !llvm.ptr -> vector<16xi32>
  %s0 = llvm.load %cp {alignment = 4 : i64} : !llvm.ptr -> SUMS
PARTS
  llvm.store %sLAST, %cp {alignment = 4 : i64} : SUMS, !llvm.ptr
  %g2 = llvm.add %g, %one : i64
  llvm.br ^inner(%g2 : i64)"""
_PART = """
      %p{at} = llvm.mlir.poison : {element_row}
      %i{at} = llvm.insertelement %l{at}, %p{at}[%zero : i64] : {element_row}
      %b{at} = llvm.shufflevector %i{at}, %p{at} [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] : {element_row}
      %m{at} = llvm.{mul} %b{at}, %v{at} : {element_row}
      %s{next} = llvm.{add} %s{at}, %m{at} : {element_row}"""


def _parts(name: str) -> str:
    """Return the products of a word's parts, by the instruction's name."""
    kind = next((kind for kind in _FLOATS if kind in name), "")
    row = "vector<16xf32>" if kind else "vector<16xi32>"
    text = ""
    for at in range(2 if kind else 4):
        for side, (value, types) in enumerate(zip("lv", _TYPES.values(), strict=True)):
            bits, take = (("16", "shl"), ("n65536", "and"))[at % 2]
            signed = "ashr" if name[4 + side : 5 + side] == "s" else "lshr"
            shift = 16 * at if kind else 24 - 8 * at
            form = _FLOATS.get(kind, _BYTE)
            text += form.format(name=value, at=at, bits=bits, take=take, shift=shift, signed=signed, **types)
        words = {"mul": "fmul", "add": "fadd"} if kind else {"mul": "mul", "add": "add"}
        text += _PART.format(at=at, next=at + 1, element_row=row, **words)
    return _PRODUCTS.replace("PARTS", text).replace("SUMS", row).replace("LAST", str(2 if kind else 4))


def _constants() -> str:
    text = ""
    for number in _NUMBERS:
        shown = str(number).replace("-", "n")
        text += f"  %one_{shown} = llvm.mlir.constant({number} : i32) : i32\n"
        text += f"  %row_{shown} = llvm.mlir.constant(dense<{number}> : vector<16xi32>) : vector<16xi32>\n"
    return text


def function_name(intrinsic: str) -> str:
    """Return the name of the function in place of an intrinsic on tiles, or an empty text for other intrinsics."""
    match = _NAME.fullmatch(intrinsic)
    return f"emulated_{match[1]}" if match else ""


def definition(function: str) -> str:
    """Return the definition of a function in the LLVM dialect."""
    name = function.removeprefix("emulated_")
    sizes, moved = "%m: i16, %n: i16", "%m: i16, %n: i16, %p: !llvm.ptr, %stride: i64"
    returns = f"-> {_TILE} "
    if name == "tilezero":
        zeros = f"  %z = llvm.mlir.constant(dense<0> : {_TILE}) : {_TILE}\n  llvm.return %z : {_TILE}"
        return _FUNCTION.format(
            name=name, parameters=sizes, result=returns, begin="", body="  llvm.br ^next", end=zeros
        )
    if name == "tileloadd64":
        body, begin = _MOVED.format(source="far", target="near"), _SLOT.format(name="t")
        end = _RETURNED.format(name="t")
        return _FUNCTION.format(name=name, parameters=moved, result=returns, begin=begin, body=body, end=end)
    if name == "tilestored64":
        body, begin = _MOVED.format(source="near", target="far"), (_SLOT + _KEPT).format(name="t")
        parameters = f"{moved}, %t_tile: {_TILE}"
        return _FUNCTION.format(
            name=name, parameters=parameters, result="", begin=begin, body=body, end="  llvm.return"
        )
    tiles = ", ".join(f"%{each}_tile: {_TILE}" for each in "cab")
    begin = "".join((_SLOT + _KEPT).format(name=each) for each in "cab") + _constants()
    begin += "  %bytes = llvm.zext %k : i16 to i64\n  %groups = llvm.sdiv %bytes, %four : i64"
    parameters = f"{sizes}, %k: i16, {tiles}"
    end = _RETURNED.format(name="c")
    return _FUNCTION.format(name=name, parameters=parameters, result=returns, begin=begin, body=_parts(name), end=end)
