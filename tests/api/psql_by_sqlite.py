#!/usr/bin/python3
"""psql for docs/use/pipes.md, where no server runs: SQLite in a file, and as much of psql as the page uses.

    psql [-X] [-q] [-d NAME] [-v ON_ERROR_STOP=1] -c COMMAND [-c COMMAND]...

COPY (query) TO STDOUT, COPY table FROM STDIN, with (FORMAT csv, HEADER) or without; \\copy table FROM
'file'; all else goes to SQLite. The page's commands were run with PostgreSQL 15 too.
"""
import argparse
import csv
import re
import sqlite3
import sys


def write(rows, names, options):
    """What COPY TO writes: CSV, or fields with tabs between."""
    if "csv" in options.lower():
        table = csv.writer(sys.stdout, lineterminator="\n")
        if "header" in options.lower():
            table.writerow(names)
        table.writerows(rows)
    else:
        for row in rows:
            print("\t".join("\\N" if value is None else str(value) for value in row))


def read(file, options):
    """The rows that COPY FROM reads; an empty field of CSV is NULL."""
    if "csv" in options.lower():
        rows = list(csv.reader(file))[1 if "header" in options.lower() else 0:]
        return [[value or None for value in row] for row in rows]
    return [[None if value == "\\N" else value for value in line.rstrip("\n").split("\t")]
            for line in file]


def perform(database, command):
    command = command.strip().rstrip(";")
    out = re.fullmatch(r"COPY\s*\((.*)\)\s*TO STDOUT\s*(.*)", command, flags=re.S | re.I)
    into = re.fullmatch(r"\\?COPY\s+(\w+)\s*(?:\(([^)]*)\)\s*)?FROM\s+(STDIN|'[^']*')\s*(.*)", command,
                        flags=re.S | re.I)
    if out:
        found = database.execute(out.group(1))
        write(found.fetchall(), [column[0] for column in found.description], out.group(2))
    elif into:
        table, columns, source, options = into.groups()
        with sys.stdin if source.upper() == "STDIN" else open(source.strip("'"), encoding="utf-8") as file:
            rows = read(file, options)
        if rows:
            places = ",".join("?" * len(rows[0]))
            columns = f"({columns})" if columns else ""
            database.executemany(f"INSERT INTO {table} {columns} VALUES ({places})", rows)
    else:
        database.execute(command)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-X", action="store_true")
    parser.add_argument("-q", action="store_true")
    parser.add_argument("-d", default="shop")
    parser.add_argument("-v", action="append")
    parser.add_argument("-c", action="append", required=True)
    arguments = parser.parse_args()
    database = sqlite3.connect(f"{arguments.d}.sqlite")
    try:
        for command in arguments.c:
            with database:
                perform(database, command)
    except sqlite3.Error as error:
        sys.exit(f"ERROR:  {error}")
    finally:
        database.close()


if __name__ == "__main__":
    main()
