# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A codegen makes code of an external module."""

from __future__ import annotations

import importlib
import reprlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ...bindings.ir import Attribute, Operation
from ...bindings.mlir import ir
from ...bindings.navigation import functions_in, operations_in, symbol_name
from ...dialects.core.elements import resource_attribute
from ...support.errors import RelaxError, told
from ...support.external_runtime import find_runtime
from ...targets.core.code import stages_of
from ..core.facts import origins_of
from ..core.pipeline import Pipeline
from .codegen import SYMBOLS, ChosenCodegen, Codegen, ObjectCode, version_of

_BYTES = (bytes, bytearray, memoryview)


class Made(NamedTuple):
    """What a codegen made: bytes that its runtime loads, or objects that are linked."""

    data: bytes | None
    objects: tuple[bytes, ...]
    #: Behind the inputs of each function, by name.
    constants: Mapping[str, Sequence[Attribute]] = MappingProxyType({})

    @property
    def bytes(self) -> int:
        return len(self.data or b"") + sum(map(len, self.objects))


class Declined(Exception):
    """A codegen has not made code, for this reason."""


def compiled(module: Operation, chosen: ChosenCodegen) -> Made:
    """Runs the codegen on a copy of the module. Raises Declined, whatever the codegen raises."""
    try:
        made = _compiled(module, chosen.codegen, chosen.options)
    except RelaxError as error:
        raise Declined(error.message or told(error)) from error
    except (Exception, SystemExit) as error:  # a stranger's code may raise anything, or mean to end the program
        raise Declined(told(error)) from error
    if isinstance(made, ObjectCode):
        return Made(None, _objects_of(made, module), made.constants)
    if not isinstance(made, _BYTES):
        raise Declined(f"compile() gave a {type(made).__name__}, not bytes or rx.ObjectCode")
    return Made(bytes(made), ())


def _objects_of(made: ObjectCode, module: Operation) -> tuple[bytes, ...]:
    """What is to be linked. In objects of all formats symbols' names stand as they are."""
    objects: Any = made.objects
    if not (isinstance(objects, (list, tuple)) and objects and all(isinstance(each, _BYTES) for each in objects)):
        raise Declined(f"compile() gave rx.ObjectCode({reprlib.repr(objects)}), not a tuple of objects, each as bytes")
    found = tuple(map(bytes, objects))
    symbols = [f"{SYMBOLS}{symbol_name(module)}.{name}" for name in Codegen.functions(module)]
    missing = [name for name in symbols if not any(name.encode() in each for each in found)]
    if missing:
        raise Declined(f"its objects have no symbol {', '.join(missing)}")
    return found


def _compiled(module: Operation, codegen: type[Codegen], options: Mapping[str, str]) -> Any:
    copied = _module_of(module)
    if codegen.pipeline:
        Pipeline(codegen.pipeline).run(copied._owner)
    if codegen.target:
        stages = stages_of(codegen.target)
        stages.until(codegen.stage or stages.names[-1]).run(copied._owner, codegen.target)
    return codegen().compile(copied, options)


def _module_of(operation: Operation) -> Any:
    """An rx.Module: codegens are written by users, and see what users see, which is above all passes."""
    return importlib.import_module(__name__.partition(".")[0]).Module.of(operation)


def missing_here(codegen: type[Codegen], made: Made) -> str:
    """What this machine lacks to run what was made, as its runtime says before it is loaded; empty for nothing."""
    if made.data is None:
        return ""
    try:
        return str(find_runtime(codegen.name)().requires(memoryview(made.data)))
    except RelaxError as error:
        return error.message
    except (Exception, SystemExit) as error:
        return f"requires(): {told(error)}"


def nodes_of(module: Operation) -> list[str]:
    """The nodes of the model that went into it, each once."""
    named = (name for function in functions_in(module) for op in operations_in(function) for name in origins_of(op))
    return list(dict.fromkeys(named))


def described(module: Operation, codegen: type[Codegen], made: Made) -> Attribute:
    """What is kept of it, on the module that the program is made of."""
    name = symbol_name(module)
    fields: dict[str, Attribute] = {
        "codegen": ir.StringAttr.get(codegen.name),
        "name": ir.StringAttr.get(name),
        "version": ir.StringAttr.get("" if made.data is None else version_of(codegen)),
        "functions": _texts(list(codegen.functions(module))),
        "nodes": _texts(nodes_of(module)),
        "objects": ir.ArrayAttr.get([_blob(each, f"{name}_object") for each in made.objects]),
    }
    if made.data is not None:
        fields["data"] = _blob(made.data, name)
    return ir.DictAttr.get(fields)


def _texts(items: list[str]) -> Attribute:
    return ir.ArrayAttr.get([ir.StringAttr.get(each) for each in items])


def _blob(data: bytes, name: str) -> Attribute:
    import numpy

    type_ = ir.RankedTensorType.get([len(data)], ir.IntegerType.get_signless(8))
    return resource_attribute(numpy.frombuffer(data, "int8"), type_, name)
