// A misspelt name is reported with the nearest known name.

// RUN: not relax-opt %s --canonicalise 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not relax-opt %s --relax-canonicalise 2>&1 | FileCheck %s --check-prefix=OWN-FLAG
// RUN: not relax-opt %s --emit-bytcode 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not relax-opt %s --pass_pipeline=cse 2>&1 | FileCheck %s --check-prefix=UNDERSCORE
// RUN: not relax-opt %s --emit=llvm 2>&1 | FileCheck %s --check-prefix=COMPILE
// RUN: not relax-opt %s --benchmark 2>&1 | FileCheck %s --check-prefix=TOOL
// RUN: not relax-opt %s --xyzzyxyzzy 2>&1 | FileCheck %s --check-prefix=NOTHING-LIKE
// FLAG: relax-opt: error: unknown option '--canonicalise'; did you mean 'canonicalize'? (--help lists them)
// OWN-FLAG: relax-opt: error: unknown option '--relax-canonicalise'; did you mean 'relax-canonicalize'?
// OPTION: relax-opt: error: unknown option '--emit-bytcode'; did you mean 'emit-bytecode'?
// UNDERSCORE: relax-opt: error: unknown option '--pass_pipeline=cse'; did you mean 'pass-pipeline'?
// COMPILE: relax-opt: error: unknown option '--emit=llvm'; relax-compile has it (--help lists them)
// TOOL: relax-opt: error: unknown option '--benchmark'; relax-run has it (--help lists them)
// NOTHING-LIKE: relax-opt: error: unknown option '--xyzzyxyzzy' (--help lists them)

// RUN: not relax-opt %s --pass-pipeline='builtin.module(func.func(canonicalise))' 2>&1 | FileCheck %s --check-prefix=PASS
// RUN: not relax-opt %s --pass-pipeline='builtin.module(relax-inlne)' 2>&1 | FileCheck %s --check-prefix=OWN-PASS
// RUN: not relax-opt %s --pass-pipeline='builtin.module(canonicalize{max-iteratons=1})' 2>&1 | FileCheck %s --check-prefix=PASS-OPTION
// RUN: not relax-opt %s --canonicalize=max-iteratons=1 2>&1 | FileCheck %s --check-prefix=PASS-OPTION
// RUN: not relax-opt %s --canonicalize=max-iterations=many 2>&1 | FileCheck %s --check-prefix=PASS-VALUE
// PASS: relax-opt: error: unknown pass 'canonicalise'; did you mean 'canonicalize'?
// OWN-PASS: relax-opt: error: unknown pass 'relax-inlne'; did you mean 'relax-inline'?
// PASS-OPTION: relax-opt: error: pass 'canonicalize' has no option 'max-iteratons'; did you mean 'max-iterations'?
// PASS-VALUE: relax-opt: error: pass 'canonicalize': {{.*}}'many' value invalid

// Each time it is that one error.
// FLAG-NOT: error:
// PASS-NOT: error:
// PASS-OPTION-NOT: error:

func.func @f() {
  return
}
