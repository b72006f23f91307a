"""How the programs of bench/ read their arguments, and how they end."""

import argparse
import sys
from pathlib import Path

from . import Failure


def parser(description):
    """A parser whose help has the description as it is written."""
    return argparse.ArgumentParser(description=description,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("a whole number of at least 1 is needed")
    return value


def listed(text):
    """The words of a list with commas."""
    return text.split(",")


def run_script(main, keeps_runs=False):
    """Runs a program to its end; a failure is one line on standard error."""
    name = Path(sys.argv[0]).name
    try:
        sys.exit(main())
    except (Failure, OSError) as failure:
        sys.exit(f"{name}: {failure}")
    except KeyboardInterrupt:
        more = "; the same command goes on from here" if keeps_runs else ""
        print(f"\n{name}: stopped{more}", file=sys.stderr)
        sys.exit(130)
