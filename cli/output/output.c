/* Files that commands write. A full disk, a kill or an error leaves what was there before. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "output/output.h"

#include "input/secrets.h"
#include "output/messages.h"
#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cli_format_name(cli_format format) {
    static const char *const names[] = {"csv", "npy", "json", "other"};
    return names[format];
}

static bool ends_with(const char *name, const char *ending) {
    const size_t n = strlen(name), m = strlen(ending);
    return n > m && strcmp(name + n - m, ending) == 0;
}

cli_format cli_format_of(const char *name) {
    if (ends_with(name, ".csv"))
        return CLI_CSV;
    if (ends_with(name, ".npy"))
        return CLI_NPY;
    return ends_with(name, ".json") ? CLI_JSON : CLI_OTHER;
}

bool cli_is_stdout(const char *path) {
    return path == NULL || strcmp(path, "-") == 0;
}

int cli_choose_format(const char *path, bool as_json, cli_format *format) {
    *format = as_json ? CLI_JSON : CLI_CSV;
    if (!cli_is_stdout(path))
        *format = cli_format_of(path);
    return *format != CLI_OTHER ? CLI_DONE
                                : cli_wrong("the format follows from the name of FILE: it must end "
                                            "in .csv, .npy or .json");
}

static void forget_names(cli_output *output) {
    free(output->path);
    free(output->temporary);
    memset(output, 0, sizeof *output);
}

/* Whether a file is a store, which nothing but efface's own requests may change. */
static bool is_store(const char *path) {
    unsigned char head[72];
    FILE *const file = fopen(path, "rb");
    const bool whole = file != NULL && fread(head, 1, sizeof head, file) == sizeof head;
    if (file != NULL)
        (void)fclose(file);
    return whole && memcmp(head, "SQLite format 3", 16) == 0 && memcmp(head + 68, "EFFA", 4) == 0;
}

/* A file without a name, in the folder of `path`, which is gone if the program ends before it gets
 * one; or -1 where there are no such files. */
static int open_nameless(const char *path) {
#ifdef O_TMPFILE
    char *const folder = strdup(path);
    if (folder == NULL)
        return -1;
    char *const slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[slash == folder ? 1 : 0] = '\0';
    const int descriptor = open(slash != NULL ? folder : ".", O_TMPFILE | O_WRONLY, 0666);
    free(folder);
    return descriptor;
#else
    (void)path;
    return -1;
#endif
}

