# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Specialization of symbolic sizes: a number in place of a symbol, or the range of its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...dialects.core.ir_attributes import SYMBOL_RANGES
from ...dialects.core.size_bounds import SymbolRange, symbol_limits, symbol_ranges
from ...dialects.core.substitute import symbols_in
from ...support.errors import OptionError
from ...support.suggest import suggest
from ..core.base import Pass
from ..core.registry import register_pass
from .params.signature import bind_sizes, changing_copy, graph_function

_SHAPE_HINT = "a size can become symbolic when a model is read: relax-compile --shape <input>:n,3,224,224"


@register_pass
@dataclass(frozen=True)
class BindSymbolicVars(Pass):
    """Replace symbolic sizes by numbers, `vars=n:8`, or set the range of their values, `vars=n:1..64`."""

    name: ClassVar[str] = "relax-bind-symbolic-vars"

    #: Values of the symbols, numbers or ranges: vars={n=4 m=1..64} or vars=n:4,m:1..64.
    vars: Mapping[str, str | int] = field(default_factory=dict)
    #: Function with the symbols.
    function: str = "main"

    def __post_init__(self) -> None:
        for name, value in self.vars.items():
            self._range(name, value)

    def _range(self, name: str, value: str | int) -> SymbolRange:
        least, is_range, most = str(value).partition("..")
        most = most if is_range else least
        if not (least.isdecimal() and most.isdecimal()):
            raise OptionError(f"pass '{self.name}': vars={name}:{value}: expected a size like 8, or a range like 1..64")
        symbol_range = SymbolRange(int(least), int(most))
        if symbol_range.least > symbol_range.most or symbol_range.most >= 2**63:
            raise OptionError(
                f"pass '{self.name}': vars={name}:{value}: sizes are from 0 to 2**63 - 1, the smallest first"
            )
        return symbol_range

    def run(self, op: Operation) -> None:
        what = f"pass '{self.name}'"
        function = graph_function(op, self.function, what)
        ranges = {name: self._range(name, value) for name, value in self.vars.items()}
        symbols = symbols_in(function)
        for name in ranges:
            if name not in symbols:
                has = f"it has: {', '.join(sorted(symbols))}" if symbols else "all sizes of its inputs are numbers"
                missing = f"@{self.function} has no symbolic size '{name}'; {has}{suggest(name, symbols)}"
                raise OptionError(f"{what}: {missing}", notes=() if symbols else [_SHAPE_HINT])
        sizes = {name: range_.least for name, range_ in ranges.items() if range_.least == range_.most}
        with changing_copy(function, what) as copy:
            bind_sizes(copy, sizes, what)
            self._note(copy, ranges)

    def _note(self, function: Operation, ranges: Mapping[str, SymbolRange]) -> None:
        noted, limits = symbol_ranges(function), symbol_limits(function)
        for name, range_ in ranges.items():
            least, most = noted.pop(name, limits.get(name, range_))
            symbol_range = SymbolRange(max(least, range_.least), min(most, range_.most))
            if symbol_range.least > symbol_range.most:
                given = f"{range_.least}..{range_.most}" if range_.least < range_.most else str(range_.least)
                raise OptionError(
                    f"pass '{self.name}': '{name}' cannot be {given}: @{self.function} allows {least}..{most}"
                )
            if range_.least < range_.most:
                noted[name] = symbol_range
        if noted:
            function.attributes[SYMBOL_RANGES] = ir.DictAttr.get(
                {name: ir.DenseI64ArrayAttr.get(noted[name]) for name in sorted(noted)}
            )
        elif SYMBOL_RANGES in function.attributes:
            del function.attributes[SYMBOL_RANGES]
