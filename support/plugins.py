# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Other packages' extensions, found by entry point and imported only when what they announce is asked for.

In the other package's pyproject.toml:

    [project.entry-points."relax_mlir.plugins"]
    "dialect.mynpu" = "mynpu.ops"           # operators mynpu.*
    "pass.mynpu-tile" = "mynpu.passes"      # the pass mynpu-tile
    "target.mynpu" = "mynpu.target"         # a target
    "codegen.mynpu" = "mynpu.codegen"       # an external codegen, with what runs its code
    "runtime.mynpu" = "mynpu.runtime"       # what runs its code, where that does not need the codegen
    "rules.mynpu" = "mynpu.rules"           # rules for the operators mynpu.*, of all targets
    "onnx.com.acme" = "mynpu.converters"    # converters of ONNX's operators of the domain com.acme
    "torch.acme" = "mynpu.of_torch"         # converters of operators that torch.library has as acme::*
    "stablehlo.acme" = "mynpu.of_jax"       # converters of custom_calls and composites named acme.*
    "tflite.AcmeSwish" = "mynpu.of_tflite"  # converters of the custom operator AcmeSwish, and whatever else is in it
    "tosa.acme" = "mynpu.of_tosa"           # converters of custom operators of the domain acme

The name says what kind of thing the module registers, and its name; importing the module registers it.
"""

from __future__ import annotations

import importlib
import os
import sys

from .errors import OptionError, RelaxError, message_of

GROUP = "relax_mlir.plugins"
KINDS = ("dialect", "pass", "target", "codegen", "runtime", "rules", "onnx", "torch", "tflite", "stablehlo", "tosa")

_loaded: set[str] = set()
#: Plug-ins that were asked for by their names or files, and not announced by an installed package.
_named: dict[str, None] = {}
_announced: list[tuple[str, str, str]] | None = None
#: What is wrong with installed packages, by what they announce: everything else goes on without them.
_problems: dict[str, RelaxError] = {}


def announced_plugins() -> list[tuple[str, str, str]]:
    """(kind, name, module) of every plug-in that the installed packages announce."""
    global _announced
    if _announced is None:
        found = []
        for point, value in _entry_points():
            kind, dot, name = point.partition(".")
            if kind in KINDS and dot and name:
                found.append((kind, name, value.partition(":")[0].strip()))
            else:
                kinds = ", ".join(f"{kind}.NAME" for kind in KINDS)
                _problems[point] = RelaxError(f"plug-in '{point} = {value}': its name must be one of {kinds}")
        _announced = sorted(found)
    return _announced


def _entry_points() -> list[tuple[str, str]]:
    """Names and values. Where one package's list cannot be read, those of the others."""
    from importlib.metadata import distributions, entry_points  # 15 ms: only when something unknown is asked for

    try:
        return [(point.name, point.value) for point in entry_points(group=GROUP)]
    except Exception:  # the standard library raises whatever it stumbles over in a file
        pass
    found: dict[tuple[str, str], None] = {}
    for each in distributions():
        try:
            found.update({(point.name, point.value): None for point in each.entry_points if point.group == GROUP})
        except Exception as error:  # the same
            place = getattr(each, "_path", "an installed package")
            _problems[str(place)] = RelaxError(f"{place}: its entry points cannot be read: {message_of(error)}")
    return list(found)


def announced_names(kind: str) -> list[str]:
    """The names of the plug-ins of a kind that installed packages announce."""
    return [name for announced, name, _ in announced_plugins() if announced == kind]


def plugin_problems() -> list[str]:
    """What is wrong with installed packages, as far as they have been asked for."""
    return [str(error) for _, error in sorted(_problems.items())]


def leave_out(what: str, problem: RelaxError) -> None:
    """Goes on without something that was not requested by name; `plugin_problems` has it."""
    _problems[what] = problem


def load_plugins(kind: str, name: str | None = None) -> bool:
    """Imports the plug-ins of a kind (with this name); returns whether any was imported now.

    Raises RelaxError for the one that is asked for by its name; of all of a kind those that fail are left out, and
    `plugin_problems` has them.
    """
    imported = False
    for announced_kind, announced_name, module in announced_plugins():
        if announced_kind == kind and name in (None, announced_name):
            point = f"{kind}.{announced_name}"
            try:
                imported |= _load_announced(point, module)
            except RelaxError as error:
                if name is not None:
                    raise
                _problems[point] = error
    return imported


def _load_announced(point: str, module: str) -> bool:
    try:
        return load_plugin(module, is_announced=True)
    except RelaxError as error:
        notes = *error.notes, f"an installed package announces it as {point}"
        raise error.altered(location="", notes=notes) from error


def plugin_module(name: str) -> str:
    """The module that a name or a file's path means; a file's package can be imported from then on."""
    if not name.endswith(".py") and os.sep not in name:
        return name
    path = os.path.realpath(name)
    if not os.path.isfile(path) or not path.endswith(".py"):
        raise OptionError(f"cannot load plug-in '{name}': there is no such Python file")
    folder, file = os.path.split(path)
    parts = [] if file == "__init__.py" else [file.removesuffix(".py")]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    if folder not in sys.path:
        sys.path.append(folder)
    return ".".join(parts)


def named_plugins() -> tuple[str, ...]:
    """Return the plug-ins that were loaded by their names or files, as a tool's --load-plugin would name them."""
    return tuple(_named)


def load_plugin(name: str, *, is_announced: bool = False) -> bool:
    """Import a plug-in's module, by name or by its file's path; return True if this was the first time."""
    module = plugin_module(name)
    if not is_announced:
        _named[name] = None
    if module in _loaded:
        return False
    try:
        importlib.import_module(module)
    except (Exception, SystemExit) as error:  # a stranger's module may raise anything, or mean to end the program
        shown = str(error) if isinstance(error, (ImportError, RelaxError)) else message_of(error)
        raise RelaxError(f"cannot load plug-in '{name}': {shown}") from error
    _check_place(name, module)
    _loaded.add(module)
    return True


def _check_place(name: str, module: str) -> None:
    """A file may be called what another module is called that was found first."""
    place = getattr(sys.modules[module], "__file__", None) or ""
    if name != module and not os.path.samefile(place, name):
        raise RelaxError(f"cannot load plug-in '{name}': the name '{module}' is taken by {place}")
