# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interpretation of functions in MLIR's text."""

from __future__ import annotations

from typing import Any

import numpy
import relax_mlir as rx


def run(text: str, *arguments: Any, wide: bool = False) -> Any:
    """Return the results of @main. A text without a function is the body of a @main without arguments."""
    if "func.func" not in text:
        text = f"func.func @main() -> ({_types(text)}) {{\n{text}\n}}"
    return rx.reference(rx.Module.parse(text, "case.mlir"), wide=wide)["main"](*arguments)


def _types(body: str) -> str:
    """Return the types of the values that the body returns."""
    return body.rpartition("return ")[2].partition(":")[2].strip()


def equal(found: Any, expected: Any) -> None:
    """Check that arrays, numbers, or sequences of them are equal to the last bit."""
    if isinstance(found, (tuple, list)):
        assert len(found) == len(expected)
        for each, other in zip(found, expected, strict=True):
            equal(each, other)
        return
    numpy.testing.assert_array_equal(numpy.asarray(found), numpy.asarray(expected))
