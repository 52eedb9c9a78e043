# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a pass is, a frozen dataclass whose fields are its options, and one method; and every pass by name.

@register_pass
@dataclass(frozen=True)
class MyPass(Pass):
    \"\"\"One line that `relax-opt --help` prints.\"\"\"

    name: ClassVar[str] = "my-pass"
    threshold: int = 4                      # my-pass{threshold=8}

    def run(self, op: Any) -> None: ...

This project's passes are found by file name and imported when they are used.
"""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from ...bindings.context import load_dialects
from ...bindings.ir import Context
from ...support.errors import RelaxError
from ...support.plugins import load_plugins
from ...support.registry import Registry
from .options import format_options


@dataclasses.dataclass(frozen=True)
class Pass:
    """A pass over one operation and what is in it. Subclasses are frozen dataclasses; see the module's docstring."""

    #: The name in pipelines: relax-... on the graph, tir-... on tensor programs, your own prefix elsewhere.
    name: ClassVar[str] = ""
    #: The operation the pass runs on ("builtin.module", "func.func"); "any" for every one.
    anchor: ClassVar[str] = "builtin.module"
    #: Upstream dialects whose operations the pass creates; they are loaded before it runs.
    dependent_dialects: ClassVar[tuple[str, ...]] = ()

    def run(self, op: Any) -> None:
        """Transforms the operation in place. Raise RelaxError to fail; what is left half done is thrown away."""
        raise RelaxError(f"pass '{self.name}' has no run method")

    def __call__(self, target: Any) -> Any:
        """Runs the pass alone, on a Module or an operation; returns what it was given."""
        from .pipeline import Pipeline

        Pipeline([self]).run(target)
        return target

    def text(self) -> str:
        """The pass as it stands in a pipeline's text, options that differ from their defaults included."""
        return self.name + format_options(self)

    def prepare(self, context: Context) -> None:
        load_dialects(context, self.dependent_dialects)


_PASSES = Registry[type[Pass]](
    lambda cls: (cls.name,),
    lambda cls, taken: f"pass '{cls.name}' is registered twice: by {taken.__module__} and by {cls.__module__}",
    place=lambda cls: f"{cls.__module__}.{cls.__qualname__}",
)
#: Folders of this project that hold one pass a file, named after the pass, and the packages that they are.
_FOLDERS: list[tuple[Path, str, tuple[str, ...]]] = [
    (Path(__file__).parent.parent, __name__.rsplit(".", 2)[0], ("relax_", "tir_"))
]

PassClass = TypeVar("PassClass", bound=type[Pass])


def register_pass(cls: PassClass) -> PassClass:
    """Makes a pass known by its name; use it as a decorator. Refuses a name that is taken."""
    name = cls.name
    if not name or not all(char.isalnum() or char in "-_." for char in name):
        raise RelaxError(f"{cls.__name__}.name = '{name}' is no pass name: letters, digits, '-', '_' and '.' only")
    own_module = own_pass_files().get(name, cls.__module__)
    if own_module != cls.__module__:
        raise RelaxError(f"pass '{name}' is registered twice: by {own_module} and by {cls.__module__}")
    if not (cls.__doc__ or "").strip():
        raise RelaxError(f"pass '{name}' has no doc string: its first line is what --help prints")
    _PASSES.add([cls])
    return cls


def add_pass_folder(folder: Path, package: str, prefix: str) -> None:
    """Passes of a target stand in its own folder; their names begin with its prefix."""
    _FOLDERS.append((folder, package, (prefix,)))


def own_pass_files() -> dict[str, str]:
    """The passes of this project: name -> module. One pass a file, named after the pass."""
    return {
        path.stem.replace("_", "-"): f"{package}.{path.stem}"
        for folder, package, prefixes in _FOLDERS
        for prefix in prefixes
        for path in sorted(folder.glob(f"{prefix}*.py"))
    }


def find_pass(name: str) -> type[Pass] | None:
    """The pass of this name; plug-ins that announce it are imported. None when nobody has it."""
    if not _PASSES.tried(name):
        module = own_pass_files().get(name)
        if module:
            importlib.import_module(module)
        elif load_plugins("pass", name) and not _PASSES.tried(name):
            raise RelaxError(f"a plug-in announces the pass '{name}', but does not register it")
    return next(iter(_PASSES.tried(name)), None)


def all_passes() -> dict[str, type[Pass]]:
    """Every registered pass, this project's and plug-ins' included, sorted by name."""
    for module in own_pass_files().values():
        importlib.import_module(module)
    load_plugins("pass")
    return {cls.name: cls for cls in _PASSES.all()}
