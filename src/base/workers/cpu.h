/* What the processor and the operating system allow. */
#ifndef EF_CPU_H
#define EF_CPU_H

#include <stdbool.h>

/* AVX2 with FMA; AVX-512 F, DQ, BW and VL; VNNI beside them. False on other architectures. All
 * include that the operating system saves the wide registers. */
bool ef_cpu_has_avx2(void);
bool ef_cpu_has_avx512(void);
bool ef_cpu_has_vnni(void);

/* AMX with tiles of bytes, and AVX-512 as above. The system gives a process tiles when it asks: that
 * is done here, and may be refused. */
bool ef_cpu_has_amx(void);

/* Processors this process may run on, at least 1. */
unsigned ef_cpu_count(void);

#endif
