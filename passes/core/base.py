# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Base class of passes.

A pass has one method; a pass with options is a frozen dataclass with a field per option.

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
from ...dialects.verification import verify_ended, verify_ir
from ...support.blaming import blaming
from ...support.callbacks import enters
from ...support.ending import refuse_at_end
from ...support.errors import RefusalError, RelaxError
from .external import externals_aside
from .options import format_options

#: Default anchor of passes and pipelines.
USUAL_ANCHOR = "builtin.module"


@dataclasses.dataclass(frozen=True)
class Pass:
    """Pass over an operation and its contents. A pass with options is a frozen dataclass: see above."""

    #: Name in pipelines: relax-... on the graph, tir-... on tensor programs, your own prefix elsewhere.
    name: ClassVar[str] = ""
    #: Operation the pass runs on ("builtin.module", "func.func"), or "any".
    anchor: ClassVar[str] = USUAL_ANCHOR
    #: True for passes that look into external modules. Other passes do so only if addressed: external{...}(...).
    sees_externals: ClassVar[bool] = False
    #: Upstream dialects whose operations the pass creates. They are loaded before it runs.
    dependent_dialects: ClassVar[tuple[str, ...]] = ()

    def run(self, op: Any) -> None:
        """Transform the operation in place. Raise RelaxError to fail; the partly transformed operation is discarded."""
        raise RelaxError(f"pass '{self.name}' has no run method")

    @enters
    def __call__(self, target: Any) -> Any:
        """Run the pass alone on a Module or an operation, and return the target. A failing pass leaves it unchanged."""
        check_anchor(self, USUAL_ANCHOR)
        with changing(target, USUAL_ANCHOR, f"pass {self.name}") as operation:
            run_pass(self, operation)
        return target

    def text(self) -> str:
        """Return the pass as pipeline text, with all options that differ from their defaults."""
        return self.name + format_options(self)

    def prepare(self, context: Context) -> None:
        load_dialects(context, self.dependent_dialects)


def check_anchor(pass_: Pass, anchor: str) -> None:
    """Raise RelaxError if a pass cannot run on the anchor of a pipeline or a group."""
    if pass_.anchor not in ("any", anchor) and anchor != "any":
        wanted = pass_.anchor
        raise RelaxError(f"pass '{pass_.name}' runs on {wanted}, not on {anchor}: write {wanted}({pass_.text()})")


@contextmanager
def changing(target: Any, anchor: str, by: str, *, all_or_nothing: bool = True) -> Iterator[Operation]:
    """Prepare a Module or an operation for passes, and yield the operation.

    Handles of operations that the passes erase report the name `by`. With `all_or_nothing`, an exception restores the
    original operation.
    """
    # Use the module's internal owner, which does not count as a user's handle.
    holder = getattr(target, "_owner", target)
    if not hasattr(holder, "operation"):
        raise RelaxError(f"passes run on a Module or an operation, got {type(target).__name__} {target!r:.60}")
    operation = holder.operation.operation
    if anchor not in ("any", operation.name):
        raise RelaxError(f"the pipeline runs on {anchor}, but it was given a {operation.name}")
    with lock_context(operation.context):
        # The passes may belong to a plug-in that was loaded after the module.
        load_registered(operation.context)
        guard = restored_on_failure(operation) if all_or_nothing else nullcontext()
        with operation.context, ir.Location.unknown(), erasing(operation, by), guard:
            yield operation


def run_pass(pass_: Pass, operation: Operation, *, verify: bool = True) -> None:
    """Run a pass on an operation from `changing`, or on a nested operation. Raise RelaxError with all diagnostics."""
    refuse_at_end(f"pass {pass_.name}")
    pass_.prepare(operation.context)
    aside = nullcontext() if pass_.sees_externals else externals_aside(operation)
    blamed = blaming(f"pass {pass_.name}", type(pass_).run, answers=(ir.MLIRError,))
    with errors_as_relax_error(operation.context, f"pass {pass_.name} failed", RefusalError) as found, aside, blamed:
        pass_.run(operation)
    # An error diagnostic counts as a failure even if the pass has not raised.
    if any(diagnostic.severity == "error" for diagnostic in found):
        raise failure(f"pass {pass_.name} failed", found, RefusalError)
    if verify:
        verify_ir(operation, f"pass {pass_.name} produced invalid IR")
    verify_ended(operation, pass_.name, everywhere=verify)
