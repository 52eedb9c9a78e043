# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search for the smallest cause of a wrong result: a part, a pass, or the machine code of a kernel.

The search compares the results of the whole program first. Then the results of each kernel (each.py) show where the
program goes wrong. For a rewrite, the module is interpreted after each pass, and the first pass that changes the result
is the cause. A kernel that is wrong by itself is lowered separately, pass by pass. If all passes are right, its machine
code is wrong. A part of a codegen is a black box. Each matched pattern becomes a part of its own, and the wrong one is
the cause. If all are right separately, the whole part is the cause. If the program is wrong but no kernel is, the
reference runs the whole program after each stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from relax_mlir import Partition
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import functions_in, is_private, operations_in, symbol_name
from relax_mlir.codegens import RunCodegen
from relax_mlir.compilation.compiling import compile
from relax_mlir.compilation.observing import of_graph_and_kernels
from relax_mlir.compilation.options import CompileOptions
from relax_mlir.frontends.module import Module
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.external import external_modules, is_external
from relax_mlir.passes.core.pipeline import Pipeline
from relax_mlir.passes.core.stages import Stage, Stages
from relax_mlir.passes.graph.relax_observe import leave_alone
from relax_mlir.support.errors import OptionError, RelaxError, VerificationError
from relax_mlir.targets.core.evaluation import passes_at

from ..interpreter.reference import HostFunction, reference
from .each import ACCUMULATED, REWRITTEN, Observed, compared, first_wrong, is_far, observed
from .program_values import flat_results, passed_argument
from .verdicts import error_of

if TYPE_CHECKING:
    from relax_mlir.passes.graph.partition_stages import Wanted

#: Results of a call, or the error that it raises.
Outcome = list[Any] | Exception
#: Callback for progress texts.
Say = Callable[[str], None]


#: Kind of a culprit that is known to be wrong only as a whole.
PROGRAM = "program"


class Culprit(NamedTuple):
    """Cause of a wrong result. `kind` is "part", "pass", "code" or "program"."""

    kind: str
    #: The part with its codegen, the pass with its stage, or the kernel.
    name: str
    nodes: tuple[str, ...]
    operators: tuple[str, ...]
    #: Largest absolute error.
    error: float
    #: Reproducer: "main" of `module` called with `inputs` should return `expected`.
    module: Module | None
    inputs: tuple[Any, ...]
    expected: tuple[Any, ...]
    #: Error message instead of a wrong result, or further facts.
    reason: str = ""

    def __str__(self) -> str:
        nodes = ", ".join(self.nodes)
        of = f" of {' + '.join(self.operators)}" if self.operators else ""
        off = "" if numpy.isnan(self.error) else f"off by {self.error:.3g}"
        found = "; ".join(name for name in (off, self.reason) if name)
        return f"{self.kind} {self.name}{of}{f' ({nodes})' if nodes else ''}: {found}"


def bisect(
    module: Module,
    arguments: Sequence[object],
    *,
    target: str = "llvm",
    partition: Wanted = (),
    tolerance: float | None = None,
    say: Say = lambda text: None,
) -> Culprit | None:
    """Find the cause of a wrong result of "main" for these arguments. Return None if nothing is wrong."""
    options = CompileOptions(target, partition=partition)
    with passes_at(options.opt_level, options.code()):
        return _bisect(module, arguments, target, partition, tolerance, say)


def _bisect(
    module: Module, arguments: Sequence[object], target: str, partition: Wanted, tolerance: float | None, say: Say
) -> Culprit | None:
    search = _Bisection(module, arguments, target, partition, tolerance, say)
    say("the whole program")
    whole = search.whole()
    say("what each kernel and part gives")
    try:
        wrong = search.first_wrong()
    except RelaxError:
        if whole is None:
            raise
        wrong = None  # the program fails, so that it shows no values
    if wrong is None:
        return None if whole is None else search.stages(whole)
    if partition and "::" in wrong.name and not _is_separate(partition):
        say("parts of one pattern each")
        apart = _Bisection(module, arguments, target, _apart(partition), tolerance, say)
        if (smaller := apart.first_wrong()) is not None:
            search, wrong = apart, smaller
    if wrong.problem == REWRITTEN and (found := search.rewrite(wrong)) is not None:
        return found
    if wrong.problem == ACCUMULATED:
        return Culprit("code", wrong.name, wrong.nodes, wrong.operators, wrong.accumulated.absolute, module, (), ())
    return search.kernel(wrong)


