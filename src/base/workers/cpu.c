/* What the processor and the operating system allow. */
#define _GNU_SOURCE /* sched_getaffinity: a container may own fewer processors than there are */
#include "base/workers/cpu.h"

#include <sched.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

bool ef_cpu_has_avx2(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

bool ef_cpu_has_avx512(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

bool ef_cpu_has_vnni(void) {
#if defined(__x86_64__)
    return ef_cpu_has_avx512() && __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

#if defined(__x86_64__) && defined(__linux__)

#define ASK_FOR_STATE 0x1023 /* ARCH_REQ_XCOMP_PERM */
#define TILE_DATA 18         /* XFEATURE_XTILEDATA */

/* Leaf 0x1D, the sizes of tiles, is not asked: some virtual machines whose tiles work have zeros
 * there. */
bool ef_cpu_has_amx(void) {
    const unsigned tiles_of_bytes = 1u << 24 | 1u << 25, system_saves = 1u << 27;
    unsigned a, b, c, d, saved, upper;
    if (!ef_cpu_has_avx512() || __get_cpuid(1, &a, &b, &c, &d) == 0 || (c & system_saves) == 0 ||
        __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & tiles_of_bytes) != tiles_of_bytes)
        return false;
    __asm__ volatile("xgetbv" : "=a"(saved), "=d"(upper) : "c"(0));
    return (saved >> 17 & 3) == 3 && syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA) == 0;
}

#else

bool ef_cpu_has_amx(void) {
    return false;
}

#endif

unsigned ef_cpu_count(void) {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}
