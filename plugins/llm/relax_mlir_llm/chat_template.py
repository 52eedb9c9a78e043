# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chat templates: messages to the text that a model was trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property

import relax_mlir as rx

from .template_process import PROCESS

#: Template of models without one.
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


class ChatTemplate:
    """Jinja template of a chat, rendered in a sandbox, in a process with limits of time and memory."""

    def __init__(self, text: str, bos: str, eos: str) -> None:
        self.text, self.bos, self.eos = text, bos, eos

    @cached_property
    def has_tools(self) -> bool:
        """Return True if the template reads the variable `tools`."""
        names = PROCESS.ask(self.text, None)["names"]
        return isinstance(names, list) and "tools" in names

    def check(self, where: str) -> None:
        """Raise ModelError if the template does not parse. `where` is its place in the model's files."""
        with suppress(rx.RefusalError):  # a program without an interpreter can use the model without chats
            try:
                _ = self.has_tools
            except rx.ModelError as error:
                raise rx.ModelError(
                    f"{where}: {error.message}; correct the template, or load the model's files again from their origin"
                ) from None

    def render(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[Mapping[str, object]] | None = None,
        add_generation_prompt: bool = True,
        **variables: object,
    ) -> str:
        """Return the text of messages. A template that refuses them, or exceeds a limit, is a ModelError."""
        values = {"bos_token": self.bos, "eos_token": self.eos, **variables, "messages": messages, "tools": tools}
        answer = PROCESS.ask(self.text, {**values, "add_generation_prompt": add_generation_prompt})
        if "text" in answer:
            return str(answer["text"])
        roles = ", ".join(str(message.get("role")) for message in messages)
        raise rx.ModelError(f"the model's chat template refuses these messages ({roles}): {answer['reason']}")
