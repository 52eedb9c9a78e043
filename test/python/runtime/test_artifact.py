# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Artifacts: contents come back mapped, and any damage is a single error."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.runtime import Artifact, ArtifactError, Constant
from relax_mlir.runtime.artifact import FORMAT_VERSION, HEADER_BYTES, DeviceCode, read_artifact, write_artifact
from relax_mlir.runtime.constant_memory import address_of
from relax_mlir.runtime.cpu import features_of, host_features
from relax_mlir.runtime.manifest import PassedValue, Site, profile_content
from relax_mlir.support.external_part import ExternalPart

ENTRY = {"name": "main", "inputs": [{"name": "x", "kind": "object"}], "outputs": []}


def constant(name: str, array: Any) -> Constant:
    return Constant(name, str(array.dtype), array.shape, memoryview(array))


def sample() -> Artifact:
    constants = [
        constant("weights", numpy.arange(1000, dtype=numpy.float32).reshape(10, 100)),
        constant("nothing", numpy.zeros((0, 4), numpy.int8)),
        constant("scalar", numpy.array(7, numpy.int64)),
    ]
    objects = (memoryview(b"the object code" * 20), memoryview(b""), memoryview(b"more"))
    return Artifact((ENTRY,), objects, tuple(constants), "x-y", ("b", "a"), "0.1.0")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("artifact") / "whole.rxa"
    write_artifact(sample(), path)
    return path.read_bytes()


