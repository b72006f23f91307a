/* Compiles if the public header stands alone in C11. */
#include <efface/efface.h>

_Static_assert(EFFACE_OK == 0, "success is zero");
