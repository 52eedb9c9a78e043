# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cache of codegens' code: by the part with its constants, the options, the compiler, and what
the codegen says that its code depends on.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...bindings.ir import Attribute, Operation, Type
from ...bindings.mlir import ir
from ...bindings.package_files import described, loaded_compiler
from ...dialects.core.elements import elements_bytes, hash_of, is_resource, print_by_content, resource_of_bytes
from ...support.disk_cache import DiskCache
from ...support.errors import RelaxError
from ...support.external_bytes import Data, packed, unpacked
from ..core.working import means
from .codegen import ChosenCodegen, Code, ObjectCode

_KIND, _FORMAT = "parts", "parts-2"


@dataclass(frozen=True)
class _Kept:
    """Bytes, or objects with the constants of each function: types, with elements or the hash of a constant of the part
    that has them.
    """

    data: Data | None
    objects: Sequence[Data] = ()
    constants: Mapping[str, Sequence[tuple[str, str | Data]]] = field(default_factory=dict)


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
            return self._code(unpacked(_FORMAT, memoryview(data), _Kept))
        except (RelaxError, LookupError, ValueError):
            return None

    def keep(self, code: Code) -> None:
        if not isinstance(code, ObjectCode):
            self.cache.put(_KIND, self.key, packed(_FORMAT, _Kept(bytes(code))))
            return
        # Small ones are few, and there is no need to write them down in a second way.
        if all(is_resource(value) for values in code.constants.values() for value in values):
            constants = {name: [self._kept(value) for value in values] for name, values in code.constants.items()}
            self.cache.put(_KIND, self.key, packed(_FORMAT, _Kept(None, tuple(map(bytes, code.objects)), constants)))

    def _kept(self, value: Attribute) -> tuple[str, str | Data]:
        name = hash_of(value)
        return str(value.type), name if name in self.constants else elements_bytes(value)

    def _code(self, kept: _Kept) -> Code:
        if kept.data is not None:
            return bytes(kept.data)
        constants = {
            function: [self._constant(ir.Type.parse(type_), known) for type_, known in values]
            for function, values in kept.constants.items()
        }
        return ObjectCode(tuple(map(bytes, kept.objects)), constants)

    def _constant(self, type_: Type, known: str | Data) -> Attribute:
        if not isinstance(known, str):
            return resource_of_bytes(known, type_)
        found = self.constants[known]
        return found if found.type == type_ else resource_of_bytes(elements_bytes(found), type_)


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
