# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison with torch's results: OpInfo's tolerances, or at most torch's own distance from the wider type's
results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import torch
from op_entries import Entry, Sample, seed
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.opinfo.core import DecorateInfo
from torch.utils import _pytree as pytree

#: Their results are whatever is in memory.
_UNINITIALIZED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
#: Eigenvalues or singular values with vectors.
_OF_VECTORS = {"linalg.eigh", "linalg.svd", "svd"}
#: Values and their places.
_TAKING = {"kthvalue", "median", "mode", "nanmedian", "sort", "topk"}
#: torch's f64 has these to 4e-7 only: besselj(0, -5.4215280659972755) is off by 1.9e-7.
_ROUGH_IN_TORCH = {"special.bessel_j0", "special.bessel_j1", "special.bessel_y0", "special.bessel_y1"}
#: Casts: which integer a float becomes that does not fit is left open.
_CASTS = {"byte", "char", "short", "int", "long"}
#: Torch has no number, or 0, at infinities and NaN, where there is a limit, or none.
_WITH_LIMITS = {"i0", "igamma", "igammac", "sinc"}
# Of the tests that compare an operator's values with another implementation's, on a CPU.
_COMPARING = {
    None,
    "TestBinaryUfuncsDevice",
    "TestCommon",
    "TestConsistency",
    "TestDecomp",
    "TestInductorOpInfo",
    "TestMasked",
    "TestReductions",
    "TestUnaryUfuncs",
}
_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.float32: torch.float64}
# Beside torch's relative tolerances: elements that cancel out to nearly nothing.
_LEAST_ABSOLUTE = {torch.float16: 1e-3, torch.bfloat16: 1e-2}
_AS_CLOSE = 2
_LONGEST = 200


@dataclass(frozen=True)
class Expected:
    """Results of torch. If `is_random` is set, only shapes and dtypes count."""

    results: tuple[torch.Tensor, ...]
    is_random: bool


def tensors_of(result: object) -> list[torch.Tensor]:
    """Return the tensors in a result."""
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def cloned(sample: Sample) -> list[torch.Tensor]:
    """Return copies of the sample's tensors with their strides, for a call that may write to them."""
    return [tensor.clone(memory_format=torch.preserve_format) for tensor in sample.tensors]


def expected_of(entry: Entry, sample: Sample) -> Expected:
    seed()
    results = tensors_of(sample.call(cloned(sample)))
    return Expected(tuple(results), entry.name in _UNINITIALIZED or _is_drawing(sample))


def _is_drawing(sample: Sample) -> bool:
    """Check whether a call draws random numbers. Some entries of torch's table draw them with a seed of their own."""
    before = torch.get_rng_state()
    with mock.patch("torch.manual_seed"), mock.patch("torch.testing._utils.freeze_rng_state", nullcontext):
        sample.call(cloned(sample))
    return not torch.equal(before, torch.get_rng_state())


def _is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)


