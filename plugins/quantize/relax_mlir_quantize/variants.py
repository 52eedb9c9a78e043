# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variants of a quantized model: one calibration, and any choice of types and of layers that stay real."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.navigation import made_by, operations_in, use_count
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo, bit_width
from relax_mlir.frontends.module import Module
from relax_mlir.passes.graph.partition.codegen import Codegen, Composite
from relax_mlir.passes.graph.recipes.recipe import RESULT, Recipe
from relax_mlir.support.errors import OptionError, RelaxError

from .bias_correction import corrected_biases
from .calibration import Samples, function_named, observe, places_of, values_at
from .calibration_state import CalibrationState, fingerprint_of
from .insertion import Insertion
from .integers.layers import requantize_layers
from .layer_products import Channels, product_of
from .placement import ChoiceKey, Choices, Layer, Placement, ScaleGroup, origin_of, place, producer_of
from .ranges import Histogram, NumberRange
from .recipes.recipe_registry import FoundRecipe
from .rounded_weights import Corrections, Operand, Rounded, rounded_weights, with_room_for_biases
from .scales import Scale, fixed_scale, scale_of_range

if TYPE_CHECKING:
    from numpy import ndarray

_ABOUT_CHECKS = (
    "a check returns True, False, or the reason against a match; here it was called with the quantized layer"
)
#: Place of a tensor in a function.
Place = tuple[int, int]
#: Function that returns the scales of a placement in a module.
ScalesOf = Callable[[Module, Placement], Mapping[ScaleGroup, "Scale"]]


@dataclass(eq=False)
class Variant:
    """Quantized module with its layers."""

    module: Module
    #: Layers in the model in floating point: the insertion replaces operations of the module.
    placement: Placement
    choices: Choices
    #: The tensor that holds each layer's result, and its scale if it is quantized.
    results: list[tuple[Value, Scale | None]] = field(default_factory=list)

    @property
    def layers(self) -> list[Layer]:
        return self.placement.layers

    @property
    def bytes(self) -> int:
        """Return the bytes of all constants that are used."""
        return sum(map(_bytes_of, operations_in(self.module.operation)))


def _bytes_of(operation: Operation) -> int:
    if operation.name != "arith.constant" or not use_count(operation.results[0]):
        return 0
    info = decode(operation.results[0].type)
    if not isinstance(info, TensorInfo) or not isinstance(info.shape, tuple):
        return 0
    count = 1
    for size in info.shape:
        count *= size if isinstance(size, int) else 0
    return (count * bit_width(info.dtype) + 7) // 8


