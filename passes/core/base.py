# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a pass is, one method, and a frozen dataclass where it has options, which are its fields; and how it runs.

@register_pass
@dataclass(frozen=True)
class MyPass(Pass):
    \"\"\"One line that `relax-opt --help` prints.\"\"\"

    name: ClassVar[str] = "my-pass"
    threshold: int = 4                      # my-pass{threshold=8}

    def run(self, op: Any) -> None: ...
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar

from ...bindings.context import load_dialects
from ...bindings.context_lock import lock_context
from ...bindings.diagnostics import errors_as_relax_error, failure
from ...bindings.handles import erasing
from ...bindings.ir import Context, Operation
from ...bindings.mlir import ir
from ...bindings.restoring import restored_on_failure
from ...dialects.context import load_registered
from ...dialects.verification import verify_ir
from ...support.blaming import blaming
from ...support.callbacks import enters
from ...support.ending import refuse_at_end
from ...support.errors import RefusalError, RelaxError
from .external import externals_aside
from .options import format_options

#: The operation that passes and pipelines run on where nothing else is said.
USUAL_ANCHOR = "builtin.module"


@dataclasses.dataclass(frozen=True)
class Pass:
    """A pass over one operation and what is in it. One that has options is a frozen dataclass: see above."""

    #: The name in pipelines: relax-... on the graph, tir-... on tensor programs, your own prefix elsewhere.
    name: ClassVar[str] = ""
    #: The operation the pass runs on ("builtin.module", "func.func"); "any" for every one.
    anchor: ClassVar[str] = USUAL_ANCHOR
    #: Whether it looks into external modules on its own. Others do where they are addressed: external{...}(...).
    sees_externals: ClassVar[bool] = False
    #: Upstream dialects whose operations the pass creates; they are loaded before it runs.
    dependent_dialects: ClassVar[tuple[str, ...]] = ()

    def run(self, op: Any) -> None:
        """Transforms the operation in place. Raise RelaxError to fail; what is left half done is thrown away."""
        raise RelaxError(f"pass '{self.name}' has no run method")

    @enters
    def __call__(self, target: Any) -> Any:
        """Runs the pass alone, on a Module or an operation, which stays as it is where the pass fails; returns it."""
        check_anchor(self, USUAL_ANCHOR)
        with changing(target, USUAL_ANCHOR, f"pass {self.name}") as operation:
            run_pass(self, operation)
        return target

    def text(self) -> str:
        """The pass as it stands in a pipeline's text, options that differ from their defaults included."""
        return self.name + format_options(self)

    def prepare(self, context: Context) -> None:
        load_dialects(context, self.dependent_dialects)


def check_anchor(pass_: Pass, anchor: str) -> None:
    """Raises RelaxError for a pass that does not run on what a pipeline, or a group in it, runs on."""
    if pass_.anchor not in ("any", anchor) and anchor != "any":
        wanted = pass_.anchor
        raise RelaxError(f"pass '{pass_.name}' runs on {wanted}, not on {anchor}: write {wanted}({pass_.text()})")


@contextmanager
def changing(target: Any, anchor: str, by: str, *, all_or_nothing: bool = True) -> Iterator[Operation]:
    """The operation of a Module, or the one given, made ready for passes; handles of what these erase say by whom.

    What is raised inside leaves it as it was, where that is asked for.
    """
    # A module's own, which does not count as handed out.
    holder = getattr(target, "_owner", target)
    if not hasattr(holder, "operation"):
        raise RelaxError(f"passes run on a Module or an operation, got {type(target).__name__} {target!r:.60}")
    operation = holder.operation.operation
    if anchor not in ("any", operation.name):
        raise RelaxError(f"the pipeline runs on {anchor}, but it was given a {operation.name}")
    with lock_context(operation.context):
        # The passes may have come with a plug-in, after the module.
        load_registered(operation.context)
        guard = restored_on_failure(operation) if all_or_nothing else nullcontext()
        with operation.context, ir.Location.unknown(), erasing(operation, by), guard:
            yield operation


def run_pass(pass_: Pass, operation: Operation, *, verify: bool = True) -> None:
    """One pass on what `changing` gives, or on what is inside. Raises RelaxError with every diagnostic."""
    refuse_at_end(f"pass {pass_.name}")
    pass_.prepare(operation.context)
    aside = nullcontext() if pass_.sees_externals else externals_aside(operation)
    blamed = blaming(f"pass {pass_.name}", type(pass_).run, answers=(ir.MLIRError,))
    with (
        errors_as_relax_error(operation.context, f"pass {pass_.name} failed", RefusalError) as found,
        aside,
        blamed,
    ):
        pass_.run(operation)
    # An error that a pass reported without raising is still an error.
    if any(diagnostic.severity == "error" for diagnostic in found):
        raise failure(f"pass {pass_.name} failed", found, RefusalError)
    if verify:
        verify_ir(operation, f"pass {pass_.name} produced invalid IR")
