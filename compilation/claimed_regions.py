# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured placements of models: the regions that codegens claim, and the placement that fits a module."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..bindings.context_lock import lock_context
from ..bindings.diagnostics import warn
from ..bindings.ir import Operation
from ..bindings.mlir import i64_attribute, ir
from ..bindings.navigation import ancestors, body_of, functions_in, operations_in, operations_of, symbol_name, text_in
from ..dialects.core.call_graph import references_in
from ..dialects.core.elements import print_by_content
from ..dialects.core.ir_attributes import COMPOSITE, PART_NUMBER
from ..dialects.relax.function_attributes import VISIBILITY, function_attributes
from ..frontends.module import Module
from ..passes.core.external import external_modules
from ..passes.core.pipeline import Pipeline
from ..passes.graph.partition.codegen import parse_codegen
from ..passes.graph.partition.external_functions import blocks_in, functions_to_part
from ..passes.graph.partition.outline import Order, OutlinedPart, pure_functions
from ..passes.graph.partition.placement import MeasuredPlacement, PlacedMatch, matches_in, placements_in, read_placement
from ..passes.graph.partition.planning import Composites
from ..passes.graph.partition_stages import before_partition
from ..passes.graph.relax_fuse_ops_by_pattern import FuseOpsByPattern
from ..passes.graph.relax_merge_composite_functions import MergeCompositeFunctions
from ..passes.graph.relax_outline_external import OutlineExternal
from ..passes.graph.relax_partition import Partition
from ..passes.kernels.schedule.tuned_plans import MachineFacts
from ..passes.kernels.structures.prim_funcs import KnownPrimFuncs, remembering
from ..support.errors import OptionError, RelaxError
from ..targets.core.code import find_backend
from .options import MEASURED, CompileOptions
from .steps import check, fit, lower_in_place

_KEY_BYTES = 8
_SYMBOL = re.compile(r'@(?:[\w$.-]+|"[^"]*")')
#: Least similarity of a model to the one of a placement: the share of equal operators.
_LEAST_SIMILARITY = 0.5
_NOT_OPERATORS = ("builtin.", "func.")
#: Name of an outlined region, which no function of a model has.
_REGION = "placement.region"


def module_key(operation: Operation, *more: str) -> str:
    """Return a hash of a module and texts, without weights, locations, and names of functions."""
    names: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        return names.setdefault(match.group(), f"@{len(names)}")

    text = _SYMBOL.sub(renamed, print_by_content(operation, lambda _: "weights", places=False))
    return hashlib.blake2b(
        "\n".join((*more, text)).encode(errors="surrogateescape"), digest_size=_KEY_BYTES
    ).hexdigest()


def model_key(module: Operation, bind: Mapping[str, int | str] | None, precision: str) -> str:
    """Return the key of a model's placement."""
    sizes = (f"{name}:{size}" for name, size in sorted((bind or {}).items()))
    return module_key(module, precision, *sizes)


def operators_of(module: Operation) -> Counter[str]:
    """Return the number of operators of each name."""
    names = (op.name for op in operations_in(module))
    return Counter(name for name in names if not name.startswith(_NOT_OPERATORS))


def with_placement(options: CompileOptions, module: Module) -> CompileOptions:
    """Return the options with the measured placement of a module. Raises RelaxError without one."""
    if not options.is_measured:
        return options
    placement = _find_placement(options, module._owner.operation)
    if not ((codegens := list(_yield_installed(placement, module._owner.operation))) and placement.matches):
        return replace(options, partition=())
    explains = isinstance(options.partition, Partition) and options.partition.explain
    return replace(options, partition=Partition(tuple(codegens), plan=placement.path, explain=explains))


