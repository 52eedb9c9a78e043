# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Propagation of shardings by Shardy: a planner beside this project's own.

Shardy reads a skeleton: a function with a custom call for each operation, which has the factors of the operation's
rule. Only shardings come back. Shardy adds no collectives for the sums of custom calls: relax-localize adds all.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from math import gcd
from typing import Any

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.support.disk_cache import DiskCache
from relax_mlir.support.errors import OptionError, RelaxError
from relax_mlir.support.processes.pool import PoolCall, process_pool
from relax_mlir.support.suggest import suggest

from .factors import Place, ShardingFactor, shape_of
from .mesh import Sharding
from .planner import FactoredOperation, Planner, ShardingPlan, propagate

#: Function of a package without imports: its process starts in 0.2 s.
_CHILD = "relax_mlir_jax.shardy_propagation:propagate_text"
#: Seconds for a plan: 32 layers take 1 to 3.
_LIMIT = 60.0
#: Kind of cache entry. Its number changes with the form of answers.
_KIND = "shardy-1"


def planner_of(names: str | Sequence[str]) -> Planner:
    """Return the planner of this name, or the first one of several that does not fail."""
    planners: dict[str, Planner] = {"rule": propagate, "shardy": propagate_by_shardy}
    chosen: list[str] = [*names] if isinstance(names, (list, tuple)) and names else [str(names)]
    *others, last = chosen
    for name in chosen:
        if not isinstance(name, str) or name not in planners:
            known = "there are rule and shardy"
            raise OptionError(f"rx.shard: no planner {name!r}{suggest(str(name), planners)}; {known}")

    def plan_shardings(steps: Sequence[FactoredOperation], plan: ShardingPlan) -> None:
        for name in others:
            try:
                return planners[name](steps, plan)
            except RelaxError as error:
                warnings.warn(f"rx.shard: {error.message}", stacklevel=2)
        return planners[last](steps, plan)

    return plan_shardings


def propagate_by_shardy(steps: Sequence[FactoredOperation], plan: ShardingPlan) -> None:
    """Extend the plan to all values. Raise RelaxError if Shardy fails, or ends its process."""
    if importlib.util.find_spec("jaxlib") is None:
        raise OptionError("planner 'shardy' needs jaxlib: pip install 'relax-mlir[jax]'")
    answer = _answer_of(skeleton(steps, plan))
    results = {f"step{index}": step.operation.results for index, step in enumerate(steps)}
    divisible = _divisible_places(steps)
    for name, values in {"": _arguments(steps), **results}.items():
        for value, axes in zip(values, answer.get(name, ()), strict=False):
            if axes and value not in plan.fixed:
                plan.shardings[value] = _divide(value, axes, divisible, plan)


def _answer_of(text: str) -> dict[str, list[list[list[str]]]]:
    """Return Shardy's shardings of a skeleton, from the disk cache if it has them."""
    cache = DiskCache()
    key = hashlib.blake2b(f"{version('jaxlib')}\n{text}".encode(), digest_size=20).hexdigest()
    if (known := cache.get(_KIND, key)) is None:
        known = _call_child(text)
        cache.put(_KIND, key, known)
    answer: dict[str, list[list[list[str]]]] = json.loads(known)
    return answer


def _call_child(text: str) -> bytes:
    answers = []
    call = PoolCall(_CHILD, text.encode(), {"limit": _LIMIT}, "planner 'shardy'", doing="ran Shardy")
    try:
        process_pool().run([call], 1, lambda _, answer, __: answers.append(answer))
    except OSError as error:
        raise RelaxError(f"planner 'shardy': no process can be started: {error}") from None
    except RelaxError as error:
        if "SIGALRM" in error.message:
            raise RelaxError(f"planner 'shardy': Shardy had no plan after {_LIMIT:g} s") from None
        raise
    return bytes(answers[0])


def _arguments(steps: Sequence[FactoredOperation]) -> list[Value]:
    """Return the values that the operations take and none of them returns."""
    operands = dict.fromkeys(value for step in steps for value in step.operation.operands)
    returned = {value for step in steps for value in step.operation.results}
    return [value for value in operands if value not in returned]


# ---- the answer ----


def _divisible_places(steps: Sequence[FactoredOperation]) -> dict[tuple[Value, int], list[Any]]:
    """Return the factors of each value's dimensions, with their operations."""
    places: dict[tuple[Value, int], list[Any]] = {}
    for step in steps:
        for factor in step.factors or ():
            for place, dimension in factor.places:
                places.setdefault((step.values[place], dimension), []).append((step, factor))
    return places


def _divide(
    value: Value, axes: Sequence[Sequence[str]], places: dict[tuple[Value, int], list[Any]], plan: ShardingPlan
) -> Sharding:
    """Return a sharding of the dimensions that an operation can divide."""
    return tuple(
        tuple(names)
        if any(
            step.divides(factor, plan) and plan.can_divide(factor, names)
            for step, factor in places.get((value, dimension), ())
        )
        else ()
        for dimension, names in enumerate(axes)
    )


# ---- the skeleton ----


