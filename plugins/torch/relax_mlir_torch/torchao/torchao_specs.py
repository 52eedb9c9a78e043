# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of a recipe as specifications of torchao, with observers that choose scales as rx.quantize does."""

from __future__ import annotations

import copy
from functools import cache
from typing import TYPE_CHECKING, Any

from relax_mlir.passes.graph.recipes.operand_types import OperandType
from relax_mlir.passes.graph.recipes.recipe import Entry, Fixed, Op, Recipe
from relax_mlir.support.errors import OptionError
from relax_mlir_quantize.scales import Scale

if TYPE_CHECKING:
    from torch import Tensor

_BITS = (8, 16, 32)


def expressible(recipe: Recipe) -> Recipe:
    """Return a recipe with the types that torchao has. Raise OptionError if an operand has no other types."""
    return Recipe(*(_expressible(entry) for entry in recipe.entries), layout=recipe.layout)


def _expressible(entry: Entry) -> Entry:
    if isinstance(entry, Fixed) and _refusal(entry.type):
        raise OptionError(f"recipe: {entry!r}: {_refusal(entry.type)}")
    if not isinstance(entry, Op):
        return entry
    made = copy.copy(entry)
    made.types = {name: tuple(type_ for type_ in types if not _refusal(type_)) for name, types in entry.types.items()}
    for name, types in made.types.items():
        if not types:
            reasons = "; ".join(dict.fromkeys(map(_refusal, entry.types[name])))
            raise OptionError(
                f"recipe: {entry!r}, {name}: torchao has none of its types: {reasons}. Add a type such as 'i8', or use "
                "rx.quantize, which has all types"
            )
    return made


def _refusal(type_: OperandType) -> str:
    """Return why torchao cannot express a type, or an empty text."""
    if type_.granularity == "block":
        return f"'{type_}': converted models have no scales per block"
    if type_.is_float:
        return f"'{type_}': converted models have integers, not small floats"
    if type_.bits not in _BITS:
        return f"'{type_}': torch has no integers of {type_.bits} bits"
    return ""


class Specs:
    """Specifications for the types of a recipe."""

    def __init__(self, *, is_qat: bool):
        self._is_qat = is_qat

    def of(self, type_: OperandType, axis: int | None = None) -> Any:
        """Return the specification of a tensor, or of weights with their axis of output channels."""
        from torchao.quantization.pt2e.quantizer import QuantizationSpec

        axis = axis if type_.granularity == "channel" else None
        how = {"qscheme": _scheme(type_), "ch_axis": axis, "is_dynamic": type_.dynamic, **_limits(type_)}
        return QuantizationSpec(observer_or_fake_quant_ctr=self._observer(type_, axis is not None), **how)

    def _observer(self, type_: OperandType, is_per_channel: bool) -> Any:
        from torchao.quantization.pt2e import fake_quantize, observer

        if type_.dynamic:
            return observer.PlaceholderObserver
        if not self._is_qat:
            name = "PerChannelMinMaxObserver" if is_per_channel else "HistogramObserver"
            return _observer(getattr(observer, name), type_)
        name = "MovingAveragePerChannelMinMaxObserver" if is_per_channel else "MovingAverageMinMaxObserver"
        return fake_quantize.FakeQuantize.with_args(observer=_observer(getattr(observer, name), type_))


def fixed_spec(scale: Scale) -> Any:
    """Return the specification of a result with a stated scale."""
    from torchao.quantization.pt2e.quantizer import FixedQParamsQuantizationSpec

    return FixedQParamsQuantizationSpec(
        scale=float(scale.scale), zero_point=int(scale.zero_point), qscheme=_scheme(scale.type), **_limits(scale.type)
    )


def derived_spec(type_: OperandType, edges: list[Any], axis: int | None) -> Any:
    """Return the specification of a bias, with the product of the scales that two edges have."""
    from torchao.quantization.pt2e.quantizer import DerivedQuantizationSpec

    return DerivedQuantizationSpec(
        derived_from=edges,
        derive_qparams_fn=_product_of_scales,
        qscheme=_scheme(type_, is_per_channel=axis is not None),
        ch_axis=axis,
        **_limits(type_),
    )


def _product_of_scales(observers: list[Any]) -> tuple[Tensor, Tensor]:
    import torch

    (first, _), (second, _) = (each.calculate_qparams() for each in observers)
    scale = first * second
    return scale, torch.zeros_like(scale, dtype=torch.int32)


def _scheme(type_: OperandType, *, is_per_channel: bool = False) -> Any:
    import torch

    words = "channel" if is_per_channel or type_.granularity == "channel" else "tensor"
    is_symmetric = type_.symmetric or type_.derived
    return getattr(torch, f"per_{words}_{'symmetric' if is_symmetric else 'affine'}")


def _limits(type_: OperandType) -> dict[str, Any]:
    import torch

    low, high = map(int, type_.limits)
    dtype = getattr(torch, f"{'uint' if type_.name.startswith('u') else 'int'}{type_.bits}")
    return {"dtype": dtype, "quant_min": low, "quant_max": high}


@cache
def _observer(base: Any, type_: OperandType) -> Any:
    """Return an observer class that turns ranges into scales by a type's rules, as `scale_of_ranges` does."""
    import torch

    low, high = type_.limits

    class Observer(base):
        def _calculate_qparams(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
            least, most = min_val.clamp(max=0).double(), max_val.clamp(min=0).double()
            scale = torch.maximum(-least, most) / high if type_.symmetric else (most - least) / (high - low)
            scale = torch.where(scale > 0, scale.clamp(min=torch.finfo(torch.float32).tiny), 1.0)
            if type_.power_of_two:
                scale = 2 ** torch.ceil(torch.log2(scale) - 1e-9)
            scale = scale.float()
            zero = torch.zeros_like(scale) if type_.symmetric else (low - least / scale).round().clamp(low, high)
            return scale, zero.to(torch.int64)

    Observer.__name__ = Observer.__qualname__ = base.__name__
    return Observer
