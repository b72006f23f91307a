/* The commands of efface-serve. Arguments begin after the name of the command. */
#ifndef SV_COMMANDS_H
#define SV_COMMANDS_H

extern const char sv_serve_help[], sv_token_help[];

int sv_serve_command(int n_arguments, char **arguments);
int sv_token_command(int n_arguments, char **arguments);

#endif
