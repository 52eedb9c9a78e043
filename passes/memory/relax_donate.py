# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments that a call may overwrite, because the caller needs them no more: keys and values of earlier steps.

concat(past, new) copies all of the past. It becomes a write of the new rows behind the rows of `past`, in its memory.
relax.append_pages(pages, ...) copies all pages. It becomes a write to the caller's pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar

from ...bindings.ir import Operation
from ...bindings.navigation import body_of
from ...dialects.relax.function_attributes import argument_names
from ...support.errors import OptionError
from ...support.suggest import suggest
from ..core.base import Pass
from ..core.registry import register_pass
from ..graph.params.signature import changing_copy, graph_function
from .donate.growing_rows import donations_of
from .donate.pages import is_updated, page_updates_of, update_in_place
from .donate.rewrite import write_in_place


@register_pass
@dataclass(frozen=True)
class Donate(Pass):
    """Append to arguments in place instead of by concat. Each argument becomes a buffer with room behind its rows.

    `args` are names, or patterns of names like past*. A new argument behind the arguments, a tensor [length, 0], tells
    the number of rows. The concatenated tensor is in the buffer, and no result any more. An argument that
    relax.append_pages or relax.append_pages_quantized updates is overwritten, and its update is no result any more.
    """

    name: ClassVar[str] = "relax-donate"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "scf")

    #: Parameters, by name or by pattern (past*). Results are written to their memory.
    args: tuple[str, ...] = ()
    #: Function with the parameters.
    function: str = "main"

    def run(self, op: Operation) -> None:
        what = f"pass '{self.name}'"
        function = graph_function(op, self.function, what)
        places = self._places(what, argument_names(function))
        with changing_copy(function, what) as copy:
            arguments = list(body_of(copy).arguments)
            paged = [place for place in places if is_updated(arguments[place])]
            update_in_place(op, copy, page_updates_of(copy, paged, what))
            write_in_place(op, copy, donations_of(copy, [place for place in places if place not in paged], what))

    def _places(self, what: str, names: Sequence[str]) -> list[int]:
        """Return the positions of the arguments. Raises RelaxError for a pattern that matches none."""
        for pattern in self.args:
            if not any(fnmatchcase(name, pattern) for name in names):
                known = f"it has {', '.join(names) or 'none'}"
                raise OptionError(
                    f"{what}: @{self.function} has no argument '{pattern}'; {known}{suggest(pattern, names)}"
                )
        return [place for place, name in enumerate(names) if any(fnmatchcase(name, arg) for arg in self.args)]
