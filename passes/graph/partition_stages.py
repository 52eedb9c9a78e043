# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partition stages of a target: operators before legalization, kernels after it.

Codegens see models as they are written, at all optimization levels. Stages that only simplify a model come before the
partition: they remove operators without effect, fold norms into weights, and fold constants. Stages that rewrite a
model for this project's own kernels come after the partition, and see what the codegens leave. Examples: QDQ becomes
integer products, and a softmax between two products becomes attention.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ...support.errors import OptionError
from ..core.base import Pass
from ..core.options import split_list
from ..core.stages import Stage, Stages
from .partition.codegen import ChosenCodegen, operators_of, parse_codegen
from .relax_allocate_workspace import AllocateWorkspace
from .relax_partition import Partition
from .relax_run_codegen import RunCodegen

#: Accepted forms of a request for codegens: text like mynpu{cores=4}, a sequence of texts, or the pass with all its
#: options.
Wanted = str | Sequence[str] | Partition

#: Stages of a partition: layers in one form, then operators that become parts, or kernels that do.
INPUT, PARTITION, PARTITION_OF_KERNELS = "partition-input", "partition", "partition-kernels"

_KERNELS, _DEQUANTIZE, _SOFTMAX = "relax.call_tir", "relax.dequantize", "relax.nn.softmax"
_ATTENTION = frozenset({"relax.nn.attention", "relax.nn.attention_bias", "relax.nn.attention_cached"})
_INTEGERS, _SIMPLIFY, _FOLD = "integers", "simplify", "fold"
#: Stages that decompose operators which patterns of codegens name. Stages for weights of few bits are not in the list:
#: such weights are codes, and no codegen could take them after they have become numbers.
_FOR_KERNELS = (_INTEGERS, "attention", "heads", "products", "launches")
_ONE_FORM = ("relax-canonicalize-layers", "relax-fold-constant")
#: Passes that fold constants.
_FOLDING = ("relax-canonicalize", "relax-fold-constant")


def with_partition(stages: Stages, wanted: Wanted, *, strict: bool = False, elsewhere: bool = False) -> Stages:
    """Return the stages with a partition for the wanted codegens.

    With `strict`, a codegen that declines is an error. So is a codegen with a part this machine cannot run, unless the
    part is to run `elsewhere`. Each codegen comes in where it has patterns: before or after operators become kernels.
    """
    partition = partition_of(wanted)
    chosen = [parse_codegen(codegen) for codegen in partition.codegens]
    run = RunCodegen(declined="error" if strict else "fallback", elsewhere=elsewhere)
    of_operators, of_kernels = (_passes(partition, chosen, run, is_kernel) for is_kernel in (False, True))
    if of_operators:
        stages = _with_operators(
            stages, of_operators, [chosen_codegen for chosen_codegen in chosen if _has_patterns(chosen_codegen, False)]
        )
    if of_kernels:
        stages = stages.insert_after("legalize", PARTITION_OF_KERNELS, of_kernels)
    return stages


def partition_of(wanted: Wanted) -> Partition:
    """Return the pass that chooses the parts. Raises OptionError if `wanted` does not name codegens."""
    return wanted if isinstance(wanted, Partition) else Partition(codegens=_names(wanted))


def before_partition(stages: Stages) -> Stages:
    """Return the stages before the first partition. Codegens get operators, or kernels if none takes operators."""
    place = next(place for place, name in enumerate(stages.names) if name in (PARTITION, PARTITION_OF_KERNELS))
    return replace(stages, stages=stages.stages[:place])


def _with_operators(stages: Stages, passes: tuple[Pass, ...], chosen: Sequence[ChosenCodegen]) -> Stages:
    """Add a partition of operators before the stages that assign the target's layouts."""
    after = stages.between(start="layouts" if "layouts" in stages.names else "legalize").stages
    names = frozenset(name for codegen in chosen for name in operators_of(codegen.codegen))
    kept = {name for chosen_codegen in chosen for name in chosen_codegen.codegen.keeps} | ({_DEQUANTIZE} & names)
    before = stages.stages[: -len(after)]
    behind = [stage for stage in before if _is_for_kernels(stage, names)]
    ahead = [_keeping(stage, kept) for stage in before if stage not in behind]
    # Rewrites to integer products come first, before the simplification of what they leave.
    integers = [stage for stage in behind if stage.name == _INTEGERS]
    simplify, fold = (_rerun_stages(before, name) for name in (_SIMPLIFY, _FOLD))
    others = [stage for stage in behind if stage not in integers]
    rest = [*integers, *(simplify if behind else []), *others, *fold]
    form = _keeping(Stage(INPUT, _ONE_FORM, "rewrites layers to one form, for the patterns of codegens"), kept)
    return replace(stages, stages=(*ahead, form, Stage(PARTITION, passes), *rest, *after))


def _is_for_kernels(stage: Stage, names: frozenset[str]) -> bool:
    """Check whether a stage only rewrites what codegens leave.

    If codegens name attention but no softmax, the attention stage runs before the partition, for their patterns.
    """
    if stage.name == "attention" and names & _ATTENTION and _SOFTMAX not in names:
        return False
    return stage.name in _FOR_KERNELS


def _rerun_stages(stages: Sequence[Stage], name: str) -> list[Stage]:
    """Return the stage of that name, if there is one, as a stage for what codegens leave."""
    return [replace(stage, name=f"{name}-rest") for stage in stages if stage.name == name]


def _keeping(stage: Stage, kept: Collection[str]) -> Stage:
    """Return the stage with options that keep quantized numbers, and operators on constants that codegens look for."""
    listed = f" keep={','.join(sorted(kept))}" if kept else ""
    options = {name: f"keep-quantized=true{listed}" for name in _FOLDING}
    options["relax-fuse-dequantize-matmul"] = "keep-quantized=true"

    def with_options(each: str | Pass) -> str | Pass:
        name, _, given = str(each).partition("{")
        more = [text for text in (given.removesuffix("}"), options.get(name)) if text]
        return f"{name}{{{' '.join(more)}}}" if name in options else each

    return replace(stage, passes=tuple(map(with_options, stage.passes)))


def _passes(
    partition: Partition, chosen: Sequence[ChosenCodegen], run: RunCodegen, is_kernel: bool
) -> tuple[Pass, ...]:
    """Return the passes for the codegens that have patterns of that kind, or () if none has."""
    codegens = tuple(str(codegen) for codegen in chosen if _has_patterns(codegen, is_kernel))
    return (
        (replace(partition, codegens=codegens), AllocateWorkspace(), replace(run, codegen=codegens)) if codegens else ()
    )


def _names(wanted: str | Sequence[str]) -> tuple[str, ...]:
    if not isinstance(wanted, (str, Sequence)):
        raise OptionError(
            f"partition= expects names of codegens or an rx.Partition, got {type(wanted).__name__} {wanted!r:.60}"
        )
    names = split_list(wanted) if isinstance(wanted, str) else list(wanted)
    if (wrong := next((name for name in names if not isinstance(name, str)), None)) is not None:
        raise OptionError(f"partition= takes names of codegens, like ['mynpu', 'dnnl'], not {wrong!r}")
    return tuple(name.strip() for name in names if name.strip())


def _has_patterns(chosen: ChosenCodegen, is_kernel: bool) -> bool:
    return any((_KERNELS in composite.heads) is is_kernel for composite in chosen.codegen.composites())
