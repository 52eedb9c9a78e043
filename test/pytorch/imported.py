# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions and modules of torch, imported, compiled and compared with torch itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from op_comparison import tensors_of
from op_peers import Relax

PEER = Relax()
#: Tolerances of rounding by element type.
_TOLERANCES = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 1e-5, torch.float64: 1e-9}


class _Called(torch.nn.Module):
    def __init__(self, function: Callable[..., object]):
        super().__init__()
        self._function = function

    def forward(self, *tensors: torch.Tensor) -> object:
        return self._function(*tensors)


def exported(
    function: Callable[..., object], tensors: Sequence[torch.Tensor], *, dynamic: bool = False
) -> torch.export.ExportedProgram:
    """Export a function. With `dynamic` all sizes are dynamic that torch can leave open."""
    model = function if isinstance(function, torch.nn.Module) else _Called(function)
    shapes = [{axis: torch.export.Dim.AUTO for axis in range(tensor.dim())} for tensor in tensors] if dynamic else None
    if shapes is not None and not isinstance(function, torch.nn.Module):
        shapes = [tuple(shapes)]  # of the one argument `*tensors`
    with torch.no_grad():
        return torch.export.export(model, tuple(tensors), dynamic_shapes=shapes, strict=False)


def check(
    function: Callable[..., object],
    *tensors: torch.Tensor,
    dynamic: bool = False,
    others: Sequence[Sequence[torch.Tensor]] = (),
) -> None:
    """Check that a compiled function gives the same results within rounding errors, also for other tensors."""
    run = PEER.compiled(PEER.imported(exported(function, tensors, dynamic=dynamic)))
    for given in (tensors, *others):
        wanted = tensors_of(function(*(each.clone() for each in given)))
        results = tensors_of(run([each.clone() for each in given]))
        assert len(results) == len(wanted)
        for result, each in zip(results, wanted, strict=True):
            tolerance = _TOLERANCES.get(each.dtype.to_real() if each.is_complex() else each.dtype, 0)
            torch.testing.assert_close(result, each, rtol=tolerance, atol=tolerance, equal_nan=True, check_stride=False)
