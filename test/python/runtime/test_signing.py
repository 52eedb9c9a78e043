# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs are refused unless their digest or signature is right."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from relax_mlir.runtime import ArtifactError, sign

import relax_mlir as rx
from relax_mlir import relax, runtime

ed25519 = pytest.importorskip(
    "cryptography.hazmat.primitives.asymmetric.ed25519", reason="cryptography is not installed: relax-mlir[sign]"
)
from cryptography.hazmat.primitives import serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402

_PEM, _PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
_INFO = serialization.PublicFormat.SubjectPublicKeyInfo
# RFC 8032, 7.1, test 1: the key's seed.
_SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")


def write_keys(folder: Path, name: str, key: Any, password: bytes | None = None) -> tuple[Path, Path]:
    hidden = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    private, public = folder / f"{name}.pem", folder / f"{name}.pub.pem"
    private.write_bytes(key.private_bytes(_PEM, _PKCS8, hidden))
    public.write_bytes(key.public_key().public_bytes(_PEM, _INFO))
    return private, public


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("keys")
    return write_keys(folder, "key", ed25519.Ed25519PrivateKey.from_private_bytes(_SEED))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 1000))}) as f:
        f.returns(relax.add(*f, relax.const(numpy.arange(1000, dtype="float32"))))
    rx.compile(module).save(tmp_path / "model.rxa")
    return tmp_path / "model.rxa"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def works(executable: Any) -> bool:
    return bool(executable["main"](numpy.zeros((1, 1000), "float32")).sum() == 499500)


def test_the_file_that_is_meant(program: Path) -> None:
    expected = digest(program)
    assert works(runtime.load(program, sha256=expected)) and works(runtime.load(program, sha256=expected.upper()))
    for wrong, text in (
        (expected[:-1] + "g", "expected 64 hexadecimal digits"),
        ("0" * 64, f"its SHA-256 is {expected}"),
    ):
        with pytest.raises(ArtifactError, match=re.escape(text)):
            runtime.load(program, sha256=wrong)


def test_signed(program: Path, keys: tuple[Path, Path]) -> None:
    private, public = keys
    signature = sign(program, private)
    assert signature == program.with_name("model.rxa.sig")
    assert works(runtime.load(program, verify_key=public))
    assert works(runtime.load(program, verify_key=public, sha256=digest(program)))
    with pytest.raises(ArtifactError, match="SHA-256"):
        runtime.load(program, verify_key=public, sha256="1" * 64)
    # Check with the library itself that the signature covers this program, and that another program differs.
    mark, encoded = signature.read_text().split()
    signed = b"relax-mlir program, SHA-256: " + bytes.fromhex(digest(program))
    assert mark == "relax-mlir-ed25519" and base64.b64decode(encoded) == ed25519.Ed25519PrivateKey.from_private_bytes(
        _SEED
    ).sign(signed)


def _flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda program: _flip(program, 200),
            "model.rxa: its signature is not right: it, or its signature, was changed",
        ),
        (lambda program: _flip(program, -100), "its signature is not right"),
        (lambda program: program.write_bytes(program.read_bytes() + bytes(64)), "its signature is not right"),
        (lambda program: _signature(program).unlink(), "model.rxa: its signature cannot be read: "),
        (lambda program: _signature(program).write_text("nothing"), "model.rxa.sig: no signature of a program"),
        (lambda program: _signature(program).write_text("relax-mlir-ed25519 !"), "no signature of a program"),
        (lambda program: _signature(program).write_text("relax-mlir-ed25519 " + "A" * 88), "no signature of a program"),
        (lambda program: _signature(program).write_bytes(bytes(10**6)), "no signature of a program"),
        (lambda program: os.truncate(program, 10), "not an artifact: too short"),
    ],
)
def test_changed_programs_fail_verification(
    program: Path, keys: tuple[Path, Path], change: Callable[[Path], Any], text: str
) -> None:
    sign(program, keys[0])
    change(program)
    with pytest.raises(ArtifactError, match=re.escape(text)):
        runtime.load(program, verify_key=keys[1])


def _signature(program: Path) -> Path:
    return program.with_name("model.rxa.sig")


