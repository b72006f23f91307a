/* Fields of columns that have a type (efface_column_type), as numbers. */
#ifndef EF_FIELD_TYPES_H
#define EF_FIELD_TYPES_H

#include "data/texts/field.h"
#include "data/texts/number.h"
#include "efface/efface.h"

/* What a field of a type stands for; EF_NUMBER_NONE if it is none of that type. *value is written
 * for EF_NUMBER_OK only. */
ef_parsed ef_type_read(efface_column_type type, ef_csv_field field, double *value);

/* What a field of the type would be: "a date such as 2024-02-29". */
const char *ef_type_words(efface_column_type type);

/* Whether a number is one of the types. */
bool ef_type_is_known(int type);

#endif
