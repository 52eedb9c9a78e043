# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Use of NVIDIA's assembler in tests: it reports the registers and memory of kernels, without a device."""

from __future__ import annotations

import pytest
from relax_mlir.targets.cuda.objects.wheels import ptxas_path

HAS_PTXAS = ptxas_path() is not None

needs_ptxas = pytest.mark.skipif(
    not HAS_PTXAS, reason="NVIDIA's ptxas is not installed (extra `test`): there is none to ask"
)