def refusal(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(ArtifactError) as caught:
        read_artifact(path)
    return str(caught.value)


def test_a_written_artifact_can_be_read(tmp_path: Path) -> None:
    before = sample()
    write_artifact(before, tmp_path / "a.rxa")
    after = read_artifact(tmp_path / "a.rxa")
    assert (after.entries, after.triple) == (before.entries, "x-y")
    assert list(map(bytes, after.objects)) == [b"the object code" * 20, b"", b"more"]
    assert (after.features, after.version) == (("a", "b"), "0.1.0")
    for old, new in zip(before.constants, after.constants, strict=True):
        assert (old.name, old.dtype, old.shape) == (new.name, new.dtype, new.shape)
        assert old.data.tobytes() == new.data.tobytes()
        assert not new.data.nbytes or address_of(new.data) % 64 == 0
        assert new.data.readonly


def with_externals() -> Artifact:
    externals = (
        ExternalPart("npu", "p0", "2", ("f", "g"), ("node",), memoryview(b"bytes of a codegen" * 9), (2, 1)),
        ExternalPart("c", "p1", "", ("h",), (), None),
    )
    return replace(sample(), externals=externals)


def test_parts_of_codegens_come_back(tmp_path: Path) -> None:
    before = with_externals()
    write_artifact(before, tmp_path / "a.rxa")
    part, linked = read_artifact(tmp_path / "a.rxa").externals
    assert part.data is not None and part.data.readonly and address_of(part.data) % 64 == 0
    assert bytes(part.data) == b"bytes of a codegen" * 9
    assert replace(part, data=None) == replace(before.externals[0], data=None)
    assert linked == before.externals[1]


@pytest.mark.parametrize("damage", ["changed", "cut"])
def test_a_damaged_part_is_named(tmp_path: Path, damage: str) -> None:
    write_artifact(with_externals(), tmp_path / "a.rxa")
    data = (tmp_path / "a.rxa").read_bytes()
    place = data.rindex(b"bytes of a codegen")
    changed = data[:place] + b"B" + data[place + 1 :]
    expected = "damaged: the checksum of codegen 'npu', part 'p0' is wrong"
    if damage == "cut":
        size = struct.pack("<Q", len(data) - 128)
        start = data.index(struct.pack("<Q", len(data)))
        changed, expected = (data[:start] + size + data[start + 8 :])[:-128], "damaged: the checksum of manifest"
    assert expected in refusal(tmp_path / "a.rxa", changed)


def with_kernels() -> Artifact:
    """Return a program with constants, a part of a codegen and code for two devices."""
    codes = (
        DeviceCode("cuda", "sm_80", "ptx", ("add", "matmul"), memoryview(b"text of kernels" * 7)),
        DeviceCode("cuda", "sm_90a", "cubin", (), memoryview(b"")),
    )
    return replace(with_externals(), devices=codes)


def test_code_for_devices_comes_back(tmp_path: Path) -> None:
    before = with_kernels()
    write_artifact(before, tmp_path / "a.rxa")
    after = read_artifact(tmp_path / "a.rxa")
    assert after.devices == before.devices and after.devices[0].data.readonly
    assert [bytes(each.data) for each in after.constants] == [bytes(each.data) for each in before.constants]
    assert after.externals[0].data == before.externals[0].data
    assert before.devices[0].label == "the kernels for cuda, sm_80"


def test_damaged_code_for_a_device_is_named(tmp_path: Path) -> None:
    write_artifact(with_kernels(), tmp_path / "a.rxa")
    data = (tmp_path / "a.rxa").read_bytes()
    place = data.rindex(b"text of kernels")
    changed = data[:place] + b"T" + data[place + 1 :]
    assert "damaged: the checksum of the kernels for cuda, sm_80 is wrong" in refusal(tmp_path / "a.rxa", changed)


@pytest.mark.parametrize(
    ("devices", "reason"),
    [
        (7, "'devices' in its manifest is not of type list"),
        ([7], "its device is no JSON object"),
        ([{"kind": "cuda", "arch": "sm_80"}], "'format' in its device is not of type str"),
        (
            [{"kind": "cuda", "arch": "sm_80", "format": "ptx", "kernels": [1]}],
            "'kernels' in its device holds more than str",
        ),
        (
            [{"kind": "cuda", "arch": "a", "format": "ptx", "kernels": [], "offset": -1, "size": 0, "crc32": 0}],
            "its manifest has a negative size",
        ),
        (
            [{"kind": "cuda", "arch": "a", "format": "ptx", "kernels": [], "offset": 0, "size": 9, "crc32": 0}],
            "the kernels for cuda, a is not where the one before ends",
        ),
    ],
)
def test_wrong_devices_in_a_manifest_are_refused(tmp_path: Path, whole: bytes, devices: Any, reason: str) -> None:
    manifest = {**manifest_of(whole), "objects": [1], "constants": [], "devices": devices}
    message = refusal(tmp_path / "a.rxa", with_manifest(json.dumps(manifest).encode()))
    assert f"damaged: {reason}" in message


def test_the_same_bytes(tmp_path: Path, whole: bytes) -> None:
    write_artifact(sample(), tmp_path / "b.rxa")
    assert (tmp_path / "b.rxa").read_bytes() == whole
    write_artifact(read_artifact(tmp_path / "b.rxa"), tmp_path / "b.rxa")  # over itself, while it is mapped
    assert (tmp_path / "b.rxa").read_bytes() == whole


@given(st.data())
def test_truncated(tmp_path_factory: pytest.TempPathFactory, whole: bytes, data: st.DataObject) -> None:
    length = data.draw(st.integers(0, len(whole) - 1))
    refusal(tmp_path_factory.getbasetemp() / "truncated.rxa", whole[:length])


@given(st.data())
def test_a_flipped_bit(tmp_path_factory: pytest.TempPathFactory, whole: bytes, data: st.DataObject) -> None:
    damaged = bytearray(whole)
    bit = data.draw(st.integers(0, len(whole) * 8 - 1))
    damaged[bit // 8] ^= 1 << bit % 8
    refusal(tmp_path_factory.getbasetemp() / "flipped.rxa", bytes(damaged))


def test_every_byte_counts(tmp_path: Path, whole: bytes) -> None:
    for index in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[index] ^= 0xFF
        refusal(tmp_path / "damaged.rxa", bytes(damaged))


@given(st.binary(max_size=300))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    refusal(tmp_path_factory.getbasetemp() / "any.rxa", data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    ),
    st.sampled_from(["format", "abi", "target", "entries", "objects", "constants", "relax_mlir"]),
)
def test_any_manifest(tmp_path_factory: pytest.TempPathFactory, whole: bytes, value: Any, key: str) -> None:
    """Read any manifest with a matching digest: the result is an artifact or a single error."""
    manifest = {**manifest_of(whole), "objects": [1], "constants": [], key: value}
    path = tmp_path_factory.getbasetemp() / "manifest.rxa"
    path.write_bytes(with_manifest(json.dumps(manifest).encode()))
    try:
        artifact = read_artifact(path)
    except ArtifactError:
        return
    assert artifact.constants == ()
    sizes = value if key == "objects" else [1]
    assert [each.nbytes for each in artifact.objects] == sizes and b"".join(artifact.objects).startswith(b"c")


TENSOR = {"kind": "tensor", "dtype": "float32", "shape": [2, "n", None]}
KERNEL = {"name": "exp", "operators": ["relax.exp"], "main": "relax.exp"}
SITE = {"place": 0, "kernel": 0, "nodes": ["a"], "inputs": ["f32[n]"]}


def with_entry(data: bytes, entry: Any) -> bytes:
    return with_manifest(
        json.dumps({**manifest_of(data), "objects": [1], "constants": [], "entries": [entry]}).encode()
    )


def test_reading_an_entry_keeps_all_fields(tmp_path: Path, whole: bytes) -> None:
    items = [TENSOR, {"kind": "scalar", "dtype": "i64"}]
    inputs = [
        {"name": "x", "written": True, "holds": "int4", **TENSOR},
        {"name": "xs", "kind": "list", "items": items},
        {"name": "left_out", "kind": "nothing"},
    ]
    outputs = [{"kind": "list", "items": [], "rest": TENSOR, "optional": True}, {"name": "y", "kind": "object"}]
    profile = {"kernels": [KERNEL], "sites": [{**SITE, "place": 3, "bytes": 8}, SITE]}
    entry = {"name": "f", "inputs": inputs, "outputs": outputs, "profile": profile, "own": {"of": ["somebody"]}}
    (tmp_path / "x.rxa").write_bytes(with_entry(whole, entry))
    artifact = read_artifact(tmp_path / "x.rxa")
    assert artifact.entries == (entry,)
    tensor = PassedValue("tensor", dtype="float32", shape=(2, "n", None))
    (signature,) = artifact.signatures
    assert signature.inputs == (
        tensor._replace(name="x", written=True, holds="int4"),
        PassedValue("list", "xs", items=(tensor, PassedValue("scalar", dtype="i64"))),
        PassedValue("nothing", "left_out"),
    )
    assert signature.outputs == (PassedValue("list", rest=tensor, optional=True), PassedValue("object", "y"))
    site = Site(0, "exp", ("a",), (), ("relax.exp",), "relax.exp", ("f32[n]",), ())
    assert signature.sites == (site._replace(place=3, bytes=8), site)
    content = {**signature.content(), "profile": profile_content(signature.sites), "own": entry["own"]}
    assert content == entry


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"inputs": [TENSOR]}, "its manifest has an input of 'f' without a name"),
        ({"inputs": [{**TENSOR, "name": 1}]}, "'name' in its entry is not of type str"),
        ({"outputs": [{"kind": "tensor", "shape": []}]}, "'dtype' in its entry is not of type str"),
        ({"outputs": [{**TENSOR, "shape": 2}]}, "'shape' in its entry is not of type list"),
        ({"outputs": [{**TENSOR, "shape": [True]}]}, "its manifest has a shape of more than numbers and text"),
        ({"outputs": [{**TENSOR, "holds": 4}]}, "'holds' in its entry is not of type str"),
        ({"outputs": [{**TENSOR, "optional": 1}]}, "'optional' in its entry is not of type bool"),
        ({"outputs": [{"kind": "tuple"}]}, "has a 'tuple' where there can be tensor, scalar, object, list, nothing"),
        ({"outputs": [{"kind": "list"}]}, "'items' in its entry is not of type list"),
        ({"outputs": [{"kind": "list", "items": [4]}]}, "its entry is no JSON object"),
        (
            {"outputs": [{"kind": "list", "items": [{"kind": "list", "items": []}]}]},
            "there can be tensor, scalar, object",
        ),
        ({"outputs": [{"kind": "list", "items": [], "rest": {"kind": "object"}}]}, "where there can be tensor"),
        ({"outputs": [{"kind": "list", "items": [], "rest": None}]}, "its entry is no JSON object"),
        ({"profile": None}, "'profile' in its entry is not of type dict"),
        ({"profile": {"kernels": []}}, "'sites' in its profile is not of type list"),
        ({"profile": {"kernels": [{}], "sites": []}}, "'name' in its profile is not of type str"),
        ({"profile": {"kernels": [], "sites": [SITE]}}, "what its manifest says of the kernels of 'f'"),
        ({"profile": {"kernels": [KERNEL], "sites": [{**SITE, "kernel": -1}]}}, "says of the kernels of 'f'"),
        ({"profile": {"kernels": [KERNEL], "sites": [{**SITE, "place": -1}]}}, "says of the kernels of 'f'"),
        ({"profile": {"kernels": [KERNEL], "sites": [{**SITE, "nodes": [1]}]}}, "'nodes' in its profile holds more"),
        ({"profile": {"kernels": [KERNEL], "sites": [{**SITE, "bytes": "8"}]}}, "'bytes' in its profile is not of"),
    ],
)
def test_damaged_entries(tmp_path: Path, whole: bytes, change: Any, reason: str) -> None:
    entry = {"name": "f", "inputs": [], "outputs": [], **change}
    message = refusal(tmp_path / "x.rxa", with_entry(whole, entry))
    assert message.startswith(f"{tmp_path / 'x.rxa'}: damaged: ") and reason in message
    with pytest.raises(ArtifactError):  # nor is one made
        Artifact((entry,), ())


