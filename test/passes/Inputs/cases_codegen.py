# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegens with distinct rows for the cases of relax-fuse-ops-by-pattern."""

import relax_mlir as rx
from relax_mlir.patterns import is_const, is_op, outputs, wildcard

x = wildcard().named("x")
exp, tanh = is_op("relax.exp"), is_op("relax.tanh")
biased = is_op("relax.matmul")(x, wildcard()).optional(lambda y: is_op("relax.add")(y, is_const()))
halves = is_op("relax.split")(x, ...)


@rx.register_codegen("cases")
class Cases(rx.Codegen):
    patterns = (
        ("cases.whole", is_op("relax.nn.silu")(exp(x))),
        ("cases.part", is_op("relax.nn.silu")(x)),
        ("cases.linear", biased.optional(lambda y: is_op("relax.nn.relu")(y))),
        ("cases.difference", is_op("relax.subtract")(exp(x), wildcard())),
        ("cases.diamond", is_op("relax.multiply")(tanh(x), is_op("relax.abs")(x))),
        ("cases.both", outputs(is_op("relax.sin")(x), is_op("relax.cos")(x))),
        ("cases.glu", is_op("relax.multiply")(halves[0], is_op("relax.sigmoid")(halves[1]))),
        ("cases.join", is_op("relax.concat")([exp(x), wildcard()])),
        ("cases.reshape", is_op("relax.reshape")(tanh(x), ...)),
    )
