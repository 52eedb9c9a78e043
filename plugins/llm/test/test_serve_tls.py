# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-serve by https, files of certificates that it refuses, and the options of the example of an image."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir_llm.serve.tool import _parser
from served_process import server
from test_serve_tool import failure

OPENSSL = shutil.which("openssl")
pytestmark = pytest.mark.skipif(OPENSSL is None, reason="openssl, which makes certificates, is not installed")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a certificate, its key, the same with a password, and another key."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments: str) -> None:
        subprocess.run([str(OPENSSL), *arguments], cwd=folder, check=True, capture_output=True)

    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem")
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    openssl("req", "-x509", *new_key, "-out", "certificate.pem", "-days", "30", *names)
    openssl("pkcs8", "-topk8", "-in", "key.pem", "-passout", "pass:secret", "-out", "encrypted.pem")
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "other.pem")
    both = (folder / "certificate.pem").read_bytes() + (folder / "key.pem").read_bytes()
    (folder / "both.pem").write_bytes(both)
    cut = (folder / "key.pem").read_text().splitlines()
    (folder / "cut.pem").write_text("\n".join([cut[0], cut[1][:30], cut[-1]]))
    return folder


@pytest.mark.parametrize("names", [("certificate.pem", "key.pem"), ("both.pem",)])
def test_a_server_by_https(names: tuple[str, ...], files: Path, tmp_path: Path) -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 2))}) as f:
        (x,) = f
        f.returns(relax.add(x, x))
    rx.compile(module).save(tmp_path / "double.rxa")
    options = ("--tls-certificate", files / names[0], *(("--tls-key", files / names[1]) if names[1:] else ()))
    trusted = ssl.create_default_context(cafile=str(files / "certificate.pem"))
    with server(tmp_path / "double.rxa", *options, verify=trusted) as (_, client):
        assert client.base_url.scheme == "https"
        body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}]}
        assert client.post("/v2/models/double/infer", json=body).json()["outputs"][0]["data"] == [2, 4]
        with pytest.raises(httpx.ConnectError, match="certificate"):
            httpx.get(client.base_url)
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(client.base_url.copy_with(scheme="http"))


@pytest.mark.parametrize(
    ("certificate", "key", "problem"),
    [
        ("none.pem", None, "--tls-certificate: cannot read"),
        ("certificate.pem", "none.pem", "--tls-key: cannot read"),
        ("key.pem", None, "key.pem has no certificate in the form PEM"),
        ("certificate.pem", None, "certificate.pem has no private key, which --tls-key can name, in the form PEM"),
        ("certificate.pem", "certificate.pem", "--tls-key: "),
        ("certificate.pem", "other.pem", "other.pem: the private key belongs to another certificate than"),
        ("certificate.pem", "encrypted.pem", "--tls-key: the private key is encrypted"),
        ("certificate.pem", "cut.pem", "cut.pem: certificate or private key are damaged"),
        (None, "key.pem", "--tls-key needs --tls-certificate"),
    ],
)
def test_refused_files(certificate: str | None, key: str | None, problem: str, files: Path, tmp_path: Path) -> None:
    paths = {"--tls-certificate": certificate, "--tls-key": key}
    options = [part for option, name in paths.items() if name for part in (option, files / name)]
    assert problem in failure(tmp_path / "none.rxa", "--port", "0", *options)


def test_the_image_s_command_is_one_of_the_tool() -> None:
    text = (Path(__file__).parents[1] / "Dockerfile").read_text(encoding="utf-8")
    entry = next(line.removeprefix("ENTRYPOINT ") for line in text.splitlines() if line.startswith("ENTRYPOINT "))
    tool, *options = json.loads(entry)
    assert tool == "relax-serve" and _parser().parse_args([*options, "model.gguf"]).host == "0.0.0.0"


def test_two_names_of_the_option_of_origins() -> None:
    found = _parser().parse_args(["m", "--cors-origin", "https://a.example", "--allow-origin", "*"])
    assert found.allow_origin == ["https://a.example", "*"]
