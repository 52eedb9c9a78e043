# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Extensions of other packages, found by entry point and imported on demand.

In the other package's pyproject.toml:

    [project.entry-points."relax_mlir.plugins"]
    "dialect.mynpu" = "mynpu.ops"           # operators mynpu.*
    "pass.mynpu-tile" = "mynpu.passes"      # the pass mynpu-tile
    "target.mynpu" = "mynpu.target"         # a target
    "codegen.mynpu" = "mynpu.codegen"       # an external codegen with its runtime
    "runtime.mynpu" = "mynpu.runtime"       # a runtime that does not need the codegen
    "device.mynpu" = "mynpu.device"         # a kind of device, by runtime.device_kinds.register_device
    "rules.mynpu" = "mynpu.rules"           # rules for the operators mynpu.*, for all targets
    "references.mynpu" = "mynpu.meanings"   # references of operators, which define them in NumPy
    "gradients.mynpu" = "mynpu.derivatives" # derivatives of operators, by rx.rules.register_gradient
    "primitives.mynpu" = "mynpu.steps"      # primitives of schedules, of any names
    "comparison.each" = "mynpu.compare"     # how an option of relax-run runs programs: each, ranks, reference
    "connection.dask" = "mynpu.boards"      # what rx.runtime.connect returns for a scheduler: dask
    "page.report" = "mynpu.report"          # what relax-compile --report writes
    "onnx.com.acme" = "mynpu.converters"    # converters of ONNX operators of the domain com.acme
    "torch.acme" = "mynpu.of_torch"         # converters of torch.library operators acme::*
    "stablehlo.acme" = "mynpu.of_jax"       # converters of custom_calls and composites named acme.*
    "tosa.acme" = "mynpu.of_tosa"           # converters of custom operators of the domain acme
    "frontend.acme" = "acme.front_end"      # a front end: the format of models that it reads
    "acme.Swish" = "mynpu.of_acme"          # converters of that front end's operator Swish, and others of the module

The entry point's name has the kind and the name of the extension. Importing the module registers the extension.
The environment variable RELAX_MLIR_DISABLED_PLUGINS hides announced modules: patterns such as "acme*,mynpu.codegen".
"""

from __future__ import annotations

import importlib
import os
import sys
from fnmatch import fnmatchcase

from .errors import OptionError, RelaxError, message_of

GROUP = "relax_mlir.plugins"
DISABLED = "RELAX_MLIR_DISABLED_PLUGINS"
KINDS = tuple(
    "dialect pass target codegen runtime device rules references gradients primitives comparison page connection "
    "frontend onnx torch stablehlo tosa".split()
)

_loaded: set[str] = set()
#: Plug-ins that were loaded by name or file, and are not announced by an installed package.
_named: dict[str, None] = {}
_announced: list[tuple[str, str, str]] | None = None
#: Problems of installed packages, by entry point. Everything else works without these packages.
_problems: dict[str, RelaxError] = {}


def announced_plugins() -> list[tuple[str, str, str]]:
    """Return (kind, name, module) of every plug-in that installed packages announce."""
    global _announced
    if _announced is None:
        found = []
        points = _entry_points()
        kinds = {*KINDS, *(point.removeprefix("frontend.") for point, _ in points if point.startswith("frontend."))}
        for point, value in points:
            kind, dot, name = point.partition(".")
            module = value.partition(":")[0].strip()
            if _is_hidden(module):
                continue
            if kind in kinds and dot and name:
                found.append((kind, name, module))
            else:
                known = ", ".join(f"{kind}.NAME" for kind in KINDS)
                _problems[point] = RelaxError(f"plug-in '{point} = {value}': its name must be one of {known}")
        _announced = sorted(found)
    return _announced


def _entry_points() -> list[tuple[str, str]]:
    """Return the names and values of all entry points. Skip packages whose lists cannot be read."""
    # takes 15 ms, so import only when an unknown name is requested
    from importlib.metadata import distributions, entry_points

    try:
        return [(point.name, point.value) for point in entry_points(group=GROUP)]
    except Exception:  # importlib.metadata may raise anything for damaged files
        pass
    found: dict[tuple[str, str], None] = {}
    for distribution in distributions():
        try:
            found.update(
                {(point.name, point.value): None for point in distribution.entry_points if point.group == GROUP}
            )
        except Exception as error:  # see above
            place = getattr(distribution, "_path", "an installed package")
            _problems[str(place)] = RelaxError(f"{place}: its entry points cannot be read: {message_of(error)}")
    return list(found)


def announced_names(kind: str) -> list[str]:
    """Return the names of the announced plug-ins of a kind."""
    return [name for announced, name, _ in announced_plugins() if announced == kind]


def plugin_problems() -> list[str]:
    """Return the problems of installed packages that have been found so far."""
    return [str(error) for _, error in sorted(_problems.items())]


def leave_out(what: str, problem: RelaxError) -> None:
    """Record the problem of an extension that was not requested by name. `plugin_problems` reports it."""
    _problems[what] = problem


def load_plugins(kind: str, name: str | None = None) -> bool:
    """Import the plug-ins of a kind, or one by name.

    Return True if a plug-in was imported for the first time.

    Raises RelaxError if a plug-in requested by name fails. Without a name, failing plug-ins are skipped and reported
    by `plugin_problems`.
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


