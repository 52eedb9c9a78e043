# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators' names in the spelling of --dump-irdl and back, in the generic form of a module's text.

IRDL allows no dots in names, so upstream tools know `relax.nn.conv2d` as `relax.nn_conv2d`.
"""

from __future__ import annotations

import re

from ...bindings.irdl import irdl_name
from ...dialects.core.dialect import registered_dialects


def _dotted_names() -> dict[str, str]:
    """`relax.nn.conv2d` -> `relax.nn_conv2d` for every operator whose name has a dot."""
    return {
        definition.full_name: f"{definition.dialect.name}.{irdl_name(definition.name)}"
        for dialect in registered_dialects().values()
        for definition in dialect.ops.values()
        if "." in definition.name
    }


def to_irdl(text: str) -> str:
    return _replace(text, _dotted_names())


def to_dotted(text: str) -> str:
    return _replace(text, {short: dotted for dotted, short in _dotted_names().items()})


def _replace(text: str, names: dict[str, str]) -> str:
    # Operators defined in Python always print as `"dialect.name"(`; inside of a string the quote would be escaped.
    return re.sub(r'(?<!\\)"([a-z_][\w.]*)"\(', lambda match: f'"{names.get(match[1], match[1])}"(', text)
