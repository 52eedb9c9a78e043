# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fuzzer of partitioning: gives parts of random graphs to a codegen on numpy, by random patterns, and compares.

    partitions.py --seconds 60            new graphs for a minute, each written in two orders
    partitions.py --seed 7 --case 1234    one case again

Patterns are cut out of the graph, so that they match and overlap. Results must equal the oracle's. A step has its
values by name and in the pattern's order. Both orders of the graph give the same parts.
"""

from __future__ import annotations

import argparse
import collections
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
for _folder in ("python/helpers", "python/frontends/onnx"):  # the tests' helpers
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / _folder))

import relax_graphs  # noqa: E402
import relax_oracle  # noqa: E402
from graphs import ErrorSizes, Graph, Node, Noise, Undefined, evaluate, smaller  # noqa: E402
from partitioning import codegen  # noqa: E402
from relax_mlir.bindings.navigation import functions_in, operations_in, text_in  # noqa: E402
from relax_mlir.dialects.core.dialect import find_op  # noqa: E402
from relax_mlir.dialects.core.infos import tensor  # noqa: E402
from relax_mlir.passes.core.external import external_modules  # noqa: E402
from relax_mlir_proof.testing import agreement, cluster, isolated  # noqa: E402

import relax_mlir as rx  # noqa: E402
from relax_mlir.patterns import is_const, is_op, wildcard  # noqa: E402

_PATIENCE_S = 300.0
_MOST_ATTEMPTS, _MOST_DEPTH, _MOST_PATTERNS, _MOST_SHOWN = 60, 3, 6, 5
_ERRORS = ErrorSizes(relax_oracle.EXACT, relax_oracle.BY_ONE, relax_oracle.BY_LARGEST)
#: Text of the reason why a codegen never receives an operator.
_UNSIZED = "the sizes of a result are known at run time only"
#: Attribute of an operation: the results of its node.
_NODE = "relax.fuzz_node"


class Outcome(NamedTuple):
    status: str
    problem: str = ""
    #: How many operations went to the codegen.
    taken: int = 0


# ---- patterns ----


class Leaf(NamedTuple):
    """Operand of a pattern."""

    name: str
    is_constant: bool


class Tree(NamedTuple):
    """Operator of a pattern with its operands and the name of its result."""

    name: str
    node: Node
    operands: tuple[Any, ...]
    #: Around it, if it is there, this operator of one operand.
    around: Tree | None = None

    def walk(self) -> Iterator[Tree]:
        """Yield this tree and its subtrees, without the optional operator around it."""
        yield self
        for each in self.operands:
            if isinstance(each, Tree):
                yield from each.walk()

    def leaves(self) -> list[str]:
        """Return the leaves' names in the pattern's order, each once."""
        found = [each.leaves() if isinstance(each, Tree) else [each.name] for each in self.operands]
        return list(dict.fromkeys(name for each in found for name in each))


class Cutting:
    """Cutter of patterns from a graph."""

    def __init__(self, graph: Graph, random: Random):
        self._graph, self._random = graph, random
        self._makers = {node.outputs[0]: node for node in graph.nodes if _is_plain(node)}
        self._count = 0

    def trees(self) -> list[Tree]:
        roots = list(self._makers.values())
        count = self._random.randint(1, _MOST_PATTERNS)
        return [self._cut(self._random.choice(roots), self._random.randint(1, _MOST_DEPTH), {}) for _ in range(count)]

    def _cut(self, node: Node, depth: int, leaves: dict[str, Leaf]) -> Tree:
        operands = tuple(self._operand(name, depth - 1, leaves) for name in node.inputs)
        users = [each for each in self._makers.values() if each.inputs == node.outputs]
        tree = Tree(self._fresh("o"), node, operands)
        if users and not leaves.get("") and self._random.random() < 0.5:
            around = self._random.choice(users)
            tree = tree._replace(around=Tree(self._fresh("o"), around, ()))
        return tree

    def _operand(self, name: str, depth: int, leaves: dict[str, Leaf]) -> Any:
        maker = self._makers.get(name)
        if maker is not None and depth > 0 and self._random.random() < 0.7:
            return self._cut(maker, depth, leaves)._replace(around=None)
        if name not in leaves or self._random.random() < 0.5:
            leaves[name] = Leaf(self._fresh("v"), name in self._graph.constants and self._random.random() < 0.8)
        return leaves[name]

    def _fresh(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"


def _is_plain(node: Node) -> bool:
    """Check whether the node has only values and attributes, without shapes."""
    row = find_op(node.op)
    is_simple = all(isinstance(each, str) and each for each in node.inputs) and len(node.outputs) == 1
    return is_simple and all(name in row.attrs for name in node.attributes) and len(node.inputs) == len(row.operands)


def pattern_of(tree: Tree, known: dict[Any, Any] | None = None) -> Any:
    """Return the tree as a codegen's pattern. A leaf in two places is one subpattern."""
    known = {} if known is None else known

    def part(each: Any) -> Any:
        if isinstance(each, Tree):
            return pattern_of(each, known)
        if each not in known:
            known[each] = (is_const() if each.is_constant else wildcard()).named(each.name)
        return known[each]

    found = _operator(tree, [part(each) for each in tree.operands])
    return found if tree.around is None else found.optional(lambda y: _operator(tree.around, [y]))


