# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tasks of a search: the distinct kernels of a module, each as a module of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import relax_mlir as rx
from relax_mlir.bindings.navigation import body_of, functions_in, symbol_name
from relax_mlir.compilation.schedules import until_rules
from relax_mlir.dialects.core.codec import decode
from relax_mlir.passes.kernels.schedule.constant_arguments import callers_in
from relax_mlir.passes.kernels.schedule.tuned_plans import kernel_key

from .kernel_module import module_of_kernel


@dataclass(frozen=True)
class Task:
    """Kernel with its calls, and a module that calls it once."""

    name: str
    key: str
    #: The kernel before the target's rules choose plans, and @main, which passes arguments and constants of a call.
    module: rx.Module
    #: Types of the kernel's parameters.
    types: tuple[str, ...]
    #: Number of calls in the program.
    calls: int

    def unknown_sizes(self, sizes: Mapping[str, int]) -> list[str]:
        """Return the sizes of arguments that have no value."""
        shapes = [input_.shape or () for input_ in inputs_of(self.module)]
        named = [str(size) for shape in shapes for size in shape if not isinstance(size, int)]
        return [name for name in dict.fromkeys(named) if name not in sizes]


def inputs_of(module: rx.Module) -> list[rx.TensorInfo]:
    """Return the arguments of @main."""
    main = next(function for function in functions_in(module.operation) if symbol_name(function) == "main")
    infos = [decode(argument.type) for argument in body_of(main).arguments]
    return [info for info in infos if isinstance(info, rx.TensorInfo)]


def tasks_of(
    module: rx.Module,
    target: str,
    bind: Mapping[str, int] | None = None,
    precision: str = "f32",
    stages: rx.Stages | None = None,
) -> list[Task]:
    """Return the kernels of a module by the stages, or by the target's own. Equal kernels are one task."""
    pipeline = until_rules(rx.stages(target) if stages is None else stages)
    lowered = rx.lower(module, target, pipeline=pipeline, bind=bind, precision=precision)
    tasks: dict[str, Task] = {}
    for name, callers in callers_in(lowered.operation).items():
        function, calls = callers.function, callers.calls
        if not calls:
            continue
        key, count = kernel_key(function), len(calls)
        if key in tasks:
            known = tasks[key]
            tasks[key] = Task(known.name, key, known.module, known.types, known.calls + count)
            continue
        types = tuple(str(input_) for input_ in function.attributes["function_type"].value.inputs)
        tasks[key] = Task(name, key, module_of_kernel(function, calls[0]), types, count)
    return list(tasks.values())
