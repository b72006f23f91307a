/* Where show and owners write, and in which form. */
#include "commands/rows/listing.h"

#include <math.h>
#include <stdlib.h>

const char *const cli_form_words[] = {"text", "csv", "json", NULL};

int cli_choose_form(cli_listing *listing) {
    const bool to_stdout = cli_is_stdout(listing->out_path);
    if (listing->form < 0) {
        const cli_format named = to_stdout ? CLI_OTHER : cli_format_of(listing->out_path);
        if (!to_stdout && named != CLI_CSV && named != CLI_JSON)
            return cli_wrong("the format follows from the name of FILE, which must end in .csv or "
                             ".json; or name it with --format");
        listing->form = named == CLI_CSV                       ? CLI_AS_CSV
                        : named == CLI_JSON || listing->json   ? CLI_AS_JSON
                        : listing->out_path != NULL /* -o - */ ? CLI_AS_CSV
                                                               : CLI_AS_TEXT;
    }
    if (to_stdout && listing->json && listing->form != CLI_AS_JSON)
        return cli_wrong(
            "--json and --format %s cannot share standard output; use one of them, or -o FILE",
            cli_form_words[listing->form]);
    return CLI_DONE;
}

int cli_write_listing(const cli_listing *l, const void *what, cli_form_writer *as_text,
                      cli_form_writer *as_csv, cli_form_writer *as_json) {
    cli_output output;
    const int code = cli_output_open(&output, l->out_path);
    if (code != CLI_DONE)
        return code;
    (l->form == CLI_AS_JSON  ? as_json
     : l->form == CLI_AS_CSV ? as_csv
                             : as_text)(output.file, what);
    return cli_output_finish(&output);
}

void cli_put_token(FILE *out, const cli_token *token, const char *none) {
    char digits[32];
    cli_format_token(digits, token);
    cli_put_text(out, token->none ? none : token->text != NULL ? token->text : digits);
}

void cli_format_value(char text[32], float value, double offset) {
    if (isnan(value)) {
        text[0] = '\0';
        return;
    }
    if (offset != 0.0 && cli_format_whole(text, (double)value + offset))
        return;
    for (int digits = 6; digits <= (offset == 0.0 ? 9 : 17); digits++) {
        snprintf(text, 32, "%.*g", digits, (double)value + offset);
        if ((offset == 0.0 ? strtof(text, NULL) : (float)(strtod(text, NULL) - offset)) == value)
            break;
    }
}

void cli_say_no_texts(const efface_store_info *info) {
    if (info->ids != EFFACE_IDS_NUMBERS || info->owners == EFFACE_IDS_TEXT)
        cli_say(
            "the store keeps no texts: ids and owners that were texts are shown as number:N, and "
            "can be named so");
}
