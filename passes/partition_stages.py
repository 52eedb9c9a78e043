# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partitions among the stages of a target: of operators before they are legalized, of kernels afterwards.

Codegens are asked for models as they are written, at all levels. What only makes these smaller comes before: operators
that do nothing go, norms go into weights, what is known is computed. What rewrites them for this project's own kernels
is for what codegens leave, and comes behind: QDQ becomes products of whole numbers, softmax between products attention.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ..support.errors import OptionError
from .core.base import Pass
from .core.options import split_list
from .core.stages import Stage, Stages
from .partition.codegen import ChosenCodegen, operators_of, parse_codegen
from .relax_allocate_workspace import AllocateWorkspace
from .relax_partition import Partition
from .relax_run_codegen import RunCodegen

#: What codegens may be asked for as: text like mynpu{cores=4}, one or several, or the pass with all its options.
Wanted = str | Sequence[str] | Partition

#: The stages of a partition: layers in one form, operators that become parts, kernels that do.
INPUT, PARTITION, PARTITION_OF_KERNELS = "partition-input", "partition", "partition-kernels"

_KERNELS, _DEQUANTIZE, _SOFTMAX = "relax.call_tir", "relax.dequantize", "relax.nn.softmax"
_ATTENTION = frozenset({"relax.nn.attention", "relax.nn.attention_bias", "relax.nn.attention_cached"})
_INTEGERS, _SIMPLIFY, _FOLD = "integers", "simplify", "fold"
#: The stages that take apart what codegens' patterns name. Weights of few bits are no such thing: they are codes,
#: which no codegen could take once they are numbers.
_FOR_KERNELS = (_INTEGERS, "attention", "heads", "products", "launches")
_ONE_FORM = ("relax-canonicalize-layers", "relax-fold-constant")
#: Passes that compute what is known.
_FOLDING = ("relax-canonicalize", "relax-fold-constant")


def with_partition(stages: Stages, wanted: Wanted, *, strict: bool = False, elsewhere: bool = False) -> Stages:
    """The stages, with those that give parts to codegens; `strict`: one that declines is an error, and one whose part
    this machine cannot run, unless it is to run `elsewhere`.

    Each codegen comes in where it has patterns: before or after operators have become kernels.
    """
    partition = partition_of(wanted)
    chosen = [parse_codegen(each) for each in partition.codegens]
    run = RunCodegen(declined="error" if strict else "fallback", elsewhere=elsewhere)
    of_operators, of_kernels = (_passes(partition, chosen, run, is_kernel) for is_kernel in (False, True))
    if of_operators:
        stages = _with_operators(stages, of_operators, [each for each in chosen if _has_patterns(each, False)])
    if of_kernels:
        stages = stages.insert_after("legalize", PARTITION_OF_KERNELS, of_kernels)
    return stages


def partition_of(wanted: Wanted) -> Partition:
    """Return the pass that chooses the parts. Raises OptionError for what names no codegens."""
    return wanted if isinstance(wanted, Partition) else Partition(codegens=_names(wanted))


def before_partition(stages: Stages) -> Stages:
    """Return the stages that lead to what the first codegens get: operators, or kernels where none takes operators."""
    place = next(place for place, name in enumerate(stages.names) if name in (PARTITION, PARTITION_OF_KERNELS))
    return replace(stages, stages=stages.stages[:place])


def _with_operators(stages: Stages, passes: tuple[Pass, ...], chosen: Sequence[ChosenCodegen]) -> Stages:
    """With a partition of operators, before they get the target's layouts."""
    after = stages.between(start="layouts" if "layouts" in stages.names else "legalize").stages
    names = frozenset(name for each in chosen for name in operators_of(each.codegen))
    kept = {name for each in chosen for name in each.codegen.keeps} | ({_DEQUANTIZE} & names)
    before = stages.stages[: -len(after)]
    behind = [stage for stage in before if _is_for_kernels(stage, names)]
    ahead = [_keeping(stage, kept) for stage in before if stage not in behind]
    # As products of whole numbers come first, before what they leave is made simple.
    integers = [stage for stage in behind if stage.name == _INTEGERS]
    simplify, fold = (_again(before, name) for name in (_SIMPLIFY, _FOLD))
    others = [stage for stage in behind if stage not in integers]
    rest = [*integers, *(simplify if behind else []), *others, *fold]
    form = _keeping(Stage(INPUT, _ONE_FORM, "layers have one form, for codegens' patterns"), kept)
    return replace(stages, stages=(*ahead, form, Stage(PARTITION, passes), *rest, *after))


def _is_for_kernels(stage: Stage, names: frozenset[str]) -> bool:
    """Whether a stage is for what codegens leave; who names attention, but no softmax, gets what it makes of that."""
    if stage.name == "attention" and names & _ATTENTION and _SOFTMAX not in names:
        return False
    return stage.name in _FOR_KERNELS


def _again(stages: Sequence[Stage], name: str) -> list[Stage]:
    """A stage for what codegens leave, where there is one of that name."""
    return [replace(stage, name=f"{name}-rest") for stage in stages if stage.name == name]


def _keeping(stage: Stage, kept: Collection[str]) -> Stage:
    """The stage, with quantized numbers left as they are, and operators on constants that codegens look for."""
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
    """For the codegens that have patterns of that kind; none without."""
    codegens = tuple(str(each) for each in chosen if _has_patterns(each, is_kernel))
    return (
        (replace(partition, codegens=codegens), AllocateWorkspace(), replace(run, codegen=codegens)) if codegens else ()
    )


def _names(wanted: str | Sequence[str]) -> tuple[str, ...]:
    if not isinstance(wanted, (str, Sequence)):
        raise OptionError(
            f"partition= is names of codegens or an rx.Partition, got {type(wanted).__name__} {wanted!r:.60}"
        )
    names = split_list(wanted) if isinstance(wanted, str) else list(wanted)
    wrong = next((each for each in names if not isinstance(each, str)), None)
    if wrong is not None:
        raise OptionError(f"partition= takes names of codegens, like ['mynpu', 'dnnl'], not {wrong!r}")
    return tuple(each.strip() for each in names if each.strip())


def _has_patterns(chosen: ChosenCodegen, is_kernel: bool) -> bool:
    return any((_KERNELS in each.heads) is is_kernel for each in chosen.codegen.composites())
