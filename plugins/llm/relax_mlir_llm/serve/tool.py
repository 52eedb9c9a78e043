# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-serve: serve a language model with OpenAI's API, or a compiled program with KServe's API."""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
from collections.abc import Sequence
from typing import TextIO

import relax_mlir as rx

from ..load_options import add_rank_options
from ..pooling import ALL_POOLINGS
from .limits import ServerLimits

_EPILOG = """\
relax-serve model.gguf                          OpenAI's API at http://127.0.0.1:8000/v1
relax-serve model.gguf --lora names=adapter/    a model, and a LoRA adapter as the model `names`
relax-serve model.gguf --embeddings             also /v1/embeddings
relax-serve model.gguf --draft ngram            speculation: the same answers, in fewer steps
relax-serve model.rxa --max-batch 32            a program of relax-compile, KServe's API at http://127.0.0.1:8000/v2

The first SIGTERM or Ctrl-C refuses new requests and waits for the running ones, the second one stops at once.
"""
_KEY_VARIABLE = "RELAX_SERVE_API_KEY"
_DELAY = re.compile(r"([0-9.]+)(ms|s)")
_PROGRAM = ".rxa"
_INTERRUPTED = 130
_KIB, _MIB = 1 << 10, 1 << 20
_LONGEST_SECONDS = 86400.0
#: MiB of the largest body for a language model, which is JSON, and for a program, which may be tensors as bytes.
_MODEL_BODY, _PROGRAM_BODY = 4, 16


def main() -> None:
    """Run the tool."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str], stderr: TextIO = sys.stderr) -> int:
    """Run the tool on its arguments. Return the exit code."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(stream=stderr, level=logging.WARNING, format="%(name)s: %(levelname)s: %(message)s")
    try:
        _serve(options, stderr)
    except rx.RelaxError as error:
        notes = "".join(f"\n  note: {note}" for note in error.notes)
        stderr.write(f"relax-serve: error: {error.message}{notes}\n")
        return 1
    except KeyboardInterrupt:
        stderr.write("relax-serve: stopped while the model was loaded\n")
        return _INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="relax-serve",
        description=__doc__.partition(": ")[2],
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("model", help="a GGUF file, a folder with safetensors files, a folder of Model.save, or a program, model.rxa")
    add("--host", default="127.0.0.1", help="address to listen at; default 127.0.0.1, 0.0.0.0 for all")
    add("--port", type=int, default=8000, help="port to listen at; default 8000, 0 for a free one")
    add("--name", help="name of the model in requests; default: the file's name")
    add("--api-key", default=os.environ.get(_KEY_VARIABLE), help=f"key that requests need; default ${_KEY_VARIABLE}")
    origins = "origin of web pages that may use the server"
    add("--allow-origin", "--cors-origin", action="append", default=[], metavar="URL", help=origins)
    add("--tls-certificate", metavar="PATH", help="serve https with this certificate, in the form PEM")
    add("--tls-key", metavar="PATH", help="private key of the certificate; default: in the same file")
    add("--threads", type=int, help="threads of a call; default: all cores")
    add("--target", default="llvm", help="target of a language model, as of relax-compile; default llvm")
    add("--grace", type=float, default=30.0, help="seconds that running requests get after SIGTERM; default 30")
    add("--max-queue", type=int, default=256, help="requests that run or wait, before others get status 429")
    add("--max-body", type=int, help="largest body of a request in MiB; default 4, and 16 for a program")
    add("--max-connections", type=int, default=1000, help="open connections; default 1000, or what the system allows")
    add("--head-timeout", type=float, default=20.0, help="seconds for the head of a request; default 20")
    add("--body-timeout", type=float, default=60.0, help="seconds for a body, and for unread answers; default 60")
    add("--version", action="version", version=f"relax-mlir {rx.__version__}")
    _add_language_options(parser.add_argument_group("language models"))
    _add_program_options(parser.add_argument_group("programs (model.rxa)"))
    return parser


