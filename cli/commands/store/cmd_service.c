/* efface serve, efface token: these are commands of another program, efface-serve, which needs
 * libraries that efface does not. It is looked for beside this program and where both are
 * installed, and nowhere else: whoever can write to a folder of PATH should not get the keys. */
#include "output/messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "efface-serve"
#define MAX_PATH 4096

/* Writes the name of efface-serve in the folder of this program; false if that is not known. */
static bool name_beside(char path[MAX_PATH]) {
    const ssize_t n = readlink("/proc/self/exe", path, MAX_PATH - sizeof PROGRAM - 1);
    if (n <= 0 || n >= (ssize_t)(MAX_PATH - sizeof PROGRAM - 1))
        return false;
    path[n] = '\0';
    char *const slash = strrchr(path, '/');
    if (slash == NULL)
        return false;
    memcpy(slash + 1, PROGRAM, sizeof PROGRAM);
    return true;
}

/* Becomes efface-serve. Returns only if that is not possible, after a message. */
static int become_service(const char *command, int n_arguments, char **arguments) {
    char beside[MAX_PATH], name[] = PROGRAM, first[16];
    char **const all = calloc((size_t)n_arguments + 3, sizeof *all);
    if (all == NULL)
        return cli_out_of_memory();
    snprintf(first, sizeof first, "%s", command);
    all[0] = name;
    all[1] = first;
    memcpy(all + 2, arguments, (size_t)n_arguments * sizeof *all);
    int reason = ENOENT;
    if (name_beside(beside)) {
        (void)execv(beside, all);
        reason = errno;
    }
    if (reason == ENOENT) {
        (void)execv(CLI_BINDIR "/" PROGRAM, all);
        reason = errno;
    }
    free(all);
    if (reason == ENOENT)
        return cli_failed("this build of efface has no service: the program " PROGRAM
                          " is not beside efface; install libmicrohttpd and jansson (Debian: "
                          "libmicrohttpd-dev libjansson-dev) and build again");
    return cli_failed("cannot run " PROGRAM ": %s", strerror(reason));
}

static int run_serve(int n_arguments, char **arguments) {
    return become_service("serve", n_arguments, arguments);
}

static int run_token(int n_arguments, char **arguments) {
    return become_service("token", n_arguments, arguments);
}

/* The other program has the help. */
const cli_command cli_serve = {"serve", "serve stores over HTTP, with a page for people",
                               .run = run_serve};

const cli_command cli_tokens = {"token", "make, list and revoke the tokens that serve asks for",
                                .run = run_token};
