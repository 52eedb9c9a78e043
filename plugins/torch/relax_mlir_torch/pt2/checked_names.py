# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names in a .pt2 archive.

torch writes names of nodes, arguments and parameters into Python source code, which it executes when it makes a
GraphModule. A name that is not checked is therefore code.
"""

from __future__ import annotations

from .refusals import refuse, shortened

_MOST_CHARACTERS = 4096
#: Characters that end the string in which torch writes a part of a path.
_OF_STRINGS = frozenset("\"'\\")


def check_identifier(name: object) -> str:
    """Return the name of a node or of an argument. Raise UnreadableError if the name is not an identifier."""
    if not isinstance(name, str) or not name.isidentifier() or len(name) > _MOST_CHARACTERS or _is_special(name):
        refuse(f"{shortened(name)} is not a name that a node or an argument can have")
    return name


def check_path(name: object) -> str:
    """Return the name of a parameter, a module or a type. Its parts may have other characters, as in `layers.a-b`."""
    if not isinstance(name, str) or not name.isprintable() or len(name) > _MOST_CHARACTERS:
        refuse(f"{shortened(name)} is not a name that a parameter, a module or a type can have")
    if not _OF_STRINGS.isdisjoint(name) or any(_is_special(part) for part in name.split(".")):
        refuse(f"{shortened(name)} is not a name that a parameter, a module or a type can have")
    return name


def _is_special(name: str) -> bool:
    """Check for names such as `__class__`, which have a special meaning in Python."""
    return name.startswith("__") and name.endswith("__")
