# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External plug-in with misbehaving passes."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import Any, ClassVar

import relax_mlir as rx


@rx.register_pass
@dataclass(frozen=True)
class Misbehave(rx.Pass):
    """Pass that misbehaves."""

    name: ClassVar[str] = "sample-misbehave"
    how: str = "nothing"
    times: int = 1

    def run(self, op: Any) -> None:
        getattr(self, f"_{self.how}")(op)

    def _nothing(self, op: Any) -> None:
        """Behaves."""

    def _invalid(self, op: Any) -> None:
        function = op.regions[0].blocks[0].operations[0].operation
        block = function.regions[0].blocks[0]
        block.operations[0].operation.operands[0] = block.arguments[1]

    def _refuse(self, op: Any) -> None:
        raise rx.RelaxError("this module is not wanted", location="m.onnx:1:2", notes=["try another"])

    def _report(self, op: Any) -> None:
        op.location.emit_error("reported, but not raised")

    def _raise(self, op: Any) -> None:
        raise KeyError("x")

    def _exit(self, op: Any) -> None:
        raise SystemExit(3)

    def _crash(self, op: Any) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)
