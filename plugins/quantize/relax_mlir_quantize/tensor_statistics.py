# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statistics of a model's tensors for a placement: histograms of tensors with a common scale, and channels of data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.relax.values import shape_of
from relax_mlir.frontends.module import Module

from .calibration import Progress, Samples, observe
from .equalization import equalize as equalize_layers
from .layer_products import Channels
from .placement import Placement
from .ranges import NumberRange
from .smoothing import Smoothed
from .smoothing import smooth as smooth_channels

if TYPE_CHECKING:
    from numpy import ndarray

#: Samples that show the channels of norms. A second run over all samples would double the time of the calibration.
SAMPLES_OF_NORMS = 32


def _see(
    module: Module,
    function: str,
    see: Mapping[Value, Iterable[Callable[[ndarray], None]]],
    samples: Samples,
    progress: Progress,
) -> None:
    """Run a model on samples, and pass tensors to functions."""
    values = list(see)

    def see_array(number: int, array: ndarray, limits: NumberRange) -> None:
        for each in see[values[number]]:
            each(array)

    if values:
        observe(module, function, values, samples, see_array, progress, most=SAMPLES_OF_NORMS)


def rescale(
    module: Module,
    function: str,
    placement: Placement,
    samples: Samples,
    sources: Sequence[Smoothed],
    strength: float | None,
    equalize: bool,
    progress: Progress,
) -> bool:
    """Move factors of channels between layers, so that ranges become more equal. Returns True if weights changed.

    Matches of the placement contain the old weights then.
    """
    channels = {source.value: Channels(len(shape_of(source.value) or ()) - 1) for source in sources}
    _see(module, function, {value: [channel.add] for value, channel in channels.items()}, samples, progress)
    with module.context:
        count = smooth_channels(sources, channels, strength) if strength is not None else 0
        return bool(count + (equalize_layers(placement) if equalize else 0))
