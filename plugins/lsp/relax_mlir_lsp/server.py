# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The language server. MLIR runs in another process: its crash is reported as a message, and the server continues.

Answers about names come from the text (document.py), so that they also work on incomplete text.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from relax_mlir.support.errors import RelaxError
from relax_mlir.support.processes.pool import PoolCall, process_pool

from .document import Definition, Document

_ANALYSIS = f"{__package__}.analysis"
_PAUSE_S = 0.15  # after a keystroke, because more may follow
_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "remark": lsp.DiagnosticSeverity.Information,
    "note": lsp.DiagnosticSeverity.Information,
}
_OPERATOR = re.compile(r"[\w.]+")
_Placed: TypeAlias = lsp.HoverParams | lsp.DefinitionParams | lsp.ReferenceParams | lsp.CompletionParams


class RelaxServer(LanguageServer):
    """Server with analyses of the texts that an editor has open."""

    def __init__(self, version: str, plugins: Sequence[str]) -> None:
        super().__init__("relax-lsp", version)
        self.plugins = list(plugins)
        #: Types of values by line and column of the defining operation, for one version of a text.
        self._types: dict[str, dict[tuple[int, int], list[str]]] = {}
        self._documents: dict[str, Document] = {}
        self._operators: dict[str, str] | None = None

    def document(self, uri: str) -> Document:
        text = self.workspace.get_text_document(uri).source
        if (known := self._documents.get(uri)) is None or known.text != text:
            known = self._documents[uri] = Document(text)
        return known

    async def look_at(self, uri: str) -> None:
        """Publish MLIR's diagnostics unless the text has changed meanwhile."""
        source = self.workspace.get_text_document(uri)
        version, text = source.version, source.source
        arguments: dict[str, object] = {"name": uri.rpartition("/")[2], "plugins": self.plugins}
        try:
            analyzed = json.loads(await self._elsewhere("analyze", text.encode("utf-8", "replace"), arguments))
        except RelaxError as error:
            # Only a crash of MLIR, or a broken plug-in, ends here.
            message = error.message.replace("the process that made its code", "MLIR")
            place = {"severity": "error", "message": message, "line": 1, "column": 1, "notes": []}
            analyzed = {"diagnostics": [place], "types": []}
        if (now := self.workspace.text_documents.get(uri)) is None or now.version != version:
            return
        self._types[uri] = {(line, column): types for line, column, types in analyzed["types"]}
        lines = text.split("\n")
        found = [self._diagnostic(uri, lines, each) for each in analyzed["diagnostics"]]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, version))

    def forget(self, uri: str) -> None:
        self._types.pop(uri, None)
        self._documents.pop(uri, None)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    async def operators(self) -> dict[str, str]:
        """Return the operators with their documentation. They are loaded once."""
        if self._operators is None:
            try:
                self._operators = json.loads(await self._elsewhere("operators", b"", {"plugins": self.plugins}))
            except RelaxError:
                return {}
        return self._operators

    async def _elsewhere(self, function: str, data: bytes, arguments: dict[str, object]) -> bytes:
        call = PoolCall(f"{_ANALYSIS}:{function}", data, arguments, "this text")
        made: list[bytes] = []
        work = lambda: process_pool().run([call], 1, lambda _, result, __: made.append(result))  # noqa: E731
        await asyncio.get_running_loop().run_in_executor(None, work)
        return made[0]

    # ---- positions ----

    def range(self, uri: str, begin: int, end: int) -> lsp.Range:
        source = self.workspace.get_text_document(uri)
        return lsp.Range(source.client_position_at_offset(begin), source.client_position_at_offset(end))

    def location(self, uri: str, begin: int, end: int) -> lsp.Location:
        return lsp.Location(uri, self.range(uri, begin, end))

    def _diagnostic(self, uri: str, lines: list[str], diagnostic: dict[str, Any]) -> lsp.Diagnostic:
        related = [
            lsp.DiagnosticRelatedInformation(lsp.Location(uri, self._place(uri, lines, note)), note["message"])
            for note in diagnostic["notes"]
        ]
        place = self._place(uri, lines, diagnostic)
        return lsp.Diagnostic(
            place,
            diagnostic["message"],
            _SEVERITIES[diagnostic["severity"]],
            source="relax",
            related_information=related or None,
        )

    def _place(self, uri: str, lines: list[str], described: dict[str, Any]) -> lsp.Range:
        """Return the range of the word at an MLIR location. MLIR's columns count bytes."""
        number = min(max(described["line"] - 1, 0), len(lines) - 1)
        line = lines[number]
        begin = len(line.encode("utf-8", "replace")[: max(described["column"] - 1, 0)].decode("utf-8", "ignore"))
        word = re.compile(r'"?[%@#!^]?[\w.$-]*"?').match(line, begin)
        start = sum(len(name) + 1 for name in lines[:number])
        return self.range(uri, start + begin, start + max(word.end() if word else begin, min(begin + 1, len(line))))

    def types_of(self, uri: str, definition: Definition) -> list[str]:
        """Return the types of a value as MLIR read or inferred them. Empty while the text is broken."""
        text = self.document(uri).text
        start = text.rfind("\n", 0, definition.made_at) + 1
        line = text.count("\n", 0, definition.made_at) + 1
        column = len(text[start : definition.made_at].encode("utf-8", "replace")) + 1
        return self._types.get(uri, {}).get((line, column), [])[definition.types]