def _operator(tree: Tree, operands: Sequence[Any]) -> Any:
    made = is_op(tree.node.op)(*operands).has_attr(**tree.node.attributes)
    return made.has_dtype(*tree.node.origin).named(tree.name)


# ---- the codegen ----


class Numpy(rx.Codegen):
    """Codegen that computes parts by the oracle. Its code is the number of a program in this process."""

    trees: dict[str, Tree] = {}  # noqa: RUF012  # of one case
    programs: list[Any] = []  # noqa: RUF012

    def compile(self, module: rx.Module, options: Any) -> bytes:
        programs = {name: (part, [_Program(self.trees[step.composite], step) for step in part.steps])
                    for name, part in self.steps(module).items()}  # fmt: skip
        self.programs.append(programs)
        return str(len(self.programs) - 1).encode()

    def load(self, data: memoryview) -> dict[str, Any]:
        programs = self.programs[int(bytes(data))]
        return {name: _running(*program) for name, program in programs.items()}

    def cost(self, composite: str, operations: Any) -> float:
        return 1e-7 * len(composite)

    def call_cost(self) -> float:
        return 1e-7


class _Program:
    """Program of a step, which uses the names of its pattern."""

    def __init__(self, tree: Tree, step: Any):
        around = tree.around if tree.around is not None and tree.around.name in step.names else None
        self._numbers = {name: numbers[0] for name, numbers in step.names.items()}
        #: Trees by the numbers of their results. A leaf may be an intermediate value, too.
        self._trees = {self._numbers[each.name]: each for each in tree.walk()}
        self._around, self.makes = around, dict.fromkeys(step.outputs)
        self._tree, self._root = tree, self._numbers[(around or tree).name]
        places = tuple(step[name] for name in tree.leaves() if self._numbers[name] not in self._trees)
        assert step.inputs == places, f"{step.composite}: inputs are {step.inputs}, by their names {places}"

    def run(self, values: dict[int, Any]) -> None:
        inner = dict(values)
        if self._around is not None:
            inner[self._root] = _result(self._around, [self._value(self._numbers[self._tree.name], inner)])
        values.update({number: self._value(number, inner) for number in self.makes})

    def _value(self, number: int, values: dict[int, Any]) -> Any:
        if number not in values:
            tree = self._trees[number]
            values[number] = _result(tree, [self._value(self._numbers[each.name], values) for each in tree.operands])
        return values[number]


def _result(tree: Tree, arrays: Sequence[Any]) -> Any:
    return relax_oracle.oracle(tree.node, arrays, {})[0]


def _running(part: Any, programs: Sequence[_Program]) -> Any:
    def run(*tensors: Any) -> None:
        arrays = [rx.runtime.to_numpy(each) for each in tensors]
        values = {**part.constants, **dict(zip(part.inputs, arrays))}  # noqa: B905  # outputs are behind
        for program in programs:
            program.run(values)
        for number, place in zip(part.outputs, arrays[len(part.inputs) :], strict=True):
            place[...] = values[number]

    return run


# ---- a case ----


def in_another_order(graph: Graph, random: Random) -> Graph:
    """Return the graph with its nodes in another valid order."""
    waiting, there, nodes = list(graph.nodes), {*graph.inputs, *graph.constants}, []
    while waiting:
        node = random.choice([each for each in waiting if there.issuperset(each.names())])
        waiting.remove(node)
        there.update(node.outputs)
        nodes.append(node)
    return graph._replace(nodes=tuple(nodes))


