# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statement in an artifact of how far results depend on the machine."""

from __future__ import annotations

from typing import NamedTuple

from .artifact import Artifact


class Numerics(NamedTuple):
    """Order of the floating-point sums of a program."""

    #: "same" on all CPUs with a fused multiply-add, for any batch and number of threads; "fast" for any order.
    order: str
    #: Kernels in which an instruction of the CPU determines the order.
    kernels: tuple[str, ...] = ()
    #: Parts of codegens that do not declare `same_bits`.
    parts: tuple[str, ...] = ()


def numerics_of(artifact: Artifact) -> Numerics:
    order, *kernels = artifact.numerics or ("fast",)
    return Numerics(
        order, tuple(kernels), tuple(external.name for external in artifact.externals if not external.same_bits)
    )
