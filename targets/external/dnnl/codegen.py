# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The codegen `dnnl`: parts of models as lists of oneDNN's primitives, which its library runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ....bindings.ir import Operation
from ....passes.partition.codegen import Codegen, register_codegen
from ....passes.partition.options import CodegenOption
from ....runtime.external.dnnl.description import Part
from ....runtime.external.dnnl.runtime import DnnlRuntime
from ....support.errors import RefusalError
from ....support.external_bytes import packed
from ..core.flatten import public_functions
from .activations import activation_at
from .converter import Converter
from .cost import seconds
from .deviations import DEVIATIONS
from .machine import NEEDED, why_not_loaded
from .pattern_rows import ROWS


@register_codegen("dnnl")
class Dnnl(Codegen):
    """oneDNN 3.2 on CPUs."""

    patterns = ROWS
    options: ClassVar[Mapping[str, CodegenOption]] = {
        "threads": CodegenOption("of OpenMP, for each call", int, 1, least=1, most=1024)
    }
    deviations = DEVIATIONS
    #: Weights that stay integers, with the scales that turn them into numbers.
    keeps: ClassVar[tuple[str, ...]] = ("relax.dequantize",)

    def cost(self, composite: str, operations: Sequence[Operation]) -> float:
        return seconds(composite, operations)

    def compile(self, module: Any, options: Mapping[str, Any]) -> bytes:
        """The part as bytes. What this machine's oneDNN refuses is refused here, where sizes are known."""
        converters = [Converter(graph) for graph in public_functions(module.operation, activation_at)]
        functions = tuple(converter.convert() for converter in converters)
        if not any(converter.computes for converter in converters):
            raise RefusalError("there is nothing to compute: tensors are only seen or stored in other ways")
        dtypes = {value.dtype for function in functions for value in function.values}
        needs = next((NEEDED[dtype] for dtype in ("f16", "bf16") if dtype in dtypes), ())
        part = Part(functions, options["threads"], needs, any(each.drops_nan for each in converters))
        data = packed("dnnl", part)
        if not why_not_loaded():
            DnnlRuntime().try_out(memoryview(data))
        return data
