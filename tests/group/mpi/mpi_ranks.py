"""Programs of several ranks, for tests: they are started with mpirun, found and killed; and what is
in the folder of a store in parts behind its back."""
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

# For Open MPI: root may run it, ranks may be more than processors, and what the kernel may refuse
# in a container is not tried.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_odls_base_sigkill_timeout": "0", "PMIX_MCA_gds": "hash"}

# Further, if all ranks are on this machine.
ALONE = {
    "OMPI_MCA_plm": "isolated", "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo"}


class Run:
    """A program on some ranks. `place` is a folder for what MPI leaves behind when it is killed;
    `launcher` stands before mpirun, `more` is for mpirun, and `wrapper` starts the program."""

    def __init__(self, n_ranks, command, place, launcher=(), more=(), wrapper=(),
                 environment=None):
        self.command = [str(argument) for argument in command]
        self.said = ""
        own = tempfile.mkdtemp(dir=place, prefix="run-")  # two that share one disturb each other
        self.log = os.path.join(own, "stderr")
        settings = {**os.environ, **ENVIRONMENT,
                    **(ALONE if environment is None else environment), "TMPDIR": own}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [*launcher, "mpirun", *more, "-n", str(n_ranks), *wrapper,
                 *self.command], env=settings,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)

    def pids(self):
        """The processes of its ranks."""
        found = []
        wanted = "\0".join(self.command).encode() + b"\0"
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/cmdline", "rb") as file:
                        if file.read() == wanted:
                            found.append(int(name))
                except OSError:
                    pass  # it has ended
        return sorted(found)

    def end(self):
        """Waits for its end. Returns the exit code, what it said, and what went wrong."""
        self.said += self.process.stdout.read().decode() if not self.process.stdout.closed else ""
        self.process.stdout.close()
        with open(self.log, "rb") as file:
            return self.process.wait(), self.said, file.read().decode(errors="replace")

    def bury(self, patience=10):
        """After a kill: until no process of it is left. Ranks whose mpirun is gone may go on; they
        are killed after so many seconds."""
        begin = time.monotonic()
        while True:
            left = self.pids()
            if self.process.poll() is not None and not left:
                return self.end()
            if time.monotonic() - begin > patience:
                for pid in left:
                    kill(pid)
                if not left:
                    self.process.kill()
            time.sleep(0.005)

    def kill_all(self):
        """Nobody is left, whatever happens."""
        for pid in [*self.pids(), self.process.pid]:
            kill(pid)
        return self.bury(0)


class PlacedTest(unittest.TestCase):
    """A test with a folder of its own, self.place, and chances that a seed repeats."""

    def draw(self, seed):
        """Takes the seed, or draws one if it is None, and says which."""
        seed = seed if seed is not None else random.randrange(2 ** 32)
        self.chance = random.Random(seed)
        print(f"{self._testMethodName}, seed {seed}", flush=True)

    def path(self, name):
        return os.path.join(self.place, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text.replace("{place}", self.place))
        return self.path(name)


def kill(pid, how=signal.SIGKILL):
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        pass


# ---------------------------------------------------------------- folders of stores

def read_manifest(folder):
    """How many parts there are, and their generation."""
    with open(os.path.join(folder, "manifest"), encoding="ascii") as file:
        found = re.search(r"^parts (\d+)\ngeneration (\d+)$", file.read(), re.M)
    return int(found.group(1)), int(found.group(2))


def n_parts(folder):
    return read_manifest(folder)[0]


def has_journal(folder, scratch):
    """Whether part 0 has a request that others may not have followed: looked up in a copy, for SQL
    would repair what a kill has left."""
    name = "part-0-of-{}.{}.efface".format(*read_manifest(folder))
    for end in ("", "-journal"):
        if os.path.exists(os.path.join(scratch, "copy" + end)):
            os.remove(os.path.join(scratch, "copy" + end))
        if os.path.exists(os.path.join(folder, name + end)):
            shutil.copy(os.path.join(folder, name + end), os.path.join(scratch, "copy" + end))
    with sqlite3.connect(os.path.join(scratch, "copy")) as base:
        found = base.execute("SELECT count(*) FROM facts WHERE name GLOB 'journal *'").fetchone()
    base.close()
    return found[0] != 0


def find_forms(folders, forms):
    """Which of these runs of bytes are in files of the folders, and in which."""
    by_start, found = {}, {}
    for form in forms:
        by_start.setdefault(form[:8], []).append(form)
    for folder in folders:
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                data = file.read()
            for i in range(len(data) - 7):
                for form in by_start.get(data[i:i + 8], ()):
                    if data.startswith(form, i):
                        found[form] = name
    return found


def check_bytes(test, worker, folders, ledgers):
    """No file has what is forgotten; and the same search finds what is there."""
    gone, there = ([bytes.fromhex(line) for line in subprocess.run(
        [worker, command, *ledgers], check=True, capture_output=True,
        text=True).stdout.splitlines()] for command in ("gone", "there"))
    found = find_forms(folders, gone)
    test.assertFalse(found, "bytes of forgotten rows")
    missing = set(there) - find_forms(folders, there).keys()
    test.assertFalse(missing, "the search does not find rows that are there")
