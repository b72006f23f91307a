/* Choosing a kernel table, once. */
#include "kernel/kernels.h"

#include "base/errors/status.h"
#include "base/workers/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(EF_HAVE_AVX2)
extern const ef_kernels ef_kernels_avx2;
#endif
#if defined(EF_HAVE_AVX512)
extern const ef_kernels ef_kernels_avx512;
#endif
#if defined(EF_HAVE_VNNI)
extern const ef_kernels ef_kernels_vnni;
#endif
#if defined(EF_HAVE_AMX)
extern const ef_kernels ef_kernels_amx;
bool ef_amx_works(void);
#endif
#if defined(EF_HAVE_AMX_PLAIN)
extern const ef_kernels ef_kernels_amx_plain;
bool ef_amx_plain_works(void);
#endif
#if defined(EF_HAVE_NEON)
extern const ef_kernels ef_kernels_neon;
#endif

typedef struct candidate {
    const ef_kernels *table;
    bool (*usable)(void); /* NULL: everywhere */
} candidate;

/* The best comes first; the reference runs everywhere and ends the search. */
static const candidate candidates[] = {
#if defined(EF_HAVE_AMX)
    {&ef_kernels_amx, ef_amx_works},
#endif
#if defined(EF_HAVE_VNNI)
    {&ef_kernels_vnni, ef_cpu_has_vnni},
#endif
#if defined(EF_HAVE_AVX512)
    {&ef_kernels_avx512, ef_cpu_has_avx512},
#endif
#if defined(EF_HAVE_AVX2)
    {&ef_kernels_avx2, ef_cpu_has_avx2},
#endif
#if defined(EF_HAVE_NEON)
    {&ef_kernels_neon, NULL}, /* every 64-bit ARM processor has it */
#endif
    {&ef_kernels_ref, NULL},
#if defined(EF_HAVE_AMX_PLAIN)
    {&ef_kernels_amx_plain, ef_amx_plain_works}, /* only by name */
#endif
};

#define N_CANDIDATES (sizeof candidates / sizeof candidates[0])

static bool usable(const candidate *c) {
    return c->usable == NULL || c->usable();
}

const ef_kernels *ef_kernels_find(const char *name) {
    for (size_t i = 0; i < N_CANDIDATES; i++)
        if (strcmp(candidates[i].table->name, name) == 0)
            return usable(&candidates[i]) ? candidates[i].table : NULL;
    return NULL;
}

const char *const *ef_kernels_names(void) {
    static const char *const names[] = {"ref", "avx2",      "avx512", "vnni",
                                        "amx", "amx_plain", "neon",   NULL};
    return names;
}

static const ef_kernels *choose_table(void) {
    const char *const forced = getenv("EFFACE_KERNELS");
    if (forced != NULL && forced[0] != '\0')
        return ef_kernels_find(forced);
    size_t i = 0;
    while (!usable(&candidates[i]))
        i++;
    return candidates[i].table;
}

const ef_kernels *ef_kernels_get(void) {
    /* Threads that come first at the same time choose alike, so it does not matter which stores. */
    static _Atomic(const ef_kernels *) chosen;
    static atomic_bool decided;
    if (!atomic_load(&decided)) {
        atomic_store(&chosen, choose_table());
        atomic_store(&decided, true);
    }
    return atomic_load(&chosen);
}

efface_status ef_kernels_require(const ef_kernels **out, efface_error *error) {
    const ef_kernels *const kernels = ef_kernels_get();
    if (kernels == NULL)
        return ef_fail(error, EFFACE_E_KERNELS,
                       "EFFACE_KERNELS names a kernel table that this processor cannot run; unset "
                       "it, or set it to ref");
    *out = kernels;
    return EFFACE_OK;
}

const char *efface_kernels_name(void) {
    const ef_kernels *const kernels = ef_kernels_get();
    return kernels != NULL ? kernels->name : NULL;
}