def test_somebody_elses_signature(program: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    private, _ = write_keys(tmp_path, "other", ed25519.Ed25519PrivateKey.generate())
    sign(program, private)
    with pytest.raises(ArtifactError, match=r"or somebody else than .*key\.pub\.pem signed it"):
        runtime.load(program, verify_key=keys[1])


def test_nothing_is_believed_before_the_check(
    program: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse a file with a wrong signature without parsing its manifest or code."""

    def parsed(*arguments: Any) -> Any:
        raise AssertionError("the file was read as a program")

    monkeypatch.setattr("relax_mlir.runtime.artifact.parse_artifact", parsed)
    sign(program, keys[0])
    _flip(program, -1)
    with pytest.raises(ArtifactError, match="its signature is not right"):
        runtime.load(program, verify_key=keys[1])
    with pytest.raises(ArtifactError, match="SHA-256"):
        runtime.load(program, sha256="2" * 64)


def test_a_verified_program_ignores_later_writes_to_the_file(program: Path, keys: tuple[Path, Path]) -> None:
    """Copy a checked file instead of mapping it, so that later writes have no effect."""
    sign(program, keys[0])
    executable = runtime.load(program, verify_key=keys[1])
    with program.open("r+b") as file:
        file.write(bytes(program.stat().st_size))
    assert works(executable)


@pytest.mark.parametrize("which", ["private", "public"])
def test_keys_that_are_none(program: Path, keys: tuple[Path, Path], tmp_path: Path, which: str) -> None:
    use = (
        (lambda key: sign(program, key)) if which == "private" else (lambda key: runtime.load(program, verify_key=key))
    )
    sign(program, keys[0])
    other = write_keys(tmp_path, "ec", ec.generate_private_key(ec.SECP256R1()))[which == "public"]
    (tmp_path / "junk").write_bytes(b"junk")
    for key, text in (
        (tmp_path / "none.pem", "No such file or directory"),
        (tmp_path / "junk", f"junk: expected a {which} key in PEM, got something else"),
        (other, f"expected a {which} key of Ed25519, got "),
        (keys[which == "private"], f"expected a {which} key in PEM"),
    ):
        with pytest.raises(ArtifactError, match=re.escape(text)):
            use(key)


def test_a_key_with_a_password(program: Path, tmp_path: Path) -> None:
    private, _ = write_keys(tmp_path, "locked", ed25519.Ed25519PrivateKey.generate(), b"secret")
    with pytest.raises(ArtifactError, match="the private key has a password: decrypt it first"):
        sign(program, private)


def test_without_the_library(program: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cryptography.exceptions", None)
    with pytest.raises(ArtifactError, match=r"signatures need cryptography: pip install 'relax-mlir\[sign\]'"):
        sign(program, keys[0])
    assert works(runtime.load(program, sha256=digest(program)))  # which needs none


def test_signing_a_missing_file_is_refused(keys: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="cannot be read: No such file"):
        sign(tmp_path / "none.rxa", keys[0])


def test_the_tools_sign_and_check(program: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    """Run relax-compile --sign, relax-run --verify-key and --sha256."""
    from relax_mlir.tools import relax_compile, relax_run

    def outcome(tool: Any, *arguments: Any) -> tuple[int, str]:
        errors = io.StringIO()
        return tool.run(list(map(str, arguments)), io.StringIO(), io.StringIO(), errors), errors.getvalue()

    source, made = tmp_path / "m.mlir", tmp_path / "m.rxa"
    source.write_text("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}\n")
    assert outcome(relax_compile, source, "-o", made, "--sign", keys[0]) == (0, "")
    assert outcome(relax_run, made, "--verify-key", keys[1], f"--sha256={digest(made)}") == (0, "")
    _flip(made, -1)
    for options, text in (
        (["--verify-key", keys[1]], "its signature is not right"),
        ([f"--sha256={'3' * 64}"], "its SHA-256 is "),
    ):
        status, errors = outcome(relax_run, made, *options)
        assert status == 1 and errors.startswith(f"relax-run: error: {made}: {text}"), errors
    status, errors = outcome(relax_compile, source, "-o", tmp_path / "n.rxa", "--sign", keys[1])
    assert status == 1 and "expected a private key in PEM" in errors and not (tmp_path / "n.rxa").exists()
    status, errors = outcome(relax_compile, source, "-o", tmp_path / "n.mlir", "--emit=relax", "--sign", keys[0])
    assert status == 1 and "--sign is for programs" in errors
