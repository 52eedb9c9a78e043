# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `dnnl`: parts of models as lists of oneDNN primitives, which the oneDNN library runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from relax_mlir import Recipe, RefusalError
from relax_mlir.codegens import Codegen, CodegenOption, register_codegen
from relax_mlir.passes.graph.parts.flat_graph import public_functions
from relax_mlir.recipes import Op
from relax_mlir.rewriting import Operation
from relax_mlir.runtime import packed

from .activations import activation_at
from .converter import Converter
from .cost import seconds
from .deviations import DEVIATIONS
from .machine import NEEDED, why_not_loaded
from .pattern_rows import ROWS
from .quantized import dequantize
from .runtime.description import DnnlPart
from .runtime.runtime import DnnlRuntime


@register_codegen("dnnl")
class Dnnl(Codegen):
    """Codegen for oneDNN 3.2 on CPUs."""

    patterns = ROWS
    #: Biases stay real: oneDNN adds them to the scaled sums.
    recipe = Recipe(
        Op("dnnl.quantized_conv", x=("u8", "i8"), w="i8@channel symmetric"),
        Op("dnnl.quantized_matmul", x=("u8", "i8"), w="i8@channel symmetric"),
    )
    options: ClassVar[Mapping[str, CodegenOption]] = {
        "threads": CodegenOption("number of OpenMP threads for each call", int, 1, least=1, most=1024)
    }
    deviations = DEVIATIONS
    #: Weights stay integers, with the scales of their dequantization.
    keeps: ClassVar[tuple[str, ...]] = ("relax.dequantize",)

    def cost(self, composite: str, operations: Sequence[Operation]) -> float:
        return seconds(composite, operations)

    def compile(self, module: Any, options: Mapping[str, Any]) -> bytes:
        """Compile a part to bytes.

        If this machine has oneDNN, plan the functions with fixed sizes, too. Primitives that oneDNN refuses then raise
        RelaxError here, not at load time.
        """
        converters = [Converter(graph, dequantize) for graph in public_functions(module.operation, activation_at)]
        functions = tuple(converter.convert() for converter in converters)
        if not any(converter.computes for converter in converters):
            raise RefusalError("the part computes nothing: it only views, copies or converts tensors")
        dtypes = {value.dtype for function in functions for value in function.values}
        needs = next((NEEDED[dtype] for dtype in ("f16", "bf16") if dtype in dtypes), ())
        part = DnnlPart(functions, options["threads"], needs, any(converter.drops_nan for converter in converters))
        data = packed("dnnl", part)
        if not why_not_loaded():
            DnnlRuntime().try_out(memoryview(data))
        return data