def _find_placement(options: CompileOptions, module: Operation) -> MeasuredPlacement:
    help_ = f"relax-tune model.onnx --partition=<codegens> --target='{options.target}' -o <folder> measures one"
    if options.tuned is None or isinstance(options.tuned, bool):
        raise OptionError(f"partition='{MEASURED}' needs the folder of a measured placement: tuned=", notes=[help_])
    facts = MachineFacts.of(find_backend(options.chosen.name).machine(options.chosen))
    placements = [each for each in map(read_placement, placements_in(options.tuned)) if each.machine.fits(facts)]
    placements.sort(key=lambda placement: placement.machine.distance(facts))
    key = model_key(module, options.bind, options.precision)
    if (exact := next((placement for placement in placements if placement.model == key), None)) is not None:
        return exact
    operators = operators_of(module)
    near = max(placements, key=lambda placement: _similarity(operators, placement.operators), default=None)
    if near is None or _similarity(operators, near.operators) < _LEAST_SIMILARITY:
        problem = f"'{os.fspath(options.tuned)}' has no placement of this model for {facts.label}"
        raise RelaxError(f"partition='{MEASURED}': {problem}; it has {len(placements)} of other models", notes=[help_])
    warn(f"the model has changed: placement '{near.path}' of a similar model is used", module.location)
    return near


