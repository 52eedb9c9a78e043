# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Artifact in one file: header, manifest, object code, constants. A checksum covers every byte.

    header      64 bytes: magic, format version, bytes of manifest, of object code, of the file, digest
    manifest    JSON
    objects     object files, each 64-byte aligned and padded; the optional object of the thread pool is the last
    constants   each 64-byte aligned and padded, so that a mapping of the file is used without copies
    externals   data that codegens compiled for parts, stored like constants
    devices     code of kernels for devices, stored like constants
    definitions source of the program if it was compiled with --observe, stored like constants

The digest (blake2b) is over header, manifest and objects. Constants and externals can be gigabytes. All data after the
objects have a CRC-32 each in the manifest, which is more than twice as fast and sufficient against damage.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..support.external_part import ExternalPart
from ..support.files import replacing
from .errors import ArtifactError
from .libraries import Libraries
from .manifest import Fields, Signature, parse_signature

FORMAT_VERSION = 5
#: Version 4 launches only as many blocks as its host code states. Version 3 has other tables for calls of devices,
#: except for cuda.
#: docs/versions.md lists these numbers. `make generate` writes them there.
READ_VERSIONS = (3, 4, FORMAT_VERSION)
_DEVICES_SINCE = 4
# The packed-function ABI that the code was compiled against: tvm-ffi's major and minor version.
ABI_VERSION = (0, 1)
#: Alignment of objects and constants.
ALIGNMENT = 64
# As in PNG: a high bit and line ends, which transfers as text would change.
MAGIC = b"\x89RXA\r\n\x1a\n"
_HEADER = struct.Struct("<8sIIQQ")
_DIGEST_BYTES = 32
HEADER_BYTES = _HEADER.size + _DIGEST_BYTES
# Element type as MLIR or NumPy spell it, with its bits: "f8E4M3FN", "complex<f32>", "uint8". Smaller types take a byte.
_DTYPE = re.compile(r"(complex<)?[a-z]+(\d+)(?:_?[a-zA-Z]\w*)?>?")


