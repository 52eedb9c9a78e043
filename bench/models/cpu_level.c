// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hide instruction sets from a process: gcc -O1 -shared -fPIC -o cpu_level.so cpu_level.c, for LD_PRELOAD with CPU_LEVEL
// set to 2 (AVX2 and no more) or 3 (AVX-512 with VNNI, without bf16, f16 and AMX). Linux makes CPUID trap, and the handler
// executes it and clears the bits. Libraries that choose kernels by CPUID, such as onnxruntime, see such a machine.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_SET_CPUID 0x1012
#define BIT(n) (1u << (n))

static int level;

static void execute(int signal_number, siginfo_t *info, void *given) {
  (void)info;
  greg_t *registers = ((ucontext_t *)given)->uc_mcontext.gregs;
  const uint8_t *code = (const uint8_t *)registers[REG_RIP];
  if (code[0] != 0x0f || code[1] != 0xa2) {
    level = 0;
    signal(signal_number, SIG_DFL);
    return;
  }
  uint32_t leaf = registers[REG_RAX], part = registers[REG_RCX], a, b, c, d;
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
  __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(leaf), "c"(part));
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
  if (leaf == 7 && part == 0) {
    d &= ~(BIT(22) | BIT(23) | BIT(24) | BIT(25));  // AMX bf16, AVX-512 f16, AMX tiles, AMX int8
    if (level < 3) {
      b &= ~(BIT(16) | BIT(17) | BIT(21) | BIT(28) | BIT(30) | BIT(31));  // AVX-512 F, DQ, IFMA, CD, BW, VL
      c &= ~(BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14));  // VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ
      d &= ~(BIT(2) | BIT(3) | BIT(8));
    }
  }
  if (leaf == 7 && part == 1) {
    a &= ~(BIT(4) | BIT(5) | BIT(21));  // AVX-VNNI, AVX-512 bf16, AMX f16
    d &= ~(BIT(4) | BIT(5) | BIT(10));  // AVX-VNNI-INT8 and others
  }
  registers[REG_RAX] = a;
  registers[REG_RBX] = b;
  registers[REG_RCX] = c;
  registers[REG_RDX] = d;
  registers[REG_RIP] += 2;
}

// MLIR's bindings install handlers of their own, which print a stack trace.
int sigaction(int signal_number, const struct sigaction *action, struct sigaction *old) {
  if (signal_number == SIGSEGV && level != 0 && action != NULL && action->sa_sigaction != execute) return 0;
  int (*next)(int, const struct sigaction *, struct sigaction *) = dlsym(RTLD_NEXT, "sigaction");
  return next(signal_number, action, old);
}

sighandler_t signal(int signal_number, sighandler_t handler) {
  if (signal_number == SIGSEGV && level != 0) return SIG_DFL;
  sighandler_t (*next)(int, sighandler_t) = dlsym(RTLD_NEXT, "signal");
  return next(signal_number, handler);
}

__attribute__((constructor)) static void hide(void) {
  const char *wish = getenv("CPU_LEVEL");
  if (wish == NULL) return;
  level = atoi(wish);
  struct sigaction action = {0};
  action.sa_sigaction = execute;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, NULL);
  if (syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) != 0) _exit(99);
}
