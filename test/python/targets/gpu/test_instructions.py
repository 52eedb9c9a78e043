# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registration of tile instructions."""

from __future__ import annotations

import pytest
from relax_mlir.targets.gpu.planned.kernel import Kernel
from relax_mlir.targets.gpu.planned.product_kernels import register_instruction

import relax_mlir as rx


def test_an_instruction_with_other_kernels_is_refused() -> None:
    @register_instruction("testing8x8")
    class First(Kernel):
        pass

    register_instruction("testing8x8")(First)  # a module that is loaded again
    with pytest.raises(rx.RelaxError, match=r"instruction 'testing8x8' has the kernels .*First already: rename .*Kern"):
        register_instruction("testing8x8")(Kernel)