def where_to_get(package: str) -> str:
    """Return the end of an error message for a missing plug-in of relax-mlir's wheel."""
    hidden = os.environ.get(DISABLED)
    reason = f"hidden by {DISABLED}={hidden}, or missing" if hidden else "missing"
    return f"it is in the package {package}, which is {reason}: pip install --force-reinstall relax-mlir"


#: Packages of relax-mlir's wheel -> entry points that users ask for by name.
_POINTS = {
    "relax_mlir_blas": "codegen.blas",
    "relax_mlir_c": "codegen.c target.c",
    "relax_mlir_cluster": "connection.dask",
    "relax_mlir_dnnl": "codegen.dnnl",
    "relax_mlir_example_npu": "codegen.example_npu",
    "relax_mlir_jax": "frontend.stablehlo",
    "relax_mlir_nvidia": "codegen.cublas codegen.cudnn",
    "relax_mlir_onnx_domains": "onnx.ai.onnx.ml onnx.com.microsoft",
    "relax_mlir_onnxruntime": "codegen.onnxruntime",
    "relax_mlir_proof": "comparison.each comparison.reference target.reference",
    "relax_mlir_quantize": "pass.relax-requantize",
    "relax_mlir_report": "page.report",
    "relax_mlir_shard": "comparison.network comparison.ranks dialect.ccl pass.relax-localize rules.ccl",
    "relax_mlir_spirv": "device.opencl device.vulkan target.opencl target.spirv target.vulkan",
    "relax_mlir_tensorrt": "codegen.tensorrt",
    "relax_mlir_tflite": "frontend.tflite",
    "relax_mlir_torch": "frontend.torch",
    "relax_mlir_tosa": "frontend.tosa",
    "relax_mlir_training": "onnx.ai.onnx.preview.training pass.relax-gradient",
    "relax_mlir_tvm": "frontend.tvm",
    "relax_mlir_webgpu": "target.webgpu",
}
_OWN = {point: package for package, points in _POINTS.items() for point in points.split()}


def missing_plugin(point: str) -> str:
    """Return how to get the plug-in of an entry point, or an empty string for other names."""
    return where_to_get(_OWN[point]) if point in _OWN else ""


class MissingPlugin(RelaxError, AttributeError):
    """Error for a public name of a plug-in that is missing or hidden."""


def name_of_plugin(module: str, name: str) -> object:
    """Return a public name, such as `tune` or `recipes.from_aimet`, that a plug-in of relax-mlir's wheel defines.

    Raises MissingPlugin if there is no such plug-in.
    """
    import importlib.util  # takes a millisecond, and few tools need it

    package = module.partition(".")[0]
    if _is_hidden(module) or importlib.util.find_spec(package) is None:
        raise MissingPlugin(f"rx.{name}: {where_to_get(package)}")
    return getattr(importlib.import_module(module), name.rpartition(".")[2])


def _is_hidden(module: str) -> bool:
    return any(fnmatchcase(module, pattern) for pattern in os.environ.get(DISABLED, "").split(","))


def _load_announced(point: str, module: str) -> bool:
    try:
        return load_plugin(module, is_announced=True)
    except RelaxError as error:
        notes = *error.notes, f"an installed package announces it as {point}"
        raise error.altered(location="", notes=notes) from error


def plugin_module(name: str) -> str:
    """Return the module of a plug-in name or file path.

    The package of a file becomes importable.

    Raises OptionError if there is no such Python file.
    """
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
    """Return the plug-ins that were loaded by name or file, in the form that --load-plugin takes."""
    return tuple(_named)


def load_plugin(name: str, *, is_announced: bool = False) -> bool:
    """Import a plug-in's module by name or file path. Return True for the first import."""
    module = plugin_module(name)
    if not is_announced:
        _named[name] = None
    if module in _loaded:
        return False
    try:
        importlib.import_module(module)
    except (Exception, SystemExit) as error:  # foreign modules may raise anything, or call sys.exit
        shown = str(error) if isinstance(error, (ImportError, RelaxError)) else message_of(error)
        raise RelaxError(f"cannot load plug-in '{name}': {shown}") from error
    _check_place(name, module)
    _loaded.add(module)
    return True


def _check_place(name: str, module: str) -> None:
    """Raise RelaxError if another module with the file's name was imported instead of the file."""
    place = getattr(sys.modules[module], "__file__", None) or ""
    if name != module and not os.path.samefile(place, name):
        raise RelaxError(f"cannot load plug-in '{name}': the name '{module}' is taken by {place}")
