# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External C functions that a program calls, and their declarations."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import string_value
from relax_mlir.support.errors import RefusalError

from .c_names import CNames

CALL_EXTERN = "tir.call_extern"


def called_in_c(op: Operation) -> str:
    """Return the name of the C function that an operation calls, or an empty string."""
    return string_value(op.attributes["func"]) if op.name in (CALL_EXTERN, "tir.call_pure_extern") else ""


#: Headers of the C library, with the functions that they declare.
_HEADERS = {
    "ctype": "tolower toupper isalpha isdigit".split(),
    "stdio": "printf fprintf sprintf snprintf puts putchar scanf".split(),
    "stdlib": "abs labs llabs div malloc calloc realloc free exit abort".split(),
    "string": "memcpy memmove memset memcmp memchr strlen strcpy strcmp strcat".split(),
}


class Externs:
    """Declarations of C functions. Parameters that receive pointers to several types have the type void *."""

    def __init__(self, names: CNames) -> None:
        self._names = names
        self._declared: dict[str, tuple[str, list[str]]] = {}
        #: Headers of the C library for the called functions.
        self.headers: set[str] = set()

    def declare(self, function: str, returned: str, parameters: Sequence[str]) -> None:
        """Record a call.

        Raises RefusalError if an earlier call has a different number or different kinds of arguments.
        """
        if self._names.is_known(function):
            self.headers.update(header for header, names in _HEADERS.items() if function in names)
            return
        known_return, known = self._declared.get(function, (returned, list(parameters)))
        pairs = list(zip(known, parameters, strict=False))
        if returned != known_return or len(known) != len(parameters) or None in [_merge_types(*pair) for pair in pairs]:
            shown = (f"{name} ({', '.join(each)})" for name, each in ((returned, parameters), (known_return, known)))
            raise RefusalError(
                f"C function '{function}' is called as {{}} here and as {{}} before; a function of C has one "
                "signature: give each rank of buffers a function of its own".format(*shown)
            )
        self._declared[function] = (returned, [str(_merge_types(*pair)) for pair in pairs])

    def lines(self) -> list[str]:
        """Return the declarations, sorted."""
        found = []
        for function, (returned, parameters) in self._declared.items():
            found.append(f"extern {returned} {function}({', '.join(parameters) or 'void'});")
        return sorted(found)


def _merge_types(one: str, other: str) -> str | None:
    """Return the type that accepts arguments of both types, or None."""
    if one == other:
        return one
    if not (one.endswith("*") and other.endswith("*")):
        return None
    const = "const " if "const " in (one[:6], other[:6]) else ""
    elements = {name.removeprefix("const ") for name in (one, other)}
    return f"{const}{elements.pop() if len(elements) == 1 else 'void *'}"
