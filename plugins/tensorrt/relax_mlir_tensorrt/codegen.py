# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `tensorrt`: converts parts to networks, from which TensorRT builds engines for this machine's GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from relax_mlir.codegens import Codegen, CodegenOption, register_codegen
from relax_mlir.passes.graph.parts.flat_graph import public_functions
from relax_mlir.patterns import Match, is_op
from relax_mlir.runtime import packed

from . import all_rules  # noqa: F401  # registers the rules
from .engines import build, tensorrt
from .options import OPTIONS, Options
from .rules import RULES, refusal
from .runtime import EnginePart

_DIALECT = "relax."


def can_run(match: Match) -> bool | str:
    """Return True if TensorRT has layers for an operation, else the reason why not."""
    return refusal(match.root) or True


@register_codegen("tensorrt")
class TensorRt(Codegen):
    """Codegen for TensorRT 10. Each operator has a pattern. TensorRT fuses the operators of a part."""

    patterns = tuple((f"tensorrt.{name.removeprefix(_DIALECT)}", is_op(name), can_run) for name in RULES)
    options: ClassVar[Mapping[str, CodegenOption]] = OPTIONS
    devices: ClassVar[tuple[str, ...]] = ("cpu", "cuda")
    #: Constant folding makes weights constants, into which batch norms are then folded.
    pipeline: ClassVar[str] = "relax-fold-constant,relax-fold-batch-norm"

    def compile(self, module: Any, options: Mapping[str, Any]) -> bytes:
        """Return the bytes of an engine per public function. Raise RelaxError without TensorRT, or if a build fails."""
        chosen, trt = Options(**options), tensorrt()
        engines = {function.name: build(trt, function, chosen) for function in public_functions(module.operation)}
        return packed("tensorrt", EnginePart(trt.__version__, engines))
