# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small Unix commands of RUN lines as functions, as far as tests use them. Other uses are refused."""

from __future__ import annotations

import difflib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

# Known flags of each command.
_FLAGS = {
    "cat": frozenset[str](),
    "cmp": frozenset({"-s"}),
    "diff": frozenset({"-u"}),
    "echo": frozenset({"-n"}),
    "grep": frozenset({"-c", "-q", "-v", "-E", "-F"}),
    "rm": frozenset({"-f", "-rf"}),
    "sed": frozenset[str](),
}
# Special characters with a different meaning in basic regular expressions and in Python's.
_NOT_THE_SAME_IN_BASIC = re.compile(r"[\[\]]|\\[^.*^$]|.\^|\$.")
# Differences between extended regular expressions and Python's.
_NOT_THE_SAME_IN_EXTENDED = re.compile(r"\[[:.=]|\(\?|\\[^.*^$+?{}()|]")


def understands(name: str, arguments: list[str]) -> bool:
    """Check whether the command does exactly what the system's command does."""
    if name not in _FLAGS:
        return False
    flags, operands = _flags_and_operands(name, arguments)
    if not _FLAGS[name].issuperset(flags):
        return False
    if name == "echo":
        return "-n" not in operands and not any("\\" in word for word in operands)
    if name in ("cmp", "diff"):
        return len(operands) == 2
    if name == "rm":
        return bool(operands)
    if name == "sed":
        return len(operands) in (1, 2) and _substitution(operands[0]) is not None
    return name != "grep" or (len(operands) in (1, 2) and _understands_pattern(operands[0], flags))


def _flags_and_operands(name: str, arguments: list[str]) -> tuple[list[str], list[str]]:
    """Split flags and operands. Flags come first: a later flag, which some systems allow, is refused as unknown."""
    count = 0
    while count < len(arguments) and arguments[count].startswith("-") and arguments[count] != "-":
        count += 1
    flags, operands = arguments[:count], arguments[count:]
    if name != "echo" and any(word.startswith("-") and word != "-" for word in operands):
        return ["a flag behind an operand"], operands
    return flags, operands


def _understands_pattern(pattern: str, flags: list[str]) -> bool:
    if "-F" in flags:
        return True
    different = _NOT_THE_SAME_IN_EXTENDED if "-E" in flags else _NOT_THE_SAME_IN_BASIC
    if different.search(pattern):
        return False
    try:
        re.compile(_python_pattern(pattern, flags))
    except re.error:
        return False
    return True


def _python_pattern(pattern: str, flags: list[str]) -> str:
    if "-F" in flags:
        return re.escape(pattern)
    return pattern if "-E" in flags else re.sub(r"[+?{}()|]", r"\\\g<0>", pattern)


def _substitution(script: str) -> tuple[str, str, int] | None:
    """Return pattern, replacement and count (0 for all) of sed's `s/…/…/`, or None where Python would differ."""
    parts = script[2:].split(script[1]) if script[:1] == "s" and len(script) > 1 else []
    if len(parts) != 3 or not parts[0] or parts[2] not in ("", "g") or re.search(r"[\\&]", parts[1]):
        return None
    if not _understands_pattern(parts[0], []):
        return None
    return _python_pattern(parts[0], []), parts[1], 0 if parts[2] else 1


def echo(argv: list[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    flags, words = _flags_and_operands("echo", argv)
    stdout.write(" ".join(words) + ("" if "-n" in flags else "\n"))
    return 0


def cat(argv: list[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    for name in argv or ["-"]:
        content = _read(name, "cat", stdin, stderr)
        if content is None:
            return 1
        stdout.buffer.write(content)
    return 0


def rm(argv: list[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    flags, names = _flags_and_operands("rm", argv)
    for name in names:
        try:
            if flags == ["-rf"] and Path(name).is_dir() and not Path(name).is_symlink():
                shutil.rmtree(name)
            else:
                Path(name).unlink(missing_ok=bool(flags))
        except OSError as error:
            stderr.write(f"rm: {name}: {error.strerror}\n")
            return 1
    return 0


def diff(argv: list[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    names = _flags_and_operands("diff", argv)[1]
    contents = _read_two(names, "diff", stdin, stderr)
    if contents is None:
        return 2
    left, right = (content.decode(errors="surrogateescape").splitlines(keepends=True) for content in contents)
    stdout.writelines(difflib.unified_diff(left, right, names[0], names[1]))
    return int(contents[0] != contents[1])


def cmp(argv: list[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    flags, names = _flags_and_operands("cmp", argv)
    contents = _read_two(names, "cmp", stdin, stderr)
    if contents is None:
        return 2
    if contents[0] == contents[1]:
        return 0
    if "-s" not in flags:
        stdout.write(f"{names[0]} {names[1]} differ\n")
    return 1


def grep(argv: list[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    flags, (pattern, *names) = _flags_and_operands("grep", argv)
    content = _read(names[0] if names else "-", "grep", stdin, stderr)
    if content is None:
        return 2
    regex = re.compile(_python_pattern(pattern, flags))
    lines = content.decode(errors="surrogateescape").removesuffix("\n").split("\n") if content else []
    found = [line for line in lines if bool(regex.search(line)) != ("-v" in flags)]
    if "-c" in flags:
        stdout.write(f"{len(found)}\n")
    elif "-q" not in flags:
        stdout.writelines(f"{line}\n" for line in found)
    return int(not found)


def sed(argv: list[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    script, *names = argv
    content = _read(names[0] if names else "-", "sed", stdin, stderr)
    substitution = _substitution(script)
    if content is None or substitution is None:
        return 2
    pattern, replacement, count = substitution
    *lines, rest = content.decode(errors="surrogateescape").split("\n")  # the rest: a last line without a newline
    stdout.writelines(re.sub(pattern, lambda _: replacement, line, count=count) + "\n" for line in lines)
    stdout.write(re.sub(pattern, lambda _: replacement, rest, count=count) if rest else "")
    return 0


def _read_two(names: list[str], command: str, stdin: TextIO, stderr: TextIO) -> list[bytes] | None:
    contents = [_read(name, command, stdin, stderr) for name in names]
    return None if None in contents else [content for content in contents if content is not None]


def _read(name: str, command: str, stdin: TextIO, stderr: TextIO) -> bytes | None:
    if name == "-":
        return stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        stderr.write(f"{command}: {name}: {error.strerror}\n")
        return None


def filecheck(argv: list[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the `filecheck` package's command. It uses the streams of `sys`, which the shell has set."""
    from filecheck.main import main

    try:
        main(["filecheck", *argv])
    except SystemExit as exit_request:
        return int(exit_request.code or 0)
    return 0


BUILTINS: dict[str, Callable[..., int]] = {
    "cat": cat,
    "cmp": cmp,
    "diff": diff,
    "echo": echo,
    "grep": grep,
    "rm": rm,
    "sed": sed,
}
