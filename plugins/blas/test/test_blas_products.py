# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Structures that the codegen `blas` matches. They are parsed when an operation first has their types."""

from __future__ import annotations

import pytest
from relax_mlir.passes.kernels.structures.structure import Later, Structure
from relax_mlir_blas.products import biases, products, relus


@pytest.mark.parametrize("stated", [*products()[::7], *biases(), *relus()], ids=str)
def test_a_stated_part_has_the_signature_of_the_read_part(stated: Structure) -> None:
    assert isinstance(stated, Later)
    read = stated.read()
    assert (stated.name, stated.input_count, stated.signature) == (read.name, read.input_count, read.signature)
    assert (stated.key, stated.has_sizes) == (read.key, read.has_sizes)
