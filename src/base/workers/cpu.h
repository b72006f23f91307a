/* What the processor and the operating system allow. */
#ifndef EF_CPU_H
#define EF_CPU_H

#include <stdbool.h>

/* AVX2 with FMA; AVX-512 F, DQ, BW and VL. False on other architectures. Both include that the
 * operating system saves the wide registers. */
bool ef_cpu_has_avx2(void);
bool ef_cpu_has_avx512(void);

/* Processors this process may run on, at least 1. */
unsigned ef_cpu_count(void);

#endif
