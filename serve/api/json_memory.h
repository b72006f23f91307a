/* Memory of JSON: the bodies of requests have ids and values in them. */
#ifndef SV_JSON_MEMORY_H
#define SV_JSON_MEMORY_H

/* Has jansson overwrite memory before it is released. To be called once, before any other use. */
void sv_json_wipes_memory(void);

#endif
