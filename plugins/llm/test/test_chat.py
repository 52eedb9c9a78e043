# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chat templates, and relax-chat as a user runs the tool."""

from __future__ import annotations

import io
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import relax_mlir as rx
from relax_mlir_llm import Model, chat_tool, model_files
from relax_mlir_llm.chat_template import CHATML, ChatTemplate
from relax_mlir_llm.template_process import TemplateProcess
from tiny_models import tiny, write_gguf

HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llm")
    rx.llm.load(write_gguf(tiny("llama"), folder / "tiny.gguf"), cache=False).save(folder / "tiny.rxl")
    return folder / "tiny.rxl"


def chat(*arguments: str, text: str = "") -> tuple[int, str, str]:
    out, errors = io.StringIO(), io.StringIO()
    return chat_tool.run(arguments, io.StringIO(text), out, errors), out.getvalue(), errors.getvalue()


def test_templates() -> None:
    assert ChatTemplate(CHATML, "", "").render(HELLO) == "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    body = "{%- if loop.first %}{% continue %}{% endif %}{{ m | tojson }}"
    text = "{{ bos_token }}{% for m in messages %}\n" + body + "{% endfor %}"
    assert ChatTemplate(text, "<s>", "").render([*HELLO, {"role": "a", "content": "<'ä'>"}]) == (
        '<s>{"role": "a", "content": "<\'ä\'>"}'
    )
    year = ChatTemplate("{{ strftime_now('%Y') }}", "", "").render(HELLO)
    assert len(year) == 4 and year.isdigit()
    tools = [{"name": "clock"}]
    assert ChatTemplate("{{ tools[0].name }}{{ add_generation_prompt }}", "", "").render(
        HELLO, tools=tools, add_generation_prompt=False
    ) == "clockFalse"  # fmt: skip


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{{ raise_exception('only one message') }}", "refuses these messages (user): only one message"),
        ("{{ messages[7].role }}", "refuses these messages (user): "),
        ("{{ 1 + 'a' }}", "refuses these messages (user): "),
        ("{% if %}", "is invalid: "),
        ("{{ messages.__class__.__mro__[1].__subclasses__() }}", "refuses these messages (user): "),
        ("{{ messages.append(1) }}", "refuses these messages (user): "),
    ],
)
def test_a_template_that_fails_is_one_sentence(text: str, problem: str) -> None:
    with pytest.raises(rx.ModelError) as caught:
        ChatTemplate(text, "", "").render(HELLO)
    assert str(caught.value).startswith(f"the model's chat template {problem}")
    assert "\n" not in str(caught.value)


def test_one_answer(saved: Path) -> None:
    model = rx.llm.load(saved)
    expected = "".join(model.chat(HELLO, 6))
    assert chat(str(saved), "--prompt", "hello", "--max-tokens", "6") == (0, f"{expected}\n", "")


def test_a_chat_knows_earlier_messages_until_reset(saved: Path) -> None:
    model = rx.llm.load(saved)
    first = "".join(model.chat(HELLO, 6))
    messages = [*HELLO, {"role": "assistant", "content": first}, {"role": "user", "content": "wor"}]
    second = "".join(model.chat(messages, 6))
    third = "".join(model.chat([{"role": "user", "content": "wor"}], 6))
    code, out, _ = chat(str(saved), "--max-tokens", "6", text="hello\nwor\n/reset\n\nwor\n/quit\nhello\n")
    assert (code, out) == (0, f"{first}\n{second}\n{third}\n")


def test_commands(saved: Path) -> None:
    code, out, errors = chat(str(saved), "--max-tokens", "2", text="/help\n/resett\n/etc/passwd\n/quit\n")
    assert code == 0 and out.count("\n") == 1  # only the path is a message
    known = "/help lists the commands, /reset forgets the conversation, /quit ends, Ctrl-C stops an answer\n"
    assert errors == f"{known}/resett is no command; {known}"


def test_the_system_message_is_the_first(saved: Path) -> None:
    messages = [{"role": "system", "content": "be brief"}, *HELLO]
    expected = "".join(rx.llm.load(saved).chat(messages, 6))
    assert chat(str(saved), "--system", "be brief", "--prompt", "hello", "--max-tokens", "6")[1] == f"{expected}\n"


def test_a_refused_line_does_not_end_the_chat(saved: Path) -> None:
    code, out, errors = chat(str(saved), "--max-tokens", "2", text=f"{'long ' * 40}\nhello\n")
    assert code == 0 and len(out.strip()) > 0
    assert "and the context of tiny has 64: shorten the prompt" in errors and errors.count("the prompt has") == 1


