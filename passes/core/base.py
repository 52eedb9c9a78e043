# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a pass is: a frozen dataclass whose fields are its options, and one method.

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
from typing import Any, ClassVar

from ...bindings.context import load_dialects
from ...support.errors import RelaxError
from .options import format_options


@dataclasses.dataclass(frozen=True)
class Pass:
    """A pass over one operation and what is in it. Subclasses are frozen dataclasses; see the module's docstring."""

    #: The name in pipelines: relax-... on the graph, tir-... on tensor programs, your own prefix elsewhere.
    name: ClassVar[str] = ""
    #: The operation the pass runs on ("builtin.module", "func.func"); "any" for every one.
    anchor: ClassVar[str] = "builtin.module"
    #: Upstream dialects whose operations the pass creates; they are loaded before it runs.
    dependent_dialects: ClassVar[tuple[str, ...]] = ()

    def run(self, op: Any) -> None:
        """Transforms the operation in place. Raise RelaxError to fail; what is left half done is thrown away."""
        raise RelaxError(f"pass '{self.name}' has no run method")

    def __call__(self, target: Any) -> Any:
        """Runs the pass alone, on a Module or an operation; returns what it was given."""
        from .pipeline import Pipeline

        Pipeline([self]).run(target)
        return target

    def text(self) -> str:
        """The pass as it stands in a pipeline's text, options that differ from their defaults included."""
        return self.name + format_options(self)

    def prepare(self, context: Any) -> None:
        load_dialects(context, self.dependent_dialects)
