/* The handlers of all routes. */
#ifndef SV_API_H
#define SV_API_H

#include "service.h"

sv_when sv_get_health(sv_request *request);
sv_when sv_get_me(sv_request *request);
sv_when sv_get_stores(sv_request *request);

#endif
