# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes of resources in bytecode, and of an attribute that refers to them."""

from __future__ import annotations

import numpy
import pytest
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.resources import blob_of

import relax_mlir as rx


@pytest.mark.parametrize("count", [1, 3, 100, 70_000])
def test_bytes_are_found_again(count: int) -> None:
    elements = numpy.arange(count, dtype="float32")
    module = rx.Module()
    with module.context, ir.Location.unknown():
        type_ = ir.RankedTensorType.get([count], ir.F32Type.get())
        attribute = ir.DenseResourceElementsAttr.get_from_buffer(memoryview(elements), "weights", type_)
        blob = blob_of(attribute)
    assert blob is not None
    assert bytes(blob.data[: elements.nbytes]) == elements.tobytes()


def test_without_resources_there_are_none() -> None:
    with rx.Module().context, ir.Location.unknown():
        attribute = ir.DenseElementsAttr.get(numpy.ones(3, "float32"))
        assert blob_of(attribute) is None
