# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The target "npu": its stages, and programs for the machine, which host code by llvm calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

import relax_mlir as rx
from relax_mlir import relax

from . import pad  # noqa: F401  # a pass that the stages name
from .recipe import RECIPE
from .runtime import seconds
from .translate import Translator

_LAYOUTS = (
    "relax-convert-layout{desired=relax.nn.conv2d:NHWC:HWIO},relax-canonicalize,relax-fuse-transpose-matmul,npu-pad,"
    "relax-fold-constant"
)
_INTEGERS = "relax-requantize{recipe=npu},relax-propagate-quantization"
_FUSE = "trivial-dce,relax-annotate-op-pattern,relax-fuse-ops{epilogues=true},tir-fuse,tir-inline-constants,symbol-dce"
_STAGES = (
    ("integers", _INTEGERS, "computes products of quantized numbers on bytes"),
    ("simplify", "relax-canonicalize,cse,relax-dead-code-elimination,relax-fold-batch-norm", "removes dead code"),
    ("layouts", _LAYOUTS, "pads products to whole blocks of the array"),
    ("legalize", "relax-legalize-ops{target=@target}", "lowers operators to loops"),
    ("fuse", _FUSE, "fuses loops"),
    ("intrinsics", "tir-lower-intrinsics{target=@target}", "lowers exp and the like to the vector unit"),
    ("plan", "tir-plan{target=@target}", "plans loops by schedules.py"),
    ("apply", "tir-apply-schedule", "tiles for the scratchpad, selects the array's instructions"),
    ("bufferize", "tir-bufferize,relax-plan-memory,relax-lower-calls", "replaces tensors by memory"),
    ("loops", "func.func(convert-linalg-to-loops)", "lowers the remaining operations"),
)  # fmt: skip


class NpuBackend(rx.Backend):
    def machine(self, target: rx.ChosenTarget) -> rx.Machine:
        return rx.Machine("npu", frozenset(), vector_bytes=4, registers=8)

    def stages(self, target: rx.ChosenTarget) -> Sequence[rx.Stage]:
        return [rx.Stage(name, (passes,), doc) for name, passes, doc in _STAGES]

    def clock(self, target: rx.ChosenTarget) -> Callable[[], float]:
        return seconds

    def recipe(self, target: rx.ChosenTarget) -> object:
        return RECIPE

    def assembly(self, module: Any, target: rx.ChosenTarget, options: rx.CodeOptions) -> str:
        return "".join(f"{each}\n" for each in Translator(module).program().code)

    def build(self, module: Any, target: rx.ChosenTarget, options: rx.CodeOptions) -> Any:
        (main,) = [op for op in module.body if op.attributes["sym_name"].value == "main"]
        inputs, results = (
            [rx.tensor(tuple(each.value.shape), str(each.value.element_type)) for each in main.attributes[name]]
            for name in ("relax.inputs", "relax.results")
        )
        program = numpy.frombuffer(Translator(module).program().encode(), "int8")
        host = rx.Module()
        names = [each.value for each in main.attributes["relax.input_names"]]
        with host.function("main", dict(zip(names, inputs, strict=True))) as f:
            made = relax.call_dps_packed("npu.run", [relax.const(program), *f], results)
            f.returns(*made)
        lowered = rx.lower(host, "llvm")
        return rx.find_backend("llvm").build(lowered.owner, rx.ChosenTarget("llvm"), options)


rx.register_target(
    rx.Target(
        "npu",
        rules=(),
        schedules=(),
        keeps_views=True,
        backend=NpuBackend,
        rule_modules=(f"{__package__}.rules",),
        schedule_modules=(f"{__package__}.schedules",),
        doc="The simulated accelerator of data_sheet.md.",
    )
)
