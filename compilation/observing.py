# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with observable values: the actual and the expected result of each kernel and part.

The program gets functions that return these values (relax-observe). It also gets definitions: the model, and the graph
at the time when kernels and parts are made, with their bodies. Both definitions are interpreted on inspection.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from ..bindings.ir import Module as MlirModule
from ..bindings.ir import Operation
from ..bindings.mlir import ir
from ..bindings.navigation import body_of, function_type_of, functions_in, operations_in, operations_of, symbol_name
from ..bindings.rewriting import replace_op
from ..dialects.core.ir_attributes import EXTERNAL_MODS
from ..frontends.module import Module
from ..passes.core.base import Pass
from ..passes.core.external import external_modules
from ..passes.core.stages import Stage, Stages
from ..passes.graph.relax_observe import Observe
from ..passes.graph.relax_run_codegen import CALL, RunCodegen
from ..runtime.artifact import Artifact
from ..support.errors import ModelError, RelaxError

#: Names of the definition modules.
MODEL, LOWERED = "model", "lowered"


def of_graph_and_kernels(stages: Stages) -> tuple[Stages, Stages]:
    """Split the stages after the last one that creates kernels and parts in the graph."""
    last = stages.names.index("fuse" if "fuse" in stages.names else "legalize") + 1
    return replace(stages, stages=stages.stages[:last]), replace(stages, stages=stages.stages[last:])


class Observation:
    """State of one compilation for an observable program."""

    def __init__(self) -> None:
        self._held: MlirModule | None = None
        self._parts: dict[str, Operation] = {}

    def stages(self, stages: Stages) -> Stages:
        """Add stages that keep the definitions and add the observing functions."""
        of_graph, of_kernels = of_graph_and_kernels(stages)
        model = Stage("model", (_Told(lambda op: self._keep(op, MODEL)),))
        kept = (replace(stage, passes=self._watch(stage)) for stage in of_graph.stages)
        observe = Stage("observe", (_Told(self._keep_lowered), Observe()))
        return replace(stages, stages=(model, *kept, observe, *of_kernels.stages))

    def added(self, artifact: Artifact) -> Artifact:
        """Return the program with the definitions attached."""
        assert self._held is not None
        return replace(artifact, definitions=memoryview(Module.of(self._held.operation).bytecode()))

    def _watch(self, stage: Stage) -> tuple[str | Pass, ...]:
        passes: list[str | Pass] = []
        for pass_ in stage.passes:
            if RunCodegen.name in (pass_.name if isinstance(pass_, Pass) else pass_):
                passes.append(_Told(self._keep_parts))
            passes.append(pass_)
        return tuple(passes)

    def _keep(self, op: Operation, name: str) -> Operation:
        with op.context, op.location:
            if self._held is None:
                self._held = ir.Module.create()
            copied: Operation = op.clone(ip=ir.InsertionPoint(self._held.body)).operation
            copied.attributes["sym_name"] = ir.StringAttr.get(name)
        return copied

    def _keep_parts(self, op: Operation) -> None:
        """Keep the parts before codegens replace them by code."""
        for module in external_modules(op):
            self._parts[symbol_name(module)] = self._keep(module, symbol_name(module))

    def _keep_lowered(self, op: Operation) -> None:
        lowered = self._keep(op, LOWERED)
        if EXTERNAL_MODS in lowered.attributes:
            del lowered.attributes[EXTERNAL_MODS]
        functions = {
            f"{name}.{symbol_name(function)}": function
            for name, module in self._parts.items()
            for function in functions_in(module)
        }
        with lowered.context:
            for module in self._parts.values():
                module.detach_from_parent()
                ir.InsertionPoint.at_block_begin(body_of(lowered)).insert(module)
            for call in operations_in(lowered):
                if call.name == "relax.call_dps_packed" and call.attributes["func"].value in functions:
                    _call_part(call, functions[call.attributes["func"].value])


class _Told(Pass):
    """Pass that calls a function with the module and changes nothing."""

    name: ClassVar[str] = "relax-tell"
    sees_externals: ClassVar[bool] = True

    def __init__(self, tell: Callable[[Operation], object]) -> None:
        self._tell = tell

    def run(self, op: Operation) -> None:
        self._tell(op)


def _call_part(call: Operation, function: Operation) -> None:
    """Replace the call of a part's code by a call of its function, without additional arguments of the code."""
    names = [symbol_name(function.parent.operation), symbol_name(function)]
    with call.location, ir.InsertionPoint(call):
        made = ir.Operation.create(
            CALL, results=list(call.results.types), attributes={"func": ir.SymbolRefAttr.get(names)},
            operands=list(call.operands)[: len(function_type_of(function).inputs)],
        )  # fmt: skip
    replace_op(call, made.results)


def definitions_of(data: bytes, name: str) -> dict[str, Operation]:
    """Return the definition modules of a program by name. Raise ModelError if they cannot be read."""
    try:
        held = Module.parse(data, name)
    except RelaxError as error:
        reason = f"what {name} was made of cannot be read: {error.message}"
        raise ModelError(reason, notes=["--load-plugin=<module> registers operators of one's own"]) from None
    return {symbol_name(operation): operation for operation in operations_of(held.body)}
