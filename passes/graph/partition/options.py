# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of codegens, `mynpu{cores=4}`: declared with types, and checked before the codegen compiles."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ....support.blaming import blaming
from ....support.errors import OptionError
from ....support.suggest import suggest
from ...core.options import describe_type, format_value, parse_value

_PLAIN = (int, float, bool, str)


class CodegenOption(NamedTuple):
    """Option of a codegen: its description, type and default."""

    doc: str
    #: int, float, bool, str, Literal["f32", "f16"], tuple[str, ...]; or a function from text to a value that
    #: raises ValueError, with the expected values, for other text.
    type: Any = str
    default: Any = None
    #: Bounds of a number.
    least: float | None = None
    most: float | None = None

    @property
    def expected(self) -> str:
        """Return a description of the accepted values, or "" if a function checks them."""
        if not _is_hint(self.type):
            return ""
        least, most = self.least, self.most
        if least is None:
            return describe_type(self.type) + ("" if most is None else f" up to {most}")
        return describe_type(self.type) + (f" from {least} on" if most is None else f" from {least} to {most}")

    def value_of(self, text: str | None) -> Any:
        """Parse the text of a value. Raises ValueError with the accepted values."""
        if not text and not (text is None and self.type is bool):
            raise ValueError(f"needs a value: {self.expected}" if self.expected else "needs a value")
        if not _is_hint(self.type):
            return self.type(text)
        if self.type not in (int, float):
            return parse_value(text, self.type)
        with suppress(ValueError):
            if self._is_within(value := parse_value(text, self.type)):
                return value
        raise ValueError(f"expects {self.expected}, got '{text}'")

    def _is_within(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


def _is_hint(type_: object) -> bool:
    """Check whether the option has a type that text is parsed as, and no function."""
    return type_ in _PLAIN or typing.get_origin(type_) is not None


def declared_options(codegen: str, stated: object) -> dict[str, CodegenOption]:
    """Return the declared options of a class. Raises RelaxError for invalid declarations.

    A text by itself declares a text option with that description.
    """
    if not isinstance(stated, Mapping):
        raise OptionError(f"codegen '{codegen}': options has to be a mapping, not {stated!r}")
    return {name: _check_option(f"codegen '{codegen}': option {name!r}", name, value) for name, value in stated.items()}


def _check_option(what: str, name: object, stated: object) -> CodegenOption:
    option = CodegenOption(stated) if isinstance(stated, str) else stated
    if not isinstance(name, str) or not name.replace("-", "_").isidentifier():
        raise OptionError(f"{what}: its name must be an identifier")
    if not isinstance(option, CodegenOption):
        raise OptionError(f"{what} must be a description or an rx.codegens.CodegenOption, not {stated!r}")
    if not (_is_hint(option.type) or callable(option.type)):
        raise OptionError(f"{what}: its type is {option.type!r}, neither a type nor a function of the text")
    if isinstance(option.default, _PLAIN) and _is_hint(option.type):
        try:
            is_fitting = option.value_of(format_value(option.default)) == option.default
        except ValueError:
            is_fitting = False
        if not is_fitting:
            raise OptionError(f"{what} expects {option.expected}, its default is {option.default!r}")
    return option


def option_values(
    codegen: str, options: Mapping[str, CodegenOption], given: Iterable[tuple[str, str | None]]
) -> dict[str, object]:
    """Return the values of all options, stated ones and defaults. Raises RelaxError for unknown or invalid ones."""
    values: dict[str, Any] = {}
    for name, text in given:
        if name not in options:
            listed = f"it has {', '.join(options)}" if options else "it has none"
            raise OptionError(f"codegen '{codegen}' has no option '{name}'{suggest(name, options)} ({listed})")
        if name in values:
            raise OptionError(f"codegen '{codegen}': option '{name}' is given twice")
        with blaming(f"codegen '{codegen}': option '{name}'", options[name].type):
            try:
                values[name] = options[name].value_of(text)
            except ValueError as error:
                raise OptionError(f"codegen '{codegen}': option '{name}' {error}") from None
    return {name: values.get(name, option.default) for name, option in options.items()}


def options_text(options: Mapping[str, CodegenOption]) -> list[str]:
    """Return a line of text for each option, for listings."""
    return [_describe(name, option) for name, option in options.items()]


def _describe(name: str, option: CodegenOption) -> str:
    shows_default = option.default is not None and _is_hint(option.type)
    default = f"default {format_value(option.default)}" if shows_default else ""
    hints = "; ".join(filter(None, (option.expected if option.type is not str else "", default)))
    return f"{name}: {option.doc}" + (f" ({hints})" if hints else "")
