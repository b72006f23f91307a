"""The paper's experiments: data, runs, tables, figures and the report."""
