# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits of what one client may use of a server. The options of relax-serve set some of them."""

from __future__ import annotations

from dataclasses import dataclass

_KIB, _MIB = 1 << 10, 1 << 20
#: Bytes of a prompt for each token of the context. English has 4 to 5 bytes in a token.
_TOKEN_BYTES = 16
_LEAST_PROMPT_BYTES = 64 * _KIB


@dataclass(frozen=True)
class ServerLimits:
    """Limits of requests and connections."""

    #: Bytes of a body. Reading JSON stops all threads, for about 8 ms per MiB of text.
    body: int = 4 * _MIB
    #: Commas in a body of OpenAI's API. Reading 200,000 numbers stops all threads for about 50 ms.
    commas: int = 200_000
    #: Colons and brackets in a body of OpenAI's API. Objects and lists take about four times as long as numbers.
    brackets: int = 60_000
    #: Bytes of a prompt, before the tokenizer reads it. None: 16 for each token of the context, at least 64 KiB.
    prompt: int | None = None
    #: Bytes of the source of a grammar.
    grammar: int = 256 * _KIB
    #: Seconds until the head of a request is complete, from the begin of the connection or from its first byte.
    head_seconds: float = 20.0
    #: Seconds until the body is complete, and seconds that a client may leave a part of an answer unread.
    body_seconds: float = 60.0
    #: Open connections. When there are more, the one that waits longest for a request is closed.
    connections: int = 1000

    def prompt_bytes(self, context: int) -> int:
        """Return the bytes of the longest prompt of a model with this context."""
        return self.prompt or max(_TOKEN_BYTES * context, _LEAST_PROMPT_BYTES)
