# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of the target, checked."""

from __future__ import annotations

from dataclasses import dataclass

from ....support.errors import OptionError
from ....support.suggest import suggest
from ...core.backend import ChosenTarget
from .c_names import CNames, identifier

_MEMORIES = ("static", "heap")
_CONSTANTS = ("text", "incbin")
_LOOPS = ("tiles", "plain")


@dataclass(frozen=True)
class SourceOptions:
    """How a program is written."""

    #: What its files and public functions are called.
    name: str = "model"
    #: Whether it asks the system for memory, which only hosts have.
    is_heap: bool = False
    #: Whether functions can be called by tvm-ffi's convention too, and the name before theirs then.
    is_for_ffi: bool = False
    part: str = ""
    #: How large constants are written: "text", "incbin", or "" for what suits their size.
    constants: str = ""


def source_options(target: ChosenTarget) -> SourceOptions:
    """Raises RelaxError for values that are wrong."""
    name, memory = target.option("name") or "model", target.option("memory") or "static"
    if identifier(name) != name or CNames().is_known(name):
        raise OptionError(f"target 'c': name={name}: expected a name of C's, of letters, digits and _")
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