def _add_language_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--max-seqs", type=int, default=16, help="sequences of one step; default 16")
    add("--pages", type=int, default=4096, help="pages of keys and values; default 4096")
    add("--page", type=int, help="tokens of a page; default 16, or the page size of a folder of Model.save")
    add("--prefill-chunk", type=int, default=256, help="most tokens of a prompt in one step; default 256")
    add("--context", type=int, help="positions of the longest sequence; default: the model's own")
    add("--max-prompt", type=int, metavar="KIB", help="KiB of a prompt; default: 16 bytes for each token, at least 64")
    add("--max-grammar", type=int, default=256, metavar="KIB", help="KiB of a grammar or schema; default 256")
    add("--kv", default="f32", choices=("f32", "f16", "i8"), help="type of keys and values; default f32")
    add("--activations", default="f32", choices=("f32", "i8"), help="i8: faster and less exact; default f32")
    add("--draft", metavar="ngram|PATH", help="speculation by repetitions in the text, or by a smaller model")
    add("--lora", action="append", default=[], metavar="name=path", help="adapter of PEFT, as a model of its own name")
    add("--embeddings", action="store_true", help="serve /v1/embeddings, by a second function with the same weights")
    add("--pooling", choices=ALL_POOLINGS, help="pooling of embeddings; default: the model's own, or last")
    add_rank_options(add)
    add("--no-prefix-cache", action="store_true", help="compute each prompt anew")


def _add_program_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--function", help="function to serve; default main, or the only one")
    add("--max-batch", type=int, default=32, help="most rows of a call that requests share; default 32, 1 for none")
    add("--max-delay", default="2ms", help="time that a request waits for others, such as 2ms; default 2ms")


def _serve(options: argparse.Namespace, stderr: TextIO) -> None:
    _check(options)
    delay = parse_delay(options.max_delay)
    try:
        from .certificates import tls_context
        from .program_server import program_server
        from .serving import address_of, bind, serve
    except ImportError as error:
        raise rx.OptionError(f"relax-serve needs the package {error.name}: pip install 'relax-mlir[llm]'") from None
    limits = _limits(options)
    tls = tls_context(options.tls_certificate, options.tls_key)
    bound = bind(options.host, options.port)
    if options.model.endswith(_PROGRAM):
        server_parts = program_server(options, limits, delay)
    else:
        from .language_server import language_server

        server_parts = language_server(options, limits, stderr)
    stderr.write(f"relax-serve: {', '.join(server_parts.names)} at {address_of(bound, tls is not None)}\n")
    stderr.flush()
    serve(server_parts.app, server_parts.state, bound, options.grace, limits, server_parts.end, tls)


def _limits(options: argparse.Namespace) -> ServerLimits:
    """Return the limits that options state."""
    usual_body = _PROGRAM_BODY if options.model.endswith(_PROGRAM) else _MODEL_BODY
    return ServerLimits(
        body=(options.max_body or usual_body) * _MIB,
        prompt=None if options.max_prompt is None else options.max_prompt * _KIB,
        grammar=options.max_grammar * _KIB,
        head_seconds=options.head_timeout,
        body_seconds=options.body_timeout,
        connections=options.max_connections,
    )


def _check(options: argparse.Namespace) -> None:
    """Raise RelaxError for values without a meaning."""
    least = {"max_seqs": 1, "pages": 1, "page": 1, "prefill_chunk": 1, "max_queue": 1, "max_body": 1, "max_batch": 1}
    least |= {"max_prompt": 1, "max_grammar": 1, "max_connections": 1, "threads": 1, "tp": 1, "context": 2, "grace": 0}
    for name, smallest in least.items():
        if (value := getattr(options, name)) is not None and not value >= smallest:
            raise rx.OptionError(f"--{name.replace('_', '-')} is {value}, expected at least {smallest}")
    for name in ("head_timeout", "body_timeout"):
        if not 0 < getattr(options, name) < _LONGEST_SECONDS:
            raise rx.OptionError(
                f"--{name.replace('_', '-')} is {getattr(options, name)}, expected seconds above 0 and below a day"
            )
    if options.pooling is not None and not options.embeddings:
        raise rx.OptionError(f"--pooling is {options.pooling}, which needs --embeddings")


def parse_delay(text: str) -> float:
    """Return the seconds of a text such as 2ms or 0.5s."""
    match = _DELAY.fullmatch(text)
    try:
        number = float(match[1]) if match else None
    except ValueError:
        number = None
    if match is None or number is None:
        raise rx.OptionError(f"--max-delay is '{text}', expected a time such as 2ms or 0.5s")
    return number / 1000 if match[2] == "ms" else number
