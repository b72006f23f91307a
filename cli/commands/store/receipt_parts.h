/* The parts of efface receipt, each with its own arguments. */
#ifndef CLI_RECEIPT_PARTS_H
#define CLI_RECEIPT_PARTS_H

int cli_receipt_verify(int n_arguments, char **arguments);
int cli_receipt_open(int n_arguments, char **arguments);
int cli_receipt_has(int n_arguments, char **arguments);
int cli_receipt_show(int n_arguments, char **arguments);

#endif
