# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The artifact's manifest: what is in the file and what it needs, as JSON that is the same for the same program."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .errors import ArtifactError

FORMAT_VERSION = 2

# The packed-function ABI that the code was compiled against: tvm-ffi's major and minor version.
ABI_VERSION = (0, 1)


@dataclass(frozen=True)
class ConstantPlace:
    """Where a constant lies, counted from the first one's beginning; the CRC is over the padding too."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    size: int
    crc32: int


@dataclass(frozen=True)
class Manifest:
    """Everything but the code and the constants themselves."""

    entries: tuple[dict[str, Any], ...]
    object_sizes: tuple[int, ...]
    constants: tuple[ConstantPlace, ...]
    triple: str
    features: tuple[str, ...]
    version: str
    #: Functions that the code calls from elsewhere.
    calls: tuple[str, ...] = ()


def render_manifest(manifest: Manifest) -> bytes:
    """The JSON text."""
    content = {
        "format": FORMAT_VERSION,
        "relax_mlir": manifest.version,
        "abi": list(ABI_VERSION),
        "target": {"triple": manifest.triple, "features": sorted(manifest.features)},
        "entries": list(manifest.entries),
        "objects": list(manifest.object_sizes),
        "constants": [{**vars(place), "shape": list(place.shape)} for place in manifest.constants],
        **({"calls": list(manifest.calls)} if manifest.calls else {}),
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def parse_manifest(text: bytes) -> Manifest:
    """Reads a manifest. Raises ArtifactError where it is none."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise ArtifactError("damaged: its manifest is not JSON") from None
    fields = _Fields(content, "manifest")
    if fields.get("format", int) != FORMAT_VERSION:
        raise ArtifactError(f"its manifest is not of format version {FORMAT_VERSION}")
    abi = fields.items("abi", int)
    if abi != list(ABI_VERSION):
        spelled = ".".join(map(str, abi))
        raise ArtifactError(f"its code calls tvm-ffi {spelled}, this release has {'.'.join(map(str, ABI_VERSION))}")
    target = _Fields(fields.get("target", dict), "target")
    return Manifest(
        tuple(_parse_entry(entry) for entry in fields.get("entries", list)),
        _parse_sizes(fields.items("objects", int)),
        tuple(_parse_constant(place) for place in fields.get("constants", list)),
        target.get("triple", str),
        tuple(target.items("features", str)),
        fields.get("relax_mlir", str),
        tuple(fields.items("calls", str)) if "calls" in content else (),
    )


def _parse_entry(content: Any) -> dict[str, Any]:
    entry = _Fields(content, "entry")
    entry.get("name", str)
    entry.items("inputs", dict)
    entry.items("outputs", dict)
    return dict(content)


def _parse_sizes(sizes: list[int]) -> tuple[int, ...]:
    if min(sizes, default=0) < 0:
        raise ArtifactError("damaged: its manifest has a negative size")
    return tuple(sizes)


def _parse_constant(content: Any) -> ConstantPlace:
    fields = _Fields(content, "constant")
    numbers = [fields.get(key, int) for key in ("offset", "size", "crc32")]
    shape = fields.items("shape", int)
    if min((*numbers, *shape)) < 0:
        raise ArtifactError("damaged: its manifest has a negative size")
    return ConstantPlace(fields.get("name", str), fields.get("dtype", str), tuple(shape), *numbers)


class _Fields:
    """Typed access to a JSON object."""

    def __init__(self, content: Any, what: str) -> None:
        if not isinstance(content, dict):
            raise ArtifactError(f"damaged: its {what} is no JSON object")
        self._content = content
        self._what = what

    def get(self, key: str, kind: type) -> Any:
        value = self._content.get(key)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ArtifactError(f"damaged: '{key}' in its {self._what} is not of type {kind.__name__}")
        return value

    def items(self, key: str, kind: type) -> list[Any]:
        values: list[Any] = self.get(key, list)
        if not all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
            raise ArtifactError(f"damaged: '{key}' in its {self._what} holds more than {kind.__name__}")
        return values