def _similarity(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Return the share of equal operators in two models."""
    both, either = Counter(one) & Counter(other), Counter(one) | Counter(other)
    return both.total() / either.total() if either else 1.0


def _yield_installed(placement: MeasuredPlacement, module: Operation) -> Iterator[str]:
    """Yield the codegens of a placement that are available. Others are reported."""
    for text in placement.codegens:
        try:
            parse_codegen(text)
            yield text
        except RelaxError as error:
            name = text.partition("{")[0]
            count = sum(match.pattern.startswith(f"{name}.") for match in placement.matches)
            what = f"its {count} matches of '{name}' stay with the target"
            warn(f"placement '{placement.path}': {what}: {error.message}", module.location)


class ClaimedMatch(NamedTuple):
    """Match that a codegen takes if it is the only codegen."""

    placed: PlacedMatch
    #: Numbers of its operations in the model.
    numbers: frozenset[int]
    operators: tuple[str, ...]
    #: Place in the order of priority.
    rank: int


class ClaimedRegion(NamedTuple):
    """Region of a model that one codegen takes as a part."""

    #: Codegen with its options.
    codegen: str
    matches: tuple[ClaimedMatch, ...]


@dataclass(frozen=True)
class Claims:
    """Regions that codegens take from one form of a model, each codegen by itself."""

    #: The model before the partition.
    module: Module
    regions: tuple[ClaimedRegion, ...]
    #: Matches that cannot be named, which a placement leaves to the target.
    unnamed: int = 0

    def module_of(self, numbers: Collection[int]) -> Module | None:
        """Return a module with the operations of these numbers as @main, or None if they cannot be cut out.

        Constants stay constants, and other operands become arguments.
        """
        return _module_of(self.module, frozenset(numbers))


def claims_of(
    module: Module,
    target: str,
    codegens: Sequence[str],
    *,
    bind: Mapping[str, int | str] | None = None,
    precision: str = "f32",
) -> Claims:
    """Return the regions that each codegen takes if it is the only one. All see the same form of the model."""
    options = CompileOptions(target, bind=bind, precision=precision, partition=tuple(codegens))
    with lock_context(module.context):
        lowered = module.copy()
        check(lowered._owner)
        fit(lowered._owner, options)
        lower_in_place(lowered._owner, options, before_partition(options.stages()))
        _number_operations(lowered)
        claimed_regions: list[ClaimedRegion] = []
        unnamed = 0
        for codegen in codegens:
            regions, missed = _claim(lowered, codegen)
            claimed_regions += regions
            unnamed += missed
    return Claims(lowered, tuple(claimed_regions), unnamed)


def _number_operations(module: Module) -> None:
    """Number the operations of graphs that have operands. Parts get copies of the others, which are literals."""
    functions = functions_to_part(module._owner.operation, (), "a placement")
    operations = [op for function in functions for op in operations_in(function) if len(op.operands)]
    with module.context:
        for number, op in enumerate(operations):
            op.attributes[PART_NUMBER] = i64_attribute(number)


def _claim(module: Module, codegen: str) -> tuple[list[ClaimedRegion], int]:
    names, copied = _names_of_matches(module, codegen), module.copy()
    chosen = (parse_codegen(codegen).codegen.name,)
    # The steps of relax-partition, which would erase the numbers.
    steps = FuseOpsByPattern(codegen=chosen), MergeCompositeFunctions(), OutlineExternal(codegen=chosen)
    Pipeline(steps).run(copied._owner)
    regions, missed = [], 0
    for part in external_modules(copied._owner.operation):
        functions = [function for function in functions_in(part) if COMPOSITE in function.attributes]
        groups = [
            (text_in(function, COMPOSITE), frozenset(_numbers_of(operations_in(function)))) for function in functions
        ]
        matches = sorted((names[group] for group in groups if group in names), key=lambda match: match.rank)
        missed += len(groups) - len(matches)
        if matches:
            regions.append(ClaimedRegion(codegen, tuple(matches)))
    return regions, missed


def _names_of_matches(module: Module, codegen: str) -> dict[tuple[str, frozenset[int]], ClaimedMatch]:
    """Return the names of all matches by their patterns and numbers of operations, earlier patterns first."""
    composites = Composites(parse_codegen(codegen).codegen.composites())
    names: dict[tuple[str, frozenset[int]], ClaimedMatch] = {}
    with remembering(KnownPrimFuncs()):
        for function in functions_to_part(module._owner.operation, (), "a placement"):
            for block in blocks_in(function):
                for match in matches_in(block, composites):
                    numbers = frozenset(_numbers_of(match.match.operations))
                    operators = tuple(op.name for op in match.match.operations)
                    named = ClaimedMatch(match.placed, numbers, operators, len(names))
                    names.setdefault((match.placed.pattern, numbers), named)
    return names


def _numbers_of(operations: Iterable[Operation]) -> Iterator[int]:
    return (ir.IntegerAttr(op.attributes[PART_NUMBER]).value for op in operations if PART_NUMBER in op.attributes)


def _module_of(module: Module, numbers: frozenset[int]) -> Module | None:
    """Return a module of the operations with these numbers, or None if they cannot be outlined."""
    with lock_context(module.context):
        copied = module.copy()
        root = copied._owner.operation
        chosen = [op for op in operations_in(root) if not numbers.isdisjoint(_numbers_of([op]))]
        part = OutlinedPart(chosen, Order(chosen[0].block), pure_functions(root))
        if part.refusal() or not part.results:
            return None
        around = [ancestor for ancestor in ancestors(chosen[0]) if ancestor.name == "func.func"][-1]
        arguments, types = part.arguments(True), [value.type for value in part.results]
        names = [f"x{place}" for place in range(len(arguments))]
        part.outline(_REGION, arguments, {}, before=around)
        functions = {symbol_name(function): function for function in functions_in(root)}
        own = functions.pop(_REGION)
        needed = _find_reachable(own, functions)
        with root.context, own.location:
            made = ir.Module.create()
            for each in (own, *needed):
                each.clone(ip=ir.InsertionPoint(made.body))
            main = operations_of(made.body)[0]
            del main.attributes[VISIBILITY]
            inputs = [value.type for value in body_of(main).arguments]
            for name, attribute in function_attributes("main", inputs, types, names).items():
                main.attributes[name] = attribute
            for op in operations_in(made.operation):
                if PART_NUMBER in op.attributes:
                    del op.attributes[PART_NUMBER]
        return Module.of(made.operation)


def _find_reachable(function: Operation, functions: Mapping[str, Operation]) -> list[Operation]:
    """Return the functions that a function refers to, directly or indirectly."""
    operations: dict[str, Operation] = {}
    pending = [function]
    while pending:
        for name in references_in(pending.pop()):
            if name in functions and name not in operations:
                operations[name] = functions[name]
                pending.append(functions[name])
    return list(operations.values())
