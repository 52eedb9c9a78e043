// Options that print information about the tool and need no input.

// RUN: relax-opt --list-passes | FileCheck %s --check-prefix=PASSES
// PASSES: Passes of this project and of plug-ins:
// PASSES: relax-canonicalize {{ +[A-Z]}}
// PASSES: relax-inline {{ +[A-Z]}}
// PASSES: Upstream passes:
// PASSES: canonicalize {{ *}}Canonicalize operations
// PASSES: cse {{ *}}Eliminate common sub-expressions
// PASSES: Upstream pipelines:

// RUN: relax-opt --show-dialects | FileCheck %s --check-prefix=DIALECTS
// DIALECTS: Available Dialects: {{.*}}arith, {{.*}}builtin, {{.*}}func, {{.*}}linalg, {{.*}}relax, {{.*}}scf, {{.*}}tensor, {{.*}}tir, {{.*}}transform

// RUN: relax-opt --list-ops | FileCheck %s --check-prefix=OPS
// OPS: relax.add {{ +}}x1 + x2.
// OPS: relax.match_cast {{.*}} (own)
// OPS: relax.nn.conv2d {{ +[A-Z]}}
// OPS: tir.exp {{ +}}e to the power of x.

// RUN: relax-opt --help | FileCheck %s --check-prefix=HELP
// HELP: usage: relax-opt [options] [file]
// HELP: General:
// HELP-NEXT: -o <file> {{ *}}output: a file
// HELP: --pass-pipeline=<pipeline>
// HELP: --split-input-file[=<marker>]
// HELP: --verify-each=false
// HELP: Printing:
// HELP: Watching passes:
// HELP: Information:
// HELP: --relax-canonicalize
// HELP: --canonicalize {{ *}}Canonicalize operations
// HELP-NEXT: top-down=true {{ *}}Seed the worklist
// HELP: max-iterations=10 {{ *}}Max. iterations

// RUN: relax-opt -h > %t.short
// RUN: relax-opt --help > %t.long
// RUN: cmp %t.short %t.long

// RUN: relax-opt --version | FileCheck %s --check-prefix=VERSION
// VERSION: relax-mlir {{[0-9]+\.[0-9]+\.[0-9]+}} (MLIR bindings: {{.*}}, MLIR{{[ 0-9]+}}

// RUN: relax-opt --dump-irdl=tir | FileCheck %s --check-prefix=IRDL
// RUN: not relax-opt --dump-irdl=relx 2>&1 | FileCheck %s --check-prefix=NO-DIALECT
// RUN: not relax-opt --dump-irdl 2>&1 | FileCheck %s --check-prefix=NO-VALUE
// IRDL: irdl.dialect @tir {
// IRDL: irdl.operation @exp {
// NO-DIALECT: relax-opt: error: --dump-irdl: no dialect 'relx' is defined in Python; did you mean 'relax'? (known: relax, tir{{.*}})
// NO-VALUE: relax-opt: error: option --dump-irdl needs a value: --dump-irdl=<dialect>
