# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Extension of the site's reference: the options of rx.compile and others, from their table in keywords.py."""

from __future__ import annotations

import inspect
import runpy
from typing import Any

import griffe


class Keywords(griffe.Extension):
    """Adds the options of a class to the functions with the decorator `takes(class)`."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Complete the signatures and texts of functions when the whole package is read."""
        for function in pkg["compilation.compiling"].functions.values() if pkg.name == "relax_mlir" else ():
            table = runpy.run_path(str(pkg["compilation.keywords"].filepath))
            for call in (str(each.value) for each in function.decorators if str(each.value).startswith("takes(")):
                keywords = table[call[6:-1]]
                function.docstring.value += f"\n\n{table['option_list'](keywords)}"
                function.parameters = griffe.Parameters(function.parameters["module"])
                for each in inspect.signature(keywords).parameters.values():
                    kind = griffe.ParameterKind(each.kind.description)
                    option = {"annotation": each.annotation, "kind": kind, "default": repr(each.default)}
                    function.parameters.add(griffe.Parameter(each.name, **option))
