"""The paper's experiments: data sets, runs, tables, figures and the report."""
