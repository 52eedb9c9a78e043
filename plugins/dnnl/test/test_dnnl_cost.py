# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen dnnl with plan=cost, which takes only parts that save time."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from before_after import changed
from dnnl_models import floats
from external_parts import built
from relax_mlir import relax
from relax_mlir.bindings.navigation import operations_in
from relax_mlir_dnnl.codegen import Dnnl

const = relax.const


def parts(body: Any, *shapes: Any) -> str:
    journal = rx.Journal()
    with journal.recording():
        changed(built(body, *shapes), "relax-partition{codegens=dnnl plan=cost}")
    (fact,) = journal.of("partition")
    return " ".join(f"{name}:{count}" for name, count in sorted(fact["matched"].items()))


def conv(channels: int, **attributes: Any) -> Any:
    weight = floats(channels, channels // attributes.get("groups", 1), 3, 3)
    return lambda x: relax.nn.relu(relax.nn.conv2d(x, const(weight), padding=1, **attributes))


@pytest.mark.parametrize(
    ("body", "shape", "taken"),
    [
        (relax.nn.relu, (8,), ""),
        (relax.nn.relu, (4096, 4096), ""),
        (relax.nn.softmax, (1536, 128), ""),
        (conv(4), (1, 4, 6, 6), ""),
        (conv(64), (1, 64, 56, 56), "dnnl.conv_with_post_ops:2"),
        (conv(64, groups=64), (1, 64, 56, 56), ""),
        (lambda x: relax.matmul(x, const(floats(768, 768))), (128, 768), "dnnl.matmul_with_post_ops:1"),
        (lambda x: relax.matmul(x, const(floats(8, 8))), (4, 8), ""),
        (lambda x: relax.matmul(x, x), (768, 768), ""),
    ],
)
def test_chosen_parts(body: Any, shape: tuple[int, ...], taken: str) -> None:
    assert parts(body, shape) == taken


def test_softmax_between_products() -> None:
    """Take the softmax between products, because two more crossings of the part's boundary cost more."""

    def body(x: Any) -> Any:
        weight = const(floats(768, 768))
        return relax.matmul(relax.nn.softmax(relax.matmul(x, weight)), weight)

    assert parts(body, (128, 768)) == "dnnl.matmul_with_post_ops:2 dnnl.softmax:1"


def test_products_of_bytes_save_more() -> None:
    def body(x: Any) -> Any:
        scale, zero = const(numpy.float32(0.1)), const(numpy.int8(0))
        return relax.matmul(x, relax.dequantize(const(numpy.ones((64, 64), "int8")), scale, zero))

    operations = [op for op in operations_in(built(body, (64, 64)).operation) if op.name.startswith("relax.")]
    one, other = (Dnnl().cost(name, operations) for name in ("dnnl.quantized_matmul", "dnnl.matmul"))
    assert one < other
