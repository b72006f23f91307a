"""Runs of group-speed and other programs over MPI."""

import json
import os
import subprocess


def environment():
    """For Open MPI: more ranks than cores, wherever the system puts them, and no system calls that
    containers forbid. Other engines ignore it. Ranks that wait give way: there are few cores."""
    more = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    if os.geteuid() == 0:
        more |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**os.environ, **more}


def launch(n_ranks, command, crowded=False):
    """What a program says on standard output. `crowded`: ranks that wait let others work."""
    environ = environment()
    if crowded:
        environ["OMPI_MCA_mpi_yield_when_idle"] = "1"
    return subprocess.run(["mpirun", "-n", str(n_ranks), *command], check=True, text=True,
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environ).stdout


def words(options):
    return [str(word) for pair in options.items() for word in pair]


def group_speed(build, n_ranks, before=(), **options):
    """The lines of group-speed: those before the last, and the last."""
    program = os.path.join(os.path.abspath(build), "group-speed")
    lines = launch(n_ranks, [*before, program, *words(options)],
                   crowded=n_ranks > (os.cpu_count() or 1)).splitlines()
    lines = [json.loads(line) for line in lines if line.startswith("{")]
    return lines[:-1], lines[-1]


def print_table(head, lines):
    """A table in Markdown, with numbers at the right."""
    for cells in (head, ["---", *["---:"] * (len(head) - 1)], *lines):
        print("| " + " | ".join(map(str, cells)) + " |")
