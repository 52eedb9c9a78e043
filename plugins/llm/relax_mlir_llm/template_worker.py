# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Program of the process that renders chat templates: a JSON object in each line of its input, one in each answer.

The process has limits of memory, and its parent ends it after some time: a template is a program of the model's author.
This file imports nothing of its package, which would take longer than most renderings.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from jinja2.nodes import Node
    from jinja2.parser import Parser

_MIB = 1 << 20


def main() -> None:
    """Answer requests until the input ends. Arguments: the paths of modules as JSON, and the MiB of memory."""
    sys.path[:] = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    import jinja2.ext
    import jinja2.meta
    import jinja2.sandbox  # noqa: F401  # loaded before memory is limited

    _limit_memory(int(sys.argv[2]) * _MIB)
    for line in sys.stdin.buffer:
        sys.stdout.write(f"{json.dumps(_answer(line))}\n")
        sys.stdout.flush()


def _limit_memory(size: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    with suppress(ValueError, OSError):  # an existing limit may be lower
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _answer(line: bytes) -> dict[str, object]:
    """Return the result of a request, or its problem: invalid, refused, memory or depth."""
    import jinja2

    try:
        request = json.loads(line)
        try:
            template, names = _compile(request["template"])
        except (jinja2.TemplateError, SyntaxError) as error:
            place = f"line {error.lineno}: " if isinstance(error, jinja2.TemplateSyntaxError) else ""
            return {"problem": "invalid", "reason": f"{place}{error.args[0]}"}
        if (values := request.get("values")) is None:
            return {"names": names}
        text = template.render(values)  # type: ignore[attr-defined]
        text.encode()  # halves of surrogate pairs
        return {"problem": "memory"} if len(text) > request["most"] else {"text": text}
    except RecursionError:
        return {"problem": "depth"}
    except MemoryError:
        return {"problem": "memory"}
    except Exception as error:  # a template may raise anything
        return {"problem": "refused", "reason": str(error) or type(error).__name__}


@lru_cache(maxsize=8)
def _compile(text: str) -> tuple[object, list[str]]:
    """Return a template, and the names of the variables that it reads."""
    from jinja2.ext import Extension, loopcontrols
    from jinja2.meta import find_undeclared_variables
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """Tag of transformers around the texts of the assistant, which marks them for training."""

        tags = {"generation"}  # noqa: RUF012  # the base class declares an instance variable

        def parse(self, parser: Parser) -> list[Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation]
    )
    environment.globals.update(raise_exception=_raise, strftime_now=_strftime_now)
    environment.filters["tojson"] = _to_json
    names = sorted(find_undeclared_variables(environment.parse(text)))
    return environment.from_string(text), names


def _raise(message: str) -> NoReturn:
    import jinja2

    raise jinja2.TemplateError(message)


def _strftime_now(format: str) -> str:
    return datetime.now().strftime(format)


def _to_json(value: object, indent: int | None = None, **options: Mapping[str, object]) -> str:
    """Return JSON without the escapes of HTML, which jinja2's own filter has."""
    return json.dumps(value, ensure_ascii=False, indent=indent, **options)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
