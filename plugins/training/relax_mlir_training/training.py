# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training of modules: gradients, training steps, and a trainer that runs steps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, function_type_of, has_body
from relax_mlir.compilation.compiling import compile
from relax_mlir.dialects.relax.function_attributes import argument_names
from relax_mlir.frontends.module import Module
from relax_mlir.passes.core.base import changing
from relax_mlir.passes.graph.relax_unbind_params import UnbindParams
from relax_mlir.runtime import to_numpy
from relax_mlir.support.argument_types import types_checked
from relax_mlir.support.callbacks import enters
from relax_mlir.support.errors import OptionError, RelaxError
from relax_mlir.support.suggest import counted, suggest

from .gradient.scf_derivatives import Options
from .optimizers import COUNT, RATE, Optimizer
from .relax_gradient import Gradient, function_of
from .step import add_step

if TYPE_CHECKING:
    from .ranked_step import RankedStep


@types_checked
def grad(
    module: Module, function: str = "main", wrt: Sequence[str] = (), *, target_index: int = 0, checkpoint_every: int = 1
) -> Module:
    """Add @f_adjoint to a module, which returns the results of @f and the gradients of one scalar result.

    `wrt` names the parameters, by default all tensors of floats. `target_index` is the index of the scalar result. A
    loop saves the state at the start of every `checkpoint_every`-th iteration, and rematerializes the others.
    """
    Gradient(function, _names(wrt), target_index, checkpoint_every)(module)
    return module


@types_checked
def append_loss(
    module: Module, loss: Callable[..., Any], targets: Mapping[str, Any], function: str = "main", *, name: str = ""
) -> str:
    """Add @f_loss to a module, which takes @f's arguments and targets, and returns `loss(*results of @f, *targets)`.

        >>> def loss(scores, labels):
        ...     return relax.nn.nll_loss(relax.nn.log_softmax(scores, axis=1), labels)
        >>> rx.append_loss(model, loss, {"labels": rx.tensor(("n",), "int64")})

    Targets are types by name, as in Module.function. `name` replaces the default name. Returns the new function's
    name. Raises RelaxError for a function without a body, and for a target named like a parameter.
    """
    model, name = function_of(module.operation, function), name or f"{function}_loss"
    if not has_body(model):
        raise RelaxError(f"@{function} has no body, so the names of its parameters are unknown")
    arguments = body_of(model).arguments
    inputs: dict[str, object] = dict(zip(argument_names(model), (argument.type for argument in arguments), strict=True))
    for target in targets:
        if target in inputs:
            raise RelaxError(f"@{function} has a parameter '{target}': targets need names of their own")
    types = list(function_type_of(model).results)
    taken: dict[str, object] = {**inputs, **targets}
    with module.function(name, taken) as made:
        args = made.args
        call = ir.Operation.create(
            "func.call",
            attributes={"callee": ir.FlatSymbolRefAttr.get(function)},
            operands=args[: len(inputs)],
            results=types,
        )
        pairs = zip(call.results, types, strict=True)
        results = [module.handles.result(value, type_, call.name) for value, type_ in pairs]
        made.returns(loss(*results, *args[len(inputs) :]))
    return name


@types_checked
def unbind_params(module: Module, function: str = "main", weights: Sequence[str] = ()) -> dict[str, Any]:
    """Turn a function's constants, such as a model's weights, into parameters.

    Return them as NumPy arrays by name.

    `weights` are names or patterns (`*.weight`). The default is all f16, f32 and f64 constants with axes and more than
    one element. `BindParams(arrays=...)` turns the parameters into constants again.
    """
    pass_ = UnbindParams(function=function, weights=_names(weights))
    with changing(module, pass_.anchor, f"pass {pass_.name}") as operation:
        pass_.prepare(operation.context)
        return pass_.unbind(operation)


@types_checked
@enters
def add_training_step(
    module: Module,
    function: str,
    optimizer: Optimizer,
    wrt: Sequence[str] = (),
    *,
    target_index: int = 0,
    checkpoint_every: int = 1,
) -> str:
    """Add @f_step, which takes @f's arguments and optimizer states, and returns @f's results, new parameters and
    states.

    `grad` describes the other arguments. Returns the new function's name.
    """
    pass_ = Gradient(function, _names(wrt), target_index, checkpoint_every)
    with changing(module, pass_.anchor, "add_training_step") as operation:
        pass_.prepare(operation.context)
        options = Options(checkpoint_every, replaces_loops=True)
        training_step = add_step(
            operation, function_of(operation, function), optimizer, pass_.wrt, target_index, options
        )
    module.verify()
    return training_step


