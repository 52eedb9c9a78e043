# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `blas`: selects matrix products in PrimFuncs, with an optional bias and relu, for OpenBLAS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from relax_mlir import RefusalError
from relax_mlir.codegens import Codegen, CodegenOption, Steps, register_codegen
from relax_mlir.codegens import PartStep as Matched
from relax_mlir.patterns import KnownPrimFuncs, is_call_tir, match, remembering, wildcard
from relax_mlir.rewriting import located_error
from relax_mlir.runtime import PartFunction, packed

from .products import biases, products, relus, spec_of
from .runtime import EinsumStep, Part

_A, _B, _BIAS = (wildcard().named(name) for name in ("a", "b", "bias"))
_PRODUCT = is_call_tir(structure=products())(_A, _B)
_RELU = is_call_tir(structure=relus())
# A product with other users takes no epilogue, because a step writes one value.
_BIASED = _PRODUCT.optional(lambda y: is_call_tir(structure=biases())(y.used_inside_only(), _BIAS))
_LAYER = _BIASED.optional(lambda y: _RELU(y.used_inside_only()).named("relu"))


@register_codegen("blas")
class Blas(Codegen):
    """Codegen for matrix products by a BLAS library, which only the machine that runs the program needs."""

    patterns = (("blas.product", _LAYER),)
    options: ClassVar[Mapping[str, CodegenOption]] = {"threads": CodegenOption("threads per product", int, 1, least=1)}

    def compile(self, module: Any, options: Mapping[str, Any]) -> bytes:
        with remembering(KnownPrimFuncs()):
            functions = {name: _function(part) for name, part in self.steps(module).items()}
        return packed("blas", Part(options["threads"], functions))


def _function(part: Steps) -> PartFunction[EinsumStep]:
    if any(array is None for array in part.constants.values()):
        raise RefusalError("codegen 'blas' needs the elements of all constants, and a constant has none")
    return PartFunction(part.inputs, part.constants, [_step(step) for step in part.steps], part.outputs)


def _step(step: Matched) -> EinsumStep:
    """Return the description of a match. The product is the match's first operation."""
    product = step.operations[0]
    found = match(_PRODUCT, product) if step.composite else None
    if found is None:
        raise located_error(f"codegen 'blas' cannot compute {product.name}", product.location)
    spec, element = spec_of(found.structures[_PRODUCT])
    return EinsumStep(
        spec, element, step["a"], step["b"], step.get("bias"), "relu" in step, step.outputs[0], step.nodes
    )