@dataclass(frozen=True)
class Place:
    """Position of a constant or external part, relative to the first one. The CRC also covers the padding."""

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

    def check(self) -> None:
        """Raise ArtifactError if the number of bytes differs from the number that code reads."""
        if (known := _DTYPE.fullmatch(self.dtype.replace("bool", "i1").replace("index", "i64"))) is None:
            raise ArtifactError(f"constant '{self.name}' has elements of an unknown type, '{self.dtype}'")
        needed = math.prod(self.shape) * -(-int(known[2]) // 8) * (2 if known[1] else 1)
        if self.data.nbytes != needed:
            held = f"{self.data.nbytes} bytes, {self.dtype} of shape {self.shape} needs {needed}"
            raise ArtifactError(f"constant '{self.name}' has {held}")


@dataclass(frozen=True)
class DeviceCode:
    """Kernels for a device other than the CPU, in the form that its driver loads."""

    #: Kind of device: "cuda".
    kind: str
    #: The oldest architecture that the kernels support: "sm_80".
    arch: str
    #: "ptx", which the driver compiles, or "cubin".
    format: str
    #: Names of the kernels in the order of the code's table.
    kernels: tuple[str, ...]
    data: memoryview

    @property
    def label(self) -> str:
        target = self.arch if self.arch.startswith(self.kind) else f"{self.kind}, {self.arch}"
        return f"the kernels for {target}"


@dataclass(frozen=True, repr=False)
class Artifact:
    """Compiled program: function signatures, object code, constants, and requirements of the code."""

    #: Manifest entry of each function. A target may add fields. Raises ArtifactError.
    entries: tuple[dict[str, object], ...]
    #: Object files, which refer to each other.
    objects: tuple[memoryview, ...]
    constants: tuple[Constant, ...] = ()
    triple: str = ""
    features: tuple[str, ...] = ()
    version: str = ""
    #: Names of the external functions that the code calls, in the order of the code's table.
    calls: tuple[str, ...] = ()
    #: Functions among `calls` that the process passes in. No file contains them; all others are looked up by name.
    functions: Mapping[str, Callable[..., object]] = field(default_factory=dict)
    #: Parts that codegens compiled.
    externals: tuple[ExternalPart, ...] = ()
    #: Object file of the process's thread pool if the program has parallel loops.
    pool: memoryview | None = None
    #: Kernels for devices other than the CPU.
    devices: tuple[DeviceCode, ...] = ()
    #: C libraries that the program calls.
    libraries: Libraries = field(default=Libraries())
    #: Source of the program as MLIR bytecode, if it was kept (compilation/observing.py).
    definitions: memoryview | None = None
    #: Order of floating-point sums: "same" on all CPUs, "fast" or nothing for any order; then kernels with the CPU's
    #: order.
    numerics: tuple[str, ...] = ()
    #: Folder of the file, which the file itself does not contain; empty without a file.
    folder: str = field(default="", repr=False, compare=False)
    #: Signatures from the manifest entries.
    signatures: tuple[Signature, ...] = field(init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        """Return a summary without the bytes."""
        names = ", ".join(signature.name for signature in self.signatures)
        return f"<artifact for {self.triple or 'any machine'}: {names or 'no functions'}>"

    def __post_init__(self) -> None:
        for constant in self.constants:
            constant.check()
        object.__setattr__(self, "signatures", tuple(map(parse_signature, self.entries)))


def write_artifact(artifact: Artifact, path: str | os.PathLike[str]) -> None:
    """Write the whole file or nothing. Raises ArtifactError."""
    write_pieces(Path(path), artifact_pieces(artifact))


def write_pieces(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a whole file or nothing, even if the machine crashes. Raises ArtifactError."""
    if not path.name:
        raise ArtifactError(f"{path}: cannot be written: it names no file")
    try:
        with replacing(path, is_durable=True) as file:
            file.writelines(pieces)
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be written: {error.strerror or error}") from None


def artifact_bytes(artifact: Artifact) -> bytes:
    """Return the bytes that `write_artifact` writes."""
    return b"".join(artifact_pieces(artifact))


def artifact_pieces(artifact: Artifact) -> Iterator[bytes | memoryview]:
    """Yield the bytes that `write_artifact` writes, piece by piece."""
    places, offset = [], 0
    blobs = [_bytes_of(constant.data) for constant in artifact.constants]
    blobs += [_bytes_of(external.data) for external in artifact.externals if external.data is not None]
    blobs += [_bytes_of(device.data) for device in artifact.devices]
    blobs += [] if artifact.definitions is None else [_bytes_of(artifact.definitions)]
    for data in blobs:
        places.append(Place(offset, data.nbytes, zlib.crc32(_padding(data.nbytes), zlib.crc32(data))))
        offset += _round_up(data.nbytes)
    objects = [_bytes_of(each) for each in (*artifact.objects, *(() if artifact.pool is None else (artifact.pool,)))]
    sizes = tuple(each.nbytes for each in objects)
    text = _manifest(artifact, sizes, places)
    head = HEADER_BYTES + len(text)
    body: list[bytes | memoryview] = [text, _padding(head)]
    for code in objects:
        body += [code, _padding(code.nbytes)]
    code_bytes = sum(map(_round_up, sizes))
    size = _round_up(head) + code_bytes + offset
    header = _HEADER.pack(MAGIC, FORMAT_VERSION, len(text), code_bytes, size)
    yield header + _digest([header, *body])
    yield from body
    for data in blobs:
        yield data
        yield _padding(data.nbytes)


def read_artifact(
    path: str | os.PathLike[str], *, verify_constants: bool = True, check: Callable[[memoryview], None] | None = None
) -> Artifact:
    """Map a file and return its contents. Raises ArtifactError if the file is damaged or of another version.

    `check` receives all bytes before any of them is used. The bytes are then a copy in memory, which cannot change
    between the check and the use.
    """
    path = os.fspath(path)  # a number would be an open file of the caller's, read and closed
    try:
        data = _map(path, is_copy=check is not None)
        if check is not None:
            check(data)
        return replace(parse_artifact(data, verify_constants), folder=os.path.dirname(os.path.abspath(path)))
    except ArtifactError as error:
        raise ArtifactError(str(error) if str(error).startswith(path) else f"{path}: {error}") from None


def _map(path: str | os.PathLike[str], *, is_copy: bool) -> memoryview:
    try:
        with open(path, "rb") as file:
            if (size := os.fstat(file.fileno()).st_size) < HEADER_BYTES:
                raise ArtifactError("not an artifact: too short")
            if not is_copy:
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            copy = memoryview(mmap.mmap(-1, size))  # aligned, as constants must be
            if file.readinto(copy) != size:
                raise ArtifactError("cannot be read: somebody changes it")
            return copy.toreadonly()
    except (OSError, ValueError) as error:
        raise ArtifactError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def parse_artifact(data: memoryview, verify_constants: bool = True) -> Artifact:
    """Return the contents of a file's bytes. Raises ArtifactError."""
    if data.nbytes < HEADER_BYTES:
        raise ArtifactError("not an artifact: too short")
    magic, version, manifest_bytes, code_bytes, size = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise ArtifactError("not an artifact: it does not begin like one")
    if version not in READ_VERSIONS:
        listed = f"{READ_VERSIONS[0]} to {FORMAT_VERSION}"
        raise ArtifactError(f"its format version is {version}, this release reads versions {listed}")
    if size != data.nbytes:
        raise ArtifactError(f"damaged: it has {data.nbytes} bytes, its header says {size}")
    code_start = _round_up(HEADER_BYTES + manifest_bytes)
    if (constants_start := code_start + code_bytes) > size:
        raise ArtifactError("damaged: its parts reach beyond its end")
    digest = _digest([data[: _HEADER.size], data[HEADER_BYTES:constants_start]])
    if digest != data[_HEADER.size : HEADER_BYTES]:
        raise ArtifactError("damaged: the checksum of manifest and code is wrong")
    parsed = _parse_manifest(bytes(data[HEADER_BYTES : HEADER_BYTES + manifest_bytes]), version)
    objects = tuple(_objects(parsed.object_sizes, data[code_start:constants_start]))
    objects, pool = (objects[:-1], objects[-1]) if parsed.has_pool else (objects, None)
    blobs = iter(list(_blobs(parsed.places, data[constants_start:], verify_constants)))
    constants = tuple([replace(constant, data=next(blobs)) for constant in parsed.constants])
    externals = tuple(
        [external if external.data is None else replace(external, data=next(blobs)) for external in parsed.externals]
    )
    devices = tuple([replace(device, data=next(blobs)) for device in parsed.devices])
    return Artifact(
        objects=objects, constants=constants, externals=externals, pool=pool, devices=devices,
        definitions=next(blobs, None), **parsed.fields,
    )  # fmt: skip


def _objects(sizes: Iterable[int], data: memoryview) -> Iterator[memoryview]:
    start = 0
    for size in sizes:
        if start + _round_up(size) > data.nbytes:
            raise ArtifactError("damaged: its objects reach beyond the code")
        yield data[start : start + size]
        start += _round_up(size)
    if start != data.nbytes:
        raise ArtifactError("damaged: the code goes on behind the last object")


def _blobs(places: Iterable[tuple[str, Place]], data: memoryview, verify: bool) -> Iterator[memoryview]:
    """Yield the data after the objects. Each place comes with a description of its data."""
    end = 0
    for what, place in places:
        if place.offset != end or place.offset + _round_up(place.size) > data.nbytes:
            raise ArtifactError(f"damaged: {what} is not where the one before ends")
        end = place.offset + _round_up(place.size)
        if verify and zlib.crc32(data[place.offset : end]) != place.crc32:
            raise ArtifactError(f"damaged: the checksum of {what} is wrong")
        yield data[place.offset : place.offset + place.size]
    if end != data.nbytes:
        raise ArtifactError("damaged: it goes on behind the last constant, part or device's code")


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


def _round_up(size: int) -> int:
    return size + -size % ALIGNMENT


def _padding(size: int) -> bytes:
    return bytes(-size % ALIGNMENT)


# ---- manifest ----


def _manifest(artifact: Artifact, object_sizes: Sequence[int], places: Sequence[Place]) -> bytes:
    """Return everything except code and data as JSON, which is the same for equal programs."""
    left = iter(places)
    constants = [
        {"name": constant.name, "dtype": constant.dtype, "shape": list(constant.shape), **vars(next(left))}
        for constant in artifact.constants
    ]
    externals = [
        _external_fields(external, None if external.data is None else next(left)) for external in artifact.externals
    ]
    devices = [_device_fields(device, next(left)) for device in artifact.devices]
    content = {
        "format": FORMAT_VERSION,
        "relax_mlir": artifact.version,
        "abi": list(ABI_VERSION),
        "target": {"triple": artifact.triple, "features": sorted(artifact.features)},
        "entries": list(artifact.entries),
        "objects": list(object_sizes),
        "constants": constants,
        **({"calls": list(artifact.calls)} if artifact.calls else {}),
        **({"externals": externals} if externals else {}),
        **({"devices": devices} if devices else {}),
        **({"pool": True} if artifact.pool is not None else {}),
        **({"libraries": artifact.libraries._asdict()} if artifact.libraries.names else {}),
        **({"numerics": list(artifact.numerics)} if artifact.numerics else {}),
        **({"definitions": vars(next(left))} if artifact.definitions is not None else {}),
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _external_fields(external: ExternalPart, place: Place | None) -> dict[str, object]:
    fields: dict[str, object] = {
        "codegen": external.codegen,
        "name": external.name,
        "version": external.version,
        "functions": list(external.functions),
        "nodes": list(external.nodes),
        "inputs": list(external.inputs),
        **({"same_bits": True} if external.same_bits else {}),
    }
    return fields if place is None else {**fields, **vars(place)}


def _device_fields(code: DeviceCode, place: Place) -> dict[str, object]:
    described = {"kind": code.kind, "arch": code.arch, "format": code.format, "kernels": list(code.kernels)}
    return {**described, **vars(place)}


class _Parsed(NamedTuple):
    """Contents of a manifest. The data of constants, externals and devices are filled in later."""

    fields: dict[str, Any]
    object_sizes: list[int]
    constants: list[Constant]
    externals: list[ExternalPart]
    devices: list[DeviceCode]
    #: Places of constants, then of externals, of devices and of the definitions, with descriptions.
    places: list[tuple[str, Place]]
    #: True if the last object is the thread pool.
    has_pool: bool


def _parse_manifest(text: bytes, version: int) -> _Parsed:
    """Parse a manifest. Raises ArtifactError."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise ArtifactError("damaged: its manifest is not JSON") from None
    fields = Fields(content, "manifest")
    if fields.get("format", int) != version:
        raise ArtifactError(f"its manifest is not of format version {version}")
    if (abi := fields.items("abi", int)) != list(ABI_VERSION):
        spelled = ".".join(map(str, abi))
        raise ArtifactError(f"its code calls tvm-ffi {spelled}, this release has {'.'.join(map(str, ABI_VERSION))}")
    target = Fields(fields.get("target", dict), "target")
    sizes = fields.items("objects", int)
    if min(sizes, default=0) < 0:
        raise ArtifactError("damaged: its manifest has a negative size")
    found = {
        "entries": tuple(fields.get("entries", list)),
        "triple": target.get("triple", str),
        "features": tuple(target.items("features", str)),
        "version": fields.get("relax_mlir", str),
        "calls": tuple(fields.items("calls", str)) if "calls" in content else (),
        "numerics": tuple(fields.items("numerics", str)) if "numerics" in content else (),
        "libraries": _parse_libraries(fields) if "libraries" in content else Libraries(),
    }
    has_pool = "pool" in content and fields.get("pool", bool)
    if has_pool and not sizes:
        raise ArtifactError("damaged: its manifest names a pool of threads, and there is no object")
    parsed = _Parsed(found, sizes, [], [], [], [], has_pool)
    for each in fields.get("constants", list):
        _parse_constant(each, parsed)
    for each in fields.get("externals", list) if "externals" in content else ():
        _parse_external(each, parsed)
    for each in fields.get("devices", list) if "devices" in content else ():
        _parse_device(each, parsed)
    changed = [code.kind for code in parsed.devices if code.kind != "cuda"]
    if changed and version < _DEVICES_SINCE:
        what = f"its code for {changed[0]} is of format version {version}, this release reads"
        raise ArtifactError(f"{what} versions {_DEVICES_SINCE} to {FORMAT_VERSION}: compile it again")
    if "definitions" in content:
        place = _parse_place(Fields(fields.get("definitions", dict), "definitions"))
        parsed.places.append(("the definitions", place))
    return parsed


def _parse_libraries(manifest: Fields) -> Libraries:
    fields = Fields(manifest.get("libraries", dict), "libraries")
    return Libraries(*(tuple(fields.items(key, str)) for key in Libraries._fields))


def _parse_constant(content: object, parsed: _Parsed) -> None:
    fields = Fields(content, "constant")
    name, shape = fields.get("name", str), fields.items("shape", int)
    if min(shape, default=0) < 0:
        raise ArtifactError("damaged: its manifest has a negative size")
    parsed.constants.append(Constant(name, fields.get("dtype", str), tuple(shape), memoryview(b"")))
    parsed.places.append((f"constant '{name}'", _parse_place(fields)))


def _parse_external(content: object, parsed: _Parsed) -> None:
    fields = Fields(content, "external")
    codegen, name, version = (fields.get(key, str) for key in ("codegen", "name", "version"))
    functions, nodes = (tuple(fields.items(key, str)) for key in ("functions", "nodes"))
    has_data = isinstance(content, dict) and "offset" in content
    # Older programs do not have this field.
    inputs = tuple(fields.items("inputs", int)) if isinstance(content, dict) and "inputs" in content else ()
    same_bits = isinstance(content, dict) and "same_bits" in content and fields.get("same_bits", bool)
    data = memoryview(b"") if has_data else None
    external = ExternalPart(codegen, name, version, functions, nodes, data, inputs, same_bits)
    parsed.externals.append(external)
    if has_data:
        parsed.places.append((external.label, _parse_place(fields)))


def _parse_device(content: object, parsed: _Parsed) -> None:
    fields = Fields(content, "device")
    kind, arch, format_ = (fields.get(key, str) for key in ("kind", "arch", "format"))
    code = DeviceCode(kind, arch, format_, tuple(fields.items("kernels", str)), memoryview(b""))
    parsed.devices.append(code)
    parsed.places.append((code.label, _parse_place(fields)))


def _parse_place(fields: Fields) -> Place:
    numbers = [fields.get(key, int) for key in ("offset", "size", "crc32")]
    if min(numbers) < 0:
        raise ArtifactError("damaged: its manifest has a negative size")
    return Place(*numbers)
