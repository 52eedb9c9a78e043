# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run of one random graph: compiles it for a target, calls it, and compares with the oracle."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import onnx_drawing
import onnx_graphs
import onnx_nodes
import relax_graphs
import relax_oracle
import script_graphs
from graphs import Arrays, ErrorSizes, Graph, Noise, Oracle, Undefined, evaluate
from on_target import TARGETS, Call, OnTarget
from relax_mlir.runtime import guard_pages
from relax_mlir_proof.testing import agreement, isolated

import relax_mlir as rx


class Outcome(NamedTuple):
    """Outcome with a `status`: agree, undefined (the oracle has no result), or failed."""

    status: str
    problem: str = ""
    operators: list[str] = []  # noqa: RUF012  # replaced, never changed


class Kind(NamedTuple):
    """Kind of graphs: how they are drawn, built and compared."""

    draw: Callable[[Random], Graph]
    build: Callable[[Graph], rx.Module]
    oracle: Oracle
    errors: ErrorSizes
    steps: agreement.Steps
    script: Callable[[Graph, str, OnTarget], str]
    preload: Callable[[], None]
    #: The inputs that a call writes to.
    written: Callable[[Graph], set[str]] = lambda graph: set()

    def step_of(self, dtype: Any) -> float:
        """Return the relative error of an operator, or 0 for exact types."""
        return self.steps.get(dtype.name, 0.0)


#: Phases of a process: the oracle's work, or this project's.
_ORACLE, _OURS = 0, 1


def died(cause: str, phase: int) -> Outcome:
    """Return the outcome of a crash. A crash of onnxruntime is no failure of this project."""
    return Outcome("failed", cause) if phase == _OURS else Outcome("undefined", f"the oracle: {cause}")


def values_of(kind: str, graph: Graph) -> list[Arrays]:
    """Return the oracle's values of each call."""
    return [evaluate(graph, run, KINDS[kind].oracle) for run in graph.runs]


def check(kind: str, graph: Graph, target: str = "llvm") -> Outcome:
    """Compile and call the graph. A crash ends this process."""
    chosen, on_target = KINDS[kind], TARGETS[target]
    isolated.enter(_ORACLE)
    try:
        expected = values_of(kind, graph)
        shaken = [_shaken(chosen, graph, run, agreement.SHAKES) for run in graph.runs]
    except Undefined as reason:
        return Outcome("undefined", str(reason))
    isolated.enter(_OURS)
    for level in graph.levels:
        try:
            call = on_target.compile(chosen.build(graph), graph, level)
        except rx.RelaxError as error:
            limit_met = next((limit for limit in on_target.known_limits if limit in str(error)), None)
            return Outcome("undefined", limit_met) if limit_met else Outcome("failed", f"refused: {error}"[:400])
        except Exception as error:  # bugs of the compiler, and messages of a C compiler
            return Outcome("failed", f"{type(error).__name__} while compiling: {error}"[:400])
        problem = _call(call, graph, expected, shaken, chosen)
        if problem and len(shaken[0]) < agreement.MANY_SHAKES:
            isolated.enter(_ORACLE)
            shaken = [_shaken(chosen, graph, run, agreement.MANY_SHAKES) for run in graph.runs]
            isolated.enter(_OURS)
            problem = _call(call, graph, expected, shaken, chosen)
        if problem:
            return Outcome("failed", f"{problem} (opt_level={level})")
    return Outcome("agree")


def _shaken(chosen: Kind, graph: Graph, run: Arrays, count: int) -> list[Arrays]:
    """Return values with noise, several times.

    If they are undefined only with noise, the whole graph is undetermined.
    """
    return [evaluate(graph, run, chosen.oracle, Noise(seed, chosen.errors, chosen.step_of)) for seed in range(count)]


def _call(call: Call, graph: Graph, expected: Sequence[Arrays], shaken: Sequence[list[Arrays]], chosen: Kind) -> str:
    calls = list(range(len(graph.runs)))
    for number, index in enumerate([*calls, 0]):
        arrays = _placed(graph.runs[index], at_end=number % 2 == 0)
        written = chosen.written(graph)
        kept = {name: array.tobytes() for name, array in arrays.items() if name not in written}
        try:
            found = call([arrays[name] for name in graph.inputs])
        except Exception as error:  # whatever a program raises here, the oracle has a result
            return f"{type(error).__name__}: {error}"[:400]
        if any(arrays[name].tobytes() != held for name, held in kept.items()):
            return "an input was written to"
        for name, actual in zip(graph.outputs, found, strict=True):
            node = next((node.op for node in graph.nodes if name in node.outputs), "an input")
            problem = agreement.difference(
                actual, expected[index][name], [each[name] for each in shaken[index]], chosen.steps
            )
            if problem:
                return f"result {name} of {node}: {problem}"
    return ""


