# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Entries of torch's own tables of operators and modules, and samples of their inputs."""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.hop_db import hop_db
from torch.utils import _pytree as pytree

DTYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i32": torch.int32,
    "i64": torch.int64,
    "bool": torch.bool,
}
#: How many samples of an entry and a dtype are taken.
USUAL_LIMIT = 12
# Number of an entry's samples that are considered: some entries have thousands.
_MOST_LOOKED_AT = 96
# A quarter of the samples are OpInfo's additional ones for its references, with limits, NaN and odd strides.
_REFERENCE_SHARE = 4
_MOST_ELEMENTS = 1 << 18
_MOST_REFERENCE_ELEMENTS = 1 << 14
_SEED = 20261126


@dataclass(frozen=True, eq=False)
class Sample:
    """Call: `leaves` are its arguments, tensors or not, in the order of `spec`."""

    function: Callable[..., object]
    leaves: tuple[Any, ...]
    spec: pytree.TreeSpec
    #: Whether gradients stand behind the results.
    is_step: bool = False

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [leaf for leaf in self.leaves if isinstance(leaf, torch.Tensor)]

    def call(self, tensors: Iterable[torch.Tensor]) -> object:
        """Return the result with other tensors in place of the sample's."""
        following = iter(tensors)
        leaves = [next(following) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        arguments, options = pytree.tree_unflatten(leaves, self.spec)
        return self.function(*arguments, **options)

    def converted(self, dtype: torch.dtype, wider: torch.dtype) -> Sample:
        """Return the sample with elements of a wider type."""
        function = self.function
        if isinstance(function, torch.nn.Module):
            function = copy.deepcopy(function).to(wider)

        def widen(leaf: object) -> object:
            if isinstance(leaf, torch.Tensor):
                return leaf.to(wider) if leaf.dtype == dtype else leaf
            return wider if leaf is dtype else leaf

        return replace(self, function=function, leaves=tuple(map(widen, self.leaves)))

    def __str__(self) -> str:
        arguments, options = pytree.tree_unflatten([_shown(leaf) for leaf in self.leaves], self.spec)
        words = [str(each).replace("'", "") for each in arguments]
        words += [f"{name}={value}".replace("'", "") for name, value in options.items()]
        return f"({', '.join(words)})"


def _shown(leaf: object) -> str:
    if not isinstance(leaf, torch.Tensor):
        return str(leaf)[:40]
    strides = "" if leaf.is_contiguous() else f", strides {tuple(leaf.stride())}"
    return f"{str(leaf.dtype).removeprefix('torch.')}{list(leaf.shape)}{strides}"


@dataclass(frozen=True)
class Entry:
    """Entry of a table.

    `name` is torch's with the variant: linalg.norm.subgradients_at_zero, hop/cond, module/nn.Linear.
    """

    name: str
    info: Any

    def dtypes(self) -> list[str]:
        supported = self.info.supported_dtypes("cpu")
        return [name for name, dtype in DTYPES.items() if dtype in supported]

    def samples(self, dtype: torch.dtype, limit: int = USUAL_LIMIT, is_trained: bool = False) -> list[Sample]:
        """Return some of the entry's samples, always the same ones, spread over all of them.

        With `is_trained` results are in the form that torch differentiates: eigenvectors without their signs, for
        instance.
        """
        if self.name.startswith("module/"):
            return _spread([*_usable(_of_module(self.info, dtype), _MOST_ELEMENTS)], limit)
        has_more = self.info.reference_inputs_func is not None
        special = limit // _REFERENCE_SHARE if has_more else 0
        usual = _spread(self._given(self.info.sample_inputs, dtype, _MOST_ELEMENTS, is_trained), limit - special)
        if not special:
            return usual
        more = self._given(self.info.reference_inputs, dtype, _MOST_REFERENCE_ELEMENTS, is_trained)
        return usual + _special(more, limit - len(usual))

    def _given(
        self, source: Callable[..., Iterable[Any]], dtype: torch.dtype, most: int, is_trained: bool
    ) -> list[Sample]:
        seed()
        op = self.info.op
        inputs = (
            (_Processed(op, each.output_process_fn_grad) if is_trained else op, (each.input, *each.args), each.kwargs)
            for each in source("cpu", dtype)
        )
        return list(_usable(inputs, most))


class _Processed(NamedTuple):
    """Function with postprocessed results."""

    function: Callable[..., object]
    process: Callable[[object], object]

    def __call__(self, *arguments: object, **options: object) -> object:
        return self.process(self.function(*arguments, **options))


def seed() -> None:
    random.seed(_SEED)
    numpy.random.seed(_SEED)
    torch.manual_seed(_SEED)


def _of_module(info: Any, dtype: torch.dtype) -> Iterator[tuple[Any, Any, Any]]:
    seed()
    for each in info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=False, training=False):
        made = info.module_cls(*each.constructor_input.args, **each.constructor_input.kwargs)
        yield made.to(dtype).eval(), each.forward_input.args, each.forward_input.kwargs


def _usable(given: Iterable[tuple[Any, Any, Any]], most: int) -> Iterator[Sample]:
    for function, arguments, options in itertools.islice(given, _MOST_LOOKED_AT):
        leaves, spec = pytree.tree_flatten((tuple(arguments), dict(options)))
        sample = Sample(function, tuple(leaves), spec)
        if all(_is_plain(tensor) and tensor.numel() <= most for tensor in sample.tensors):
            yield sample


def _is_plain(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_nested


def _spread(samples: list[Sample], limit: int) -> list[Sample]:
    count = min(limit, len(samples))
    return [samples[index * len(samples) // count] for index in range(count)]


def _special(samples: list[Sample], limit: int) -> list[Sample]:
    """Return samples, half of them with infinities and NaN if available."""
    unbounded = [sample for sample in samples if not all(map(_is_finite, sample.tensors))]
    first = _spread(unbounded, (limit + 1) // 2)
    others = [sample for sample in samples if sample not in unbounded]
    return first + _spread(others, limit - len(first))


def _is_finite(tensor: torch.Tensor) -> bool:
    return bool(torch.isfinite(tensor).all())


def entries() -> dict[str, Entry]:
    """Return all entries by name, in torch's order."""
    found = [Entry(info.full_name, info) for info in op_db]
    found += [Entry(f"hop/{_with_variant(info)}", info) for info in hop_db]
    found += [Entry(f"module/{info.name}", info) for info in module_db if not info.is_lazy]
    return {entry.name: entry for entry in found}


def _with_variant(info: Any) -> str:
    return info.name if info.variant_test_name == "simple" else f"{info.name}.{info.variant_test_name}"
