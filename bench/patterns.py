# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time to match fifty patterns against a whole graph.

    python bench/patterns.py                    1,000, 10,000 and 50,000 operators of repeated transformer blocks
    python bench/patterns.py --each             each pattern tried on each operation of its first name
    python bench/patterns.py --tries            the cost of one try, a hit and a miss: by functions, by the search

Half of the patterns match somewhere; half begin like an existing operation and then do not match. Below are the same
graphs legalized, with fifty structures of products of which one occurs. Time is the thread's own (CPU), the fastest of
three rounds. "tried" is the number of tries of a pattern on an operation.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "python" / "helpers"))

import blocks
from before_after import op_names
from relax_mlir.bindings.navigation import body_of, functions_in, operations_of
from relax_mlir.dialects.tir.prim_func import is_prim_func
from relax_mlir.passes.kernels.structures.prim_funcs import KnownPrimFuncs, remembering
from relax_mlir.passes.patterns.match import by_head
from relax_mlir.passes.patterns.prospects import Prospects
from relax_mlir_blas.products import products

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import GraphPattern, is_call_tir, is_const, is_op, match, matches_of, wildcard

PATTERNS = 50
ROUNDS = 3

add, matmul, gelu = is_op("relax.add"), is_op("relax.matmul"), is_op("relax.nn.gelu")


def patterns() -> list[GraphPattern]:
    """Return ten copies of five patterns: products with bias and optional successors, and three that do not occur."""
    found: list[GraphPattern] = []
    for _ in range(PATTERNS // 5):
        x = wildcard()
        biased = add(matmul(x, is_const()), is_const())
        found += [
            biased.optional(lambda y: gelu(y)),
            is_op("relax.reshape")(is_op("relax.permute_dims")(x), ...),
            gelu(add(matmul(x, is_const()), wildcard()).has_dtype("float16")),
            matmul(is_op("relax.nn.softmax")(x), x),
            add(biased, add(x, x)),
        ]
    return found


def structural() -> list[GraphPattern]:
    """Return patterns of products, with optional successors."""
    x = wildcard()
    found = [is_call_tir(structure=each)(x, x | wildcard()) for each in products()[:PATTERNS]]
    return [each.optional(lambda y: is_call_tir("nn_*")(y)) for each in found]


def measure(module: Any, patterns: Callable[[], list[GraphPattern]], is_each: bool) -> tuple[float, int, int]:
    """Return the seconds, the number of tries, and the number of matches."""
    (function,) = (each for each in functions_in(module.operation) if not is_prim_func(each))
    block = body_of(function)
    start = time.thread_time()
    held = patterns()
    tried = matched = 0
    with remembering(KnownPrimFuncs()):
        for pattern, operations in _each(held, block) if is_each else _prospects(held, block):
            tried += len(operations)
            matched += sum(match(pattern, op) is not None for op in operations)
    return time.thread_time() - start, tried, matched


def _prospects(patterns: list[GraphPattern], block: Any) -> Iterator[tuple[GraphPattern, list[Any]]]:
    return ((patterns[number], operations) for number, operations in Prospects(patterns).in_block(block).items())


def _each(patterns: list[GraphPattern], block: Any) -> Iterator[tuple[GraphPattern, list[Any]]]:
    candidates = by_head(patterns)
    for op in operations_of(block):
        yield from ((pattern, [op]) for pattern in candidates.get(op.name, ()))


def tries() -> None:
    """Measure patterns that match an operation in 1,000 operators, and patterns with a last part that does not
    match."""
    x, y = wildcard(), wildcard()
    negative, biased = is_op("relax.negative"), add(matmul(x, is_const()), is_const())
    module = rx.Module()
    with module.function("main", [rx.tensor((4, 4))]) as function:
        (value,) = function
        for _ in range(200):
            value = relax.negative(relax.negative(value))
            value = relax.add(relax.matmul(value, relax.const([[0.5] * 4] * 4)), relax.const([0.5] * 4))
        function.returns(relax.negative(relax.negative(value)))
    block = body_of(next(functions_in(module.operation)))
    print(f"{'':>72}{'functions, µs':>15}{'search, µs':>12}")
    for pattern, fits in (
        (negative(negative(x)), True),
        (negative(negative(is_const())), False),
        (biased, True),
        (biased.has_dtype("float16"), False),
        (add(matmul(negative(negative(x)), y), is_const(0.5)), True),
        (add(matmul(negative(is_op("relax.abs")(x)), y), is_const(0.5)), False),
    ):
        heads = by_head([pattern])
        # The second of two negations in a row.
        ops = [op for op in operations_of(block) if op.name in heads][1::2]
        one, other = (
            min(_seconds_each(each, pattern, ops, fits) for _ in range(ROUNDS)) * 1e6 for each in (match, _searched)
        )
        print(f"{pattern!s:>66}{'hit' if fits else 'miss':>6}{one:>15.1f}{other:>12.1f}")


def _searched(pattern: GraphPattern, op: Any) -> Any:
    return next(matches_of(pattern, op), None)


def _seconds_each(found_by: Callable[..., Any], pattern: GraphPattern, operations: list[Any], fits: bool) -> float:
    start = time.thread_time()
    for _ in range(10):
        found = [found_by(pattern, op) for op in operations]
    seconds = (time.thread_time() - start) / 10 / len(operations)
    assert all((each is not None) == fits for each in found), pattern
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 50_000], help="operators")
    parser.add_argument("--each", action="store_true", help="without a look ahead")
    parser.add_argument("--tries", action="store_true", help="single tries")
    given = parser.parse_args()
    if given.tries:
        tries()
        return
    print(f"{'':>10}{'operators':>10}{'seconds':>10}{'tried':>11}{'matched':>10}{'µs each':>10}{'µs an operator':>16}")
    for what, made in (("operators", patterns), ("kernels", structural)):
        for size in given.sizes:
            module = blocks.transformer(max(size // len(op_names(blocks.transformer(1))), 1))
            if made is structural:
                rx.Pipeline("relax-legalize-ops").run(module)
            count = len(op_names(module))
            seconds, tried, matched = min(measure(module, made, given.each) for _ in range(ROUNDS))
            each, per_operator = seconds / tried * 1e6, seconds / count * 1e6
            print(f"{what:>10}{count:>10,}{seconds:>10.2f}{tried:>11,}{matched:>10,}{each:>10.1f}{per_operator:>16.1f}",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
