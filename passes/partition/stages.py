# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partitions among the stages of a target: of operators before they are legalized, of kernels afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...support.errors import RelaxError
from ..core.base import Pass
from ..core.options import split_list
from ..core.stages import Stages
from ..relax_allocate_workspace import AllocateWorkspace
from ..relax_fold_constant import FoldConstant
from ..relax_partition import Partition
from ..relax_run_codegen import RunCodegen
from .codegen import ChosenCodegen, parse_codegen

#: What codegens may be asked for as: text like mynpu{cores=4}, one or several, or the pass with all its options.
Wanted = str | Sequence[str] | Partition

_KERNELS = "relax.call_tir"


def with_partition(stages: Stages, wanted: Wanted, *, strict: bool = False, elsewhere: bool = False) -> Stages:
    """The stages, with those that give parts to codegens; `strict`: one that declines is an error, and one whose part
    this machine cannot run, unless it is to run `elsewhere`.

    Each codegen comes in where it has patterns: before or after operators have become kernels.
    """
    partition = wanted if isinstance(wanted, Partition) else Partition(codegens=_names(wanted))
    chosen = [parse_codegen(each) for each in partition.codegens]
    kept = sorted({name for each in chosen for name in each.codegen.keeps})
    folding: tuple[FoldConstant, ...] = ()
    if kept and "fold" in stages.names:
        stages, folding = stages.replace("fold", FoldConstant(keep=tuple(kept))), (FoldConstant(),)
    run = RunCodegen(declined="error" if strict else "fallback", elsewhere=elsewhere)
    of_operators, of_kernels = (_passes(partition, chosen, run, is_kernel) for is_kernel in (False, True))
    if of_operators:
        # Before operators lie as the target wants them: codegens are asked for models as they are written.
        place = "layouts" if "layouts" in stages.names else "legalize"
        stages = stages.insert_before(place, "partition", (*of_operators, *folding))
    if of_kernels:
        stages = stages.insert_after("legalize", "partition-kernels", of_kernels)
    return stages


def _passes(
    partition: Partition, chosen: Sequence[ChosenCodegen], run: RunCodegen, is_kernel: bool
) -> tuple[Pass, ...]:
    """For the codegens that have patterns of that kind; none without."""
    codegens = tuple(str(each) for each in chosen if _has_patterns(each, is_kernel))
    return (
        (replace(partition, codegens=codegens), AllocateWorkspace(), replace(run, codegen=codegens)) if codegens else ()
    )


def _names(wanted: str | Sequence[str]) -> tuple[str, ...]:
    if not isinstance(wanted, (str, Sequence)):
        raise RelaxError(
            f"partition= is names of codegens or an rx.Partition, got {type(wanted).__name__} {wanted!r:.60}"
        )
    names = split_list(wanted) if isinstance(wanted, str) else list(wanted)
    wrong = next((each for each in names if not isinstance(each, str)), None)
    if wrong is not None:
        raise RelaxError(f"partition= takes names of codegens, like ['mynpu', 'dnnl'], not {wrong!r}")
    return tuple(each.strip() for each in names if each.strip())


def _has_patterns(chosen: ChosenCodegen, is_kernel: bool) -> bool:
    return any((_KERNELS in each.heads) is is_kernel for each in chosen.codegen.composites())