class _Updating:
    """Function that returns another function's results, and the arguments after its call."""

    def __init__(self, function: Callable[..., object]):
        self._function = function

    def __call__(self, *arguments: object, **options: object) -> object:
        leaves, spec = pytree.tree_flatten((arguments, options))
        copies = [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        arguments, options = pytree.tree_unflatten(copies, spec)
        return self._function(*arguments, **options), copies


def with_updates(sample: Sample) -> Sample:
    """Return the sample with the written arguments as further results, if the function writes to its arguments."""
    if isinstance(sample.function, torch.nn.Module):
        return sample
    tensors = cloned(sample)
    sample.call(tensors)
    if all(map(_is_same, tensors, sample.tensors)):
        return sample
    return replace(sample, function=_Updating(sample.function))


def difference(entry: Entry, sample: Sample, expected: Expected, results: Sequence[object]) -> str:
    """Return the difference of the results in one line, or an empty text."""
    if len(results) != len(expected.results):
        return f"{len(results)} results, torch has {len(expected.results)}"
    kinds = [_of_kind(result, wanted) for result, wanted in zip(results, expected.results, strict=True)]
    if any(kinds) or expected.is_random:
        return _at(kinds)
    own, torchs = (_defined(entry, sample, each) for each in (results, expected.results))
    if entry.name in _CASTS | _WITH_LIMITS:
        open_places = _left_open(entry, sample, torchs[0])
        own, torchs = ([each[0].masked_fill(open_places, 0), *each[1:]] for each in (own, torchs))
    found = [_of_values(entry, sample, index, *each) for index, each in enumerate(zip(own, torchs, strict=True))]
    is_taking = entry.name in _TAKING and len(found) == 2 and not sample.is_step
    if is_taking and not found[0] and _are_taken(sample, *own):
        return ""
    if entry.name == "argsort" and _takes_the_same(sample, own[0], torchs[0]):
        return ""
    return _at(found)


def _left_open(entry: Entry, sample: Sample, wanted: torch.Tensor) -> torch.Tensor:
    """Return the positions at which torch's result is not authoritative."""
    if entry.name in _WITH_LIMITS:
        is_finite = [torch.isfinite(x) for x in sample.tensors]
        return wanted.isnan() | ~functools.reduce(torch.logical_and, is_finite)
    limits, x = torch.iinfo(wanted.dtype), sample.tensors[0].double()
    return ~((x.trunc() >= limits.min) & (x.trunc() <= limits.max))


def _takes_the_same(sample: Sample, own: torch.Tensor, torchs: torch.Tensor) -> bool:
    """Check whether two orders have the same values: the order of equal values is open."""
    x = sample.tensors[0]
    return any(
        torch.equal(*(torch.gather(x, dim, places).nan_to_num() for places in (own, torchs))) for dim in range(x.dim())
    )


def _are_taken(sample: Sample, values: torch.Tensor, places: torch.Tensor) -> bool:
    """Check whether the values are at these positions of the input: the choice among equal values is open."""
    x = sample.tensors[0]
    for dim in range(x.dim()):
        taken, index = (each if each.dim() == x.dim() else each.unsqueeze(dim) for each in (values, places))
        try:
            if torch.equal(torch.gather(x, dim, index).nan_to_num(), taken.nan_to_num()):
                return True
        except RuntimeError:  # of another dimension
            continue
    return False


def _at(found: Sequence[str]) -> str:
    place, text = next(((place, text) for place, text in enumerate(found) if text), (0, ""))
    return f"result {place}: {text}" if text and len(found) > 1 else text


def _defined(entry: Entry, sample: Sample, results: Sequence[Any]) -> Sequence[torch.Tensor]:
    """Return the defined part of an operator's results: vectors are defined only up to signs or rotations."""
    if sample.is_step:
        return results
    if entry.name == "linalg.eig":
        values, vectors = results
        return values, torch.einsum("...ik,...jk->...kij", vectors, vectors.conj())
    if entry.name not in _OF_VECTORS or len(results) < 2:
        return results
    *_, last = results
    values, left = (results[0], results[1]) if len(results) == 2 else (results[1], results[0])
    right = left if len(results) == 2 else last if entry.name == "svd" else last.mT
    count = values.shape[-1]
    whole = left[..., :count] @ (values[..., None].to(left.dtype) * right[..., :count].mT)
    return values, whole, left.mT @ left, right.mT @ right


def _of_kind(result: object, wanted: torch.Tensor) -> str:
    if not isinstance(result, torch.Tensor):
        return f"a {type(result).__name__}, no tensor"
    if result.dtype != wanted.dtype:
        return f"dtype {result.dtype}, torch has {wanted.dtype}"
    if result.shape != wanted.shape:
        return f"shape {list(result.shape)}, torch has {list(wanted.shape)}"
    return ""


def _of_values(entry: Entry, sample: Sample, index: int, result: torch.Tensor, wanted: torch.Tensor) -> str:
    found = _values(entry, result, wanted)
    if not found:
        return ""
    finer = _finer(entry, sample, wanted, index)
    if finer is None:
        return found
    is_close = _is_as_close(finer, result, wanted) or not _values(entry, result, finer.to(wanted.dtype))
    return "" if is_close else found


def _is_as_close(finer: torch.Tensor, result: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Check whether the result is at most twice as far from the wider type's result as torch's."""
    own, torchs = ((each.to(finer.dtype) - finer).abs().max() for each in (result, wanted))
    return bool(own <= _AS_CLOSE * torchs)


def _values(entry: Entry, result: torch.Tensor, wanted: torch.Tensor) -> str:
    relative, absolute = tolerances(entry.info, _of_parts(wanted))
    if entry.name in _ROUGH_IN_TORCH:
        absolute = max(absolute, 4e-7)
    try:
        torch.testing.assert_close(result, wanted, rtol=relative, atol=absolute, equal_nan=True, check_stride=False)
    except AssertionError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return "; ".join(lines)[:_LONGEST]
    return ""


def _finer(entry: Entry, sample: Sample, wanted: torch.Tensor, index: int) -> torch.Tensor | None:
    """Return the result of a computation in a wider type, also for integers if a result is of floats."""
    part = _of_parts(wanted)
    wider, types = _WIDER.get(part), [tensor.dtype for tensor in sample.tensors]
    if wider is None or not types:
        return None
    converted = sample.converted(part if part in types else types[0], wider)
    seed()
    try:
        result = _defined(entry, sample, tensors_of(converted.call(cloned(converted))))[index]
    except Exception:  # of whatever kind: many operators do not have the wider type
        return None
    return result if result.shape == wanted.shape else None


def _of_parts(tensor: torch.Tensor) -> torch.dtype:
    return tensor.dtype.to_real() if tensor.is_complex() else tensor.dtype


def tolerances(info: Any, dtype: torch.dtype) -> tuple[float, float]:
    """Return the relative and the absolute tolerance: torch's usual ones, or the entry's for the dtype if they are
    larger."""
    relative, absolute = _usual(dtype)
    for each in _overrides(info):
        if dtype in each:
            relative, absolute = max(relative, each[dtype].rtol), max(absolute, each[dtype].atol)
    return relative, absolute


@functools.cache
def _usual(dtype: torch.dtype) -> tuple[float, float]:
    relative, absolute = torch.testing._comparison.default_tolerances(dtype)
    return relative, max(absolute, _LEAST_ABSOLUTE.get(dtype, 0.0))


def _overrides(info: Any) -> list[dict[torch.dtype, Any]]:
    found = []
    for each in info.decorators:
        if isinstance(each, DecorateInfo):
            is_one = each.cls_name in _COMPARING and each.device_type in (None, "cpu")
            found += [inner.d for inner in each.decorators if is_one and isinstance(inner, toleranceOverride)]
        elif isinstance(each, toleranceOverride):
            found.append(each.d)
    return found