def built(graph: Graph) -> rx.Module:
    """Build the module, with the results of each node on its operation."""
    module = rx.Module()
    with module.function("main", {name: tensor(each.sizes, each.dtype) for name, each in graph.inputs.items()}) as f:
        values: dict[str, Any] = dict(zip(graph.inputs, f.args, strict=True))
        values |= {name: rx.relax.const(array) for name, array in graph.constants.items()}
        for node in graph.nodes:
            given = [
                [values[name] for name in each] if isinstance(each, tuple) else values[each] for each in node.inputs
            ]
            made = find_op(node.op)(*given, **node.attributes)
            made = made if isinstance(made, (tuple, list)) else [made]
            made[0].owner.attributes[_NODE] = rx.ir.StringAttr.get(node.outputs[0], module.context)
            values.update(zip(node.outputs, made, strict=True))
        f.returns(*(values[name] for name in graph.outputs))
    return module


def parts_of(module: rx.Module, partition: rx.Partition) -> set[Any]:
    """Return the parts: each is a set of patterns with their nodes."""
    rx.Pipeline([partition]).run(module)
    return {frozenset(_taken_in(each)) for each in external_modules(module.operation)}


def _taken_in(part: Any) -> Iterator[tuple[str, frozenset[str]]]:
    for function in functions_in(part):
        nodes = frozenset(text_in(op, _NODE) for op in operations_in(function) if _NODE in op.attributes)
        if nodes:
            yield text_in(function, "relax.composite"), nodes


def check(seed: int, index: int, graph: Graph) -> Outcome:
    """Check that a graph equals the oracle in two orders, with the same parts in both."""
    random = Random(f"partition:{seed}:{index}")
    try:
        wanted = _Wanted(graph)
    except Undefined as reason:
        return Outcome("undefined", str(reason))
    if not any(map(_is_plain, graph.nodes)):
        return Outcome("undefined", "no operator that patterns are made of")
    trees = {f"npu.p{number}": tree for number, tree in enumerate(Cutting(graph, random).trees())}
    rows = [(name, pattern_of(tree)) for name, tree in trees.items()]
    plan, level = random.choice(("priority", "priority", "cost")), random.choice((0, 0, 2))
    isolated.enter(1)
    seen: list[set[Any]] = []
    is_separate = random.random() < 0.2
    with codegen(rows, base=Numpy, trees=trees, separate=is_separate) as npu, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        partition = rx.Partition(codegens=(npu,), plan=plan)
        for each in (graph, in_another_order(graph, random)):
            seen.append(parts_of(built(each), partition))
            problem = _problem(built(each), graph, wanted, partition=partition, opt_level=level)
            if _UNSIZED in problem:
                return Outcome("undefined", _UNSIZED)
            if problem:
                return Outcome("failed", f"{problem} (plan={plan}, opt_level={level}, {rows})")
    if seen[0] != seen[1]:
        return Outcome("failed", f"parts are {seen[0]}, in another order {seen[1]} (plan={plan}, {rows})")
    return Outcome("agree", taken=sum(len(nodes) for part in seen[0] for _, nodes in part))


class _Wanted:
    """Results of the oracle for each call, with and without noise."""

    def __init__(self, graph: Graph):
        self._graph = graph
        self.values = [evaluate(graph, run, relax_oracle.oracle) for run in graph.runs]
        self.shaken = self._with_noise(agreement.SHAKES)

    def difference(self, number: int, name: str, found: Any) -> str:
        """Return the difference of a call's result, with more noise before one is reported."""
        for count in (agreement.SHAKES, agreement.MANY_SHAKES):
            if len(self.shaken[number]) < count:
                self.shaken = self._with_noise(count)
            near = [each[name] for each in self.shaken[number]]
            problem = agreement.difference(found, self.values[number][name], near)
            if not problem:
                break
        return problem

    def _with_noise(self, count: int) -> list[list[Any]]:
        noises = [Noise(seed, _ERRORS, lambda dtype: agreement.STEPS.get(dtype.name, 0.0)) for seed in range(count)]
        return [
            [evaluate(self._graph, run, relax_oracle.oracle, noise) for noise in noises] for run in self._graph.runs
        ]


def _problem(module: rx.Module, graph: Graph, wanted: _Wanted, **options: Any) -> str:
    try:
        program = rx.compile(module, strict_partition=True, cache=False, jobs=1, **options)
    except rx.RelaxError as error:
        return f"refused: {error}"[:600]
    for number, run in enumerate(graph.runs):
        try:
            found = program["main"](*(rx.runtime.tensor(run[name].copy()) for name in graph.inputs))
        except Exception as error:  # whatever a program raises here, the oracle has a result
            return f"{type(error).__name__}: {error}"[:600]
        for name, each in zip(graph.outputs, [found] if len(graph.outputs) == 1 else found, strict=True):
            problem = wanted.difference(number, name, rx.runtime.to_numpy(each))
            if problem:
                return f"result {name}: {problem}"
    return ""