class Variants:
    """A lowered model in floating point, its recipe, and the statistics of its tensors."""

    def __init__(
        self,
        module: Module,
        function: str,
        found: FoundRecipe,
        keep: Collection[str],
        method: str,
        corrections: Corrections,
    ):
        self.module, self.function = module, function
        self._found, self._keep, self._method = found, keep, method
        self._first: Choices = {}
        self.placement = self.placed(module)
        self._histograms: dict[Place, Histogram] = {}
        self._channels: dict[Place, Channels] = {}
        self._corrections = corrections

    def placed(self, module: Module, choices: Choices = MappingProxyType({})) -> Placement:
        """Choose the quantized layers of the model or of a copy."""
        choices = {**self._first, **choices}
        return place(function_named(module, self.function), self._recipe, self._found.rows(), self._keep, choices)

    @property
    def _recipe(self) -> Recipe:
        return self._found.recipe

    def calibrate(self, samples: Samples, progress: Callable[[int], object], resume: str | Path | None = None) -> None:
        """Collect the statistics of all tensors without a fixed scale, and of the data of products by channel.

        resume: a file for the state, from which an interrupted calibration continues.
        """
        groups = [group for group in self.placement.all_groups() if group.fixed is None]
        read = [value for layer in self.placement.layers for _, value in layer.activations()]
        products = [found for layer in self.placement.layers if (found := product_of(layer)) is not None]
        data = [product.data for product in products]
        # Tensors with the same numbers are observed once: where a product reads them, because it needs their channels.
        tensors = {origin_of(value): value for group in groups for value in group.values}
        tensors |= {origin_of(value): value for value in (*read, *data)}
        values = list(dict.fromkeys((*tensors.values(), *data)))
        function = function_named(self.module, self.function)
        places = places_of(function, values)
        origins = places_of(function, map(origin_of, values))
        self._histograms = {place: Histogram() for place in origins}
        axes = [product.input_axis for product in products]
        self._channels = {at: Channels(axis) for at, axis in zip(places_of(function, data), axes, strict=True)}

        def see(number: int, array: ndarray, limits: NumberRange) -> None:
            self._histograms[origins[number]].add(array, limits)
            if places[number] in self._channels:
                self._channels[places[number]].add(array)

        if not values:
            return
        if resume is None:
            observe(self.module, self.function, values, samples, see, progress)
            return
        fingerprint = fingerprint_of(self.module, places, len(samples), next(iter(samples)))
        state = CalibrationState(resume, fingerprint, [*self._histograms.values(), *self._channels.values()])
        if (count := state.load()) == len(samples):
            return

        def kept(done: int) -> None:
            state.see(done)
            progress(done)

        try:
            observe(self.module, self.function, values, samples, see, kept, count=count)
        finally:
            state.save()

    def histograms(self, module: Module, placement: Placement) -> dict[ScaleGroup, Histogram]:
        """Return the statistics of groups without a fixed scale, for a placement in a copy of the model."""
        function = function_named(module, self.function)
        groups = [group for group in placement.all_groups() if group.fixed is None]
        made = {group: Histogram() for group in groups}
        for group, histogram in made.items():
            for at in dict.fromkeys(places_of(function, map(origin_of, group.values))):
                histogram.add_all(self._histograms[at])
        return made

    def scales(self, module: Module, placement: Placement) -> dict[ScaleGroup, Scale]:
        """Return the scales of all groups, for a placement in a copy of the model."""
        histograms = self.histograms(module, placement)
        return {group: self._scale(group, histograms) for group in placement.all_groups()}

    def _scale(self, group: ScaleGroup, histograms: Mapping[ScaleGroup, Histogram]) -> Scale:
        if group.fixed is not None:
            return fixed_scale(group.fixed, group.type)
        histogram, type_ = histograms[group], group.type
        least, most = type_.limits
        if histogram.range is None:
            raise OptionError(f"{producer_of(group.values[0])}: the samples give no numbers for this tensor")
        levels = 2**type_.bits if type_.is_float else int(most - least) + 1
        return scale_of_range(histogram.chosen(self._method, levels, symmetric=type_.symmetric), type_)

    def insertion(
        self, module: Module, placement: Placement, scales: Mapping[ScaleGroup, Scale], *, in_blocks: bool = True
    ) -> Insertion:
        """Return the insertion for a placement. All programs of a variant come from it, so that they round alike."""
        return Insertion(placement, scales, *self.rounding(module, placement, scales), in_blocks=in_blocks)

    def rounding(
        self, module: Module, placement: Placement, scales: Mapping[ScaleGroup, Scale]
    ) -> tuple[dict[Operand, Rounded], dict[Operand, ndarray]]:
        """Return the scales of weights, and the corrected biases that layers quantize. Other biases are replaced."""
        values = values_at(function_named(module, self.function), self._channels)
        channels = dict(zip(values, self._channels.values(), strict=True))
        rounded = rounded_weights(placement, channels, self._corrections)
        rounded = with_room_for_biases(placement, scales, rounded)
        return rounded, corrected_biases(placement, rounded, channels) if self._corrections.biases else {}

    @property
    def has_arithmetic(self) -> bool:
        """Check whether the recipe describes the step from sums to results."""
        return any(op.out is not None for op in self._recipe.ops)

    def requantize(self, module: Module) -> None:
        """Rewrite quantized layers as the integers that the recipe describes, like the pass relax-requantize."""
        if not self.has_arithmetic:
            return
        with module.context:
            requantize_layers(module.operation, self._recipe.patterns(self._found.checked_rows()))
        module.verify()

    def build(self, choices: Choices) -> Variant:
        """Return the quantized module of a choice. The model in floating point is not changed."""
        return self._build(choices, self.insertion, self.scales)

    def _build(self, choices: Choices, insertion_of: Callable[..., Insertion], scales_of: ScalesOf) -> Variant:
        made = self.module.copy()
        with made.context:
            placement = self.placed(made, choices)
            scales = scales_of(made, placement)
            insertion = insertion_of(made, placement, scales)
            insertion.run()
        made.verify()
        variant = Variant(made, self.placed(self.module, choices), choices)
        for layer in placement.layers:
            if (type_ := layer.types.get(RESULT)) is None:
                variant.results.append((insertion.results.get(layer) or layer.result, None))
            else:
                scale = scales[placement.groups[layer.result, type_]]
                variant.results.append((insertion.numbers(layer.result, type_), scale))
        return variant

    def choose_entries(self) -> None:
        """Choose entries of the recipe for layers that several entries match, before samples are seen.

        The codegen's checks decide on a trial with scales of 1. Where they refuse all entries the first one remains,
        because a check may ask for scales.
        """
        self._first = {}
        self.placement = self.placed(self.module)
        if self._found.codegen is None or not self._has_alternatives():
            return
        refused: dict[ChoiceKey, str] = {}
        inside: dict[ChoiceKey, Sequence[Operation]] = {}
        while True:
            trial = self._build(refused, _insertion_on_trial, _scales_on_trial)
            if not (more := dict(_without_kernel(trial, self._found.codegen))):
                break
            inside |= {key_of(each): each.match.operations for each in more}
            refused |= {key_of(name): reason for name, reason in more.items()}
        taken = {operation for layer in trial.layers for operation in layer.match.operations}
        self._first = {key: reason for key, reason in refused.items() if not taken.isdisjoint(inside[key])}
        self.placement = self.placed(self.module)

    def _has_alternatives(self) -> bool:
        """Check whether other entries match operations of layers."""
        others = self.placed(self.module, {key_of(layer): "" for layer in self.placement.layers})
        taken = {operation for layer in others.layers for operation in layer.match.operations}
        return any(not taken.isdisjoint(layer.match.operations) for layer in self.placement.layers)

    def settled(self, choices: Choices, codegen: type[Codegen] | None) -> Variant:
        """Return the variant of a choice without layers that gain no kernel. Other entries of the recipe are tried.

        Layers without such an entry stay real, with the reasons. A target has no patterns of its own, so all of its
        layers remain.
        """
        while True:
            if unseen := self._unseen(choices):
                choices = {**choices, **unseen}
                continue
            variant = self.build(choices)
            refused = {} if codegen is None else dict(_without_kernel(variant, codegen))
            if not refused:
                return variant
            choices = {**choices, **{key_of(key): reason for key, reason in refused.items()}}

    def _unseen(self, choices: Choices) -> dict[ChoiceKey, str]:
        """Return entries of layers with tensors that the calibration of other entries has not seen."""
        function, placement = function_named(self.module, self.function), self.placed(self.module, choices)
        groups = [group for group in placement.all_groups() if group.fixed is None]
        seen = self._histograms.keys()
        values = {
            value
            for group in groups
            if not seen >= set(places_of(function, map(origin_of, group.values)))
            for value in group.values
        }
        return {
            key_of(layer): f"'{layer.op.name}' reads or makes tensors that the calibration has not seen"
            for layer in placement.layers
            if not values.isdisjoint((layer.result, *(value for _, value in layer.activations())))
        }


