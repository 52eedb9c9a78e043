# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Certificate and key of a server that uses TLS, from the options of relax-serve."""

from __future__ import annotations

import ssl
from pathlib import Path

import relax_mlir as rx

#: Marks of the parts of a file in the form PEM.
_CERTIFICATE, _KEY = b"-----BEGIN CERTIFICATE-----", b"PRIVATE KEY-----"
_OF_ANOTHER = "KEY_VALUES_MISMATCH"


def tls_context(certificate: str | None, key: str | None) -> ssl.SSLContext | None:
    """Return the settings of TLS, or None without a certificate. Raise OptionError for files that do not fit."""
    if certificate is None:
        if key is not None:
            raise rx.OptionError("--tls-key needs --tls-certificate, the file of the certificate")
        return None
    _check("--tls-certificate", certificate, _CERTIFICATE, "certificate")
    if key is None:
        _check("--tls-certificate", certificate, _KEY, "private key, which --tls-key can name,")
    else:
        _check("--tls-key", key, _KEY, "private key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, _refuse_password)
    except ssl.SSLError as error:
        shown = f"--tls-key {key}" if key is not None else f"--tls-certificate {certificate}"
        if error.reason == _OF_ANOTHER:
            raise rx.OptionError(
                f"{shown}: the private key belongs to another certificate than {certificate}"
            ) from None
        raise rx.OptionError(f"{shown}: certificate or private key are damaged ({error.reason or error})") from None
    return context


def _check(option: str, path: str, mark: bytes, content: str) -> None:
    """Raise OptionError if a file cannot be read, or lacks a part in the form PEM."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise rx.OptionError(f"{option}: cannot read {path}: {error.strerror}") from None
    if mark not in data:
        raise rx.OptionError(f"{option}: {path} has no {content} in the form PEM, a text with -----BEGIN")


def _refuse_password() -> str:
    raise rx.OptionError("--tls-key: the private key is encrypted, expected one without a password")
