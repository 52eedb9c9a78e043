# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Declaration of intrinsics by other packages."""

from __future__ import annotations

import keyword
import sys
from collections.abc import Callable, Mapping

from ...support.blaming import can_be_declared_again, place_of_caller
from ...support.errors import RelaxError
from ...support.suggest import suggest
from ..core.attributes import AttrKind
from ..core.dialect import Dialect, OpNamespace
from ..core.infos import DTYPE_BY_NAME, FLOAT_TYPES, is_bool, is_float, is_int
from ..core.opdef import Infer, OperandDef
from ..core.operator import Operator
from .dialect import tir
from .infer import fixed_dtype, same_type


def declare_intrinsic(
    name: str,
    operands: str = "",
    *,
    result: str | Infer | None = "same",
    results: str = "result",
    attrs: Mapping[str, AttrKind] | None = None,
    pure: bool = True,
    short: bool = False,
    doc: str = "",
    dialect: Dialect = tir,
) -> Operator:
    """Declare the intrinsic `tir.<name>` (or of another dialect) and return its builder.

    `operands` are names as in the tables of this folder; without a kind, an operand is a scalar or a vector of numbers.

    `result` is one of: "same", for the one type of the operands; an element type ("i32", "float32"), for a scalar or a
    vector like the operands; None, for no result; or a function from a Call to the infos of the `results`.

    Pure intrinsics may be merged, moved and removed. `short` intrinsics take a few instructions, and fusion may compute
    them more than once. New contexts know the intrinsic.
    """
    full_name = f"{dialect.name}.{name}"
    _check_name(name, dialect)
    if result is None and pure:
        raise RelaxError(
            f"intrinsic '{full_name}' would do nothing: it is pure and has no result",
            notes=["say pure=False where it has an effect"],
        )
    tokens = [token if ":" in token else f"{token}:elementwise" for token in operands.split()]
    definition = dialect.op(
        name,
        " ".join(tokens),
        attrs=attrs,
        results="" if result is None else results,
        infer=_inference(full_name, result, results, [OperandDef.parse(token) for token in tokens]),
        pure=pure,
        short=short,
        own=True,
        doc=doc,
    )
    definition.family = str(sys._getframe(1).f_globals.get("__name__", ""))
    definition.place = place_of_caller(1)
    return definition


def _check_name(name: str, dialect: Dialect) -> None:
    full_name = f"{dialect.name}.{name}"
    parts = name.split(".")
    if parts[0] == dialect.name:
        raise RelaxError(f"intrinsic '{name}': leave out the dialect, it is put before the name")
    taken = dialect.ops.get(name)
    if taken is not None and not can_be_declared_again(taken.place, place_of_caller(2)):
        raise RelaxError(f"intrinsic '{full_name}' is declared already, in {taken.family}")
    for part in parts:
        if keyword.iskeyword(part):
            raise RelaxError(f"intrinsic '{full_name}': '{part}' is a word of Python's, which no name can be")
    for other in list(dialect.ops):
        if other.startswith(name + ".") or name.startswith(other + "."):
            raise RelaxError(f"intrinsic '{full_name}' and operator '{dialect.name}.{other}' would hide each other")
    # The package exposes operators as attributes, next to its files and functions.
    shadow = vars(sys.modules[__package__]).get(parts[0]) if dialect is tir else None
    if shadow is not None and not isinstance(shadow, (Operator, OpNamespace)):
        raise RelaxError(f"intrinsic '{full_name}': the package has something else of the name '{parts[0]}'")


def _inference(full_name: str, result: str | Infer | None, results: str, operands: list[OperandDef]) -> Infer:
    if callable(result):
        return result
    if results != "result":
        raise RelaxError(f"intrinsic '{full_name}': results='{results}' needs a function as result=")
    if result is None:
        return lambda call: []
    if not isinstance(result, str):
        raise RelaxError(f"intrinsic '{full_name}': result= is a string, a function or None, not {result!r}")
    if result == "same":
        if not operands or operands[0].kind != "elementwise" or operands[0].arity != "single":
            raise RelaxError(
                f"intrinsic '{full_name}': result=\"same\" needs a scalar or vector as its first operand",
                notes=['or say which element type it has: result="i32"'],
            )
        return same_type()
    return fixed_dtype(_element_type(full_name, result))


def _element_type(full_name: str, text: str) -> str:
    dtype = DTYPE_BY_NAME.get(text, text)
    classes: tuple[Callable[[str], bool], ...] = (is_float, is_int, is_bool)
    if any(belongs(dtype) for belongs in classes):
        return dtype
    hint = suggest(text, ["same", *DTYPE_BY_NAME, *FLOAT_TYPES, *DTYPE_BY_NAME.values()])
    raise RelaxError(f"intrinsic '{full_name}': result='{text}' is neither \"same\" nor an element type{hint}")
