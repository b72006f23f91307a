/* Reading files of lines. */
#include "input/text_lines.h"

#include "one_more.h"

#include "input/secrets.h"
#include "input/stores.h"
#include "output/messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *file_name(const char *path) {
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

int cli_read_lines(const char *path, const char *what, cli_line_taker *take, void *context) {
    const bool from_stdin = strcmp(path, "-") == 0;
    FILE *const file = from_stdin ? stdin : fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0, number = 0;
    int code = CLI_DONE;
    if (file == NULL)
        return errno == ENOENT ? cli_not_found("there is no file '%s'", path)
                               : cli_failed("cannot read %s: %s", path, strerror(errno));
    for (ssize_t n; code == CLI_DONE && (n = getline(&line, &capacity, file)) >= 0;) {
        number++;
        code = strlen(line) == (size_t)n
                   ? take(context, line, number)
                   : cli_failed("%s, line %zu: there is a zero byte, so the file is not a list of "
                                "%s",
                                file_name(path), number, what);
    }
    if (code == CLI_DONE && ferror(file) != 0)
        code = cli_failed("cannot read %s: %s", file_name(path), strerror(errno));
    free(line);
    if (!from_stdin)
        fclose(file);
    return code;
}

/* What is in a line, without what stands around it; NULL if that is nothing. */
static char *content_of(char *line) {
    for (size_t n = strlen(line); n > 0 && strchr(" \t\r\n,", line[n - 1]) != NULL;)
        line[--n] = '\0';
    line += strspn(line, " \t");
    return strcmp(line, "[") == 0 || strcmp(line, "]") == 0 || line[0] == '\0' ? NULL : line;
}

static int add_line(void *context, char *line, size_t number) {
    cli_lines *const lines = context;
    const char *const content = content_of(line);
    if (content == NULL)
        return CLI_DONE;
    char **const items = cli_one_more(lines->items, lines->n, sizeof *items);
    lines->items = items != NULL ? items : lines->items;
    size_t *const numbers = cli_one_more(lines->numbers, lines->n, sizeof *numbers);
    lines->numbers = numbers != NULL ? numbers : lines->numbers;
    char *const copy = strdup(content);
    if (items == NULL || numbers == NULL || copy == NULL) {
        free(copy);
        return cli_out_of_memory();
    }
    items[lines->n] = copy;
    numbers[lines->n++] = number;
    return CLI_DONE;
}

static int read_lines(const char *path, const char *what, cli_lines *lines) {
    memset(lines, 0, sizeof *lines);
    const int code = cli_read_lines(path, what, add_line, lines);
    return code == CLI_DONE && lines->n == 0
               ? cli_failed("there are no %s in %s", what, file_name(path))
               : code;
}

int cli_read_receipts(const char *path, cli_lines *lines) {
    if (cli_looks_like_store(path)) {
        memset(lines, 0, sizeof *lines);
        return cli_failed("%s is a store; efface export %s --receipts -o FILE writes its receipts",
                          path, path);
    }
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
