# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One module that calls an operator for several samples: an export, an import and a compilation serve all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from op_comparison import cloned, tensors_of
from op_entries import Sample


class SamplesFailed(Exception):
    """Samples that torch itself cannot trace, by their places."""

    def __init__(self, errors: Mapping[int, Exception]):
        super().__init__(f"{len(errors)} samples cannot be traced")
        self.errors = dict(errors)


class _Call(torch.nn.Module):
    def __init__(self, sample: Sample):
        super().__init__()
        self.sample = sample
        # As an attribute its parameters are the program's.
        self.called = sample.function if isinstance(sample.function, torch.nn.Module) else None

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        return tensors_of(self.sample.call(tensors))


class Calls(torch.nn.Module):
    """Takes the tensors of all samples, one sample's behind the other's; gives their results, a list a sample."""

    def __init__(self, samples: Sequence[Sample]):
        super().__init__()
        self.calls = torch.nn.ModuleList(map(_Call, samples))

    def forward(self, *tensors: torch.Tensor) -> list[list[torch.Tensor]]:
        results, errors, start = [], {}, 0
        for place, call in enumerate(self.calls):
            end = start + len(call.sample.tensors)
            try:
                results.append(call(*tensors[start:end]))
            except Exception as error:  # of whatever kind: all that cannot be traced is told at once
                errors[place] = error
            start = end
        if errors:
            raise SamplesFailed(errors)
        return results


def exported(samples: Sequence[Sample], is_dynamic: bool) -> torch.export.ExportedProgram:
    # Copies: what several samples share is not the same tensor to gradients, and would be one placeholder.
    tensors = [tensor for sample in samples for tensor in cloned(sample)]
    sizes = None
    if is_dynamic:
        # Torch makes those static that it cannot leave open.
        sizes = (tuple({dim: torch.export.Dim.AUTO for dim in range(tensor.dim())} for tensor in tensors),)
    return torch.export.export(Calls(samples), tuple(tensors), dynamic_shapes=sizes, strict=False)