def _names(wrt: Sequence[str]) -> tuple[str, ...]:
    return (wrt,) if isinstance(wrt, str) else tuple(wrt)


class Trainer:
    """Training loop state: the compiled step, the parameters and the optimizer's states.

        >>> trainer = rx.Trainer(module, "loss", rx.optim.Adam(lr=1e-3), {"w": w, "b": b})
        >>> for pictures, labels in batches:
        ...     loss = trainer.step(pictures, labels)

    The program is compiled once, for all sizes.
    """

    @types_checked
    def __init__(
        self,
        module: Module,
        function: str,
        optimizer: Optimizer,
        parameters: Mapping[str, Any],
        *,
        target: str = "llvm",
        checkpoint_every: int = 1,
        mesh: Mapping[str, int] | None = None,
        specs: Mapping[str, Any] | None = None,
        sums: str = "same",
        engine: str = "",
        **compiling: Any,
    ):
        """Compile the training step.

        `parameters` are the trained parameters by name, and `compiling` has rx.compile's options. `mesh` has a number
        of ranks by axis. Its axis "dp" divides the first dimension of each input. `specs`, `sums` and `engine` are
        options of rx.shard and rx.launch. A state is divided like its parameter. With sums="same" steps have the bits
        of one process. With processes, all make the same calls, `parameters` too.
        """
        import numpy

        if not parameters:
            raise RelaxError("a trainer needs a parameter to train, got none")
        arrays = {name: numpy.array(array) for name, array in parameters.items()}
        training = module.copy()
        name = add_training_step(training, function, optimizer, list(arrays), checkpoint_every=checkpoint_every)
        kinds = [(kind, array) for kind in optimizer.STATES for array in arrays]
        counts = {COUNT: numpy.zeros((), "int64")} if optimizer.COUNTS else {}
        self._parameters = list(arrays)
        self._held: dict[str, Any] = {**arrays, **counts}
        self._held.update({f"{each}_{kind}": numpy.zeros_like(arrays[each]) for kind, each in kinds})
        self._ranks: RankedStep | None = None
        if mesh is not None:
            from .ranked_step import RankedStep

            like = {**{state: state for state in self._held}, **{f"{each}_{kind}": each for kind, each in kinds}}
            self._ranks = RankedStep(
                training, name, like, mesh, specs or {}, sums, engine, partial(compile, target=target, **compiling)
            )
            self._held = {state: self._ranks.divide(state, array) for state, array in self._held.items()}
        elif specs or engine or sums != "same":
            raise OptionError(
                "specs, sums and engine are for a trainer on several ranks: pass mesh=, such as {'dp': 2}"
            )
        #: Program with the module's functions and the step; on several ranks that of a rank.
        self.executable = self._ranks.executable if self._ranks else compile(training, target, **compiling)
        self._step: Callable[..., Any] = self._ranks or self.executable[name]
        self._takes_rate = optimizer.lr is None
        names = [each["name"] for each in self.executable.signature(name)["inputs"]]
        self._inputs = [each for each in names if each not in self._held and each != RATE]
        # Each step reads the state that the one before it has written, also in other threads.
        self._stepping = threading.Lock()

    def __repr__(self) -> str:
        return f"<trainer of {', '.join(self._parameters)}>"

    def step(self, *inputs: object, lr: float | None = None, **named: object) -> Any:
        """Run a step, and return the function's result or a tuple of results, as computed before the parameters change.

        Inputs that are not trained are passed by position or name. `lr` is required if the optimizer has no rate.
        Steps of several threads run one after the other.
        """
        if (lr is not None) != self._takes_rate:
            raise OptionError("step takes lr where the optimizer has no rate of its own, and only there")
        if len(inputs) > len(self._inputs):
            raise OptionError(f"step takes {', '.join(self._inputs) or 'nothing'}, got {counted(len(inputs), 'input')}")
        named = {**dict(zip(self._inputs, inputs, strict=False)), **named}
        for name in named:
            if name not in self._inputs:
                raise OptionError(f"step has no input '{name}'{suggest(name, self._inputs)}")
        rate = {RATE: lr} if self._takes_rate else {}
        with self._stepping:
            results = self._step(**self._held, **named, **rate)
            count = len(results) - len(self._held)
            states = results[count:] if self._ranks else map(to_numpy, results[count:])
            self._held = dict(zip(self._held, states, strict=True))
        return results[0] if count == 1 else tuple(results[:count])

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the current parameters as NumPy arrays."""
        join = self._ranks.join if self._ranks else lambda _, array: array
        with self._stepping:
            return {name: join(name, self._held[name]) for name in self._parameters}

    def close(self) -> None:
        """End the ranks."""
        if self._ranks:
            self._ranks.close()
