# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts of --help, --version and --print-completion.

A completion script is generated from the table of options. The script lists passes and operators at run time, so that
plug-ins are included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

from ... import __version__
from ..common.command_line import Arguments, Option, help_text, spelling, write_text

_PASS = "pass"
#: Shell commands that list the values of options, by the name of the value in the table.
_LISTED = {
    _PASS: "{tool} --list-passes 2>/dev/null | sed -n 's/^  \\([^ ][^ ]*\\).*/\\1/p'",
    "operator": "{tool} --list-ops 2>/dev/null | sed 's/ .*//'",
    "recipe": "{tool} --list-recipes 2>/dev/null",
}


def information(
    arguments: Arguments,
    name: str,
    head: Sequence[str],
    options: Mapping[str, Option],
    *,
    has_mlir: bool,
    has_passes: bool = False,
) -> str | None:
    """Return the text, or None if there is work to do. With `has_mlir` the version includes MLIR's."""
    if not arguments.asks:
        return None
    if arguments["help"]:
        return help_text(head, options)
    if arguments["print-completion"]:
        return completion_script(arguments["print-completion"], name, options, has_passes=has_passes)
    if not has_mlir:
        return f"relax-mlir {__version__}\n"
    from .listing import version_text

    return version_text()


def shows_information(
    arguments: Arguments, out: TextIO, name: str, head: Sequence[str], options: Mapping[str, Option], *, has_mlir: bool
) -> bool:
    """Write the requested text. Return False if none is requested."""
    if (asked := information(arguments, name, head, options, has_mlir=has_mlir)) is not None:
        write_text(out, asked)
    return asked is not None


def completion_script(shell: str, tool: str, options: Mapping[str, Option], *, has_passes: bool = False) -> str:
    """Return the script for the shell to evaluate."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](tool, options, has_passes)


def _words(option: Option) -> tuple[str, ...]:
    """Return the values that the option table knows."""
    return option.choices or (("false",) if option.kind == "flag" and option.default else ())


def _spell(name: str, option: Option) -> list[str]:
    """Return the option as typed, with `=` if a value follows."""
    if option.kind == "level":
        return [f"-{name}{level}" for level in range(4)]
    if len(name) == 1:
        return [f"-{name}"]
    if option.kind == "flag":
        return [f"--{name}=false" if option.default else f"--{name}"]
    return [f"--{name}", f"--{name}="] if option.bare is not None else [f"--{name}="]


def _bash(tool: str, options: Mapping[str, Option], has_passes: bool) -> str:
    """Return the script for bash, which splits `--a=b` into three words."""
    function = "_" + tool.replace("-", "_")
    spelled = [word for name, option in options.items() for word in _spell(name, option)]
    cases = [
        f'        {spelling(name)}) words="{" ".join(_words(option))}" ;;'
        for name, option in options.items()
        if _words(option)
    ]
    for value, listed in _LISTED.items():
        if naming := [spelling(name) for name, option in options.items() if option.value == value]:
            cases.append(f'        {"|".join(naming)}) words="$({listed.format(tool=tool)})" ;;')
    flags = f'$(for each in $({_LISTED[_PASS].format(tool=tool)}); do echo "--$each"; done)'
    return f"""{function}() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" option="" words="" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    if [[ "$current" == "=" ]]; then
        option="$before" current=""
    elif [[ "$before" == "=" ]]; then
        option="${{COMP_WORDS[COMP_CWORD-2]}}"
    fi
    if [[ -n "$option" ]]; then
        case "$option" in
{chr(10).join(cases)}
        esac
        COMPREPLY=($(compgen -W "$words" -- "$current"))
        [[ -n "$words" ]] || COMPREPLY=($(compgen -f -- "$current"))
        return
    fi
    if [[ "$current" == -* ]]; then
        COMPREPLY=($(compgen -W "{" ".join(spelled)}{" " + flags if has_passes else ""}" -- "$current"))
        [[ "${{COMPREPLY[0]}}" != *= ]] || compopt -o nospace 2>/dev/null
        return
    fi
    COMPREPLY=($(compgen -f -- "$current"))
}}
complete -o filenames -F {function} {tool}
"""


def _quote(text: str) -> str:
    """Quote for zsh and fish in single quotes, without characters that zsh's _arguments would interpret."""
    return text.replace("'", "").replace("\\", "").replace("[", "(").replace("]", ")").replace(":", " -")


def _zsh(tool: str, options: Mapping[str, Option], has_passes: bool) -> str:
    function = "_" + tool.replace("-", "_")
    specifications = [
        specification
        for name, option in options.items()
        for specification in _zsh_specifications(name, option, function)
    ]
    lines = [f"        '{specification}'" for specification in specifications]
    listing = {value: listed.format(tool=tool) for value, listed in _LISTED.items()}
    functions = [f'{function}_{value}() {{ compadd -- ${{(f)"$({listed})"}} }}' for value, listed in listing.items()]
    adding_passes = f"""    local -a passes
    if [[ "$PREFIX" == -* ]]; then
        passes=(${{(f)"$({listing[_PASS]})"}})
        compadd -- --$^passes
    fi
"""
    return f"""#compdef {tool}
{chr(10).join(functions)}
{function}() {{
{adding_passes if has_passes else ""}    _arguments \\
{(" " + chr(92) + chr(10)).join(lines)}
}}
compdef {function} {tool}
"""


def _zsh_specifications(name: str, option: Option, function: str) -> list[str]:
    text = _quote(option.help)
    if option.kind == "level":
        return [f"-{name}{level}[{text}]" for level in range(4)]
    several = "*" if option.kind in ("list", "names") else ""
    if option.kind == "flag":
        return [f"{spelling(name)}{'=false' if option.default else ''}[{text}]"]
    action = "_files"
    if _words(option):
        action = f"({' '.join(_words(option))})"
    elif option.value in _LISTED:
        action = f"{function}_{option.value}"
    separator = "" if len(name) == 1 else "=-"
    value = f":{_quote(option.value)}:{action}"
    return [f"{several}{spelling(name)}{separator}[{text}]{value}"]


def _fish(tool: str, options: Mapping[str, Option], has_passes: bool) -> str:
    lines = []
    for name, option in options.items():
        kind = f"-s {name}" if len(name) == 1 else f"-l {name}"
        takes = "" if option.kind == "flag" else f" -x -a '{' '.join(_words(option))}'" if _words(option) else " -r"
        if option.value in _LISTED:
            takes = f" -x -a '({_fish_listed(tool, option.value)})'"
        lines.append(f"complete -c {tool} {kind}{takes} -d '{_quote(option.help)}'")
    if has_passes:
        passes = f"(for each in ({_fish_listed(tool, _PASS)}); echo --$each; end)"
        lines.append(f"complete -c {tool} -n 'string match -q -- \"-*\" (commandline -ct)' -a '{passes}'")
    return "\n".join(lines) + "\n"


def _fish_listed(tool: str, value: str) -> str:
    """Return the listing command for use in single quotes."""
    return _LISTED[value].format(tool=tool).replace("\\", "\\\\").replace("'", "\\'")
