# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests for the tokens of a text or a chat, and for the text of tokens, in the form of vLLM."""

from __future__ import annotations

from .bodies import Fields
from .chat_messages import parse_messages, render
from .errors import invalid
from .field_names import check_names
from .openai_requests import CHAT_VARIABLES, check_vocabulary, parse_offered_tools
from .served_model import ServedModel

_TEXT_FIELDS = ("model", "prompt", "add_special_tokens")
_CHAT_FIELDS = ("model", "messages", "tools", "add_special_tokens", *CHAT_VARIABLES)


def tokens_answer(fields: Fields, model: ServedModel) -> dict[str, object]:
    """Return the body of the answer to /tokenize."""
    if fields.has("messages"):
        check_names(fields, _CHAT_FIELDS)
        if model.template is None:
            raise invalid(f"the model '{model.name}' has no chat template: pass a prompt", "messages")
        text = render(model.template, fields, parse_messages(fields, model), parse_offered_tools(fields, model))
        param, adds_bos = "messages", None
    else:
        check_names(fields, _TEXT_FIELDS)
        text, param = fields.needed_text("prompt"), "prompt"
        adds_bos = None if fields.flag("add_special_tokens", True) else False
    tokens = model.encode(text, param, add_bos=adds_bos)
    return {"count": len(tokens), "max_model_len": model.context, "tokens": tokens}


def text_answer(fields: Fields, model: ServedModel) -> dict[str, object]:
    """Return the body of the answer to /detokenize."""
    check_names(fields, ("model", "tokens"))
    tokens = fields.items("tokens")
    if tokens is None or not all(type(token) is int and token >= 0 for token in tokens):
        raise fields.refuse("tokens", "a list of tokens")
    found = [token for token in tokens if isinstance(token, int)]
    check_vocabulary(found, model, "tokens")
    return {"prompt": model.tokenizer.decode(found, skip_special=False)}
