# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of onnxruntime's test_op_matmul_4bits."""

from __future__ import annotations

from collections.abc import Iterator

import relax_mlir as rx
from relax_mlir.recipes import Op

from .case import Case

_SUITE = "onnxruntime test_op_matmul_4bits"
_NET = "g (float[4,52] input) => (float[4,288] output) <float[52,288] W> { output = MatMul(input, W) }"


def _products() -> Iterator[Case]:
    for name, type_ in (
        ("symmetric", "i4@block32 symmetric"), ("offsets", "u4@block32"), ("symmetric QDQ", "i4@block32 symmetric"),
        ("offsets QDQ", "u4@block32"), ("round to nearest", "u4@block32"), ("searched scales", "u4@block32"),
    ):  # fmt: skip
        yield Case(
            _SUITE, name, _NET, lambda type_=type_: rx.Recipe(Op("relax.matmul", x2=type_)),
            {"output.w": "bits4 block32"}, exported={"MatMulNBits": 1}, near=0.2,
        )  # fmt: skip
    yield Case(_SUITE, "GPTQ", missing="rounding by the error of earlier columns (GPTQ) is not ours")
    for name in ("symmetric", "offsets"):
        yield Case(_SUITE, f"embedding {name}", missing="rows of embeddings in blocks of 4 bits")


CASES = list(_products())