def manifest_of(whole: bytes) -> dict[str, Any]:
    (length,) = struct.unpack_from("<I", whole, 12)
    return dict(json.loads(whole[HEADER_BYTES : HEADER_BYTES + length]))


def with_manifest(manifest: bytes, version: int = FORMAT_VERSION) -> bytes:
    """Return a file with this manifest, one byte of code and no constants."""
    body = manifest + bytes(-(HEADER_BYTES + len(manifest)) % 64) + b"c" + bytes(63)
    header = struct.pack("<8sIIQQ", b"\x89RXA\r\n\x1a\n", version, len(manifest), 64, HEADER_BYTES + len(body))
    return header + hashlib.blake2b(header + body, digest_size=32).digest() + body


def with_objects(data: bytes, sizes: list[int]) -> bytes:
    return with_manifest(json.dumps({**manifest_of(data), "objects": sizes, "constants": []}).encode())


def with_constants(data: bytes, places: list[tuple[int, int]], total: int = 128, dtype: str = "int8") -> bytes:
    """Return a file with zero constants at these offsets, of these sizes, with right checksums."""
    listed = [
        {"name": f"c{index}", "dtype": dtype, "shape": [size], "offset": offset, "size": size}
        | {"crc32": zlib.crc32(bytes(size + -size % 64))}
        for index, (offset, size) in enumerate(places)
    ]
    manifest = json.dumps({**manifest_of(data), "objects": [1], "constants": listed}).encode()
    whole = with_manifest(manifest)
    size = len(whole) + total
    header = struct.pack("<8sIIQQ", b"\x89RXA\r\n\x1a\n", FORMAT_VERSION, len(manifest), 64, size)
    return (
        header
        + hashlib.blake2b(header + whole[HEADER_BYTES:], digest_size=32).digest()
        + whole[HEADER_BYTES:]
        + bytes(total)
    )


