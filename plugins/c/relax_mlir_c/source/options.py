# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of target c, validated."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.support.errors import OptionError
from relax_mlir.support.suggest import suggest
from relax_mlir.targets.core.backend import ChosenTarget

from .c_names import CNames, identifier

_MEMORIES = ("static", "heap")
_CONSTANTS = ("text", "incbin")
_LOOPS = ("tiles", "plain")


@dataclass(frozen=True)
class SourceOptions:
    """Properties of the written program."""

    #: Base name of files and public functions.
    name: str = "model"
    #: True if memory comes from malloc, which only hosted systems have.
    is_heap: bool = False
    #: True if functions can also be called by tvm-ffi's convention; `part` is the prefix of their names then.
    is_for_ffi: bool = False
    part: str = ""
    #: Format of large constants: "text", "incbin", or "" to choose by size.
    constants: str = ""


def source_options(target: ChosenTarget) -> SourceOptions:
    """Return the options of a target. Raises RelaxError for wrong values."""
    name, memory = target.option("name") or "model", target.option("memory") or "static"
    if identifier(name) != name or CNames().is_known(name):
        raise OptionError(f"target 'c': name={name}: expected a C identifier of letters, digits and _")
    _check("memory", memory, _MEMORIES)
    constants, loops = target.option("constants"), target.option("loops") or "tiles"
    _check("loops", loops, _LOOPS)
    if constants:
        _check("constants", constants, _CONSTANTS)
    part = target.option("ffi")
    if not all(each.isalnum() or each in "_.-" for each in part):
        raise OptionError(f"target 'c': ffi={part}: expected a name of letters, digits, '_', '.' and '-'")
    return SourceOptions(name, memory == "heap", bool(part), part, constants)


def _check(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise OptionError(f"target 'c': {option}={value}: expected {' or '.join(known)}{suggest(value, known)}")
