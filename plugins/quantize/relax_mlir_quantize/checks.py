# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks before and after a calibration, and notes about quantizations that are possible but doubtful."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.navigation import body_of, operations_of
from relax_mlir.dialects.relax.known_constants import floats_of, is_constant
from relax_mlir.passes.graph.recipes.recipe import Recipe
from relax_mlir.support.errors import ModelError, OptionError
from relax_mlir.support.suggest import counted, suggest

from .calibration import Samples
from .placement import Placement, ScaleGroup, names_of, producer_of
from .ranges import Histogram

#: Fewer samples rarely show the ranges of the data.
_FEW_SAMPLES = 8


def check_keep(function: Operation, keep: Collection[str]) -> None:
    """Raise OptionError if a name to keep names neither an operator nor a node of a function."""
    operations = [
        operation
        for operation in operations_of(body_of(function))
        if operation.results and not is_constant(operation.results[0])
    ]
    names = {name for operation in operations for name in names_of(operation)}
    for wish in keep:
        if not any(fnmatchcase(name, wish) for name in names):
            hint = suggest(wish, sorted(names))
            raise OptionError(f"keep='{wish}': no operator and no node of the model has this name{hint}")


def check_constants(placement: Placement) -> None:
    """Raise ModelError if constants of a layer have no range."""
    import numpy

    for layer in placement.layers:
        for name, value in layer.weights():
            elements = floats_of(value)
            if elements is not None and not numpy.isfinite(elements.astype(numpy.float32)).all():
                raise ModelError(f"{layer.node}: the constant '{name}' has NaN or infinite numbers")


def unused_entries(placement: Placement, recipe: Recipe) -> list[str]:
    """Return notes about entries of a recipe that match no layer."""
    used = {layer.op for layer in placement.layers}
    return [f"recipe: {op!r} matches no layer of the model" for op in recipe.ops if op not in used]


def doubts(samples: Samples, histograms: Mapping[ScaleGroup, Histogram]) -> list[str]:
    """Return notes about few samples, and about tensors that are 0 in all samples."""
    notes = []
    if (rows := samples.images()) < _FEW_SAMPLES:
        notes.append(f"{counted(rows, 'sample')} rarely show the ranges of a model: use about a hundred")
    for group, histogram in histograms.items():
        found = histogram.range
        if found is not None and found.least == found.most == 0:
            notes.append(f"{producer_of(group.values[0])}: all samples give 0, so the scale is 1")
    return notes
