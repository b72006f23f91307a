"""The paper's experiments: data, runs, tables, figures and the report."""


class Failure(Exception):
    """Something the user can mend; the message says what."""