@pytest.mark.parametrize("kind", ["vulkan", "opencl"])
def test_code_for_a_device_of_the_version_before(tmp_path: Path, whole: bytes, kind: str) -> None:
    """Refuse format 3, which finds the device by another table. Other code is read (test_contract)."""
    place = {"offset": 0, "size": 0, "crc32": 0}
    device = {"kind": kind, "arch": kind, "format": "spirv", "kernels": ["k"], **place}
    content = {**manifest_of(whole), "format": 3, "objects": [1], "constants": [], "devices": [device]}
    reason = f"its code for {kind} is of format version 3, this release reads versions 4 to 5: compile it again"
    assert reason in refusal(tmp_path / "old.rxa", with_manifest(json.dumps(content).encode(), version=3))


def test_overlapping_constants_are_refused(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / "good.rxa").write_bytes(with_constants(whole, [(0, 60), (64, 64)]))
    assert [each.data.nbytes for each in read_artifact(tmp_path / "good.rxa").constants] == [60, 64]
    for places, reason in (
        ([(0, 64), (0, 64)], "constant 'c1' is not where the one before ends"),  # twice the same memory
        ([(0, 128), (64, 64)], "constant 'c1' is not where the one before ends"),
        ([(64, 64)], "constant 'c0' is not where the one before ends"),
        ([(0, 64), (64, 65)], "constant 'c1' is not where the one before ends"),  # beyond the end
        ([(0, 64)], "it goes on behind the last constant"),
        ([], "it goes on behind the last constant"),
    ):
        assert f"damaged: {reason}" in refusal(tmp_path / "bad.rxa", with_constants(whole, places))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: b"\x7fELF" + data[4:], "not an artifact: it does not begin like one"),
        (
            lambda data: data[:8] + b"\x63" + data[9:],
            f"its format version is 99, this release reads versions 3 to {FORMAT_VERSION}",
        ),
        (
            lambda data: data[:8] + b"\x01" + data[9:],
            f"its format version is 1, this release reads versions 3 to {FORMAT_VERSION}",
        ),
        (lambda data: data[:-64], "damaged: it has"),
        (lambda data: data + b"more", "damaged: it has"),
        (lambda data: data[:70] + b"?" + data[71:], "the checksum of manifest and code is wrong"),
        (lambda data: data[:-1] + b"?", "the checksum of constant 'scalar' is wrong"),
        (lambda data: b"", "not an artifact: too short"),
        (lambda data: with_manifest(b"[" * 100_000), "its manifest is not JSON"),
        (lambda data: with_manifest(b"[]"), "its manifest is no JSON object"),
        (lambda data: with_objects(data, [65]), "its objects reach beyond the code"),
        (lambda data: with_objects(data, []), "the code goes on behind the last object"),
        (lambda data: with_objects(data, [-1]), "its manifest has a negative size"),
        (lambda data: with_manifest(json.dumps({**manifest_of(data), "abi": [9, 9]}).encode()), "tvm-ffi 9.9"),
    ],
)
def test_reasons(tmp_path: Path, whole: bytes, change: Any, reason: str) -> None:
    message = refusal(tmp_path / "x.rxa", change(whole))
    assert message.startswith(f"{tmp_path / 'x.rxa'}: ") and reason in message


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="cannot be read: No such file"):
        read_artifact(tmp_path / "none.rxa")
    with pytest.raises(ArtifactError, match="cannot be read: Is a directory"):
        read_artifact(tmp_path)


