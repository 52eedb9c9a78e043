# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands for operators of other packages, which have no rows: types and shapes that the operators accept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import relax_mlir as rx
from relax_mlir_proof.testing.building import Search
from relax_mlir_proof.testing.core.trees import Made, Tree
from relax_mlir_proof.testing.core.variants import VARIANTS, Variant
from relax_mlir_proof.testing.guessed_rows import guessed_rows

_DIALECT = rx.Dialect("guessed", doc="Operators that accept few operands.")
#: Operands, the condition on their types and shapes, and the first operands that are accepted.
OPERATORS: dict[str, tuple[str, Callable[[Any], object], list[str]]] = {
    "usual": ("x", lambda call: True, ["f32 3x5"]),
    "byte": ("x", lambda call: call.x.dtype == "ui8", ["ui8 3x5"]),
    "nibble": ("x", lambda call: call.x.dtype == "i4", ["i4 3x5"]),
    "rows": ("x", lambda call: call.x.rank == 2, ["f32 3x5"]),
    "number": ("x", lambda call: call.x.rank == 0, ["f32 "]),
    "masked": ("x mask", lambda call: (call.x.dtype, call.mask.dtype) == ("f32", "i1"), ["f32 3x5", "i1 3x5"]),
    "scaled": (
        "x scale",
        lambda call: (call.x.dtype, call.scale.dtype) == ("i8", "f32") and (call.x.rank, call.scale.rank) == (2, 0),
        ["i8 3x5", "f32 "],
    ),
    "by_channel": (
        "x scale",
        lambda call: call.scale.shape == call.x.shape[-1:] and call.x.rank == 2,
        ["f32 3x5", "f32 5"],
    ),
    "product": (
        "x w bias",
        lambda call: (
            call.x.rank == call.w.rank == 2
            and (call.x.shape[1], call.w.shape[1]) == (call.w.shape[0], call.bias.shape[0])
            and call.x.shape[1] != call.w.shape[1]
        ),
        ["f32 3x8", "f32 8x5", "f32 5"],
    ),
    "linear": (
        "x w bias",
        lambda call: (
            (call.x.dtype, call.w.dtype, call.bias.dtype) == ("i8", "i8", "i32")
            and call.x.rank == call.w.rank == 2
            and (call.x.shape[1], call.w.shape[0]) == (call.w.shape[1], call.bias.shape[0])
            and call.bias.rank == 1
            and call.w.shape[0] != call.w.shape[1]
        ),
        ["i8 3x8", "i8 5x8", "i32 5"],
    ),
    "convolution": (
        "x w",
        lambda call: (
            call.x.rank == call.w.rank == 4
            and call.x.shape[1] == call.w.shape[1]
            and call.x.shape[2:] > call.w.shape[2:]
        ),
        ["f32 3x4x9x7", "f32 6x4x3x3"],
    ),
    "joined": ("*xs", lambda call: len(call.xs) == 2, ["f32 3x5", "f32 3x5"]),
    "with_optional": ("x y?", lambda call: call.y is not None and call.y.dtype == "i32", ["i32 3x5", "i32 3x5"]),
    "into": ("x shape:shape", lambda call: True, ["f32 3x5"]),
}


def _infer(accepts: Callable[[Any], object]) -> Callable[[Any], Any]:
    def infer(call: Any) -> Any:
        call.require(accepts(call), "is not accepted")
        return call.xs[0] if "xs" in call.operands else call.x

    return infer


for _name, (_operands, _accepts, _) in OPERATORS.items():
    _DIALECT.op(_name, _operands, infer=_infer(_accepts), doc="Of this test.")
_DIALECT.op("of_objects", "x:object", infer=lambda call: rx.tensor((1,)), doc="Of this test.")


def first(name: str, variant: Variant = VARIANTS[0]) -> list[str]:
    """Return the operands of the first call that an operator accepts."""
    made = Made(op=f"guessed.{name}")
    reading = next(Search(Tree([made], [made]), 4000, variant).accepted(made))
    return [
        f"{each.dtype} {'x'.join(map(str, each.shape))}"
        for elements in reading.operands.values()
        for each in elements
        if each is not None
    ]


@pytest.mark.parametrize("name", OPERATORS)
def test_operands_are_found(name: str) -> None:
    assert first(name) == OPERATORS[name][2]


def test_sizes_are_those_of_the_variant() -> None:
    empty, many = (next(each for each in VARIANTS if each.name == name) for name in ("empty", "many"))
    assert first("product", empty) == ["f32 0x8", "f32 8x5", "f32 5"]
    assert first("product", many) == ["f32 33x64", "f32 64x67", "f32 67"]
    assert first("rows", many) == ["f32 33x67"] and first("rows", empty) == ["f32 0x5"]


def test_objects_are_not_guessed() -> None:
    assert not guessed_rows("guessed.of_objects")
