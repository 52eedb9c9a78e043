# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runners of an exported program: relax_mlir, or torch itself to measure and test the harness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from op_comparison import tensors_of
from op_gradients import NothingCompiled, compiled_steps
from torch.utils import _pytree as pytree

Run = Callable[[Sequence[torch.Tensor]], Sequence[object]]

_FIVE_MORE = "testlib::mutating_custom_op"


class Refused(Exception):
    """Raised with the first reason if the program needs an unsupported feature."""


class Peer(Protocol):
    def imported(self, program: torch.export.ExportedProgram) -> Any:
        """Import a program for `compiled`. Raise Refused if it is not supported."""

    def compiled(self, imported: Any) -> Run: ...

    def trained(self, program: torch.export.ExportedProgram, counts: Sequence[int]) -> Run:
        """Return a runner of training steps with these numbers of tensors.

        Calls raise Refused if they are not supported.
        """


class Exported:
    """Peer that runs the exported program by torch."""

    def imported(self, program: torch.export.ExportedProgram) -> Any:
        return program.module()

    def compiled(self, imported: Any) -> Run:
        return lambda tensors: tensors_of(imported(*tensors))

    def trained(self, program: torch.export.ExportedProgram, counts: Sequence[int]) -> Run:
        return compiled_steps(program, counts, "aot_eager")


class Relax:
    """Peer relax_mlir, with little optimization by LLVM: it takes a third of the time, with the same results."""

    def __init__(self) -> None:
        from relax_mlir_torch.registry import known_names
        from run_settings import optimize

        import relax_mlir

        optimize(False)
        self._rx: Any = relax_mlir
        if _FIVE_MORE not in known_names("testlib"):
            relax_mlir.register_torch(_FIVE_MORE)(_five_more)

    def imported(self, program: torch.export.ExportedProgram) -> Any:
        kinds = [each.kind.name for each in program.graph_signature.output_specs]
        # Behind these are arguments that the program changes.
        count = kinds.count("USER_OUTPUT")
        try:
            return self._rx.from_torch(program), count
        except self._rx.RelaxError as error:
            raise Refused(reason_of(str(error))) from error

    def compiled(self, imported: Any) -> Run:
        module, count = imported
        try:
            main = self._rx.compile(module)["main"]
        except self._rx.RelaxError as error:
            raise Refused(f"when compiled: {reason_of(str(error))}") from error

        def run(tensors: Sequence[torch.Tensor]) -> Sequence[object]:
            # Nested as the model's are, a list for each sample.
            leaves = pytree.tree_leaves(main(*tensors))[:count]
            # Without a tensor of torch among the arguments the results are none, either.
            return [as_tensor(each) for each in leaves]

        return run

    def trained(self, program: torch.export.ExportedProgram, counts: Sequence[int]) -> Run:
        from relax_mlir_torch.compile.torch_compile import torch_backend

        graphs: list[torch.fx.GraphModule] = []

        def backend(graph: torch.fx.GraphModule, example_inputs: Sequence[object]) -> Any:
            graphs.append(graph)
            return torch_backend(graph, example_inputs, options={"fallback": "error"})

        def run(tensors: Sequence[torch.Tensor]) -> Sequence[object]:
            try:
                results = compiled_steps(program, counts, backend)(tensors)
            except self._rx.RelaxError as error:
                raise Refused(reason_of(str(error))) from error
            if not graphs:
                raise NothingCompiled("torch.compile finds nothing to compile")
            return results

        return run


def _five_more(node: Any) -> Any:
    """Convert hop_db's custom operator, which changes both of its arguments."""
    from relax_mlir import relax

    x, y = (relax.add(node.tensor(name), relax.const(5, node.dtype)) for name in ("x", "z"))
    return [x, y, relax.add(x, y), x, y]


def as_tensor(held: Any) -> object:
    return torch.from_dlpack(held) if hasattr(held, "__dlpack__") and not isinstance(held, torch.Tensor) else held


def reason_of(message: str) -> str:
    """Return a reason in one line: for an import, the first operator that cannot be imported, and why."""
    lines = [line.strip() for line in message.splitlines() if line.strip()] or [""]
    if lines[0].endswith("cannot be imported:") and len(lines) > 2:
        cells = lines[2].split("  ")
        return f"{cells[0]}: {cells[-1].strip()}"
    return lines[0]


PEERS: dict[str, Callable[[], Peer]] = {"relax": Relax, "exported": Exported}
