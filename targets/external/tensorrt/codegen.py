# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The codegen `tensorrt`: parts of models as networks, of which TensorRT builds engines for this machine's GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ....passes.partition.codegen import Codegen, register_codegen
from ....passes.partition.options import CodegenOption
from ....passes.patterns.matched import Match
from ....passes.patterns.operator_patterns import is_op
from ....runtime.external.tensorrt import Part
from ....support.external_bytes import packed
from ..core.flatten import public_functions
from . import converter  # noqa: F401  # brings the rules
from .engines import build, tensorrt
from .options import OPTIONS, Options
from .rules import RULES, refusal

_DIALECT = "relax."


def can_run(match: Match) -> bool | str:
    """Whether TensorRT has layers for an operation, or in words why not."""
    return refusal(match.root) or True


@register_codegen("tensorrt")
class TensorRt(Codegen):
    """TensorRT 10. It fuses layers itself: a pattern for each operator, whose neighbours are merged into one part."""

    patterns = tuple((f"tensorrt.{name.removeprefix(_DIALECT)}", is_op(name), can_run) for name in RULES)
    options: ClassVar[Mapping[str, CodegenOption]] = OPTIONS
    devices: ClassVar[tuple[str, ...]] = ("cpu", "cuda")
    #: Constants first, so that weights are known; batch norms go into them.
    pipeline: ClassVar[str] = "relax-fold-constant,relax-fold-batch-norm"

    def compile(self, module: Any, options: Mapping[str, Any]) -> bytes:
        """An engine for each public function. Raises RelaxError where there is no TensorRT, or it builds none."""
        chosen, trt = Options(**options), tensorrt()
        engines = {each.name: build(trt, each, chosen) for each in public_functions(module.operation)}
        return packed("tensorrt", Part(trt.__version__, engines))
