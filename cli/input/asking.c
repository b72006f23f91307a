/* Asks before a change that cannot be undone. */
#include "input/asking.h"

#include "output/escape.h"
#include "output/messages.h"
#include "ranks.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* Whether there are terminals to ask at. Rank 0 asks, and all ranks get the answer. */
static bool can_ask(void) {
    bool can = isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
    return cli_share(&can, sizeof can) == CLI_DONE && can;
}

int cli_may_change(const char *command, bool yes, bool *ask) {
    *ask = !yes;
    if (yes || can_ask())
        return CLI_DONE;
    return cli_wrong(
        "%s cannot be undone, and there is no terminal to ask for a confirmation: add --yes",
        command);
}

static bool says_yes(const char *question) {
    char answer[16] = "";
    cli_put_text(stderr, question);
    fputs(" [y/N] ", stderr);
    fflush(stderr);
    if (fgets(answer, sizeof answer, stdin) == NULL)
        fputc('\n', stderr);
    answer[strcspn(answer, "\r\n")] = '\0';
    return strcmp(answer, "y") == 0 || strcmp(answer, "Y") == 0 || strcmp(answer, "yes") == 0;
}

bool cli_ask(const char *format, ...) {
    char question[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(question, sizeof question, format, arguments);
    va_end(arguments);
    bool yes = cli_is_first() && says_yes(question);
    if (cli_share(&yes, sizeof yes) != CLI_DONE)
        return false;
    if (!yes)
        cli_say("nothing was changed");
    return yes;
}
