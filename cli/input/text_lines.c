/* Reading files of lines. */
#include "input/text_lines.h"

#include "input/secrets.h"
#include "output/messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool add_line(cli_lines *lines, const char *text, size_t number) {
    if (lines->n == lines->capacity) {
        const size_t capacity = lines->capacity == 0 ? 64 : 2 * lines->capacity;
        char **const items = realloc(lines->items, capacity * sizeof *items);
        if (items == NULL)
            return false;
        lines->items = items;
        size_t *const numbers = realloc(lines->numbers, capacity * sizeof *numbers);
        if (numbers == NULL)
            return false;
        lines->numbers = numbers;
        lines->capacity = capacity;
    }
    lines->items[lines->n] = strdup(text);
    lines->numbers[lines->n] = number;
    return lines->items[lines->n] != NULL && ++lines->n > 0;
}

/* What is in a line, without what stands around it; NULL if that is nothing. */
static char *content_of(char *line, size_t n) {
    while (n > 0 && strchr(" \t\r\n,", line[n - 1]) != NULL)
        line[--n] = '\0';
    line += strspn(line, " \t");
    return strcmp(line, "[") == 0 || strcmp(line, "]") == 0 || line[0] == '\0' ? NULL : line;
}

static int read_lines(const char *path, const char *what, cli_lines *lines) {
    const bool from_stdin = strcmp(path, "-") == 0;
    const char *const name = from_stdin ? "standard input" : path;
    FILE *const file = from_stdin ? stdin : fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0, number = 0;
    int code = CLI_DONE;
    memset(lines, 0, sizeof *lines);
    if (file == NULL)
        return errno == ENOENT ? cli_not_found("there is no file '%s'", path)
                               : cli_failed("cannot read %s: %s", path, strerror(errno));
    for (ssize_t n; code == CLI_DONE && (n = getline(&line, &capacity, file)) >= 0;) {
        number++;
        if (strlen(line) != (size_t)n) {
            code = cli_failed("%s, line %zu: there is a zero byte, so the file is not a list of %s",
                              name, number, what);
            break;
        }
        const char *const content = content_of(line, (size_t)n);
        if (content != NULL && !add_line(lines, content, number))
            code = cli_out_of_memory();
    }
    if (code == CLI_DONE && ferror(file) != 0)
        code = cli_failed("cannot read %s: %s", name, strerror(errno));
    free(line);
    if (!from_stdin)
        fclose(file);
    if (code == CLI_DONE && lines->n == 0)
        code = cli_failed("there are no %s in %s", what, name);
    return code;
}

int cli_read_receipts(const char *path, cli_lines *lines) {
    return read_lines(path, "receipts", lines);
}

void cli_lines_free(cli_lines *lines) {
    for (size_t i = 0; i < lines->n; i++)
        free(lines->items[i]);
    free(lines->items);
    free(lines->numbers);
    memset(lines, 0, sizeof *lines);
}

int cli_read_hashes(const char *path, cli_hashes *hashes) {
    cli_lines lines;
    int code = read_lines(path, "hashes", &lines);
    *hashes = (cli_hashes){.bytes = malloc((lines.n + 1) * EFFACE_ROW_HASH_BYTES)};
    if (code == CLI_DONE && hashes->bytes == NULL)
        code = cli_out_of_memory();
    for (; code == CLI_DONE && hashes->n < lines.n; hashes->n++)
        if (!cli_from_hex(lines.items[hashes->n], strlen(lines.items[hashes->n]),
                          hashes->bytes + hashes->n * EFFACE_ROW_HASH_BYTES, EFFACE_ROW_HASH_BYTES))
            code = cli_failed("%s, line %zu: '%s' is not a hash; give a file from --list", path,
                              lines.numbers[hashes->n], lines.items[hashes->n]);
    if (code != CLI_DONE) {
        free(hashes->bytes);
        *hashes = (cli_hashes){NULL, 0};
    }
    cli_lines_free(&lines);
    return code;
}
