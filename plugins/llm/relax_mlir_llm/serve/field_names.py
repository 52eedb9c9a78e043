# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of the fields in requests: fields of other servers that would change an answer, and unknown names."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from difflib import get_close_matches

from .bodies import Fields
from .errors import invalid, shown

_LOG = logging.getLogger("relax-serve")
#: Unknown names that the log has, their largest number, and the characters of a name in the log.
_LOGGED: set[str] = set()
_MOST_LOGGED, _MOST_CHARACTERS = 100, 60
#: Fields of OpenAI, vLLM and llama.cpp that would change an answer -> values with which they would not.
_UNSUPPORTED: Mapping[str, Collection[object]] = {
    **{"audio": (), "functions": ([],), "function_call": ("none", "auto"), "web_search_options": (), "moderation": ()},
    **{"use_beam_search": (False,), "length_penalty": (0, 1), "early_stopping": (False,), "bad_words": ([],)},
    **{"allowed_token_ids": (), "logits_processors": ([],), "include_stop_str_in_output": (False,), "echo": (False,)},
    **{"skip_special_tokens": (True,), "truncate_prompt_tokens": (), "prompt_logprobs": (), "prompt_embeds": ()},
    **{"chat_template": (), "documents": ([],), "return_token_ids": (False,), "return_token_strs": (False,)},
    **{"return_tokens_as_token_ids": (False,), "guided_whitespace_pattern": (), "structural_tag": ()},
    **{"add_special_tokens": (), "typical_p": (1,), "mirostat": (0,), "tfs_z": (1,), "repeat_penalty": (1,)},
    **{"dry_multiplier": (0,), "xtc_probability": (0,), "n_predict": (-1,), "json_schema": ({},)},
}


def check_names(fields: Fields, known: Collection[str], others: Mapping[str, Collection[object]] | None = None) -> None:
    """Raise ApiError for a field that would change the answer of another server, and log other unknown names once.

    `others` are more such fields, with the values that have no effect.
    """
    unsupported = {**_UNSUPPORTED, **(others or {})}
    for name, value in fields.values.items():
        if name in known or value is None:
            continue
        if name not in unsupported:
            _log_unknown(name, known)
        elif value not in unsupported[name]:
            neutral = " or ".join(map(shown, unsupported[name]))
            expected = f"expected no such field, or {neutral}" if neutral else "expected no such field"
            raise invalid(f"the field '{name}' is not supported: {expected}", name)


def _log_unknown(name: str, known: Collection[str]) -> None:
    name = name[:_MOST_CHARACTERS]  # also bounds the time to find a similar name
    if name in _LOGGED or len(_LOGGED) >= _MOST_LOGGED:
        return
    _LOGGED.add(name)
    similar = get_close_matches(name, known, 1)
    hint = f"; did you mean '{similar[0]}'?" if similar else ""
    _LOG.warning("requests have the unknown field %r, which has no effect%s", name, hint)
