# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unique names in C scopes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .helpers import helpers

_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true "
    "false NAN INFINITY main asm arena memory status block begin_memory take_memory give_memory_back end_memory"
).split()
#: Names that <math.h> defines, or may define for float and long double in the future.
_MATHEMATICS = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
    "fmax fmin fmod frexp gamma hypot ilogb isfinite isinf isnan isnormal j0 j1 jn ldexp lgamma llrint llround log "
    "log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round "
    "scalbln scalbn signbit sin sinh sqrt tan tanh tgamma trunc y0 y1 yn"
).split()
#: Library functions that compilers treat as builtins, even if a program does not include their headers.
_LIBRARY = (
    "abs labs llabs imaxabs div malloc calloc realloc free exit abort printf fprintf sprintf snprintf puts putchar "
    "scanf memcpy memmove memset memcmp memchr strlen strcpy strcmp strcat tolower toupper isalpha isdigit "
    "conj cabs creal cimag carg cproj"
).split()
_TYPES = [f"{sign}int{width}_t" for sign in ("", "u") for width in (8, 16, 32, 64)]
_RESERVED = {*_KEYWORDS, *_TYPES, *_LIBRARY, *(f"{name}{suffix}" for name in _MATHEMATICS for suffix in ("", "f", "l"))}


class CNames:
    """Names of a scope. Names of the enclosing scopes are reserved, too."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*_RESERVED, *helpers(), *taken}

    def nested(self) -> CNames:
        return CNames(self._taken)

    def is_known(self, name: str) -> bool:
        """Check whether C or its library already has the name."""
        return name in _RESERVED

    def fresh(self, wanted: str) -> str:
        """Reserve and return the name, with a number appended if it is taken."""
        found = self.free(wanted)
        self._taken.add(found)
        return found

    def free(self, wanted: str) -> str:
        """Return a free name without reserving it. Consecutive loops can share such a name for their counters."""
        plain = identifier(wanted)
        found, number = plain, 1
        while found in self._taken:
            number += 1
            found = f"{plain}_{number}"
        return found


def identifier(text: str) -> str:
    """Return a text as a C identifier of readable length."""
    found = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:60].rstrip("_") or "value"
    return f"n{found}" if found[0].isdigit() else found
