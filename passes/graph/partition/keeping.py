# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cache of codegens' code, by the part with its constants, the options, the compiler, and the fingerprint."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ....bindings.ir import Attribute, Operation, Type
from ....bindings.mlir import ir
from ....bindings.package_files import described, loaded_compiler
from ....dialects.core.elements import elements_bytes, hash_of, is_resource, print_by_content, resource_of_bytes
from ....support.disk_cache import DiskCache
from ....support.errors import RelaxError
from ....support.external_bytes import Data, packed, unpacked
from ...core.working import means
from .codegen import ChosenCodegen, Code, ObjectCode

_KIND, _FORMAT = "parts", "parts-2"


@dataclass(frozen=True)
class _CacheEntry:
    """Cached code: bytes, or objects with the constants of each function.

    A constant is a type, with the elements or with the hash of an equal constant of the part.
    """

    data: Data | None
    objects: Sequence[Data] = ()
    constants: Mapping[str, Sequence[tuple[str, str | Data]]] = field(default_factory=dict)


class Place(NamedTuple):
    """Entry of the cache for the code of a part, stored or not."""

    cache: DiskCache
    key: str
    #: The large constants of the part, by the hashes of their bytes. The code may share them.
    constants: Mapping[str, Attribute]

    def found(self) -> Code | None:
        """Return the cached code, or None if there is none that can be used."""
        if (data := self.cache.get(_KIND, self.key)) is None:
            return None
        try:
            return self._code(unpacked(_FORMAT, memoryview(data), _CacheEntry))
        except (RelaxError, LookupError, ValueError):
            return None

    def keep(self, code: Code) -> None:
        if not isinstance(code, ObjectCode):
            self.cache.put(_KIND, self.key, packed(_FORMAT, _CacheEntry(bytes(code))))
            return
        # Code with small constants is not cached: they are few, and would need another format.
        if all(is_resource(value) for values in code.constants.values() for value in values):
            constants = {
                name: [self._packed_constant(value) for value in values] for name, values in code.constants.items()
            }
            self.cache.put(
                _KIND, self.key, packed(_FORMAT, _CacheEntry(None, tuple(map(bytes, code.objects)), constants))
            )

    def _packed_constant(self, value: Attribute) -> tuple[str, str | Data]:
        name = hash_of(value)
        return str(value.type), name if name in self.constants else elements_bytes(value)

    def _code(self, kept: _CacheEntry) -> Code:
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
    """Return the cache entry for a part's code, or None without a cache or fingerprint. Raises the codegen's errors."""
    if (cache := means().cache) is None:
        return None
    if not isinstance(own := chosen.codegen().fingerprint(chosen.values), str):
        raise RelaxError(f"fingerprint() returned a {type(own).__name__}, expected text")
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
