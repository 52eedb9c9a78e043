# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External codegen for products with epilogues, and for softmax."""

import relax_mlir as rx
from relax_mlir.patterns import Match, is_const, is_op, wildcard

product = is_op("relax.matmul")(wildcard(), is_const().named("w"))


def fits_the_unit(match: Match) -> bool | str:
    columns = match["w"].type.shape[1]
    return columns % 4 == 0 or f"{columns} columns, the unit has 4"


@rx.register_codegen("sample")
class Sample(rx.Codegen):
    patterns = (
        ("sample.linear", product.optional(lambda y: is_op("relax.nn.relu")(y)), fits_the_unit),
        ("sample.softmax", is_op("relax.nn.softmax")(wildcard())),
    )
