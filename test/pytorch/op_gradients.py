# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples as training steps: results and gradients, by torch and by torch.compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from op_comparison import tensors_of
from op_entries import Sample
from op_modules import exported
from torch.utils import _pytree as pytree


class NoGradients(Exception):
    """Raised if no result of a sample depends on its tensors."""


class NothingCompiled(Exception):
    """Raised if torch.compile leaves a sample to Python."""


class Step:
    """Function that returns another function's results, and the gradients of its tensors."""

    def __init__(self, sample: Sample):
        self.sample = sample

    def __call__(self, *arguments: Any, **options: Any) -> list[torch.Tensor]:
        leaves, spec = pytree.tree_flatten((arguments, options))
        sample = replace(self.sample, leaves=tuple(leaves), spec=spec)
        return gradients(lambda *tensors: [tensors_of(sample.call(tensors))], [sample.tensors])


def as_step(sample: Sample) -> Sample:
    return replace(sample, function=Step(sample), is_step=True)


def trained_program(steps: Sequence[Sample]) -> torch.export.ExportedProgram:
    """Export the differentiated function of all samples: torch.compile takes it whole."""
    samples = [step.function.sample for step in steps]  # type: ignore[attr-defined]
    # Some operators are others where gradients are wanted.
    return exported([replace(each, leaves=tuple(map(_wanted, each.leaves))) for each in samples], is_dynamic=False)


def _wanted(leaf: object) -> object:
    return _leaf(leaf) if isinstance(leaf, torch.Tensor) else leaf


def compiled_steps(program: torch.export.ExportedProgram, counts: Sequence[int], backend: Any) -> Callable[..., Any]:
    """Return results and gradients of samples with these numbers of tensors, through torch.compile."""

    def run(tensors: Sequence[torch.Tensor]) -> list[Any]:
        torch._dynamo.reset()
        following = iter(tensors)
        groups = [[next(following) for _ in range(count)] for count in counts]
        return gradients(torch.compile(program.module(), backend=backend), groups)

    return run


def gradients(
    function: Callable[..., list[list[torch.Tensor]]], given: Sequence[Sequence[torch.Tensor]]
) -> list[torch.Tensor]:
    """Return the results of each sample, and the gradients of the weighted sum of all results."""
    groups = [[_leaf(tensor) for tensor in group] for group in given]
    # An operator may write to its arguments, which leaves cannot have.
    found = function(*(tensor * 1 if tensor.requires_grad else tensor for group in groups for tensor in group))
    sums = [
        (part * _weights(part)).sum()
        for results in found
        for result in results
        if result.requires_grad
        for part in [torch.view_as_real(result.resolve_conj()) if result.is_complex() else result]
    ]
    if not sums:
        raise NoGradients
    leaves = [tensor for group in groups for tensor in group if tensor.requires_grad]
    made = iter(torch.autograd.grad(torch.stack(sums).sum(), leaves, allow_unused=True))
    outputs: list[torch.Tensor] = []
    for group, results in zip(groups, found, strict=True):
        outputs += [result.detach() for result in results]
        for leaf in group:
            if leaf.requires_grad:
                gradient = next(made)
                outputs.append(torch.zeros_like(leaf) if gradient is None else gradient)
    return [each.detach() for each in outputs]


def _leaf(tensor: torch.Tensor) -> torch.Tensor:
    copied = tensor.detach().clone(memory_format=torch.preserve_format)
    return copied.requires_grad_(copied.is_floating_point())


def _weights(result: torch.Tensor) -> torch.Tensor:
    """Return weights other than ones, for which symmetric gradients would agree."""
    count = result.numel()
    return (torch.arange(count, dtype=torch.float64).mul(0.7).cos() + 1.5).to(result.dtype).reshape(result.shape)
