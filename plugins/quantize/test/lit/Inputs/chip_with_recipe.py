# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A codegen with a recipe, for relax-requantize.py."""

import relax_mlir as rx
from relax_mlir.patterns import is_const, is_op, wildcard
from relax_mlir.recipes import Op

_PRODUCT = is_op("relax.matmul")(wildcard().named("x"), is_const().named("w"))
_BIASED = _PRODUCT.optional(lambda y: is_op("relax.add")(y, is_const().named("bias")))

_HOW = rx.Requantize("q31>>shift", rounding="half_up")


@rx.codegens.register_codegen("lit_chip")
class Chip(rx.codegens.Codegen):
    patterns = (
        ("lit_chip.linear", _BIASED.optional(lambda y: is_op("relax.nn.relu")(y))),
        ("lit_chip.sum", is_op("relax.add")(wildcard().named("a"), wildcard().named("b"))),
        ("lit_chip.tanh", is_op("relax.tanh")(wildcard().named("x"))),
    )
    recipe = rx.Recipe(
        Op("lit_chip.linear", x="i8", w="i8", bias="i32 derived", out=_HOW),
        Op("lit_chip.sum", a="i8", b="i8", out=_HOW),
        Op("lit_chip.tanh", x="i8", out=_HOW),
    )
