/* Files with results that only the change itself can give. */
#include "output/fresh_file.h"

#include "output/messages.h"
#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_fresh_open(cli_fresh *fresh, const char *path) {
    *fresh = (cli_fresh){.path = path};
    if (path == NULL || !cli_is_first())
        return CLI_DONE;
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return errno == EEXIST
                   ? cli_failed("%s exists already and is not overwritten; nothing was changed; "
                                "choose another name",
                                path)
                   : cli_failed("cannot write %s: %s; nothing was changed", path, strerror(errno));
    fresh->file = fdopen(descriptor, "w");
    if (fresh->file != NULL)
        return CLI_DONE;
    (void)close(descriptor);
    (void)unlink(path);
    return cli_out_of_memory();
}

static void say_list(cli_line_writer *write_line, const void *list, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        char *line = NULL;
        size_t n_bytes;
        FILE *const out = open_memstream(&line, &n_bytes);
        if (out == NULL)
            return;
        write_line(out, list, i);
        if (fclose(out) == 0)
            cli_say("%s", line);
        free(line);
    }
}

int cli_fresh_finish(cli_fresh *fresh, cli_line_writer *write_line, const void *list, uint64_t n) {
    if (fresh->file == NULL)
        return CLI_DONE;
    errno = 0;
    for (uint64_t i = 0; i < n; i++) {
        write_line(fresh->file, list, i);
        fputc('\n', fresh->file);
    }
    bool ok = fflush(fresh->file) == 0 && ferror(fresh->file) == 0;
    ok = ok && fsync(fileno(fresh->file)) == 0;
    ok = fclose(fresh->file) == 0 && ok;
    fresh->file = NULL;
    if (ok)
        return CLI_DONE;
    const int why = errno;
    (void)unlink(fresh->path); /* half a list is taken for a whole one */
    (void)cli_failed(
        "the store was changed, but %s cannot be written: %s; its lines would have been",
        fresh->path, why != 0 ? strerror(why) : "the device is full");
    say_list(write_line, list, n);
    return CLI_FAILED;
}

void cli_fresh_abandon(cli_fresh *fresh) {
    if (fresh->file == NULL)
        return;
    (void)fclose(fresh->file);
    (void)unlink(fresh->path);
    fresh->file = NULL;
}
