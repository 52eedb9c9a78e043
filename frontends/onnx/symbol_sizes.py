# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contradictions between requested sizes that have one name in the model."""

from __future__ import annotations

from collections.abc import Mapping

from .inputs import InputShape, declared_inputs
from .model import OnnxModel


def contradictions(model: OnnxModel, shapes: Mapping[str, InputShape]) -> list[str]:
    """Return a line for each size name to which `shapes` gives two values.

    This is not an error by itself: models contain wrong names that are not used.
    """
    given: dict[str, dict[int, str]] = {}
    for value in declared_inputs(model):
        shape = shapes.get(value.name)
        for axis, (dim, size) in enumerate(zip(value.type.tensor_type.shape.dim, shape or (), strict=False)):
            if dim.dim_param and isinstance(size, int):
                given.setdefault(dim.dim_param, {}).setdefault(size, f"input '{value.name}', dimension {axis}")
    return [
        f"shapes: in the model '{name}' is one size, and it is asked for as "
        + " and as ".join(f"{size} ({place})" for size, place in sizes.items())
        for name, sizes in given.items()
        if len(sizes) > 1
    ]
