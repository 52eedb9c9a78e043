# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Module that calls an operator for several samples: one export, import and compilation for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from op_comparison import cloned, tensors_of
from op_entries import Sample


class SamplesFailed(Exception):
    """Raised with samples that torch itself cannot trace, by their places."""

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
    """Module that takes the tensors of all samples in sequence, and returns a list of results for each sample."""

    def __init__(self, samples: Sequence[Sample]):
        super().__init__()
        self.calls = torch.nn.ModuleList(map(_Call, samples))

    def forward(self, *tensors: torch.Tensor) -> list[list[torch.Tensor]]:
        results, errors, start = [], {}, 0
        for place, call in enumerate(self.calls):
            end = start + len(call.sample.tensors)
            try:
                results.append(call(*tensors[start:end]))
            except Exception as error:  # any exception: all samples that cannot be traced are reported together
                errors[place] = error
            start = end
        if errors:
            raise SamplesFailed(errors)
        return results


def exported(samples: Sequence[Sample], is_dynamic: bool) -> torch.export.ExportedProgram:
    # Copies: a tensor that several samples share would be one placeholder, and have one gradient.
    tensors = [tensor for sample in samples for tensor in cloned(sample)]
    sizes = None
    if is_dynamic:
        # Torch makes sizes static that cannot stay dynamic.
        sizes = (tuple({dim: torch.export.Dim.AUTO for dim in range(tensor.dim())} for tensor in tensors),)
    return torch.export.export(Calls(samples), tuple(tensors), dynamic_shapes=sizes, strict=False)
