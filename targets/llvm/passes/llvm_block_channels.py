# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions on blocks of channels, each of which is a vector: NCHW16c.

Vectors are then full, even if the rows of an image are short. Weights are packed in the order of their use at compile
time. Operators between convolutions follow (relax-convert-layout). An instance norm is decomposed into its means.
Layout conversions remain at the graph's inputs and outputs, and at reshapes that need them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation, OpView
from ....bindings.mlir import ir
from ....bindings.navigation import made_by, operations_named
from ....bindings.rewriting import Decline, replace_op
from ....dialects.core.codec import decode
from ....dialects.core.infos import TensorInfo, bit_width
from ....dialects.relax.known_constants import is_constant
from ....dialects.relax.values import stated
from ....dialects.script.value_names import location_name
from ....passes.core.registry import register_pass
from ....passes.graph.decompose.registry import decomposed, find_decomposition
from ....passes.graph.relax_convert_layout import ConvertLayout
from ...core.machine import Machine
from ...core.machine_pass import MachinePass

#: A shorter vector does not justify a layout of its own.
_SHORTEST_BLOCK = 4
#: Operators to decompose into operators that need no single axis of channels. Group norms gained nothing.
_WRITTEN_OUT = "relax.nn.instance_norm"
_CONVOLUTION = "relax.nn.conv2d"


@register_pass
@dataclass(frozen=True)
class BlockChannels(MachinePass):
    """Convert convolutions to blocks of channels, each of which is a vector."""

    #: Convolutions that keep their layouts: nodes of the model, by their names, or places among the module's
    #: convolutions, such as nn.conv2d#0 for the first.
    keep: tuple[str, ...] = ()

    name: ClassVar[str] = "llvm-block-channels"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    def run(self, op: Operation) -> None:
        processor, kept = self.machine, self._find_kept(op)
        for norm in operations_named(op, _WRITTEN_OUT):
            if (convolution := made_by(norm.operands[0], _CONVOLUTION)) is None or convolution in kept:
                continue
            if _layouts(convolution.opview, processor):
                rule = find_decomposition(norm.name)
                assert rule is not None
                with ir.InsertionPoint(norm), norm.location, suppress(Decline):
                    (value,) = decomposed(rule, norm.opview)
                    replace_op(norm, [stated(value, norm.results[0].type)])
        ConvertLayout(callback=lambda each: () if each.operation in kept else _layouts(each, processor)).run(op)

    def _find_kept(self, op: Operation) -> list[Operation]:
        """Return the convolutions that keep their layouts."""
        if not self.keep:
            return []
        own, names = _CONVOLUTION.removeprefix("relax."), {name.removeprefix("relax.") for name in self.keep}
        numbered = enumerate(operations_named(op, _CONVOLUTION))
        return [each for place, each in numbered if {f"{own}#{place}", location_name(each.location)} & names]


def _layouts(op: OpView, processor: Machine) -> tuple[str, ...] | None:
    """Return the layouts of data, kernel and result.

    Return an empty tuple for a convolution that keeps its layouts, and None for other operators, which follow.
    """
    if op.OPERATION_NAME != _CONVOLUTION:
        return None
    if (op.data_layout, op.kernel_layout) != ("NCHW", "OIHW"):
        return ()
    if op.out_layout not in (None, "NCHW"):
        return ()
    if not is_constant(op.weight):
        return ()  # the weights would be packed at each call
    data, weight = decode(op.data.type), decode(op.weight.type)
    if not isinstance(data, TensorInfo) or not isinstance(weight, TensorInfo) or data.shape is None:
        return ()
    channels, (outputs, inputs, *_) = data.shape[1], weight.shape or (None, None)
    if not isinstance(channels, int) or not isinstance(outputs, int):
        return ()
    if bit_width(data.dtype) != bit_width(weight.dtype):
        return ()
    read, written = (_block(count, bit_width(data.dtype), processor) for count in (channels, outputs))
    if op.groups > 1:
        is_by_channel = inputs == 1 and op.groups == channels == outputs and read > 1
        return (f"NCHW{read}c", f"OIHW{read}o", f"NCHW{read}c") if is_by_channel else ()
    if written == 1:
        return ()
    if read == 1:
        return "NCHW", f"OIHW{written}o", f"NCHW{written}c"
    # Sums run over taps, then over channels. Their order, and so the result's bits, do not depend on the blocks.
    return f"NCHW{read}c", f"OHWI{read}i{written}o", f"NCHW{written}c"


def _block(channels: int, bits: int, processor: Machine) -> int:
    """Return the channels per block, or 1 without blocks.

    The block divides the channels. It has the lanes of a vector or fewer, in whole groups of a dot product. All CPUs
    have blocks for the same channels, since the order of a sum may follow from the layout.
    """
    if channels % _SHORTEST_BLOCK:
        return 1
    lanes = max(processor.lanes(max(bits, 32)), _SHORTEST_BLOCK)
    # Without mask registers, a block that is not a power of two would be loaded and stored element by element.
    has_masks = "avx512f" in processor.features
    group = max(32 // bits, 1)
    for size in range(lanes, _SHORTEST_BLOCK - 1, -1) if channels else ():
        is_usual = size.bit_count() == 1 or (has_masks and 2 * size > lanes and size % group == 0)
        if is_usual and channels % size == 0:
            return size
    return 1