def _placed(run: Arrays, at_end: bool) -> Arrays:
    """Place the arrays next to guard pages. An array that occurs twice stays a single array."""
    placed = {id(array): guard_pages.guarded(array, at_end) for array in run.values()}
    return {name: placed[id(array)] for name, array in run.items()}


# ---- programs that show a case ----


def array_text(array: Any) -> str:
    if array.dtype.isbuiltin == 1 and array.size <= 64 and array.dtype.kind != "f":
        return f"numpy.array({array.tolist()}, '{array.dtype.name}').reshape({array.shape})"
    dtype = f"rx.runtime.arrays.numpy_type('{array.dtype.name}')"
    return f"numpy.frombuffer(bytearray.fromhex('{array.tobytes().hex()}'), {dtype}).reshape({array.shape})"


def program(graph: Graph, making: str, problem: str, expected: Sequence[Arrays], on_target: OnTarget) -> str:
    """Return a program that compiles and calls the graph, and prints the oracle's results next to its own."""
    lines = [f"# {line}" for line in problem.splitlines()]
    lines += ["import numpy", "import relax_mlir as rx", "", making, ""]
    for level in graph.levels:
        lines.append(on_target.script.format(level=level))
        for run, values in zip(graph.runs, expected, strict=True):
            same = {id(array): name for name, array in reversed(run.items())}
            for name, array in run.items():
                lines.append(f"{name} = {array_text(array) if same[id(array)] == name else same[id(array)]}")
            lines.append(f"print(main({', '.join(on_target.argument.format(name) for name in graph.inputs)}))")
            for name in graph.outputs:
                lines.append(textwrap.indent(f"expected {name}: {values[name]!r}"[:1500], "# "))
    return "\n".join(lines) + "\n"


def _relax_script(graph: Graph, problem: str, on_target: OnTarget) -> str:
    text = str(relax_graphs.build(graph)).rstrip()
    return program(graph, f'module = rx.Module.parse("""\n{text}\n""")', problem, values_of("relax", graph), on_target)


def _relax_preload() -> None:
    check("relax", relax_graphs.draw(Random("preload")))


def _script_script(graph: Graph, problem: str, on_target: OnTarget) -> str:
    text = script_graphs.text_of(graph.nodes[0].origin)
    making = f'module = rx.Module.from_script("""\n{text}""")'
    return program(graph, making, problem, values_of("script", graph), on_target)


def _script_preload() -> None:
    check("script", script_graphs.draw(Random("preload")))


def _onnx_script(graph: Graph, problem: str, on_target: OnTarget) -> str:
    import onnx.printer

    made = onnx_drawing.model(graph)
    text = "".join(f"# {line}\n" for line in onnx.printer.to_text(made).splitlines())
    making = f"{text}module = rx.from_onnx(bytes.fromhex('{made.SerializeToString().hex()}'))"
    return program(graph, making, problem, values_of("onnx", graph), on_target)


def _onnx_preload() -> None:
    onnx_graphs.samples()
    rx.compile(onnx_drawing.build(onnx_graphs.draw(Random("preload"))), jobs=1, cache=False)


KINDS = {
    "relax": Kind(
        relax_graphs.draw,
        relax_graphs.build,
        relax_oracle.oracle,
        ErrorSizes(relax_oracle.EXACT, relax_oracle.BY_ONE, relax_oracle.BY_LARGEST),
        agreement.STEPS,
        _relax_script,
        _relax_preload,
    ),
    "onnx": Kind(
        onnx_graphs.draw,
        onnx_drawing.build,
        onnx_nodes.oracle,
        ErrorSizes(onnx_nodes.EXACT, onnx_nodes.BY_ONE, onnx_nodes.BY_LARGEST),
        agreement.ONNX_STEPS,
        _onnx_script,
        _onnx_preload,
    ),
    "script": Kind(
        script_graphs.draw,
        script_graphs.build,
        script_graphs.oracle,
        ErrorSizes(frozenset({"script"}), frozenset(), frozenset()),
        agreement.STEPS,
        _script_script,
        _script_preload,
        script_graphs.written,
    ),
}
