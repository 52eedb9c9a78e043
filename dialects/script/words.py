# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of operations in scripts: one table for the printer (here) and the reader (frontends/script/ssa)."""

from __future__ import annotations

import keyword
from functools import cache
from typing import NamedTuple

from ..core.infos import is_unsigned


class Sign(NamedTuple):
    """Python operator between two numbers."""

    text: str
    #: Precedence; see expr.Level.
    level: int


_LEVELS = {
    "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4,
    "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10,
}  # fmt: skip
_FLOATS = {"arith.addf": "+", "arith.subf": "-", "arith.mulf": "*", "arith.divf": "/"}
_INTEGERS = {
    "arith.addi": "+", "arith.subi": "-", "arith.muli": "*", "arith.floordivsi": "//", "arith.andi": "&",
    "arith.ori": "|", "arith.xori": "^", "arith.shli": "<<", "arith.shrsi": ">>",
}  # fmt: skip
#: Operator -> operation, for floats and for integers.
OF_FLOATS = {text: name for name, text in _FLOATS.items()}
OF_INTEGERS = {text: name for name, text in _INTEGERS.items()}
#: Predicates of arith.cmpf and arith.cmpi with a Python operator.
COMPARED_FLOATS = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}
COMPARED_INTEGERS = {0: "==", 1: "!=", 2: "<", 3: "<=", 4: ">", 5: ">="}
#: Operations with operators: predicate -> operator of comparisons, 0 -> operator of other operations.
_SIGNS = {
    **{name: {0: text} for name, text in (_FLOATS | _INTEGERS).items()},
    "arith.cmpf": COMPARED_FLOATS,
    "arith.cmpi": COMPARED_INTEGERS,
}
SIGNED = tuple(_SIGNS)
#: Functions of T that are Python operators, or one function under several names: T.floordiv(x, y) is x // y.
SIGN_OF_WORD = {
    "Add": "+", "add": "+", "Sub": "-", "subtract": "-", "Mul": "*", "multiply": "*", "Div": "/", "div": "/",
    "FloorDiv": "//", "floordiv": "//", "indexdiv": "//", "FloorMod": "%", "floormod": "%", "indexmod": "%",
    "truncdiv": "truncdiv", "truncmod": "truncmod", "Mod": "truncmod", "ceildiv": "ceildiv", "min": "min",
    "Min": "min", "max": "max", "Max": "max", "shift_left": "<<", "shift_right": ">>", "bitwise_and": "&",
    "bitwise_or": "|", "bitwise_xor": "^", "pow": "**", "power": "**", "EQ": "==", "NE": "!=", "LT": "<",
    "LE": "<=", "GT": ">", "GE": ">=", "And": "and", "all": "and", "Or": "or", "any": "or", "Not": "not",
}  # fmt: skip

#: Attributes with an implicit value, which scripts omit.
SILENT = {
    "fastmath": "#arith.fastmath<none>", "overflowFlags": "#arith.overflow<none>", "nontemporal": "false"
}  # fmt: skip
#: Attributes with a fixed set of cases, which scripts name.
_CASES = {"fastmath": "#arith.fastmath<{}>", "overflowFlags": "#arith.overflow<{}>"}
_CASES_OF = {"vector.kind": "#vector.kind<{}>"}
#: Operations without operands that are always inlined instead of named.
LEAVES = frozenset({"arith.constant", "relax.constant", "linalg.index", "relax.shape_expr", "relax.prim_value"})

#: Attribute with the number of operands per group.
SEGMENTS = "operandSegmentSizes"

#: Dialects with a letter of their own.
_LETTERS = {"relax": "R", "tir": "T"}
_DIALECTS = {letter: dialect for dialect, letter in _LETTERS.items()}

# Further prefixes and suffixes of words.
_OTHERS = frozenset({"I", "cls"})
_METHODS = frozenset({"vload", "vstore"})

#: Operations with partly constant sizes: the number of preceding operands, and the attributes with constant sizes.
MIXED = {
    "tensor.extract_slice": (1, ("static_offsets", "static_sizes", "static_strides")),
    "tensor.insert_slice": (2, ("static_offsets", "static_sizes", "static_strides")),
    "tensor.parallel_insert_slice": (2, ("static_offsets", "static_sizes", "static_strides")),
    "memref.subview": (1, ("static_offsets", "static_sizes", "static_strides")),
    "tensor.expand_shape": (1, ("static_output_shape",)),
    "memref.expand_shape": (1, ("static_output_shape",)),
    "memref.reinterpret_cast": (1, ("static_offsets", "static_sizes", "static_strides")),
}


def sign_of(operation: str, predicate: int = 0) -> Sign | None:
    """Return the operator of an operation, or None."""
    text = _SIGNS.get(operation, {}).get(predicate)
    return None if text is None else Sign(text, _LEVELS[text])


@cache
def word_of(name: str) -> str:
    """Return the word of an operation, or an empty string if there is none.

    "relax.nn.relu" is R.nn.relu, and "scf.yield" is scf.yield_.
    """
    dialect, *rest = name.split(".")
    parts = [_LETTERS.get(dialect, dialect), *(f"{part}_" if keyword.iskeyword(part) else part for part in rest)]
    word = ".".join(parts)
    is_word = bool(rest) and all(part.isidentifier() and part.isascii() for part in parts)
    if dialect in _OTHERS or parts[-1] in _METHODS:
        return ""
    return word if is_word and operation_of(word) == name else ""


@cache
def operation_of(word: str) -> str:
    """Return the operation name of a word in a script."""
    letter, *rest = word.split(".")
    plain = (part[:-1] if part[-1:] == "_" and keyword.iskeyword(part[:-1]) else part for part in rest)
    return ".".join([_DIALECTS.get(letter, letter), *plain])


def case_form(operation: str, attribute: str) -> str:
    """Return MLIR's text of an attribute around the name of a case, or an empty string for attributes without cases."""
    return _CASES.get(attribute) or _CASES_OF.get(f"{operation.partition('.')[0]}.{attribute}", "")


def constant_operation(element: str) -> str:
    """Return the constant operation for this element type. Upstream's constants are signless."""
    return "relax.constant" if is_unsigned(element) else "arith.constant"


def quoted(text: str) -> str:
    """Return a Python literal of any text, on one line."""
    if text.isprintable():
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return '"' + text.encode("unicode_escape").decode("ascii").replace('"', '\\"') + '"'
