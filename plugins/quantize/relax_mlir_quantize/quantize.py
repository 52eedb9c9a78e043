# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.quantize: quantize a module by a recipe, with samples that show the ranges of its tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relax_mlir.bindings.navigation import operations_named
from relax_mlir.compilation.compiling import lower
from relax_mlir.compilation.reader_hints import reader_hints
from relax_mlir.frontends.module import Module
from relax_mlir.passes.core.stages import Stages
from relax_mlir.passes.graph.partition_stages import before_partition, with_partition
from relax_mlir.passes.graph.recipes.asked_layout import check_layout, layout_passes
from relax_mlir.passes.graph.recipes.recipe import Recipe
from relax_mlir.support.argument_types import types_checked
from relax_mlir.support.callbacks import enters
from relax_mlir.support.errors import ModelError, OptionError
from relax_mlir.targets.core.code import stages_of
from relax_mlir.targets.core.registry import find_target

from .budget import Budget, BudgetSearch, Evaluate, Tell
from .calibration import Samples, function_named
from .checks import check_constants, check_keep, doubts, unused_entries
from .placement import Placement
from .quantization_report import Report
from .ranges import check_method
from .recipes.recipe_registry import FoundRecipe, find_recipe
from .rounded_weights import Corrections
from .smoothing import check_strength, smoothed_sources
from .study import Study
from .tensor_entries import check_tensors, node_of
from .tensor_statistics import SAMPLES_OF_NORMS, rescale
from .trainable import Trainable, trainable, with_weights
from .variants import Variants

#: Samples that are used of longer data.
_MOST_SAMPLES = 128
#: Frames between a warning and the caller of `quantize`, with its decorators.
_CALLER = 4


class QuantizationWarning(UserWarning):
    """Warning about a quantization that is possible but doubtful."""


@dataclass(frozen=True)
class Quantized:
    """Quantized module, with a report of its quantized layers and of the nodes that stay real."""

    module: Module
    report: Report
    _study: Study = field(repr=False)

    def trainable(self, weights: Sequence[str] = ()) -> Trainable:
        """Return the model for quantization-aware training: its layers round, and its weights are parameters.

            >>> training = quantized.trainable()
            >>> rx.append_loss(training.module, loss, {"labels": rx.tensor(("n",), "int64")})
            >>> trainer = rx.Trainer(training.module, "main_loss", rx.optim.Adam(lr=1e-3), training.weights)
            >>> ...
            >>> module = quantized.with_weights(trainer.parameters)

        Scales of weights follow the weights, and activations keep their calibrated scales. Gradients pass straight
        through the rounding. `weights` are names or patterns, as in rx.unbind_params.
        """
        return trainable(self._study.variants, self._study.variant, (weights,) if isinstance(weights, str) else weights)

    def with_weights(self, weights: Mapping[str, Any]) -> Module:
        """Return the quantized module with other weights, by the names of `trainable().weights`. Others stay.

        Raises RelaxError for unknown names, and for arrays of other shapes and element types.
        """
        return with_weights(self._study.variants, self._study.variant, weights)