def draw(seed: int, index: int) -> Graph:
    """Draw a graph. Half of them have a second equal branch, which the same patterns match."""
    random = Random(f"graph:{seed}:{index}")
    graph = relax_graphs.draw(random)
    return with_branch(graph) if random.random() < 0.5 else graph


def with_branch(graph: Graph) -> Graph:
    """Return the graph next to a copy with separate inputs and nodes but the same constants."""

    def other(name: Any) -> Any:
        if isinstance(name, tuple):
            return tuple(map(other, name))
        return name if not name or name in graph.constants else f"{name}_too"

    nodes = [
        each._replace(inputs=tuple(map(other, each.inputs)), outputs=tuple(map(other, each.outputs)))
        for each in graph.nodes
    ]
    return graph._replace(
        inputs={**graph.inputs, **{other(name): each for name, each in graph.inputs.items()}},
        nodes=(*graph.nodes, *nodes),
        outputs=(
            *graph.outputs,
            *dict.fromkeys(name for name in map(other, graph.outputs) if name not in graph.outputs),
        ),
        runs=tuple({**run, **{other(name): each.copy() for name, each in run.items()}} for run in graph.runs),
    )


def _case(seed: int, index: int) -> Outcome:
    isolated.enter(0)
    return check(seed, index, draw(seed, index))


def _died(cause: str, phase: int) -> Outcome:
    return Outcome("failed" if phase else "undefined", cause)


def shrink(seed: int, index: int) -> tuple[Graph, Outcome]:
    """Return a smaller graph that fails, too."""
    graph = draw(seed, index)
    outcome = isolated.alone(lambda: check(seed, index, graph), _PATIENCE_S, _died)
    attempts = 0
    is_smaller = True
    while is_smaller and attempts < _MOST_ATTEMPTS:
        is_smaller = False
        values = [evaluate(graph, run, relax_oracle.oracle) for run in graph.runs]
        for candidate in smaller(graph, values):
            attempts += 1
            tried = isolated.alone(lambda each=candidate: check(seed, index, each), _PATIENCE_S, _died)
            if tried.status == "failed" and tried.problem[:9] == outcome.problem[:9]:
                graph, outcome, is_smaller = candidate, tried, True
                break
            if attempts >= _MOST_ATTEMPTS:
                break
    return graph, outcome


def show(seed: int, index: int) -> None:
    """Print the reduced failing case."""
    graph, outcome = shrink(seed, index)
    print(f"as small as it gets: {outcome.problem}\n{relax_graphs.build(graph)}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="partitions.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--cases", type=int, help="stop after this many cases")
    parser.add_argument("--seed", type=int, help="the same seed gives the same cases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--scheduler", help="address of a Dask scheduler, whose workers run the cases")
    parser.add_argument("--case", type=int, help="run this case of the seed and show it")
    options = parser.parse_args(argv)
    seed = Random().randrange(10**6) if options.seed is None else options.seed
    if options.case is not None:
        outcome = isolated.alone(lambda: _case(seed, options.case), _PATIENCE_S, _died)
        print(f"{outcome.status}: {outcome.problem}")
        if outcome.status == "failed":
            show(seed, options.case)
        return int(outcome.status == "failed")
    if options.seconds is None and options.cases is None:
        parser.error("how long? --seconds or --cases")
    end = None if options.seconds is None else time.monotonic() + options.seconds
    statuses: collections.Counter[str] = collections.Counter()
    failed: dict[int, str] = {}
    taken = 0
    queue = ((seed, index) for index in range(options.cases or 10**12))
    for (_, index), outcome in cluster.run(
        *(cluster.Script("test/fuzz/partitions.py", "_case"), queue, options.jobs, end, _PATIENCE_S, _died),
        scheduler=options.scheduler,
        told=lambda sentence: print(sentence, file=sys.stderr),
    ):
        statuses[outcome.status] += 1
        taken += outcome.taken
        failed |= {index: outcome.problem} if outcome.status == "failed" else {}
    counts = ", ".join(f"{statuses[name]} {name}" for name in ("agree", "undefined", "failed"))
    print(f"seed {seed}: {statuses.total()} graphs, {counts}; {taken} operators went to the codegen")
    for index, problem in list(failed.items())[:_MOST_SHOWN]:
        print(f"FAILED --seed {seed} --case {index}: {problem}", flush=True)
        show(seed, index)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