def _is_separate(partition: Wanted) -> bool:
    return isinstance(partition, Partition) and partition.separate


def _apart(partition: Wanted) -> Partition:
    if isinstance(partition, Partition):
        return replace(partition, separate=True)
    names = partition.split(",") if isinstance(partition, str) else tuple(partition)
    return Partition(codegens=tuple(names), separate=True)


class _Bisection:
    def __init__(
        self,
        module: Module,
        arguments: Sequence[object],
        target: str,
        partition: Wanted,
        tolerance: float | None,
        say: Say,
    ) -> None:
        self._module, self._arguments, self._tolerance, self._say = module, list(arguments), tolerance, say
        self._all = CompileOptions(target, partition=partition).stages()
        self._of_graph, self._of_kernels = of_graph_and_kernels(self._all)
        self._target, self._partition = target, partition

    def first_wrong(self) -> Observed | None:
        self._values = observed(self._module, self._arguments, target=self._target, partition=self._partition)
        return first_wrong(list(compared(self._values, self._values.of_model(), self._tolerance)))

    def whole(self) -> Culprit | None:
        """Compare the program, compiled without observation, with the reference."""
        self._expected = _arrays(reference(self._module)["main"](*map(passed_argument, self._arguments)))
        try:
            program = compile(self._module, self._target, partition=self._partition, cache=False)
        except VerificationError as error:  # a pass made a wrong program
            inputs, expected = tuple(self._arguments), tuple(self._expected)
            return Culprit(PROGRAM, "as a whole", (), (), numpy.nan, self._module, inputs, expected, error.message)
        if "main" not in program:
            raise OptionError("the module has no function 'main'")
        if isinstance(runtime_error := _outcome(HostFunction(program, "main"), self._arguments), RelaxError):
            runtime_error = RuntimeError(runtime_error.message)
        return self._culprit(PROGRAM, "as a whole", runtime_error, self._module)

    def stages(self, whole: Culprit) -> Culprit:
        """Return the first pass after which the whole program is wrong, or its code, or the program as a whole."""
        current, before = self._module.copy(), self._module.copy()
        last, reason = "", ""
        for stage in self._all:
            self._say(f"stage {stage.name}")
            try:
                for _, run in _passes(replace(self._all, stages=(stage,))):
                    run(current)
            except RelaxError as error:
                reason = f"stage {stage.name} cannot be run separately: {error.message}"
                break
            if isinstance(found := _interpret(current, self._arguments), RelaxError):
                reason = f"the reference cannot run stage {stage.name}: {found.message}"
            elif self._is_wrong(found):
                return self._pass_of(stage, before) or self._culprit("stage", stage.name, found, before) or whole
            else:
                last, reason, before = stage.name, "", current.copy()
        if not reason:
            text = "the reference runs all stages right, so the fault is in the code that LLVM made of them"
            return whole._replace(kind="code", name="of the whole program", reason=text)
        tried = f"no kernel or part alone differs, and the stages up to {last or 'the first'} are right"
        hint = "compare other targets and -O levels, or shrink the program by relax-reduce"
        return whole._replace(reason=f"{tried}; {reason}; {hint}")

    def _pass_of(self, stage: Stage, before: Module) -> Culprit | None:
        """Return the first pass of a stage after which the whole program is wrong."""
        current = before.copy()
        for name, run in _passes(replace(self._all, stages=(stage,))):
            self._say(name)
            kept = current.copy()
            run(current)
            if (culprit := self._culprit("pass", name, _interpret(current, self._arguments), kept)) is not None:
                return culprit
        return None

    def _culprit(self, kind: str, name: str, outcome: Outcome, module: Module) -> Culprit | None:
        """Return the culprit with these results, or None if they are right or unknown."""
        if not self._is_wrong(outcome):
            return None
        inputs, expected = tuple(self._arguments), tuple(self._expected)
        if isinstance(outcome, Exception):
            return Culprit(kind, name, (), (), numpy.nan, module, inputs, expected, _text(outcome))
        return Culprit(kind, name, (), (), _distance(outcome, self._expected), module, inputs, expected)

    def _is_wrong(self, outcome: Outcome) -> bool:
        if isinstance(outcome, Exception):
            return not isinstance(outcome, RelaxError)
        return self._is_far(outcome, self._expected)

    def rewrite(self, wrong: Observed) -> Culprit | None:
        """Return the pass after which the graph gives another result."""
        current = self._module.copy()
        for name, run in _passes(self._of_graph):
            self._say(name)
            before = current.copy()
            run(current)
            culprit = self._culprit("pass", name, _interpret(current, self._arguments), before)
            if culprit is not None:
                return culprit._replace(nodes=wrong.nodes, operators=wrong.operators)
        return None

    def kernel(self, wrong: Observed) -> Culprit:
        """Return the pass that makes a kernel wrong, or its machine code. A part is reported as a whole."""
        error = wrong.isolated.absolute if wrong.isolated is not None else wrong.accumulated.absolute
        part, is_part, _ = wrong.name.partition("::")
        lowered, inputs, expected = self._alone(wrong)
        if is_part:
            return Culprit("part", part, wrong.nodes, wrong.operators, error, lowered, inputs, expected)
        current = lowered.copy()
        for name, run in _passes(self._of_kernels):
            self._say(name)
            try:
                run(current)
            except RelaxError:
                break
            if isinstance(found := _interpret(current, inputs), RelaxError):
                continue  # a stage is incomplete, or the module is code of a device
            if isinstance(found, Exception) or self._is_far(found, expected):
                reason = _text(found) if isinstance(found, Exception) else ""
                return Culprit("pass", name, wrong.nodes, wrong.operators, error, lowered, inputs, expected, reason)
        return Culprit("code", wrong.name, wrong.nodes, wrong.operators, error, lowered, inputs, expected)

    def _alone(self, wrong: Observed) -> tuple[Module, tuple[Any, ...], tuple[Any, ...]]:
        """Return a kernel or part as a module, its inputs and expected results.

        Return the whole module if necessary.
        """
        lowered = Module.of(self._values.lowered)
        for function in list(functions_in(lowered.operation)):
            if symbol_name(function) != "main" and not is_private(function):
                function.erase()
        (main,) = (each for each in functions_in(lowered.operation) if symbol_name(each) == "main")
        with lowered.context:
            if not leave_alone(main, wrong.place):
                return self._module, tuple(self._arguments), ()
        Pipeline("symbol-dce").run(lowered)
        _erase_uncalled_parts(lowered)
        return lowered, wrong.inputs, wrong.expected

    def _is_far(self, found: Sequence[Any], expected: Sequence[Any]) -> bool:
        return is_far(found, expected, self._tolerance)


