# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cache of codegens' code: by the part with its constants, the options, the compiler, and what
the codegen says that its code depends on.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...bindings.ir import Attribute, Operation, Type
from ...bindings.mlir import ir
from ...bindings.package_files import described, loaded_compiler
from ...dialects.core.elements import elements_bytes, hash_of, is_resource, print_by_content, resource_of_bytes
from ...support.disk_cache import DiskCache
from ...support.errors import RelaxError
from ...support.external_bytes import packed, unpacked
from ..core.working import means
from .codegen import ChosenCodegen, Code, ObjectCode

_KIND, _FORMAT = "parts", "parts-1"


class Place(NamedTuple):
    """Where the code of a part is kept, or would be."""

    cache: DiskCache
    key: str
    #: The large constants of the part, which code may share, by the hashes of their bytes.
    constants: Mapping[str, Attribute]

    def found(self) -> Code | None:
        """What is kept; None where nothing is, or nothing of use."""
        data = self.cache.get(_KIND, self.key)
        if data is None:
            return None
        try:
            return unpacked(_FORMAT, memoryview(data), self._read)
        except RelaxError:
            return None

    def keep(self, code: Code) -> None:
        if not isinstance(code, ObjectCode):
            self.cache.put(_KIND, self.key, packed(_FORMAT, {"data": True}, [bytes(code)]))
            return
        pieces = list(map(bytes, code.objects))
        constants: dict[str, list[list[str | int]]] = {}
        for function, values in code.constants.items():
            constants[function] = []
            for value in values:
                if not is_resource(value):
                    return  # small ones are few, and there is no need to write them down in a second way
                name = hash_of(value)
                at: str | int = name if name in self.constants else len(pieces)
                pieces += [] if name in self.constants else [bytes(elements_bytes(value))]
                constants[function].append([str(value.type), at])
        head = {"data": False, "objects": len(code.objects), "constants": constants}
        self.cache.put(_KIND, self.key, packed(_FORMAT, head, pieces))

    def _read(self, head: Any, pieces: Sequence[memoryview]) -> Code:
        if head["data"]:
            return bytes(pieces[0])
        constants = {
            function: [self._constant(ir.Type.parse(type_), at, pieces) for type_, at in values]
            for function, values in head["constants"].items()
        }
        return ObjectCode(tuple(map(bytes, pieces[: head["objects"]])), constants)

    def _constant(self, type_: Type, at: str | int, pieces: Sequence[memoryview]) -> Attribute:
        data = elements_bytes(self.constants[at]) if isinstance(at, str) else pieces[at]
        if isinstance(at, str) and self.constants[at].type == type_:
            return self.constants[at]
        return resource_of_bytes(data, type_)


def place_of_code(module: Operation, chosen: ChosenCodegen) -> Place | None:
    """Where what a codegen makes of a part is kept; None where it is not to be. Raises what the codegen raises."""
    cache = means().cache
    if cache is None:
        return None
    own = chosen.codegen().fingerprint(chosen.values)
    if not isinstance(own, str):
        raise RelaxError(f"fingerprint() gave a {type(own).__name__}, not text")
    if not own:
        return None
    constants: dict[str, Attribute] = {}

    def name(value: Attribute) -> str:
        constants[found := hash_of(value)] = value
        return found

    text = print_by_content(module, name)
    source = getattr(sys.modules.get(chosen.codegen.__module__), "__file__", None)
    parts = (loaded_compiler(), described(source) if source else "", str(chosen), own, text)
    hashed = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape")
        hashed.update(len(data).to_bytes(8, "little") + data)
    return Place(cache, hashed.hexdigest(), constants)
