/* Compiles if the public headers stand alone in C11. */
#include <efface/efface.h>

_Static_assert(EFFACE_OK == 0, "success is zero");
