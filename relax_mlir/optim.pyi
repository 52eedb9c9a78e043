# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from relax_mlir_training.optimizers import Adam as Adam
from relax_mlir_training.optimizers import AdamW as AdamW
from relax_mlir_training.optimizers import MomentumSGD as MomentumSGD
from relax_mlir_training.optimizers import Optimizer as Optimizer
from relax_mlir_training.optimizers import SGD as SGD
from relax_mlir_training.optimizers import Update as Update
