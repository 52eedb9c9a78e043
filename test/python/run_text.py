# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs functions of MLIR's text by interpretation."""

from __future__ import annotations

from typing import Any

import numpy

import relax_mlir as rx


def run(text: str, *arguments: Any, wide: bool = False) -> Any:
    """What @main gives. A text without a function is the body of one that has no arguments."""
    if "func.func" not in text:
        text = f"func.func @main() -> ({_types(text)}) {{\n{text}\n}}"
    return rx.reference(rx.Module.parse(text, "case.mlir"), wide=wide)["main"](*arguments)


def _types(body: str) -> str:
    """Of what the body returns."""
    return body.rpartition("return ")[2].partition(":")[2].strip()


def equal(found: Any, expected: Any) -> None:
    """That arrays, numbers, or several of them are those, to the last bit."""
    if isinstance(found, (tuple, list)):
        assert len(found) == len(expected)
        for each, other in zip(found, expected, strict=True):
            equal(each, other)
        return
    numpy.testing.assert_array_equal(numpy.asarray(found), numpy.asarray(expected))
