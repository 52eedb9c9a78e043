# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chat templates: messages to the text that a model was trained on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import relax_mlir as rx

if TYPE_CHECKING:
    from jinja2 import Template

#: Template of models without one.
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


class ChatTemplate:
    """Jinja template of a chat, rendered in a sandbox."""

    def __init__(self, text: str, bos: str, eos: str) -> None:
        self.text, self.bos, self.eos = text, bos, eos

    def render(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[Mapping[str, object]] | None = None,
        add_generation_prompt: bool = True,
        **variables: object,
    ) -> str:
        """Return the text of messages. A template that refuses them is a ModelError."""
        import jinja2

        values = {"bos_token": self.bos, "eos_token": self.eos, **variables}
        try:
            return self._template.render(
                messages=messages, tools=tools, add_generation_prompt=add_generation_prompt, **values
            )
        except (jinja2.TemplateError, TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
            roles = ", ".join(str(each.get("role")) for each in messages)
            raise rx.ModelError(f"the model's chat template refuses these messages ({roles}): {error}") from None

    @cached_property
    def _template(self) -> Template:
        import jinja2
        from jinja2.ext import loopcontrols
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.globals.update(raise_exception=_raise, strftime_now=_strftime_now)
        environment.filters["tojson"] = _to_json
        try:
            return environment.from_string(self.text)
        except jinja2.TemplateError as error:
            raise rx.ModelError(f"the model's chat template is invalid: {error}") from None


def _raise(message: str) -> NoReturn:
    import jinja2

    raise jinja2.TemplateError(message)


def _strftime_now(format: str) -> str:
    return datetime.now().strftime(format)


def _to_json(value: object, indent: int | None = None) -> str:
    """Return JSON without the escapes of HTML, which jinja2's own filter has."""
    return json.dumps(value, ensure_ascii=False, indent=indent)
