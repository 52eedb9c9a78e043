# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of operators with divided arguments: programs of four ranks beside torch's simulation of them.

Each sample is divided in four ways. The results must have the bits of one process, and the values of torch's
distributed tensors. If torch cannot divide the operator in this way, its undivided results count.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy
import torch
from op_checks import Case, Check, Verdict
from op_comparison import Expected, cloned, difference, tensors_of
from op_entries import USUAL_LIMIT, Entry, Sample
from op_peers import Peer, Refused, Relax, Run, as_tensor, reason_of
from torch.distributed._local_tensor import LocalTensorMode
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Placement, Replicate, Shard, distribute_tensor
from torch.utils import _pytree as pytree

AXES = ("dp", "tp")
#: Ways to divide a sample.
WAYS = 4
#: Modes of this check, and `rx.shard`'s sums.
SUMS = {"ranks": "same", "ranks_split": "split"}

_DIVIDED = "divided: "


@dataclass(frozen=True, eq=False)
class PlacedSample(Sample):
    """Sample with a placement of each tensor along each axis of the mesh."""

    placements: tuple[tuple[Placement, ...], ...] = ()

    def __str__(self) -> str:
        specs = [spec_of(*pair) for pair in zip(self.placements, self.tensors, strict=True)]
        return f"{super().__str__()} divided as {specs}"


