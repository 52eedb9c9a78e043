# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of one match, as codegens that are `separate` get them."""

from __future__ import annotations

from ....bindings.ir import Operation
from ....bindings.navigation import body_of, last_of, made_by, symbol_name
from ....bindings.rewriting import located_error
from ....passes.partition.codegen import Codegen
from ....passes.patterns.match import match
from ....passes.patterns.matched import Match

#: Passes that leave a part's function with the operations that were matched.
FLAT = "relax-inline{include-composites=true}"


class Single:
    """A part's function, when it is flat: what it was matched by matches it again."""

    def __init__(self, function: Operation, codegen: type[Codegen]) -> None:
        body = body_of(function)
        results = list(last_of(body).operands)
        self._inputs = list(body.arguments)
        root = made_by(results[0])
        matches = ((each.name, match(each.pattern, root)) for each in codegen.composites() if root is not None)
        name, found = next(((name, found) for name, found in matches if found is not None), ("", None))
        if found is None:
            what = f"@{symbol_name(function)} is no part of codegen '{codegen.name}'"
            raise located_error(f"{what}: none of its patterns matches it", function.location)
        #: The pattern, and how it matches.
        self.name: str = name
        self.found: Match = found
        self.input_count = len(self._inputs)
        self.has_workspace = len(results) > 1

    def number(self, name: str) -> int:
        """Which input a named value of the pattern is."""
        return self._inputs.index(self.found[name])

    def number_if_there(self, name: str) -> int | None:
        return self.number(name) if name in self.found else None