def test_constants_can_go_unchecked(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / "x.rxa").write_bytes(whole[:-1] + b"?")
    assert len(read_artifact(tmp_path / "x.rxa", verify_constants=False).constants) == 3


def test_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "kept.rxa"
    path.write_bytes(b"before")
    bad = Constant("odd", "float32", (2,), memoryview(numpy.zeros(4, numpy.float32)[::2]))
    with pytest.raises(ArtifactError, match="not contiguous"):
        write_artifact(Artifact((ENTRY,), (memoryview(b"code"),), (bad,)), path)
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["kept.rxa"]
    with pytest.raises(ArtifactError, match="cannot be written: No such file"):
        write_artifact(sample(), tmp_path / "no" / "folder.rxa")
    with pytest.raises(ArtifactError, match="cannot be written: Is a directory"):
        write_artifact(sample(), tmp_path)
    with pytest.raises(ArtifactError, match="names no file"):
        write_artifact(sample(), "/")


def test_host_features_are_common_to_all_processors() -> None:
    text = "processor: 0\nflags\t\t: fpu avx2 avx512_vnni sse4_1\n\nprocessor: 1\nflags\t\t: fpu avx2 sse4_1\n"
    assert features_of(text) == {"avx2", "sse4.1"}
    assert features_of("Features\t: fp asimd atomics\n") == {"fp-armv8", "neon", "lse"}
    assert features_of("isa\t\t: rv64imafdcv_zicbom_zba_zfh\n") == set("m a f d c v zba zfh zfhmin".split())
    assert features_of("nothing here") == frozenset()
    assert host_features() == host_features()


@pytest.mark.parametrize(
    ("dtype", "shape", "held", "needed"),
    [
        ("f32", (4,), 4, 16),
        ("float32", (4,), 17, 16),
        ("i1", (9,), 2, 9),
        ("bool", (9,), 10, 9),
        ("ui8", (2, 3), 5, 6),
        ("i4", (5,), 3, 5),
        ("f8E4M3FN", (3,), 12, 3),
        ("bf16", (), 1, 2),
        ("index", (2,), 8, 16),
        ("complex<f32>", (2,), 8, 16),
        ("f64", (0, 7), 8, 0),
    ],
)
def test_a_constant_has_the_bytes_that_code_reads(
    tmp_path: Path, dtype: str, shape: tuple[int, ...], held: int, needed: int
) -> None:
    def program(count: int) -> Artifact:
        return Artifact((ENTRY,), (memoryview(b"code"),), (Constant("w", dtype, shape, memoryview(bytes(count))),))

    path = tmp_path / "x.rxa"
    write_artifact(program(needed), path)
    assert read_artifact(path).constants[0].data.nbytes == needed
    with pytest.raises(ArtifactError, match=rf"'w' has {held} bytes, .* needs {needed}$"):
        program(held)
    with pytest.raises(ArtifactError, match="elements of an unknown type, 'number'"):
        Artifact((ENTRY,), (), (Constant("w", "number", (), memoryview(b"1")),))


def test_a_file_with_a_constant_shorter_than_code_reads_is_refused(tmp_path: Path, whole: bytes) -> None:
    data = with_constants(whole, [(0, 64), (64, 64)], dtype="float32")
    assert "constant 'c0' has 64 bytes, float32 of shape (64,) needs 256" in refusal(tmp_path / "x.rxa", data)