def test_ctrl_c_stops_an_answer_and_not_the_chat(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original, calls = Model.chat, itertools.count()

    def interrupted(self: Model, *arguments: object, **options: object) -> object:
        answer = original(self, *arguments, **options)  # type: ignore[arg-type]
        if next(calls) == 0:
            answer._texts = _then_interrupt(answer._texts)
        return answer

    monkeypatch.setattr(Model, "chat", interrupted)
    code, out, errors = chat(str(saved), "--max-tokens", "3", text="hello\n/reset\nhello\n")
    assert code == 0 and errors == "\n(stopped)"
    short, whole, _ = out.split("\n")
    assert whole.startswith(short) and len(whole) > len(short)


def _then_interrupt(texts: Iterator[str]) -> Iterator[str]:
    yield next(texts)
    raise KeyboardInterrupt


def test_wrong_arguments(saved: Path, tmp_path: Path) -> None:
    code, _, errors = chat("no-such-model")
    assert code == 1 and errors.startswith("relax-chat: error: no-such-model does not exist: pass a GGUF file")
    code, _, errors = chat(str(saved), "--prompt", "a", "--temperature=-1")
    assert (code, errors) == (
        1, "relax-chat: error: temperature is -1.0, expected a number from 0 to 100\n"
    )  # fmt: skip


def test_a_package_with_a_gguf_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "llm_of_tests"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.gguf").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert model_files.find_model("llm-of-tests") == package / "a.gguf"
    (package / "b.gguf").write_text("")
    with pytest.raises(rx.ModelError, match=r"has 2 GGUF files, pass one of their paths: .*a\.gguf, .*b\.gguf"):
        model_files.find_model("llm-of-tests")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        chat("--version")
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"relax-mlir {rx.__version__}\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{{ ('a' * 3000000000)|length }}", "needs more than 1024 MiB of memory"),
        ("{{ ([1] * 1000000000)|length }}", "needs more than 1024 MiB of memory"),
        ("{{ '%02000000000d' % 1 }}", "needs more than 1024 MiB of memory"),
        ("{{ 'a'.center(2000000000) }}", "needs more than 1024 MiB of memory"),
        ("{{ 'a' * 40000000 }}", "or makes a text of more than 33,554,432 characters"),
        ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "calls itself too deeply"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", ""),
        ("{% if 1 %}" * 2000 + "{% endif %}" * 2000, ""),
        ("{{ '\\ud800' }}", "refuses these messages (user): 'utf-8' codec"),
    ],
)
def test_templates_beyond_the_limits(text: str, problem: str) -> None:
    with pytest.raises(rx.ModelError) as caught:
        ChatTemplate(text, "", "").render(HELLO)
    assert str(caught.value).startswith("the model's chat template ") and problem in str(caught.value)
    assert "\n" not in str(caught.value)
    assert ChatTemplate("{{ messages|length }}", "", "").render(HELLO) == "1"


@pytest.mark.parametrize(
    "text", ["{{ 7**(7*10**7) }}", "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"]
)
def test_templates_that_take_too_long(text: str) -> None:
    process = TemplateProcess(seconds=0.5)
    start = time.monotonic()
    with pytest.raises(rx.ModelError, match=r"takes longer than 0\.5 seconds"):
        process.ask(text, {})
    assert time.monotonic() - start < 5
    process.close()


def test_the_process_starts_again_after_its_end() -> None:
    process = TemplateProcess()
    assert process.ask("{{ a }}", {"a": "ü\u2028\n"}) == {"text": "ü\u2028\n"}
    assert process._process is not None
    process._process.kill()
    process._process.wait()
    assert process.ask("{{ a }}", {"a": (1, {"b": None})}) == {"text": "[1, {'b': None}]"}
    process.close()


def test_programs_without_an_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(rx.RefusalError, match="pass the text of the whole chat to `generate`"):
        TemplateProcess().ask(CHATML, {})
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(rx.RelaxError, match="cannot start /no/such/python to render a chat template"):
        TemplateProcess().ask(CHATML, {})


def test_values_that_are_no_json() -> None:
    with pytest.raises(rx.OptionError, match=r"a chat has a value that JSON cannot hold: .* is a object"):
        ChatTemplate(CHATML, "", "").render([{"role": "user", "content": object()}])


def test_marks_of_generated_texts_are_left_out() -> None:
    text = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
    assert ChatTemplate(text, "", "").render(HELLO) == HELLO[0]["content"]


@pytest.mark.parametrize(
    ("text", "has_tools"),
    [
        (CHATML, False),
        ("{% if tools %}{{ tools|tojson }}{% endif %}", True),
        ("{% macro a() %}{{ tools }}{% endmacro %}", True),
        ("{% set tools = 1 %}{{ tools }}", False),
        ("{# tools #}tools {{ 'tools' }}{{ message.tools }}", False),
    ],
)
def test_templates_with_tools(text: str, has_tools: bool) -> None:
    assert ChatTemplate(text, "", "").has_tools == has_tools
