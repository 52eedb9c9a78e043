# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What --help, --version and --print-completion print: the same for all tools but relax-opt, which tells of more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import __version__
from .command_line import INFORMATION, Arguments, Option, help_text
from .completion import completion_script


def information(
    arguments: Arguments, name: str, head: Sequence[str], options: Mapping[str, Option], *, has_mlir: bool
) -> str | None:
    """The text, None when there is work to do instead; `has_mlir`: the version is told with MLIR's."""
    if not any(arguments[option] for option in INFORMATION):
        return None
    if arguments["help"]:
        return help_text(head, options)
    if arguments["print-completion"]:
        return completion_script(arguments["print-completion"], name, options)
    if not has_mlir:
        return f"relax-mlir {__version__}\n"
    from .opt.listing import version_text

    return version_text()
