# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that compute a model before and after quantization, for the comparison of their tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, last_of, made_by, users_of
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.codec import decode, encode
from relax_mlir.dialects.core.infos import TensorInfo, tensor
from relax_mlir.dialects.core.ir_attributes import INPUT_GROUPS
from relax_mlir.passes.graph.params.signature import state_type
from relax_mlir.passes.graph.recipes.recipe import RESULT
from relax_mlir.passes.graph.relax_observe import return_values

from .calibration import function_named
from .placement import Layer
from .scales import Scale
from .variants import Variant, Variants

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.frontends.module import Module

_REAL = ("f32", "f16", "bf16", "f64")


@dataclass
class Noise:
    """Sums over a stream of tensors and of their approximations."""

    signal: float = 0.0
    noise: float = 0.0
    #: Numbers that differ, and all numbers.
    differing: int = 0
    count: int = 0

    def add(self, expected: ndarray, found: ndarray) -> None:
        import numpy

        real = expected.astype(numpy.float64)
        error = real - found.astype(numpy.float64)
        self.signal += float((real * real).sum())
        self.noise += float((error * error).sum())
        self.differing += int(numpy.count_nonzero(error))
        self.count += error.size

    @property
    def snr(self) -> float:
        """The signal-to-noise ratio in dB, infinite if the tensors are equal."""
        if not self.noise:
            return math.inf
        return 10 * math.log10(self.signal / self.noise) if self.signal else -math.inf


def real_results(function: Operation) -> list[int]:
    """Return the numbers of a function's results in floating point."""
    infos = [decode(operand.type) for operand in last_of(body_of(function)).operands]
    return [at for at, info in enumerate(infos) if isinstance(info, TensorInfo) and info.dtype in _REAL]


def results_of(module: Module, function: str) -> list[Value]:
    """Return a function's results in floating point."""
    operation = function_named(module, function)
    operands = last_of(body_of(operation)).operands
    return [operands[at] for at in real_results(operation)]


def shadowed(variants: Variants, variant: Variant) -> Module:
    """Return the float model with a second computation of each quantized layer, from rounded operands.

    The function returns the results in floating point, the results of layers, and these with rounded operands.
    """
    made = variants.module.copy()
    with made.context:
        placement = variants.placed(made, variant.choices)
        function = function_named(made, variants.function)
        layers = [layer.match.operations for layer in placement.layers]
        before = [[(each, list(each.operands)) for each in operations] for operations in layers]
        scales = variants.scales(made, placement)
        variants.insertion(made, replace(placement, results={}), scales, in_blocks=False).run()
        clones = [[_clone_with(*each) for each in operations] for operations in before]
        for operations, others in zip(layers, clones, strict=True):
            for operation, clone in zip(operations, others, strict=True):
                _use_instead(operation, clone, operations)
        rounded = [layer.result for layer in placement.layers]
        roots = [layer.match.operations.index(layer.match.root) for layer in placement.layers]
        real = [others[root].results[0] for others, root in zip(clones, roots, strict=True)]
        return_values(function, [*results_of(made, variants.function), *real, *rounded])
        state_type(function)
    made.verify()
    return made


def _clone_with(operation: Operation, operands: Sequence[Value]) -> Operation:
    copied: Operation = operation.clone(ip=ir.InsertionPoint.after(operation)).operation
    for place, operand in enumerate(operands):
        copied.operands[place] = operand
    return copied


def _use_instead(operation: Operation, clone: Operation, layer: Sequence[Operation]) -> None:
    """Let all readers outside of the layer read the clone's results."""
    for value, other in zip(operation.results, clone.results, strict=True):
        for user in dict.fromkeys(users_of(value)):
            if user not in layer:
                for place, operand in enumerate(user.operands):
                    if operand == value:
                        user.operands[place] = other


def rounded_on_host(layer: Layer, scale: Scale | None, array: ndarray) -> ndarray:
    """Return a layer's result as its type represents it."""
    return scale.rounded(array) if scale is not None and RESULT in layer.types else array


def switched(variants: Variants, variant: Variant) -> Module:
    """Return the float model with a flag for each layer as additional arguments. A flag turns the rounding on.

    The function returns its results in floating point.
    """
    made = variants.module.copy()
    with made.context:
        placement = variants.placed(made, variant.choices)
        function = function_named(made, variants.function)
        type_ = encode(tensor((), "bool"), made.context)
        flags = [body_of(function).add_argument(type_, function.location) for _ in placement.layers]
        for name in (INPUT_GROUPS, "arg_attrs"):
            if name in function.attributes:
                del function.attributes[name]
        scales = variants.scales(made, placement)
        flagged = list(zip(placement.layers, flags, strict=True))
        before = [(flag, each, list(each.operands)) for layer, flag in flagged for each in layer.match.operations]
        variants.insertion(made, replace(placement, results={}), scales, in_blocks=False).run()
        for flag, operation, operands in before:
            _switch_operands(operation, operands, flag)
        for layer, flag in flagged:
            if RESULT in layer.types:
                scale = scales[placement.groups[layer.result, layer.types[RESULT]]]
                _switch_result(layer.result, scale, flag)
        return_values(function, results_of(made, variants.function))
        state_type(function)
    made.verify()
    return made


def _switch_operands(operation: Operation, before: Sequence[Value], flag: Value) -> None:
    """Let an operation read operands in floating point while the flag is off."""
    for place, value in enumerate(before):
        if (found := operation.operands[place]) != value:
            with operation.location, ir.InsertionPoint(operation):
                operation.operands[place] = relax.where(flag, found, value)


def _switch_result(value: Value, scale: Scale, flag: Value) -> None:
    """Let readers of a layer's result read rounded numbers while the flag is on."""
    maker = made_by(value)
    assert maker is not None
    # Numbers for operands of other layers are quantized once, with the same scale or another type.
    users = [user for user in dict.fromkeys(users_of(value)) if user.name != "relax.quantize"]
    with maker.location, ir.InsertionPoint.after(maker):
        constants = relax.const(scale.scale), relax.const(scale.zero_point)
        numbers = relax.quantize(value, *constants, axis=scale.axis, out_dtype=scale.type.dtype)
        chosen = relax.where(flag, relax.dequantize(numbers, *constants, axis=scale.axis), value)
    for user in users:
        for place, operand in enumerate(user.operands):
            if operand == value:
                user.operands[place] = chosen
