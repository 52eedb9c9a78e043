# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one-file artifact: header, manifest, object code, constants. Everything in it is covered by a checksum.

    header      64 bytes: magic, format version, bytes of manifest, of object code, of the file, digest
    manifest    JSON
    objects     object files, each 64-byte aligned and padded
    constants   each 64-byte aligned and padded, so that a mapping of the file is used as it is

The digest (blake2b) is over header, manifest and objects. Constants can be gigabytes: each has a CRC-32 in the
manifest, more than twice as fast, which is enough against damage.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..support.files import replacing
from .errors import ArtifactError
from .manifest import Fields, Signature, parse_signature

FORMAT_VERSION = 2
# The packed-function ABI that the code was compiled against: tvm-ffi's major and minor version.
ABI_VERSION = (0, 1)
#: Of objects and constants.
ALIGNMENT = 64
# As PNG's: a high bit and line ends, which transfers as text would change.
MAGIC = b"\x89RXA\r\n\x1a\n"
_HEADER = struct.Struct("<8sIIQQ")
_DIGEST_BYTES = 32
HEADER_BYTES = _HEADER.size + _DIGEST_BYTES


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
class Constant:
    """Bytes that code refers to, in the order of the code's table."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    data: memoryview


@dataclass(frozen=True)
class Artifact:
    """A compiled program: signatures of its functions, object code, constants, and what the code needs to run."""

    #: What the manifest says of each function; a target may add fields of its own. Raises ArtifactError.
    entries: tuple[dict[str, Any], ...]
    #: Object files, which refer to each other.
    objects: tuple[memoryview, ...]
    constants: tuple[Constant, ...] = ()
    triple: str = ""
    features: tuple[str, ...] = ()
    version: str = ""
    #: The names of the functions that the code calls from elsewhere, in the order of the code's table of them.
    calls: tuple[str, ...] = ()
    #: Those of them that come with it, which no file holds; the others are found by name among the registered ones.
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    #: What the entries say.
    signatures: tuple[Signature, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "signatures", tuple(map(parse_signature, self.entries)))


def write_artifact(artifact: Artifact, path: str | os.PathLike[str]) -> None:
    """Writes the file whole or not at all. Raises ArtifactError."""
    write_pieces(Path(path), _pieces(artifact))


def write_pieces(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Writes a file whole or not at all, after a crash of the machine too. Raises ArtifactError."""
    if not path.name:
        raise ArtifactError(f"{path}: cannot be written: it names no file")
    try:
        with replacing(path, is_durable=True) as file:
            file.writelines(pieces)
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be written: {error.strerror or error}") from None


def artifact_bytes(artifact: Artifact) -> bytes:
    """What `write_artifact` writes."""
    return b"".join(_pieces(artifact))


def _pieces(artifact: Artifact) -> Iterator[bytes | memoryview]:
    places, offset = [], 0
    for constant in artifact.constants:
        data = _bytes_of(constant.data)
        crc = zlib.crc32(_padding(data.nbytes), zlib.crc32(data))
        places.append(ConstantPlace(constant.name, constant.dtype, constant.shape, offset, data.nbytes, crc))
        offset += _padded(data.nbytes)
    objects = [_bytes_of(each) for each in artifact.objects]
    sizes = tuple(each.nbytes for each in objects)
    text = _manifest(artifact, sizes, places)
    head = HEADER_BYTES + len(text)
    body: list[bytes | memoryview] = [text, _padding(head)]
    for code in objects:
        body += [code, _padding(code.nbytes)]
    code_bytes = sum(map(_padded, sizes))
    size = _padded(head) + code_bytes + offset
    header = _HEADER.pack(MAGIC, FORMAT_VERSION, len(text), code_bytes, size)
    yield header + _digest([header, *body])
    yield from body
    for constant in artifact.constants:
        yield _bytes_of(constant.data)
        yield _padding(constant.data.nbytes)


def read_artifact(
    path: str | os.PathLike[str], *, verify_constants: bool = True, check: Callable[[memoryview], None] | None = None
) -> Artifact:
    """What a file holds, mapped. Raises ArtifactError with the reason where it is damaged or of another version.

    `check` sees all bytes before anything in them is believed. Then they are a copy in memory, which nobody can
    change between the check and the use.
    """
    try:
        data = _map(path, is_copy=check is not None)
        if check is not None:
            check(data)
        return parse_artifact(data, verify_constants)
    except ArtifactError as error:
        name = os.fspath(path)
        raise ArtifactError(str(error) if str(error).startswith(name) else f"{name}: {error}") from None


