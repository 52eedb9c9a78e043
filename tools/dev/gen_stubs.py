# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the stubs for editors and type checkers.

They are dialects/<dialect>/__init__.pyi from the operator tables, passes/kernels/loops/steps.pyi from the primitives of
schedules, and relax_mlir/*.pyi from the list of its names.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from generated import main
from relax_mlir.tools.stubs import HINTS, members, step

if TYPE_CHECKING:
    from relax_mlir.dialects.core.dialect import Dialect

DIALECTS = Path(__file__).resolve().parents[2] / "dialects"
STEPS = DIALECTS.parent / "passes" / "kernels" / "loops" / "steps.pyi"
#: Package with the primitives of STEPS. Type checkers see primitives of plug-ins as Any.
PRIMITIVES = "relax_mlir.passes.kernels.primitives."
FRONT_DOOR = DIALECTS.parent / "relax_mlir"
FRONT_DOOR_HEAD = """\
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.
"""
HEAD = """\
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the operator tables (`make generate`): do not edit.
"""
STEPS_HEAD = """\
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from passes/kernels/primitives (`make generate`): do not edit.
from collections.abc import Callable, Sequence

from .handles import BlockRV, IndexMap, LoopRV

class Steps:
"""
# Names in the package in addition to its operators, as in its __init__.py.
OWN = {
    "relax": "from .constants import const as const\n",
    "tir": "from .declare import declare_intrinsic as declare_intrinsic\n",
}


def stub(dialect: Dialect) -> str:
    return (
        HEAD
        + HINTS.format(core="..core")
        + OWN[dialect.name]
        + "\ndialect: Dialect\n\n"
        + "\n".join(members(dialect, "", ""))
    )


def steps() -> str:
    """Return the primitives of schedules as methods."""
    from relax_mlir.passes.kernels.loops.primitives import find_primitive, primitive_names
    from relax_mlir.passes.kernels.loops.schedule import ALSO

    own = [name for name in primitive_names() if find_primitive(name).function.__module__.startswith(PRIMITIVES)]
    names = sorted([*own, *ALSO])
    return STEPS_HEAD + "\n".join(line for name in names for line in step(name, ALSO.get(name, name)))


def front_door() -> dict[Path, str]:
    """Return the public names, which are imported at their first use."""
    import relax_mlir

    written = vars(relax_mlir)  # type checkers see the generated names, and not their source
    namespaces = {name: exported(written["_map_names"](each)) for name, each in written["_NAMESPACES"].items()}
    rows = exported(written["_EXPORTS"]).union(*(namespaces[name] for name in written["_FLAT"]))
    rows.update(f"from {module} import {name} as {name}" for name, module in written["_PLUGIN_EXPORTS"].items())
    rows.update(f"import {module} as _{name}" for name, module in written["_PLUGIN_PACKAGES"].items())
    aliases = [f"{name} = _{name}" for name in written["_PLUGIN_PACKAGES"]]
    for name, module in written["_MODULES"].items():
        package, _, last = module.rpartition(".")
        rows.add(f"from .{package} import {last} as {last if name == last else f'_{last}'}")
        if name != last:  # an import under another name is private to a stub
            aliases.append(f"{name} = _{last}")
    texts = {name: "\n".join([FRONT_DOOR_HEAD, *sorted(each), ""]) for name, each in namespaces.items()}
    texts["__init__"] = "\n".join([FRONT_DOOR_HEAD, *sorted(rows), "", "__version__: str", *aliases, ""])
    return {FRONT_DOOR / f"{name}.pyi": text for name, text in texts.items()}


def exported(modules: Mapping[str, str]) -> set[str]:
    rows = ((name, module if module.startswith("relax_mlir_") else f".{module}") for name, module in modules.items())
    return {f"from {module} import {name} as {name}" for name, module in rows}


def stubs() -> dict[Path, str]:
    # Importing a dialect declares its operators.
    import relax_mlir.dialects.relax
    import relax_mlir.dialects.tir  # noqa: F401
    from relax_mlir.dialects.core.dialect import registered_dialects

    written = {DIALECTS / name / "__init__.pyi": stub(registered_dialects()[name]) for name in OWN}
    return {**front_door(), STEPS: steps(), **written}


if __name__ == "__main__":
    sys.exit(main(__doc__, stubs))