def serve(version: str, plugins: Sequence[str]) -> None:
    """Serve on standard input and output until the editor ends the session."""
    make_server(version, plugins).start_io()


def make_server(version: str, plugins: Sequence[str]) -> RelaxServer:
    server = RelaxServer(version, plugins)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        await server.look_at(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        uri, version = params.text_document.uri, params.text_document.version
        await asyncio.sleep(_PAUSE_S)
        if (now := server.workspace.text_documents.get(uri)) is not None and now.version == version:
            await server.look_at(uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        uri = params.text_document.uri
        document, offset = _locate(server, params)
        if (token := document.token_at(offset)) is None:
            return _operator_hover(document, offset, await server.operators())
        if (definition := document.definition(token)) is None:
            return None
        shown = ", ".join(server.types_of(uri, definition))
        text = f"{token.name}: {shown}" if shown else _line_of(document, definition)
        return lsp.Hover(_code(text), server.range(uri, token.begin, token.end))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def go_to(params: lsp.DefinitionParams) -> lsp.Location | None:
        definition = _definition_at(server, params)
        return (
            None if definition is None else server.location(params.text_document.uri, definition.begin, definition.end)
        )

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        found, uri = _definition_at(server, params), params.text_document.uri
        uses = [] if found is None else server.document(uri).uses(found)
        return [server.location(uri, use.begin, use.end) for use in uses]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        uri = params.text_document.uri
        document = server.document(uri)
        definitions = [definition for definition in document.definitions if definition.name[0] == "@"]
        return [
            lsp.DocumentSymbol(
                definition.name, lsp.SymbolKind.Function,
                server.range(uri, min(definition.made_at, definition.begin), definition.end),
                server.range(uri, definition.begin, definition.end),
            )
            for definition in definitions
        ]  # fmt: skip

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=['"', ".", "%", "@"]))
    async def complete(params: lsp.CompletionParams) -> lsp.CompletionList:
        document, offset = _locate(server, params)
        typed = re.search(r"[%@]?[\w.$-]*$", document.text[:offset])
        begin = typed[0] if typed else ""
        uri = params.text_document.uri
        if begin[:1] in ("%", "@"):
            kind, names = lsp.CompletionItemKind.Variable, dict.fromkeys(document.visible(offset - len(begin)), "")
        else:
            kind, names = lsp.CompletionItemKind.Function, await server.operators()
        place = server.range(uri, offset - len(begin), offset)
        items = [
            lsp.CompletionItem(
                name, kind=kind, documentation=_code(doc) if doc else None, text_edit=lsp.TextEdit(place, name)
            )
            for name, doc in names.items()
            if name.startswith(begin)
        ]
        return lsp.CompletionList(False, items)

    return server


def _locate(server: RelaxServer, params: _Placed) -> tuple[Document, int]:
    uri = params.text_document.uri
    return server.document(uri), server.workspace.get_text_document(uri).offset_at_position(params.position)


def _definition_at(server: RelaxServer, params: _Placed) -> Definition | None:
    document, offset = _locate(server, params)
    token = document.token_at(offset)
    return None if token is None else document.definition(token)


def _operator_hover(document: Document, offset: int, operators: dict[str, str]) -> lsp.Hover | None:
    line = document.text.rfind("\n", 0, offset) + 1
    words = (match for match in _OPERATOR.finditer(document.text, line) if match.start() <= offset <= match.end())
    word = next(words, None)
    return lsp.Hover(_code(operators[word[0]])) if word is not None and word[0] in operators else None


def _line_of(document: Document, definition: Definition) -> str:
    start = document.text.rfind("\n", 0, definition.begin) + 1
    return document.text[start:].partition("\n")[0].strip()


def _code(text: str) -> lsp.MarkupContent:
    return lsp.MarkupContent(lsp.MarkupKind.Markdown, f"```mlir\n{text}\n```")
