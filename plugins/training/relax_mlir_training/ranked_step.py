# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training step on the ranks of a mesh. Parameters and states stay with the ranks between steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import relax_mlir as rx
from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.navigation import body_of, function_type_of
from relax_mlir.dialects.relax.function_attributes import argument_names
from relax_mlir.dialects.relax.values import tensor_info
from relax_mlir.passes.graph.relax_inline import Inline

from .optimizers import RATE
from .relax_gradient import function_of

if TYPE_CHECKING:
    from numpy import ndarray

#: Axis of a mesh that divides batches.
_BATCH = "dp"


class RankedStep:
    """Step that takes and returns whole inputs and results, and the ranks' parts of parameters and states."""

    def __init__(
        self,
        training: rx.Module,
        name: str,
        states: Mapping[str, str],
        mesh: Mapping[str, int],
        specs: Mapping[str, Any],
        sums: str,
        engine: str,
        compile_module: Callable[[rx.Module], rx.runtime.Executable],
    ):
        """Divide and compile the module, and start the ranks.

        `states` has the parameters and the optimizer's states in the order of results, each with its parameter.
        """
        if not specs and _BATCH not in mesh:
            raise rx.OptionError(
                f"mesh={dict(mesh)!r} has no axis '{_BATCH}', which divides batches: add it, or specs="
            )
        Inline()(training)
        results = len(function_type_of(function_of(training.operation, name)).results)
        #: Index of the result of each parameter and state.
        self._places = {state: results - len(states) + index for index, state in enumerate(states)}
        specs = self._complete_specs(function_of(training.operation, name), states, specs, _BATCH in mesh)
        self.executable = compile_module(rx.shard(training, mesh, specs, function=name, sums=sums))
        self._ranks = rx.launch(self.executable, engine=engine)
        #: Divide an initial parameter or state, and end the ranks.
        self.divide, self.close = self._ranks.divide, self._ranks.close

    def __call__(self, **arguments: Any) -> list[Any]:
        import numpy

        if RATE in arguments and RATE not in self._places:
            arguments[RATE] = numpy.asarray(arguments[RATE], "float32")
        results = self._ranks.run_parts(**arguments)
        count = len(results) - len(self._places)
        return [*map(self._ranks.join_result, range(count), results), *results[count:]]

    def join(self, name: str, parts: Any) -> ndarray:
        """Return a whole parameter or state, not the memory of a rank."""
        whole: ndarray = self._ranks.join_result(self._places[name], parts).copy()
        return whole

    def _complete_specs(
        self, function: Operation, states: Mapping[str, str], specs: Mapping[str, Any], has_batch: bool
    ) -> dict[str, Any]:
        """Divide inputs along the batch, and states like their parameters, on the way in and out."""
        complete = dict(specs)
        for argument, value in zip(argument_names(function), body_of(function).arguments, strict=True):
            rank = len(tensor_info(value).shape or ())
            if argument in states:
                spec = complete.setdefault(argument, specs.get(states[argument], (None,) * rank))
                complete[f"result{self._places[argument]}"] = spec
            elif rank and has_batch:
                complete.setdefault(argument, (_BATCH, *(None,) * (rank - 1)))
        return complete
