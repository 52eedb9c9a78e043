# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that C takes, each once where it can be seen."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .helpers import helpers

_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true "
    "false NAN INFINITY main asm arena memory status block begin_memory take_memory give_memory_back end_memory"
).split()
#: What <math.h> defines, and may define one day for float and long double.
_MATHEMATICS = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
    "fmax fmin fmod frexp gamma hypot ilogb isfinite isinf isnan isnormal j0 j1 jn ldexp lgamma llrint llround log "
    "log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round "
    "scalbln scalbn signbit sin sinh sqrt tan tanh tgamma trunc y0 y1 yn"
).split()
#: What compilers know of the rest of the library, whether or not a program asks for it.
_LIBRARY = (
    "abs labs llabs imaxabs div malloc calloc realloc free exit abort printf fprintf sprintf snprintf puts putchar "
    "scanf memcpy memmove memset memcmp memchr strlen strcpy strcmp strcat tolower toupper isalpha isdigit "
    "conj cabs creal cimag carg cproj"
).split()
_TYPES = [f"{sign}int{width}_t" for sign in ("", "u") for width in (8, 16, 32, 64)]
_RESERVED = {*_KEYWORDS, *_TYPES, *_LIBRARY, *(f"{name}{suffix}" for name in _MATHEMATICS for suffix in ("", "f", "l"))}


class CNames:
    """The names in a scope; those around it are taken there too."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*_RESERVED, *helpers(), *taken}

    def nested(self) -> CNames:
        return CNames(self._taken)

    def is_known(self, name: str) -> bool:
        """Whether C has it already."""
        return name in _RESERVED

    def fresh(self, wanted: str) -> str:
        """The name, or with a number behind it; it is taken then."""
        found = self.free(wanted)
        self._taken.add(found)
        return found

    def free(self, wanted: str) -> str:
        """The same of a name that others may share: counters of loops one after the other."""
        plain = identifier(wanted)
        found, number = plain, 1
        while found in self._taken:
            number += 1
            found = f"{plain}_{number}"
        return found


def identifier(text: str) -> str:
    """A text as C can have it for a name, of a length that reads well."""
    found = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:60].rstrip("_") or "value"
    return f"n{found}" if found[0].isdigit() else found
