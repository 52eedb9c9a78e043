# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of well-known packages that register operators and types of .pt2 archives.

An archive selects modules from these lists. No other module is imported because an archive names the module.
"""

from __future__ import annotations

import importlib
import re
import sys

from .refusals import TRUST, UnreadableError

#: Modules by the namespace of the operators that they register.
_OF_OPERATORS = {
    "quantized_decomposed": "torch.ao.quantization.fx._decomposed",
    "torchao": "torchao",
    "torchvision": "torchvision",
}
#: Modules that register their own classes as types of arguments and results.
_OF_TYPES = ("transformers.modeling_outputs",)
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def register_operators(namespace: str) -> None:
    """Import the module that registers the operators of a namespace, if the module is well known."""
    if namespace in _OF_OPERATORS:
        _import(_OF_OPERATORS[namespace], f"the operators '{namespace}::...'")


def register_type(name: str) -> None:
    """Import the module that registers a type, if the module is well known."""
    if (module := name.rpartition(".")[0]) in _OF_TYPES:
        _import(module, f"the type '{name}'")


def register_named(text: str) -> None:
    """Import the well-known, installed modules with the operators or types that a program's text names."""
    operators = [module for namespace, module in _OF_OPERATORS.items() if f"torch.ops.{namespace}." in text]
    for module in (*operators, *(type_ for type_ in _OF_TYPES if f"{type_}." in text)):
        try:
            _import(module, "")
        except UnreadableError:
            continue  # torch names the missing operator or type.


def import_hint(kind: str, module: str) -> str:
    """Return the note about an operator or a type that this process lacks, with the module that may register it."""
    if not _MODULE.fullmatch(module):
        return f"import the package that registers the {kind} first; relax-compile does so by --load-plugin"
    return (
        f"import the module that registers the {kind} before the file is read, for instance `import {module}`, or "
        f"relax-compile --load-plugin={module}"
    )


def _import(module: str, registered: str) -> None:
    if module in sys.modules:
        return
    try:
        importlib.import_module(module)
    except Exception as error:  # Packages fail with exceptions of any class: torchvision raises RuntimeError.
        first = str(error).strip().partition("\n")[0]
        raise UnreadableError(
            f"{registered} need the module {module}, which cannot be imported: {type(error).__name__}: {first}",
            notes=[f"install the package first: pip install {module.partition('.')[0]}", TRUST],
        ) from None