def _erase_uncalled_parts(module: Module) -> None:
    """Erase external modules without calls. symbol-dce keeps them because their symbols are public."""
    called = {
        ir.SymbolRefAttr(op.attributes["func"]).value[0]
        for op in operations_in(module.operation, is_external)
        if op.name == "relax.call_external"
    }
    for part in external_modules(module.operation):
        if symbol_name(part) not in called:
            part.erase()


def _passes(stages: Stages) -> Iterator[tuple[str, Callable[[Module], None]]]:
    """Yield each pass with its stage's name, without passes that compile parts."""
    for stage in stages:
        for each_pass in stage.passes:
            if isinstance(each_pass, RunCodegen):
                continue
            alone = replace(stage, passes=(each_pass,), verify="end")
            name = each_pass.name if isinstance(each_pass, Pass) else each_pass.partition("{")[0]
            run = partial(alone.run, target=stages.target.partition("{")[0])
            yield f"{name} (stage {stage.name})", run


def _interpret(module: Module, arguments: Sequence[object]) -> Outcome:
    """Return the results, or an error. RelaxError means that the reference cannot run the module."""
    try:
        function = reference(module)["main"]
    except RelaxError as error:
        return error
    return _outcome(function, arguments)


def _outcome(function: Callable[..., Any], arguments: Sequence[object]) -> Outcome:
    try:
        return _arrays(function(*map(passed_argument, arguments)))
    except Exception as error:  # programs and functions that they call may raise anything
        return error


def _arrays(results: Any) -> list[Any]:
    return [result if hasattr(result, "dtype") else numpy.asarray(result) for result in flat_results(results)]


def _text(error: Exception) -> str:
    return f"it raises {type(error).__name__}: {' '.join(str(error).split())}"


def _distance(found: Sequence[Any], expected: Sequence[Any]) -> float:
    return error_of(list(found), list(expected)).absolute