def skeleton(steps: Sequence[FactoredOperation], plan: ShardingPlan) -> str:
    """Return the text of a function with the same values, factors and shardings."""
    arguments = _arguments(steps)
    names = {value: f"%a{index}" for index, value in enumerate(arguments)}
    for index, step in enumerate(steps):
        results = list(step.operation.results)
        names |= {value: f"%s{index}#{at}" for at, value in enumerate(results)}
    signature = ", ".join(
        f"{names[value]}: {_type(value, plan)} {{sdy.sharding = #sdy.sharding{_sharding(value, plan)}}}"
        for value in arguments
    )
    axes = ", ".join(f'"{name}"={size}' for name, size in plan.mesh.axes)
    returned = [(names[value], _type(value, plan)) for step in steps for value in step.operation.results]
    body = "\n".join(_call(index, step, plan, names) for index, step in enumerate(steps))
    return f"""sdy.mesh @mesh = <[{axes}]>
func.func @main({signature}) -> ({", ".join(type_ for _, type_ in returned)}) {{
{body}
return {", ".join(name for name, _ in returned)}{" : " if returned else ""}{", ".join(type_ for _, type_ in returned)}
}}"""


def _call(index: int, step: FactoredOperation, plan: ShardingPlan, names: dict[Value, str]) -> str:
    operation = step.operation
    operands, results = list(operation.operands), list(operation.results)
    attributes = ["has_side_effect = true"]
    if step.factors is not None:
        attributes.append(f"sdy.sharding_rule = {_rule(step, plan)}")
    if any(value in plan.shardings for value in results):
        shardings = ", ".join(_sharding(value, plan) for value in results)
        attributes.append(f"sdy.sharding = #sdy.sharding_per_value<[{shardings}]>")
    types = ", ".join(_type(value, plan) for value in operands)
    count = f"%s{index}:{len(results)} = " if results else ""
    return (
        f"{count}stablehlo.custom_call @step{index}({', '.join(names[value] for value in operands)}) "
        f"{{{', '.join(attributes)}}} : ({types}) -> ({', '.join(_type(value, plan) for value in results)})"
    )


def _type(value: Value, plan: ShardingPlan) -> str:
    return f"tensor<{''.join(f'{_number(size, plan)}x' for size in shape_of(value))}f32>"


def _number(size: Dim, plan: ShardingPlan) -> int:
    """Return the size. A symbolic size has a part for each rank, like an empty one."""
    return size if isinstance(size, int) and size else plan.mesh.size


def _sharding(value: Value, plan: ShardingPlan) -> str:
    """Return a sharding that Shardy may extend, unless the user chose it."""
    is_fixed = value in plan.fixed
    dimensions = [
        ", ".join([*(f'"{axis}"' for axis in axes), *([] if is_fixed else ["?"])]) for axes in plan.sharding_of(value)
    ]
    return f"<@mesh, [{', '.join(f'{{{axes}}}' for axes in dimensions)}]>"


def _rule(step: FactoredOperation, plan: ShardingPlan) -> str:
    """Return the rule: the operation's factors, and one factor for the rest of each dimension."""
    sizes: list[int] = []
    dimensions: dict[Place, list[int]] = {}
    sums, blocked = [], []
    for factor in step.factors or ():
        size = gcd(*(_number(size, plan) for size in factor.sizes))
        if size == 1 or len({place for place, _ in factor.places}) < len(factor.places):
            continue  # nothing to divide, or a value has the factor twice
        for place in factor.places:
            dimensions[place] = [len(sizes)]
        if not _is_propagated(step, factor, plan):
            blocked.append(len(sizes))
        if factor.kind:
            sums.append(len(sizes))
        sizes.append(size)
    terms = []
    for index, shape in enumerate(step.shapes):
        term = ""
        for dimension, extent in enumerate(shape):
            numbers = dimensions.get((index, dimension), [])
            rest = _number(extent, plan) // (sizes[numbers[0]] if numbers else 1)
            if rest > 1 or not numbers:
                numbers = [*numbers, len(sizes)]
                sizes.append(rest)
            term += f"{', ' if dimension else ''}{''.join(map(_factor_name, numbers))}"
        terms.append(f"[{term}]")
    count = len(step.operation.operands)
    listed = ", ".join(f"{_factor_name(index)}={size}" for index, size in enumerate(sizes))
    return (
        f"#sdy.op_sharding_rule<({', '.join(terms[:count])})->({', '.join(terms[count:])}) {{{listed}}}"
        f"{_factor_list('reduction', sums)}{_factor_list('blocked_propagation', blocked)}, custom>"
    )


def _is_propagated(step: FactoredOperation, factor: ShardingFactor, plan: ShardingPlan) -> bool:
    """Return True if an axis can divide the factor: a float's sum stays whole if results must have the same bits."""
    return step.divides(factor, plan) and any(plan.can_divide(factor, [name]) for name, _ in plan.mesh.axes)


def _factor_name(index: int) -> str:
    """Return Shardy's name of a factor: i to z, then z_1."""
    return chr(ord("i") + index) if index < 18 else f"z_{index - 17}"


def _factor_list(name: str, factors: Sequence[int]) -> str:
    return f" {name}={{{', '.join(map(_factor_name, factors))}}}" if factors else ""
