# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that keep their tensors in the memory of a device, where the CPU computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....dialects.core.ir_attributes import DEVICE
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....support.errors import OptionError


@register_pass
@dataclass(frozen=True)
class UseDevice(Pass):
    """Keep arguments, results and constants in a device's memory, where the CPU's kernels reach them."""

    name: ClassVar[str] = "host-use-device"

    #: Kind of device. Required.
    kind: str = ""

    def run(self, op: Operation) -> None:
        if not self.kind:
            raise OptionError(f"{self.name} needs a kind of device: {self.name}{{kind=vpu}}")
        with op.context:
            op.attributes[DEVICE] = ir.StringAttr.get(self.kind)