/* Gives a file without a name one that no file has. */
static bool give_name(int descriptor, char *name) {
    char source[64];
    snprintf(source, sizeof source, "/proc/self/fd/%d", descriptor);
    for (int attempt = 0; attempt < 100; attempt++) {
        unsigned char random[3];
        if (cli_random(random, sizeof random) != CLI_DONE)
            return false;
        snprintf(name + strlen(name) - 6, 7, "%02x%02x%02x", random[0], random[1], random[2]);
        if (linkat(AT_FDCWD, source, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0)
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

/* A file with the permissions that an ordinary new file would have. */
static FILE *make_temporary(char *name) {
    const int descriptor = mkstemp(name);
    if (descriptor < 0)
        return NULL;
    const mode_t mask = umask(0);
    (void)umask(mask);
    (void)fchmod(descriptor, 0666 & ~mask);
    FILE *const file = fdopen(descriptor, "wb");
    if (file == NULL) {
        (void)close(descriptor);
        (void)unlink(name);
    }
    return file;
}

/* A file that gets its name when it is complete. */
static FILE *begin_file(cli_output *output) {
    static const char pattern[] = ".XXXXXX";
    output->temporary = malloc(strlen(output->path) + sizeof pattern);
    if (output->temporary == NULL)
        return NULL;
    strcpy(output->temporary, output->path);
    strcat(output->temporary, pattern);
    const int descriptor = open_nameless(output->path);
    output->nameless = descriptor >= 0;
    return output->nameless ? fdopen(descriptor, "wb") : make_temporary(output->temporary);
}

int cli_output_open(cli_output *output, const char *path) {
    struct stat about;
    memset(output, 0, sizeof *output);
    if (cli_is_stdout(path) || !cli_is_first()) {
        output->file = stdout; /* of other ranks nothing comes from there */
        return CLI_DONE;
    }
    /* What a symbolic link stands for is replaced, not the link. */
    const bool exists = stat(path, &about) == 0;
    output->path = exists ? realpath(path, NULL) : strdup(path);
    if (output->path != NULL && exists && S_ISREG(about.st_mode) && is_store(output->path)) {
        forget_names(output);
        return cli_failed("%s is a store and is not overwritten; choose another name", path);
    }
    if (output->path != NULL)
        output->file =
            exists && !S_ISREG(about.st_mode) ? fopen(output->path, "wb") : begin_file(output);
    if (output->file != NULL)
        return CLI_DONE;
    const int code = cli_failed("cannot write %s: %s", path, strerror(errno));
    forget_names(output);
    return code;
}

int cli_output_finish(cli_output *output) {
    if (output->path == NULL)
        return CLI_DONE; /* main looks at standard output when all is done */
    errno = 0;
    bool ok = fflush(output->file) == 0 && ferror(output->file) == 0;
    if (ok && output->temporary != NULL)
        ok = fsync(fileno(output->file)) == 0;
    if (ok && output->nameless) {
        ok = give_name(fileno(output->file), output->temporary);
        output->nameless = !ok;
    }
    ok = fclose(output->file) == 0 && ok;
    if (ok && output->temporary != NULL)
        ok = rename(output->temporary, output->path) == 0;
    if (!ok) {
        (void)cli_failed("cannot write %s: %s", output->path,
                         errno != 0 ? strerror(errno) : "the device is full");
        if (output->temporary != NULL && !output->nameless)
            (void)unlink(output->temporary);
    }
    forget_names(output);
    return ok ? CLI_DONE : CLI_FAILED;
}

void cli_output_abandon(cli_output *output) {
    if (output->file == NULL || output->path == NULL)
        return;
    (void)fclose(output->file);
    if (output->temporary != NULL && !output->nameless)
        (void)unlink(output->temporary);
    forget_names(output);
}

void cli_npy_header(FILE *out, const char *type, size_t n_rows, size_t n_columns) {
    /* Ten bytes come before the text, which is padded so that the numbers begin at a multiple of
     * 64 and ends with the end of a line. */
    char shape[64], text[256];
    if (n_columns == 0)
        snprintf(shape, sizeof shape, "(%zu,)", n_rows);
    else
        snprintf(shape, sizeof shape, "(%zu, %zu)", n_rows, n_columns);
    const int used = snprintf(
        text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    const size_t n = (10 + (size_t)used + 1 + 63) / 64 * 64 - 10;
    fwrite("\x93NUMPY\x01\x00", 1, 8, out);
    fputc((int)(n & 255), out);
    fputc((int)(n >> 8), out);
    fprintf(out, "%-*s\n", (int)n - 1, text);
}

void cli_npy_number(FILE *out, efface_number number, int n_bytes) {
    for (int i = 0; i < n_bytes; i++)
        fputc((int)((uint64_t)number.whole >> (8 * i) & 255), out);
}

void cli_csv_text(FILE *out, const char *text) {
    if (strpbrk(text, ",;\t\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void cli_format_token(char text[32], const cli_token *token) {
    if (token->is_signed)
        snprintf(text, 32, "%" PRId64, (int64_t)token->number);
    else
        snprintf(text, 32, "%s%" PRIu64, token->of_text ? CLI_NUMBER_MARK : "", token->number);
}

void cli_csv_token(FILE *out, const cli_token *token) {
    char digits[32] = "";
    if (!token->none)
        cli_format_token(digits, token);
    cli_csv_text(out, token->text != NULL ? token->text : digits);
}

void cli_json_token(cli_json *json, const char *key, const cli_token *token) {
    char digits[32] = "null";
    if (!token->none)
        cli_format_token(digits, token);
    if (token->text != NULL || token->of_text)
        cli_json_text(json, key, token->text != NULL ? token->text : digits);
    else
        cli_json_raw(json, key, digits);
}

bool cli_format_whole(char text[32], double value) {
    const bool whole = value > -1e15 && value < 1e15 && value == (double)(long long)value;
    if (whole)
        snprintf(text, 32, "%.0f", value);
    return whole;
}

void cli_format_number(char text[32], double value) {
    if (cli_format_whole(text, value))
        return;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
}
