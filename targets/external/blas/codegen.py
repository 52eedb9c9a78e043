# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The codegen `blas`: products of matrices in PrimFuncs, with a bias and a relu behind them, go to OpenBLAS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ....bindings.rewriting import located_error
from ....passes.partition.codegen import Codegen, register_codegen
from ....passes.partition.options import CodegenOption
from ....passes.partition.steps import PartStep as Matched
from ....passes.partition.steps import Steps
from ....passes.patterns.call_patterns import is_call_tir
from ....passes.patterns.match import match
from ....passes.patterns.tree import wildcard
from ....passes.structures.prim_funcs import KnownPrimFuncs, remembering
from ....runtime.external.blas import Part, Step
from ....support.errors import RefusalError
from ....support.external_bytes import Function, packed
from .products import biases, products, relus, spec_of

_A, _B, _BIAS = (wildcard().named(name) for name in ("a", "b", "bias"))
_PRODUCT = is_call_tir(structure=products())(_A, _B)
_RELU = is_call_tir(structure=relus())
# What others read too stays as it is: a step writes one value.
_BIASED = _PRODUCT.optional(lambda y: is_call_tir(structure=biases())(y.used_inside_only(), _BIAS))
_LAYER = _BIASED.optional(lambda y: _RELU(y.used_inside_only()).named("relu"))


@register_codegen("blas")
class Blas(Codegen):
    """Says what to multiply with what; the library is looked for where the program runs."""

    patterns = (("blas.product", _LAYER),)
    options: ClassVar[Mapping[str, CodegenOption]] = {
        "threads": CodegenOption("how many threads compute one product", int, 1, least=1)
    }

    def compile(self, module: Any, options: Mapping[str, Any]) -> bytes:
        with remembering(KnownPrimFuncs()):
            functions = {name: _function(part) for name, part in self.steps(module).items()}
        return packed("blas", Part(options["threads"], functions))


def _function(part: Steps) -> Function[Step]:
    if any(array is None for array in part.constants.values()):
        raise RefusalError("codegen 'blas' cannot hold a constant whose elements are missing")
    return Function(part.inputs, part.constants, [_step(each) for each in part.steps], part.outputs)


def _step(step: Matched) -> Step:
    """What a pattern has matched; the product is its first operation."""
    product = step.operations[0]
    found = match(_PRODUCT, product) if step.composite else None
    if found is None:
        raise located_error(f"codegen 'blas' has no {product.name}", product.location)
    spec, element = spec_of(found.structures[_PRODUCT])
    return Step(spec, element, step["a"], step["b"], step.get("bias"), "relu" in step, step.outputs[0], step.nodes)
