# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many weights as one parameter: a list, for those who call; in the function they stay values of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..bindings.ir import Operation
from ..support.errors import OptionError
from .core.base import Pass
from .core.registry import register_pass
from .params.signature import bundle_arguments, bundle_results, changing_copy, graph_function, input_count


@register_pass
@dataclass(frozen=True)
class BundleParams(Pass):
    """Makes one list of a function's weights, which are the parameters behind the first `inputs`.

    With `results` also of what it gives. What a function of the module calls cannot be changed so.
    """

    name: ClassVar[str] = "relax-bundle-params"

    #: How many of the first parameters stay as they are; without it those that the function's attribute counts.
    inputs: int | None = None
    #: Whose parameters go into one list.
    function: str = "main"
    #: What the list is called.
    params: str = "params"
    #: Whether its results become one list, too.
    results: bool = False

    def __post_init__(self) -> None:
        if not self.params:
            raise OptionError(f"pass '{self.name}': params must name the list")

    def run(self, op: Operation) -> None:
        what = f"pass '{self.name}'"
        function = graph_function(op, self.function, what)
        first = input_count(function, self.inputs, what)
        with changing_copy(function, what) as copy:
            bundle_arguments(copy, first, self.params, what)
            if self.results:
                bundle_results(copy, self.params, what)
