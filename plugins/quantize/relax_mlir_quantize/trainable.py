# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization-aware training: a model that rounds its weights in floating point, and its way back to integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from relax_mlir.bindings.ir import Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.relax.constants import elements_attribute
from relax_mlir.frontends.module import Module
from relax_mlir.passes.graph.params.signature import state_type
from relax_mlir.passes.graph.relax_unbind_params import UnbindParams, Weight, replace_by_parameters
from relax_mlir.support.errors import ModelError, OptionError
from relax_mlir.support.suggest import suggest

from .calibration import function_named
from .insertion import Insertion, readers_in
from .mx_blocks import MxBlocks
from .placement import Layer, Placement, ScaleGroup
from .rounded_weights import Operand, Rounded
from .scales import Scale
from .variants import Variant, Variants
from .weight_blocks import Blocks
from .weight_rounding import WeightRounding

if TYPE_CHECKING:
    from numpy import ndarray


@dataclass(frozen=True)
class Trainable:
    """Model to train: its function rounds activations and weights, and its weights are parameters."""

    module: Module
    #: Values of the parameters by name, with corrected biases.
    weights: dict[str, Any]


class _TrainedInsertion(Insertion):
    """Insertion that keeps constants in floating point, and rounds weights while the model runs."""

    roundings: Mapping[Operand, WeightRounding]

    def quantize_weights(self, layer: Layer, name: str, value: Value, axis: int | None) -> None:
        if (rounding := self.roundings.get((layer, name))) is None:
            return  # a bias: 32 bits are precise enough
        for reader, place in readers_in(layer, value):
            with value.owner.location, ir.InsertionPoint(reader):
                reader.operands[place] = rounding.rounded(value)


class _Copy:
    """Copy of the model in floating point, with the scales of a variant."""

    def __init__(self, variants: Variants, variant: Variant, names: Sequence[str] = ()):
        self.module = variants.module.copy()
        self.function = function_named(self.module, variants.function)
        with self.module.context:
            self.placement: Placement = variants.placed(self.module, variant.choices)
            self.scales: Mapping[ScaleGroup, Scale] = variants.scales(self.module, self.placement)
            rounded, self.biases = variants.rounding(self.module, self.placement, self.scales)
            self.roundings = {key: _rounding(*key, how) for key, how in rounded.items()}
            unbind = UnbindParams(function=variants.function, weights=tuple(names))
            self.weights = unbind.chosen(self.function, "trainable")

    def arrays(self) -> dict[str, ndarray]:
        """Return the weights by name, with corrected biases and with the numbers of blocks."""
        corrected = {layer.match[name]: array for (layer, name), array in self.biases.items()}
        for (layer, name), rounding in self.roundings.items():
            if isinstance(rounding.how, Blocks):
                corrected[layer.match[name]] = rounding.how.rounded()
        made = {}
        for weight in self.weights:
            array = weight.array()
            found = corrected.get(weight.constants[0].results[0])
            made[weight.name] = array if found is None else found.reshape(array.shape).astype(array.dtype)
        return made


def _rounding(layer: Layer, name: str, how: Rounded) -> WeightRounding:
    if isinstance(how, MxBlocks):
        notes = [f"let the layer stay real: keep=['{layer.node}']"]
        raise ModelError(f"{layer.node}: weights in MX blocks have no rounding to train", notes=notes)
    return WeightRounding.of(layer, name, how)


def trainable(variants: Variants, variant: Variant, names: Sequence[str] = ()) -> Trainable:
    """Return a variant as a model to train. `names` select weights like `rx.unbind_params`."""
    copy = _Copy(variants, variant, names)
    with copy.module.context:
        arrays = copy.arrays()
        insertion = _TrainedInsertion(copy.placement, copy.scales, {}, {})
        insertion.roundings = copy.roundings
        insertion.run()
        replace_by_parameters(copy.function, copy.weights)
        state_type(copy.function)
    copy.module.verify()
    return Trainable(copy.module, arrays)


def with_weights(variants: Variants, variant: Variant, arrays: Mapping[str, Any]) -> Module:
    """Return the quantized module of a variant with other weights. Weights that are not named stay."""
    copy = _Copy(variants, variant, ("*",))
    known = copy.arrays()
    checked = {name: _check_weight(name, array, known) for name, array in arrays.items()}
    with copy.module.context:
        for weight in copy.weights:
            _set(weight, checked.get(weight.name, known[weight.name]))
        rounded: dict[Operand, Rounded] = {key: how.quantization() for key, how in copy.roundings.items()}
        Insertion(copy.placement, copy.scales, rounded, {}).run()
    copy.module.verify()
    return copy.module


def _check_weight(name: str, value: object, known: Mapping[str, ndarray]) -> ndarray:
    import numpy

    if name not in known:
        raise OptionError(f"the model has no weight '{name}'{suggest(name, known)}; it has: {', '.join(known)}")
    array, expected = numpy.array(value), known[name]
    if array.dtype != expected.dtype or array.shape != expected.shape:
        raise OptionError(
            f"weight '{name}': got {array.dtype} {list(array.shape)}, expected {expected.dtype} {list(expected.shape)}"
        )
    if not numpy.isfinite(array).all():
        raise ModelError(f"weight '{name}' has NaN or infinite numbers", notes=["train with a lower rate"])
    return array


def _set(weight: Weight, array: ndarray) -> None:
    array.flags.writeable = False  # no other owner: the constants alias this memory
    for constant in weight.constants:
        constant.attributes["value"] = elements_attribute(array, weight.type.element_type, weight.type)