def _map(path: str | os.PathLike[str], *, is_copy: bool) -> memoryview:
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < HEADER_BYTES:
                raise ArtifactError("not an artifact: too short")
            if not is_copy:
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            copy = memoryview(mmap.mmap(-1, size))  # aligned, as the constants in it must be
            if file.readinto(copy) != size:
                raise ArtifactError("cannot be read: somebody changes it")
            return copy.toreadonly()
    except (OSError, ValueError) as error:
        raise ArtifactError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def parse_artifact(data: memoryview, verify_constants: bool = True) -> Artifact:
    """What the bytes of a file hold. Raises ArtifactError."""
    if data.nbytes < HEADER_BYTES:
        raise ArtifactError("not an artifact: too short")
    magic, version, manifest_bytes, code_bytes, size = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise ArtifactError("not an artifact: it does not begin like one")
    if version != FORMAT_VERSION:
        raise ArtifactError(f"its format version is {version}, this release reads version {FORMAT_VERSION}")
    if size != data.nbytes:
        raise ArtifactError(f"damaged: it has {data.nbytes} bytes, its header says {size}")
    code_start = _padded(HEADER_BYTES + manifest_bytes)
    constants_start = code_start + code_bytes
    if constants_start > size:
        raise ArtifactError("damaged: its parts reach beyond its end")
    digest = _digest([data[: _HEADER.size], data[HEADER_BYTES:constants_start]])
    if digest != data[_HEADER.size : HEADER_BYTES]:
        raise ArtifactError("damaged: the checksum of manifest and code is wrong")
    fields, sizes, places = _parse_manifest(bytes(data[HEADER_BYTES : HEADER_BYTES + manifest_bytes]))
    objects = tuple(_objects(sizes, data[code_start:constants_start]))
    constants = tuple(_constants(places, data[constants_start:], verify_constants))
    return Artifact(objects=objects, constants=constants, **fields)


def _objects(sizes: Iterable[int], data: memoryview) -> Iterator[memoryview]:
    start = 0
    for size in sizes:
        if start + _padded(size) > data.nbytes:
            raise ArtifactError("damaged: its objects reach beyond the code")
        yield data[start : start + size]
        start += _padded(size)
    if start != data.nbytes:
        raise ArtifactError("damaged: the code goes on behind the last object")


def _constants(places: Iterable[ConstantPlace], data: memoryview, verify: bool) -> Iterator[Constant]:
    end = 0
    for place in places:
        if place.offset != end or place.offset + _padded(place.size) > data.nbytes:
            raise ArtifactError(f"damaged: constant '{place.name}' is not where the one before ends")
        end = place.offset + _padded(place.size)
        if verify and zlib.crc32(data[place.offset : end]) != place.crc32:
            raise ArtifactError(f"damaged: the checksum of constant '{place.name}' is wrong")
        yield Constant(place.name, place.dtype, place.shape, data[place.offset : place.offset + place.size])
    if end != data.nbytes:
        raise ArtifactError("damaged: it goes on behind the last constant")


def _digest(parts: Iterable[bytes | memoryview]) -> bytes:
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        digest.update(part)
    return digest.digest()


def _bytes_of(data: memoryview) -> memoryview:
    view = memoryview(data)
    if not view.c_contiguous:
        raise ArtifactError("a constant's memory is not contiguous")
    return view.cast("B") if view.nbytes else memoryview(b"")


def _padded(size: int) -> int:
    return size + -size % ALIGNMENT


def _padding(size: int) -> bytes:
    return bytes(-size % ALIGNMENT)


# ---- the manifest ----


def _manifest(artifact: Artifact, object_sizes: Sequence[int], places: Sequence[ConstantPlace]) -> bytes:
    """Everything but the code and the constants themselves, as JSON that is the same for the same program."""
    content = {
        "format": FORMAT_VERSION,
        "relax_mlir": artifact.version,
        "abi": list(ABI_VERSION),
        "target": {"triple": artifact.triple, "features": sorted(artifact.features)},
        "entries": list(artifact.entries),
        "objects": list(object_sizes),
        "constants": [{**vars(place), "shape": list(place.shape)} for place in places],
        **({"calls": list(artifact.calls)} if artifact.calls else {}),
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _parse_manifest(text: bytes) -> tuple[dict[str, Any], list[int], list[ConstantPlace]]:
    """What an artifact has beside data, the sizes of its objects, the places of its constants. Raises ArtifactError."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise ArtifactError("damaged: its manifest is not JSON") from None
    fields = Fields(content, "manifest")
    if fields.get("format", int) != FORMAT_VERSION:
        raise ArtifactError(f"its manifest is not of format version {FORMAT_VERSION}")
    abi = fields.items("abi", int)
    if abi != list(ABI_VERSION):
        spelled = ".".join(map(str, abi))
        raise ArtifactError(f"its code calls tvm-ffi {spelled}, this release has {'.'.join(map(str, ABI_VERSION))}")
    target = Fields(fields.get("target", dict), "target")
    sizes = fields.items("objects", int)
    if min(sizes, default=0) < 0:
        raise ArtifactError("damaged: its manifest has a negative size")
    places = [_parse_constant(place) for place in fields.get("constants", list)]
    found = {
        "entries": tuple(fields.get("entries", list)),
        "triple": target.get("triple", str),
        "features": tuple(target.items("features", str)),
        "version": fields.get("relax_mlir", str),
        "calls": tuple(fields.items("calls", str)) if "calls" in content else (),
    }
    return found, sizes, places


def _parse_constant(content: object) -> ConstantPlace:
    fields = Fields(content, "constant")
    numbers = [fields.get(key, int) for key in ("offset", "size", "crc32")]
    shape = fields.items("shape", int)
    if min((*numbers, *shape)) < 0:
        raise ArtifactError("damaged: its manifest has a negative size")
    return ConstantPlace(fields.get("name", str), fields.get("dtype", str), tuple(shape), *numbers)