@types_checked
@enters
def quantize(
    module: Module,
    data: object,
    for_: str | Recipe = "llvm",
    *,
    function: str = "main",
    layout: str | None = None,
    calibrate: str = "mse",
    samples: int | None = _MOST_SAMPLES,
    keep: Collection[str] = (),
    smooth: float | None = 0.5,
    equalize: bool = True,
    clip_weights: bool = True,
    bias_correction: bool = True,
    resume: str | Path | None = None,
    progress: Callable[[int, int], object] | None = None,
    snr: float | None = None,
    drop: float | None = None,
    evaluate: Evaluate | None = None,
    bytes: int | None = None,
    tell: Tell | None = None,
) -> Quantized:
    """Quantize a function of a module by the recipe of a codegen or a target. The module is not changed.

        >>> quantized = rx.quantize(module, samples, for_="mynpu")
        >>> print(quantized.report.table())
        >>> program = rx.compile(quantized.module, partition="mynpu")

    data: samples, each an array, a tuple of arrays or arrays by name; or arrays by name with one sample per row, or the
    path of a .npz file with these; or a folder with such arrays as `input.npy`, or with a .npz file per sample. The
    first `samples` are used.

    for_: a codegen, a target, or an rx.Recipe. layout: layout that convolutions and pools are brought into, such as
    "NHWC" or "NHWC:HWIO", instead of the recipe's; "" for the model's own. calibrate: how ranges are chosen, "minmax",
    "percentile", "mse" or "entropy". keep: operators and nodes that stay real, by name or pattern (`head.*`). progress:
    a function that is called with the number of samples so far and of all. Smoothing runs up to 32 samples before.
    resume: a file for the state of the calibration behind smoothing, written every few samples and when it is
    interrupted. A later call with the same model, recipe and data continues with it.

    smooth: how much of the range of large channels of norms and gates moves into the weights (SmoothQuant), from 0 to
    1, or None. equalize: give channels between layers equal ranges of weights, if weights have one scale. clip_weights:
    give weights of up to 4 bits the range of the least squared error. bias_correction: subtract the mean error of
    rounded weights from biases.

    Budgets choose other types and layers that stay real, until the model holds them. snr: least signal-to-noise ratio
    of each result, in dB. drop: largest drop of the score that `evaluate(program)` returns, below the score of the
    model in floating point. bytes: most bytes of constants. Types are tried in the recipe's order, before a layer stays
    real. tell: a function that is called with a line of text after each measurement.

    Errors are not measured otherwise: `quantized.report.measure()` measures them on demand, because it compiles the
    model several times.

    Raises RelaxError for samples that do not fit, and for models that are quantized already.
    """
    check_method(calibrate)
    check_strength(smooth)
    budget = Budget(snr, drop, evaluate, bytes)
    if not isinstance(module, Module):
        raise OptionError(f"rx.quantize takes an rx.Module, got {type(module).__name__}", notes=reader_hints(module))
    check_layout(layout or "", "rx.quantize")
    found, stages = recipe_and_stages(for_, layout)
    recipe, codegen = found.recipe, found.codegen
    refuse_quantized(module)
    samples_ = Samples(data, function_named(module, function), samples)
    made = lower(module, stages.target, pipeline=stages)
    keep = (keep,) if isinstance(keep, str) else keep
    check_keep(function_named(made, function), keep)
    check_tensors(recipe, function_named(made, function))
    variants = Variants(made, function, found, keep, calibrate, Corrections(clip_weights, bias_correction))
    variants.choose_entries()
    refuse_nothing(variants.placement, function)
    check_constants(variants.placement)
    sources = [] if smooth is None else smoothed_sources(variants.placement)
    first = min(SAMPLES_OF_NORMS, len(samples_)) if sources else 0
    total = first + len(samples_)
    told = (lambda count: progress(count, total)) if progress is not None else (lambda count: None)
    if rescale(made, function, variants.placement, samples_, sources, smooth, equalize, told):
        variants.choose_entries()
    variants.calibrate(samples_, lambda count: told(first + count), resume)
    variant = variants.settled({}, codegen)
    refuse_nothing(variant.placement, function)
    study = Study(variants, variant, samples_, _choose_measuring_target(stages.target), codegen)
    if budget:
        study.variant = variant = BudgetSearch(study, budget, tell).run()
    report = Report.of(variant.placement, study)
    report.add_folded(function_named(module, function))
    report.add_scales([scale for _, scale in variant.results])
    doubtful = doubts(samples_, variants.histograms(variants.module, variants.placement))
    report.notes += [*doubtful, *unused_entries(variant.placement, recipe)]
    for note in doubtful:
        warnings.warn(note, QuantizationWarning, stacklevel=_CALLER)
    return Quantized(variant.module, report, study)


def refuse_nothing(placement: Placement, function: str) -> None:
    """Raise ModelError if a placement has no layers."""
    if not placement.layers:
        notes = Report.of(placement).reasons()
        raise ModelError(f"no layer of @{function} matches the recipe, so nothing is quantized", notes=notes)


def recipe_and_stages(for_: str | Recipe, layout: str | None = None) -> tuple[FoundRecipe, Stages]:
    """Return a recipe with its codegen, and the stages that bring layers into one form, and into a layout."""
    found_recipe = FoundRecipe(for_, None) if isinstance(for_, Recipe) else find_recipe(for_)
    if found_recipe.codegen is None:
        stages = _one_form(stages_of("llvm" if isinstance(for_, Recipe) else str(for_)))
    else:
        stages = before_partition(with_partition(stages_of("llvm"), str(for_)))
    layout = found_recipe.recipe.layout if layout is None else layout
    return found_recipe, stages.insert_before(stages.names[-1], "layout", layout_passes(layout)) if layout else stages


def _choose_measuring_target(target: str) -> str:
    """Return the target of programs that compare floats and integers. Chips of integers may have no floats."""
    name = target.partition("{")[0]
    return target if "llvm" in (name, *find_target(name).parents) else "llvm"


def _one_form(stages: Stages) -> Stages:
    folded = stages.until("fold") if "fold" in stages.names else stages.until(stages.names[0])
    return folded.insert_after(folded.names[-1], "one-form", ["relax-canonicalize-layers", "relax-fold-constant"])


def refuse_quantized(module: Module) -> None:
    """Raise ModelError if a module has quantized tensors."""
    if operations := operations_named(module.operation, "relax.quantize", "relax.dequantize"):
        problem = f"the model is quantized already: {operations[0].name} ({node_of(operations[0])})"
        raise ModelError(problem, notes=["quantize the model in floating point that it was made of"])