class PlacedEntry(Entry):
    """Entry with each sample that has dimensions divided in four ways."""

    def samples(self, dtype: torch.dtype, limit: int = USUAL_LIMIT, is_trained: bool = False) -> list[Sample]:
        all_samples = super().samples(dtype, limit, is_trained)
        samples = [sample for sample in all_samples if any(map(torch.Tensor.dim, sample.tensors))]
        step = -(-len(samples) * WAYS // limit) or 1
        return [divided(sample, way, f"{self.name} {place}") for place, sample in enumerate(samples[::step])
                for way in range(WAYS)]  # fmt: skip


def divided(sample: Sample, way: int, seed: str) -> PlacedSample:
    """Divide first dimensions, last dimensions, one tensor by both axes, or drawn dimensions."""
    draw = random.Random(seed)
    shapes = [tuple(tensor.shape) for tensor in sample.tensors]
    chosen = draw.choice([index for index, shape in enumerate(shapes) if shape])
    placements = [_placement(shape, way, index == chosen, draw) for index, shape in enumerate(shapes)]
    return PlacedSample(sample.function, sample.leaves, sample.spec, sample.is_step, tuple(placements))


def _placement(shape: Sequence[int], way: int, is_chosen: bool, draw: random.Random) -> tuple[Placement, ...]:
    whole, dims = Replicate(), [Shard(dim) for dim in range(len(shape))]
    if not dims or (way == 2 and not is_chosen):
        return whole, whole
    ways = ((dims[0], whole), (whole, dims[-1]), (draw.choice(dims),) * 2)
    return ways[way] if way < len(ways) else (draw.choice([*dims, whole]), draw.choice([*dims, whole]))


def spec_of(placements: Sequence[Placement], tensor: torch.Tensor) -> tuple[tuple[str, ...], ...]:
    """Return the spec of `rx.shard`."""
    return tuple(
        tuple(axis for axis, placement in zip(AXES, placements, strict=True) if placement == Shard(dim))
        for dim in range(tensor.dim())
    )


@functools.cache
def simulated_mesh() -> DeviceMesh:
    """Return a mesh of 2 x 2 ranks that are simulated in this process."""
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if not dist.is_initialized():
        dist.init_process_group("fake", rank=0, world_size=4, store=FakeStore())
    return dist.device_mesh.init_device_mesh("cpu", (2, 2), mesh_dim_names=AXES)


def simulated(sample: PlacedSample) -> list[torch.Tensor]:
    """Return the results of torch's distributed tensors on four simulated ranks, the same on all of them."""
    mesh = simulated_mesh()
    with LocalTensorMode(4):
        tensors = [distribute_tensor(*each) for each in zip(cloned(sample), [mesh] * len(sample.tensors),
                   sample.placements, strict=True)]  # fmt: skip
        results = [each.full_tensor() if isinstance(each, DTensor) else each
                   for each in tensors_of(sample.call(tensors))]  # fmt: skip
    return [result.reconcile() if hasattr(result, "reconcile") else result for result in results]


class PlacementCheck(Check):
    """Checks of one entry and dtype. The reason of a passing sample is its peer."""

    def __init__(self, entry: Entry, dtype: str, mode: str, peer: Peer, known: Collection[str] = ()):
        super().__init__(PlacedEntry(entry.name, entry.info), dtype, mode, peer, known)
        self._sums = SUMS[mode]
        self._oracles: dict[int, str] = {}

    def run(self, places: Iterable[int] | None = None, limit: int = USUAL_LIMIT) -> dict[int, Verdict]:
        verdicts = super().run(places, limit)
        for place, verdict in verdicts.items():
            if verdict.verdict == "passes":
                verdicts[place] = verdict._replace(reason=self._oracles[place])
            elif verdict.verdict in ("refused", "not exported") and not verdict.reason.startswith(_DIVIDED):
                verdicts[place] = verdict._replace(verdict="left out", reason=f"{verdict.verdict} in one process, too")
        return verdicts

    def _case(self, place: int, sample: Any) -> Case | None:
        if not any(any(spec_of(*each)) for each in zip(sample.placements, sample.tensors, strict=True)):
            self._found[place] = Verdict("left out", "no dimension to divide")
            return None
        case = super()._case(place, sample)
        if case is None:
            return None
        expected, self._oracles[place] = self._expected(case)
        return case._replace(expected=expected)

    def _expected(self, case: Case) -> tuple[Expected, str]:
        """Return the expected results, and their source."""
        if case.expected.is_random:
            return case.expected, "shapes, as in torch"
        try:
            results = tuple(simulated(case.sample))
        except Exception:  # of whatever kind: torch does not divide this
            return case.expected, "as torch in one process"
        if difference(self._entry, case.sample, case.expected, results):
            return case.expected, "as torch in one process, which its distributed tensors differ from"
        return replace(case.expected, results=results), "as torch's distributed tensors"

    def _run_of(self, peer: Peer, cases: list[Case], imported: Any) -> Run:
        if not isinstance(peer, Relax):
            return super()._run_of(peer, cases, imported)
        alone = peer.compiled(imported)
        ranks = self._divided(cases, imported)
        is_random = [case.expected.is_random for case in cases for _ in case.expected.results]

        def run(tensors: Sequence[torch.Tensor]) -> Sequence[object]:
            expected, results = alone(tensors), ranks(tensors)
            if self._sums == "same":
                for one, other, is_open in zip(expected, results, is_random, strict=True):
                    if not is_open:
                        _check_bits(one, other)
            return results

        return run

    def _divided(self, cases: Sequence[Case], imported: Any) -> Run:
        from relax_mlir.bindings.navigation import functions_in, symbol_name
        from relax_mlir.dialects.relax.function_attributes import argument_names

        import relax_mlir as rx

        module, count = imported
        main = next(each for each in functions_in(module.operation) if symbol_name(each) == "main")
        placed = [each for case in cases for each in zip(case.sample.placements, case.sample.tensors, strict=True)]
        specs = {name: spec_of(*each) for name, each in zip(argument_names(main), placed, strict=True)}
        try:
            sharded = rx.shard(module, {axis: 2 for axis in AXES}, specs, sums=self._sums)
            program = rx.compile(sharded)
        except rx.RelaxError as error:
            raise Refused(f"{_DIVIDED}{reason_of(str(error))}") from error

        def run(tensors: Sequence[torch.Tensor]) -> Sequence[object]:
            with rx.launch(program, timeout=100) as ranks:
                return [as_tensor(each) for each in pytree.tree_leaves(ranks["main"](*tensors))[:count]]

        return run


def _check_bits(one: Any, other: Any) -> None:
    """Raise ValueError if two results differ in their bits. NaN may have any."""
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        raise ValueError(f"{other.dtype}{list(other.shape)}, and {one.dtype}{list(one.shape)} in one process")
    wider = torch.complex128 if one.is_complex() else torch.float64 if one.is_floating_point() else one.dtype
    if not numpy.array_equal(one.to(wider).numpy(), other.to(wider).numpy(), equal_nan=wider != one.dtype):
        raise ValueError(f"other bits than in one process: {other.reshape(-1)[:5]}, expected {one.reshape(-1)[:5]}")
