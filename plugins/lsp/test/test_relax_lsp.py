# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-lsp as an editor uses it: a process with requests on its standard streams."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="pygls is not installed: relax-mlir[lsp]")

from lsprotocol.types import TextDocumentItem
from pygls.workspace import Workspace
from relax_mlir_lsp.server import make_server

COMMAND = [sys.executable, "-m", "relax_mlir_lsp.tool"]
URI = "file:///a/test.mlir"
GOOD = """\
#map = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<4xf32> {
  %c = arith.constant 1 : index
  %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %1:2 = func.call @two(%c) : (index) -> (index, tensor<4xf32>)
  cf.br ^bb1(%1#1 : tensor<4xf32>)
^bb1(%r: tensor<4xf32>):
  return %r : tensor<4xf32>
}
func.func private @two(%x: index) -> (index, tensor<4xf32>)
"""


class Editor:
    """Client of the protocol."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen([*COMMAND, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.published: list[dict[str, Any]] = []
        self._id = 0
        self.capabilities = self.ask("initialize", processId=os.getpid(), rootUri=None, capabilities={})["capabilities"]
        self.tell("initialized")

    def tell(self, method: str, **params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, **params: Any) -> Any:
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self._id:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def open(self, text: str, version: int = 1) -> list[dict[str, Any]]:
        document = {"uri": URI, "languageId": "mlir", "version": version, "text": text}
        self.tell("textDocument/didOpen", textDocument=document)
        return self.diagnostics(version)

    def change(self, text: str, version: int) -> None:
        self.tell(
            "textDocument/didChange", textDocument={"uri": URI, "version": version}, contentChanges=[{"text": text}]
        )

    def diagnostics(self, version: int | None) -> list[dict[str, Any]]:
        """Return the diagnostics that are published for a version of the text."""
        while not self.published or self.published[-1].get("version") != version:
            self._note(self._receive())
        return self.published[-1]["diagnostics"]

    def at(self, method: str, line: int, column: int, **more: Any) -> Any:
        position = {"line": line, "character": column}
        return self.ask(f"textDocument/{method}", textDocument={"uri": URI}, position=position, **more)

    def hover(self, line: int, column: int) -> str:
        found = self.at("hover", line, column)
        return "" if found is None else found["contents"]["value"].removeprefix("```mlir\n").removesuffix("\n```")

    def end(self) -> int:
        self.ask("shutdown")
        self.tell("exit")
        return self.process.wait(600)

    def _note(self, message: dict[str, Any]) -> None:
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published.append(message["params"])

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while True:
            line = self.process.stdout.readline()
            assert line, "the server has ended"
            if line == b"\r\n":
                return json.loads(self.process.stdout.read(length))
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length


@pytest.fixture(scope="module")
def server() -> Iterator[Editor]:
    editor = Editor()
    yield editor
    assert editor.end() == 0


@pytest.fixture
def editor(server: Editor) -> Iterator[Editor]:
    yield server
    server.tell("textDocument/didClose", textDocument={"uri": URI})
    assert server.diagnostics(None) == []


def text_in(text: str, place: dict[str, Any]) -> str:
    line = text.splitlines()[place["start"]["line"]].encode("utf-16-le")
    return line[2 * place["start"]["character"] : 2 * place["end"]["character"]].decode("utf-16-le")


def test_the_server_announces_its_abilities(server: Editor) -> None:
    for ability in ("hover", "definition", "references", "documentSymbol", "completion"):
        assert server.capabilities[f"{ability}Provider"]


def test_errors_in_each_part(editor: Editor) -> None:
    exq = '%0 = "relax.exq"(%x) : (tensor<4xf32>) -> tensor<4xf32>'
    part = f"// ä 𝄞\nfunc.func @f(%x: tensor<4xf32>) {{\n  {exq}\n  return\n}}\n"
    other = "func.func @g(%x: i32) {\n  return %x : i32\n}\n"
    text = f"{part}// -----\n{GOOD}// -----\n{other}"
    first, second = editor.open(text)
    assert first["message"].endswith("did you mean 'relax.exp'?")
    assert (first["severity"], first["source"], text_in(text, first["range"])) == (1, "relax", '"relax.exq"')
    assert second["message"] == "'func.return' op has 1 operands, but enclosing function (@g) returns 0"
    assert text_in(text, second["range"]) == "return"
    (note,) = second["relatedInformation"]
    assert note["message"].startswith("see current operation: ")
    editor.change(GOOD, 2)
    assert editor.diagnostics(2) == []


def test_columns_count_as_the_protocol_counts(editor: Editor) -> None:
    text = 'func.func @f(%x: tensor<4xf32>) attributes {a = "ä𝄞", b = #nope} {\n  return\n}\n'
    (error,) = editor.open(text)
    assert error["range"]["start"]["character"] == text.index("} {") + 1  # one more for the pair of surrogates
    assert text_in(text, error["range"]) == "}"


def test_hover(editor: Editor) -> None:
    assert editor.open(GOOD) == []
    sym = 'tensor<?x4xf32, #relax.sym<["n", 4]>>'
    assert editor.hover(3, 20) == f"%x: {sym}"
    assert editor.hover(3, 3) == f"%0: {sym}"
    assert editor.hover(2, 3) == "%c: index"
    assert editor.hover(4, 3) == "%1: index, tensor<4xf32>"
    assert editor.hover(7, 10) == "%r: tensor<4xf32>"
    assert editor.hover(4, 21) == "func.func private @two(%x: index) -> (index, tensor<4xf32>)"
    assert editor.hover(3, 12).startswith("relax.exp(x)\n\ne to the power of x.")
    assert editor.hover(0, 1) == "#map = affine_map<(d0) -> (d0)>"
    assert editor.hover(8, 0) == ""


def test_types_are_not_those_of_an_older_text(editor: Editor) -> None:
    editor.open(GOOD)
    editor.change("\n" + GOOD.replace("index", "i64"), 2)
    editor.diagnostics(2)
    assert editor.hover(3, 3) == "%c: i64"


def test_definitions_and_uses(editor: Editor) -> None:
    editor.open(GOOD)

    def defined(line: int, column: int) -> tuple[int, str]:
        found = editor.at("definition", line, column)
        return found["range"]["start"]["line"], text_in(GOOD, found["range"])

    assert defined(3, 20) == (1, "%x")
    assert defined(4, 21) == (9, "@two")
    assert defined(5, 9) == (6, "^bb1")
    assert defined(5, 14) == (4, "%1")
    assert defined(9, 24) == (9, "%x")
    assert editor.at("definition", 0, 10) is None
    uses = editor.at("references", 1, 17, context={"includeDeclaration": True})
    assert [each["range"]["start"]["line"] for each in uses] == [1, 3]


def test_broken_text_has_definitions(editor: Editor) -> None:
    text = 'func.func @f(%x: f32) {\n  %y, %z = "a.b"(%x\n  "c.d"(%z)\n'
    assert len(editor.open(text)) == 1
    assert editor.at("definition", 2, 9)["range"]["start"] == {"line": 1, "character": 6}
    assert editor.hover(2, 9) == '%y, %z = "a.b"(%x'


def test_symbols_and_completion(editor: Editor) -> None:
    editor.open(GOOD + '\n"relax.nn.conv2\nfunc.func @g(%long: i32) {\n  return %l\n')
    assert [each["name"] for each in editor.ask("textDocument/documentSymbol", textDocument={"uri": URI})] == [
        "@main",
        "@two",
        "@g",
    ]

    def completed(line: int, column: int) -> list[str]:
        return [each["label"] for each in editor.at("completion", line, column)["items"]]

    assert completed(11, 15) == ["relax.nn.conv2d", "relax.nn.conv2d_transpose", "relax.nn.conv2d_winograd"]
    assert completed(13, 11) == ["%long"]
    assert completed(4, 23) == ["@two"]


def test_typing_fast_is_looked_at_once(editor: Editor) -> None:
    editor.open("module {}")
    count = len(editor.published)
    for version in range(2, 20):
        editor.change("module {" + " " * version, version)
    assert len(editor.diagnostics(19)) == 1
    assert len(editor.published) <= count + 3


def test_results_for_an_older_text_are_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    server = make_server("1", [])
    server.protocol._workspace = Workspace(None)
    published: list[int | None] = []
    monkeypatch.setattr(server, "text_document_publish_diagnostics", lambda found: published.append(found.version))
    later = 1

    async def elsewhere(function: str, data: bytes, arguments: dict[str, Any]) -> bytes:
        server.workspace.put_text_document(TextDocumentItem(URI, "mlir", later, "module {}"))
        return b'{"diagnostics": [], "types": []}'

    monkeypatch.setattr(server, "_elsewhere", elsewhere)
    server.workspace.put_text_document(TextDocumentItem(URI, "mlir", 1, "module {"))
    asyncio.run(server.look_at(URI))
    later = 2
    asyncio.run(server.look_at(URI))
    assert published == [1]


def test_a_crash_of_mlir_is_an_error_of_the_text(tmp_path: Path) -> None:
    plugin = tmp_path / "crashing.py"
    plugin.write_text(
        "import os\nimport relax_mlir as rx\n"
        "def infer(call):\n    os.abort()\n"
        "rx.Dialect('crash').op('now', 'x', infer=infer, doc='Crashes.')\n"
    )
    editor = Editor(f"--load-plugin={plugin}")
    bad = 'func.func @f(%x: tensor<4xf32>) {\n  "crash.now"(%x) : (tensor<4xf32>) -> tensor<4xf32>\n  return\n}\n'
    (error,) = editor.open(bad)
    assert error["message"] == "this text: MLIR crashed (SIGABRT)"
    editor.change(GOOD, 2)
    assert editor.diagnostics(2) == []
    assert editor.hover(2, 3) == "%c: index"
    assert editor.end() == 0


def test_arguments() -> None:
    done = subprocess.run([*COMMAND, "a.mlir"], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "relax-lsp: error: relax-lsp takes no files, its editor names them; got a.mlir\n"
    assert "--load-plugin" in subprocess.run([*COMMAND, "-h"], capture_output=True, text=True, timeout=600).stdout


def test_without_the_library() -> None:
    code = "import sys; sys.modules['lsprotocol'] = None\nfrom relax_mlir_lsp.tool import run\nrun([])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.stderr == "relax-lsp: error: relax-lsp needs lsprotocol: pip install 'relax-mlir[lsp]'\n"
