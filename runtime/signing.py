# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signatures of saved programs (Ed25519) in separate files. They are checked before a file's contents are used.

The signed text contains the SHA-256 of the whole file. The signature of model.rxa is model.rxa.sig, one line of text.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from .artifact import write_pieces
from .errors import ArtifactError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

StrPath = str | os.PathLike[str]
Key = TypeVar("Key")

#: Suffix of a signature's file name.
SUFFIX = ".sig"
# Prefix of the signed text, so that a signature of other data is not valid for a program.
_CONTEXT = b"relax-mlir program, SHA-256: "
_MARK = "relax-mlir-ed25519 "
_MOST_BYTES = 65536  # maximum size of a key or a signature


def sign(path: StrPath, key: StrPath | Ed25519PrivateKey) -> Path:
    """Sign a saved program with a private key, a PEM file, and return the signature's file. Raises ArtifactError."""
    key = private_key(key) if isinstance(key, (str, os.PathLike)) else key
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    except OSError as error:
        raise ArtifactError(f"{os.fspath(path)}: cannot be read: {error.strerror}") from None
    signature = Path(f"{os.fspath(path)}{SUFFIX}")
    text = _MARK + base64.b64encode(key.sign(_CONTEXT + digest.digest())).decode()
    write_pieces(signature, [f"{text}\n".encode()])
    return signature


def check_trust(path: StrPath, data: memoryview, sha256: str | None, key: StrPath | None) -> None:
    """Refuse a file with these bytes unless its hash and its signature are the expected ones."""
    digest = hashlib.sha256(data)
    if sha256 is not None:
        if not re.fullmatch("[0-9a-fA-F]{64}", sha256):
            raise ArtifactError(f"sha256={sha256!r}: expected 64 hexadecimal digits")
        if digest.hexdigest() != sha256.lower():
            raise ArtifactError(f"its SHA-256 is {digest.hexdigest()}, expected {sha256.lower()}")
    if key is not None:
        check_signature(path, digest.digest(), key)


def check_signature(path: StrPath, sha256: bytes, key: StrPath) -> None:
    """Refuse a file with this SHA-256 unless the signature beside it matches a public key, a PEM file."""
    from_key = public_key(key)
    signature = _read(f"{os.fspath(path)}{SUFFIX}", f"{os.fspath(path)}: its signature")
    try:
        mark, encoded = signature[: len(_MARK)], signature[len(_MARK) :].strip()
        given = base64.b64decode(encoded, validate=True) if mark == _MARK.encode() else b""
    except binascii.Error:
        given = b""
    if len(given) != 64:
        raise ArtifactError(f"{os.fspath(path)}{SUFFIX}: no signature of a program")
    try:
        from_key.verify(given, _CONTEXT + sha256)
    except _library()[2]:
        reason = f"it, or its signature, was changed, or somebody else than {os.fspath(key)} signed it"
        raise ArtifactError(f"{os.fspath(path)}: its signature is not right: {reason}") from None


def private_key(path: StrPath) -> Ed25519PrivateKey:
    """Return a key to sign with (openssl genpkey -algorithm ed25519 -out key.pem). Raises ArtifactError."""
    serialization, ed25519, _ = _library()
    parse = partial(serialization.load_pem_private_key, password=None)
    return _parse_key(path, "private", parse, ed25519.Ed25519PrivateKey)


def public_key(path: StrPath) -> Ed25519PublicKey:
    """Return a key to check signatures with (openssl pkey -in key.pem -pubout -out key.pub.pem).

    Raises ArtifactError.
    """
    serialization, ed25519, _ = _library()
    return _parse_key(path, "public", serialization.load_pem_public_key, ed25519.Ed25519PublicKey)


def _parse_key(path: StrPath, which: str, parse: Callable[[bytes], object], kind: type[Key]) -> Key:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        key = parse(_read(path, f"{os.fspath(path)}: the {which} key"))
    except TypeError:  # raised by cryptography for a missing password
        raise ArtifactError(f"{os.fspath(path)}: the {which} key has a password: decrypt it first") from None
    except (ValueError, UnsupportedAlgorithm):
        raise ArtifactError(f"{os.fspath(path)}: expected a {which} key in PEM, got something else") from None
    if not isinstance(key, kind):
        raise ArtifactError(f"{os.fspath(path)}: expected a {which} key of Ed25519, got {type(key).__name__}")
    return key


def _read(path: StrPath, what: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise ArtifactError(f"{what} cannot be read: {os.fspath(path)}: {error.strerror}") from None


def _library() -> tuple[ModuleType, ModuleType, type[Exception]]:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise ArtifactError("signatures need cryptography: pip install 'relax-mlir[sign]'") from None
    return serialization, ed25519, InvalidSignature
