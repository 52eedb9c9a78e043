# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One list parameter instead of many weights. Inside the function the weights stay separate values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...bindings.ir import Operation
from ...support.errors import OptionError
from ..core.base import Pass
from ..core.registry import register_pass
from .params.signature import bundle_arguments, bundle_results, changing_copy, graph_function, input_count


@register_pass
@dataclass(frozen=True)
class BundleParams(Pass):
    """Pack a function's weights, the parameters after the first `inputs`, into one list.

    With `results` the results become one list, too. A function that other functions of the module call cannot be
    changed.
    """

    name: ClassVar[str] = "relax-bundle-params"

    #: Number of leading parameters that stay. Default: the count in the function's attribute.
    inputs: int | None = None
    #: Function with the parameters.
    function: str = "main"
    #: Name of the list.
    params: str = "params"
    #: Pack the results into one list, too.
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