def key_of(layer: Layer) -> ChoiceKey:
    """Return the key of a layer's entry in choices."""
    return layer.place, layer.op.name


def _scales_on_trial(module: Module, placement: Placement) -> dict[ScaleGroup, Scale]:
    del module
    return {
        group: scale_of_range(NumberRange(0.0, group.type.limits[1]), group.type) for group in placement.all_groups()
    }


def _insertion_on_trial(module: Module, placement: Placement, scales: Mapping[ScaleGroup, Scale]) -> Insertion:
    del module
    rounded = rounded_weights(placement, {}, Corrections(clip_weights=False, biases=False))
    return Insertion(placement, scales, with_room_for_biases(placement, scales, rounded), {})


def _without_kernel(variant: Variant, codegen: type[Codegen]) -> Iterator[tuple[Layer, str]]:
    """Yield the layers without a matching pattern in quantized form, with the reasons."""
    composites = codegen.composites()
    entries = {op.name for op in codegen.recipe.ops} if codegen.recipe is not None else set[str]()
    for layer, (value, _) in zip(variant.layers, variant.results, strict=True):
        if any(type_.granularity == "block" for type_ in layer.types.values()):
            continue  # an operator outside of the patterns computes such a layer
        root = made_by(value)
        assert root is not None
        try:
            reason = _refusal(layer, root, composites, entries)
        except RelaxError as error:  # of a check
            raise error.altered(f"layer {layer.node}: {error.message}", notes=[*error.notes, _ABOUT_CHECKS]) from error
        if reason:
            yield layer, reason


def _refusal(layer: Layer, root: Operation, composites: Sequence[Composite], entries: Collection[str]) -> str:
    """Return why no pattern matches a quantized layer, or "" if one does. Its own pattern gives the reason.

    Patterns of other entries do not count if the layer's entry has a pattern of the codegen.
    """
    refusals = []
    others = {*entries} - {layer.op.name} if layer.op.name in [each.name for each in composites] else set[str]()
    for composite in composites:
        if root.name in composite.heads:
            if (refusal := composite.why_not(root)) is not None:
                refusals.append((composite.name == layer.op.name, refusal.progress, str(refusal)))
            elif composite.name not in others:
                return ""
    told = f"'{layer.op.name}' gains no kernel: the quantized layer ends with {root.name}"
    if not refusals:
        return f"{told}, and no pattern of the codegen does"
    return f"'{layer.op.name}' gains no kernel: {max(refusals, key=lambda each: each[:2])[2]}"
