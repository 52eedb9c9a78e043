# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of operators with divided arguments, and an operator of another package with a sharding rule."""

from __future__ import annotations

import random
from typing import Any

import numpy
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.bindings.navigation import body_of, functions_in, symbol_name
from relax_mlir.dialects.relax.function_attributes import argument_names
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir_proof.testing.case_lists import all_cases
from relax_mlir_proof.testing.trial import Subject
from relax_mlir_shard.factors import register_sharding
from relax_mlir_shard.planner import shape_of

CASES = all_cases(Subject("llvm"), ["operators"])
OPERATORS = sorted({case.subject for case in CASES})
#: Cases of each operator that are divided.
COUNT = 4

mine = rx.Dialect("shardtest", doc="Operators of these tests.")
mine.op("scores", "q k", infer=lambda call: call.q.with_shape((*call.q.shape[:2], call.k.shape[1])), doc="q k^T / 2.")


@rx.rules.register_legalize("shardtest.scores")
def scores(call: Any) -> Any:
    keys = relax.permute_dims(call.op.k, axes=[0, 2, 1])
    return relax.multiply(relax.matmul(call.op.q, keys), relax.const(numpy.float32(0.5)))


register_sharding("shardtest.scores", "bmk,bnk->bmn")


def arrays(results: Any) -> list[Any]:
    return [to_numpy(each) for each in (results if isinstance(results, tuple) else (results,))]


def main_of(module: rx.Module) -> Any:
    return next(each for each in functions_in(module.operation) if symbol_name(each) == "main")


def check_divided(operator: str, planner: str) -> None:
    """Divide arguments of an operator's cases."""
    draw = random.Random(operator)
    cases = [case for case in CASES if case.subject == operator]
    for case in draw.sample(cases, min(COUNT, len(cases))):
        try:
            setup = case.make(0)
        except rx.RelaxError:  # the operator has no such case
            continue
        main = main_of(setup.module)
        shapes, names = [shape_of(value) for value in body_of(main).arguments], argument_names(main)
        places = [(at, axis) for at, shape in enumerate(shapes) for axis, size in enumerate(shape)
                  if isinstance(size, int) and size > 1]  # fmt: skip
        if not places:
            continue
        try:
            program = rx.compile(setup.module, opt_level=0)
        except rx.RelaxError:  # the case is one of refusal
            continue
        expected = arrays(program["main"](*setup.calls[0]))
        at, axis = draw.choice(places)
        count = draw.choice([2, 3])
        spec = tuple("x" if each == axis else None for each in range(len(shapes[at])))
        divided = rx.compile(rx.shard(setup.module, {"x": count}, {names[at]: spec}, planner=planner), opt_level=0)
        with rx.launch(divided, timeout=30) as ranks:
            found = arrays(ranks["main"](*setup.calls[0]))
        for one, other in zip(found, expected, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype), case.name
            bits = [numpy.ascontiguousarray(each).reshape(-1).view("uint8") for each in (one, other)]
            is_same = numpy.array_equal(*bits) or numpy.array_equal(one, other, equal_nan=True)
            assert is_same, f"{case.name}, argument {names[at]} divided along {axis} by {count}"


def with_scores() -> rx.Module:
    module = rx.Module()
    with module.function("main", {"q": rx.tensor((4, 6, 8)), "k": rx.tensor((4, 5, 8))}) as f:
        f.returns(mine.scores(*f))
    return module
