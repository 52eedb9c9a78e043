# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refusals of the codegen cublas, with reasons. test_cublas_runtime.py tests the runtime."""

from __future__ import annotations

from typing import Any

import pytest
import relax_mlir as rx
from nvidia_parts import module_of
from relax_mlir import relax
from relax_mlir.passes.core.journal import Journal


@pytest.mark.parametrize(
    ("body", "parameters", "words"),
    [
        (relax.matmul, [rx.tensor((3,)), rx.tensor((3, 4))], "not of vectors"),
        (relax.matmul, [rx.tensor((2, 0)), rx.tensor((0, 4))], "the summed axis has size 0"),
        (
            relax.matmul,
            [rx.tensor((2, 3), "int32"), rx.tensor((3, 4), "int32")],
            "does not support products of i32 and i32",
        ),
        (
            lambda a, b: relax.matmul(a, b, out_dtype="int32"),
            [rx.tensor((4, 16), "int8"), rx.tensor((16, 8), "int8")],
            "bytes only by a transposed second operand",
        ),
        (
            lambda a, b: relax.matmul(a, relax.permute_dims(b), out_dtype="int32"),
            [rx.tensor((4, 18), "int8"), rx.tensor((8, 18), "int8")],
            "multiples of 4, not 8 and 18",
        ),
    ],
)
def test_refusals(body: Any, parameters: Any, words: str) -> None:
    module = module_of(body, parameters)
    with Journal().recording() as journal:
        rx.Pipeline("relax-partition{codegens=cublas explain}").run(module)
    assert "relax.call_external" not in str(module)
    assert words in str(journal.facts), journal.facts


def test_for_the_cpu_it_is_refused_by_name() -> None:
    with pytest.raises(rx.RelaxError, match="codegen 'cublas', which works on memory of cuda, and the program"):
        rx.compile(module_of(relax.matmul, [rx.tensor((2, 3)), rx.tensor((3, 4))]), partition=["cublas"])


@pytest.mark.parametrize(
    ("body", "dtype", "pattern"),
    [
        (lambda a, b: relax.matmul(a, relax.permute_dims(b, [1, 0]), out_dtype="int32"), "int8", "right_transposed"),
        (lambda a, b: relax.matmul(relax.permute_dims(a), b), "float64", "left_transposed"),
        (lambda a, b: relax.nn.relu(relax.matmul(a, b)), "bfloat16", "matmul"),
    ],
)
def test_patterns_of_products_are_partitioned(body: Any, dtype: str, pattern: str) -> None:
    module = module_of(body, [rx.tensor((8, 8), dtype)] * 2)
    rx.Pipeline("relax-partition{codegens=cublas}").run(module)
    assert f'"cublas.{pattern}"' in str(module) and str(module).count("relax.call_external") == 1
