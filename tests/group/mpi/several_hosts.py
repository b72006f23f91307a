#!/usr/bin/python3
"""A store in parts on three hosts: network namespaces with an address, a name and a disk each, on a
bridge. The ranks are started through the test's own agent, and once through ssh. Models and digests
are those of efface alone; each host has its own part and no other; a host that dies or is cut off
in the middle of a request leaves a store of all acknowledged requests, with the one under way or
without it.

usage: several_hosts.py EFFACE-MPI EFFACE CLUSTER-WORKER [SEED]
It makes namespaces, a bridge and folders in /etc/netns, and removes them. Where that is not allowed,
the exit code is 77.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import mpi_ranks

EFFACE_MPI, EFFACE, WORKER = sys.argv[1:4] if len(sys.argv) > 3 else (None, None, None)
del sys.argv[1:4]
SEED = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else None
N_HOSTS = 3
HOSTS = [f"efface-host{i}" for i in range(N_HOSTS)]
ADDRESSES = [f"10.213.77.{10 + i}" for i in range(N_HOSTS)]
BRIDGE = "efface-br77"
OUTER_ENDS = [f"efface-v77-{i}" for i in range(N_HOSTS)]
NAMES = "/etc/netns"

# Each host sees its own folder at the path of the disk.
AGENT = """#!/bin/sh
host=$1; shift
exec ip netns exec "$host" unshare --uts --mount sh -c '
    hostname "$0" && mount --bind {place}/"$0" {place}/disk && exec sh -c "$1"' "$host" "$*"
"""

SSH = """#!/bin/sh
exec ssh -q -i {place}/key -o BatchMode=yes -o StrictHostKeyChecking=no \\
    -o UserKnownHostsFile=/dev/null "$@"
"""

SSHD = """HostKey {place}/host-key
AuthorizedKeysFile {place}/key.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
"""


def ip(*arguments, check=True):
    return subprocess.run(["ip", *arguments], check=check, capture_output=True, text=True)


def remove_network():
    for host in HOSTS:
        for pid in ip("netns", "pids", host, check=False).stdout.split():
            mpi_ranks.kill(int(pid))
        ip("netns", "del", host, check=False)
        shutil.rmtree(os.path.join(NAMES, host), ignore_errors=True)
    for end in (*OUTER_ENDS, BRIDGE):
        ip("link", "del", end, check=False)
    try:
        os.rmdir(NAMES)
    except OSError:
        pass  # others have names there


def make_network():
    names = "127.0.0.1 localhost\n" + "".join(map("{} {}\n".format, ADDRESSES, HOSTS))
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("link", "set", BRIDGE, "up")
    for host, address, end in zip(HOSTS, ADDRESSES, OUTER_ENDS):
        os.makedirs(os.path.join(NAMES, host))
        with open(os.path.join(NAMES, host, "hosts"), "w", encoding="ascii") as file:
            file.write(names)
        ip("netns", "add", host)
        ip("link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", host)
        ip("link", "set", end, "master", BRIDGE, "up")
        ip("-n", host, "address", "add", address + "/24", "dev", "eth0")
        for inner in ("lo", "eth0"):
            ip("-n", host, "link", "set", inner, "up")


def can_make_network():
    try:
        remove_network()
        make_network()
        return True
    except (OSError, subprocess.CalledProcessError):
        return False
    finally:
        remove_network()


class HostsTest(mpi_ranks.PlacedTest):
    def setUp(self):
        remove_network()
        make_network()
        self.addCleanup(remove_network)
        self.place = tempfile.mkdtemp(prefix="several_hosts-")
        self.addCleanup(shutil.rmtree, self.place)
        for name in (*HOSTS, "disk"):
            os.mkdir(self.path(name))
        self.folder = self.path("disk/parts")
        self.ledger = self.path("ledger")
        self.write("hosts", "".join(f"{host} slots=1\n" for host in HOSTS))
        self.write("ledger", "")
        self.agent = self.write_program("agent", AGENT)
        self.launch_agent = self.agent
        self.draw(SEED)

    def write_program(self, name, text):
        os.chmod(self.write(name, text), 0o755)
        return self.path(name)

    # ---------------------------------------------------------------- ranks

    def start(self, *command):
        """mpirun on the first host, and a rank on each."""
        environment = {
            "OMPI_MCA_plm": "rsh", "OMPI_MCA_plm_rsh_agent": self.launch_agent,
            "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "eth0",
            "OMPI_MCA_oob_tcp_if_include": "eth0"}
        run = mpi_ranks.Run(N_HOSTS, command, self.place, [self.agent, HOSTS[0]],
                            ["--hostfile", self.path("hosts")], environment=environment)
        self.addCleanup(run.kill_all)
        return run

    def good(self, *command):
        code, said, wrong = self.start(*command).end()
        self.assertEqual(code, 0, said + wrong)
        return said, wrong

    def mpi(self, *arguments):
        return self.good(EFFACE_MPI, *arguments)[0]

    def plain(self, *arguments):
        return subprocess.run([EFFACE, *arguments], check=True, capture_output=True, text=True,
                              cwd=self.place).stdout

    def work(self, command, pace=0):
        return [WORKER, command, self.folder, self.ledger, pace, self.chance.randrange(2 ** 32)]

    # ---------------------------------------------------------------- the law

    def write_rows(self, name, ids, version=0):
        lines = ["id,person,x,y,z"]
        for i in ids:
            values = random.Random(1000 * version + i)
            numbers = ",".join(f"{i % 4 * 5 + values.random():.6f}" for _ in range(3))
            lines.append(f"row-{i},person-{i // 3},{numbers}")
        return self.write(name, "\n".join(lines) + "\n")

    def compare(self):
        self.assertEqual(self.mpi("digest", self.folder), self.plain("digest", "plain.store"))
        self.mpi("verify", self.folder)
        self.mpi("check", self.folder)

    def both(self, command, *arguments):
        self.mpi(command, self.folder, *arguments)
        self.plain(command, "plain.store", *arguments)
        self.compare()

    def follow_law(self):
        columns = ("--id", "id", "--owner", "person")
        fit = ("fit", self.write_rows("rows.csv", range(600)), *columns, "-k", "5", "--method",
               "pyramid", "--seed", "7")
        self.mpi(*fit, "-o", self.folder)
        self.plain(*fit, "-o", "plain.store", "--like",
                   self.path(HOSTS[0] + f"/parts/part-0-of-{N_HOSTS}.0.efface"))
        self.compare()
        self.both("forget", "--id", "row-17", "--yes")
        self.both("forget", "--owner", "person-30", "--yes")
        self.both("learn", self.write_rows("more.csv", range(600, 640)), *columns)
        self.both("update", self.write_rows("other.csv", range(40, 60), version=1),
                  *columns, "--yes")

    def check_disks(self):
        """Each host has its part, and the first has the manifest."""
        for i, host in enumerate(HOSTS):
            names = sorted(name for name in os.listdir(self.path(host + "/parts"))
                           if not name.endswith("-journal"))
            self.assertEqual([name.split("-of-")[0] for name in names],
                             [*(["manifest"] if i == 0 else []), f"part-{i}"])

    def test_law(self):
        self.follow_law()
        self.check_disks()
        self.mpi("spread", self.folder)
        self.compare()
        self.check_disks()

    def test_ssh(self):
        server = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
        if server is None or shutil.which("ssh") is None:
            self.skipTest("there is no ssh here")
        for key in ("key", "host-key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(key)],
                           check=True)
        os.makedirs("/run/sshd", exist_ok=True)
        self.write("sshd_config", SSHD)
        for host in HOSTS[1:]:
            subprocess.run([self.agent, host, server, "-f", self.path("sshd_config")], check=True)
        self.launch_agent = self.write_program("ssh-agent", SSH)
        self.follow_law()
        self.check_disks()

    # ---------------------------------------------------------------- what goes wrong

    def n_lines(self):
        with open(self.ledger, "rb") as file:
            return file.read().count(b"\n")

    def wait_for_requests(self, run, n):
        before = self.n_lines()
        while run.process.poll() is None and self.n_lines() < before + 2 * n:
            time.sleep(0.002)

    def empty_hosts(self):
        for host in HOSTS:
            while pids := ip("netns", "pids", host).stdout.split():
                for pid in pids:
                    mpi_ranks.kill(int(pid))
                time.sleep(0.01)

    def begin_work(self):
        run = self.start(*self.work("work", pace=40))
        self.wait_for_requests(run, self.chance.randint(1, 3))
        time.sleep(self.chance.uniform(0, 0.4))
        self.assertIsNone(run.process.poll(), run.end() if run.process.poll() else "")
        return run

    def check_left(self, counts):
        said, _ = self.good(*self.work("check"))
        for name, number in re.findall(r"(\S+) (\d)", said):
            counts[name] = counts.get(name, 0) + int(number)
        mpi_ranks.check_bytes(self, WORKER, [self.path(host + "/parts") for host in HOSTS],
                              [self.ledger])

    def test_host_dies(self):
        counts = {}
        self.good(*self.work("make"))
        for _ in range(2):
            for host in HOSTS:
                run = self.begin_work()
                for pid in ip("netns", "pids", host).stdout.split():
                    mpi_ranks.kill(int(pid))
                run.bury()
                self.empty_hosts()
                self.check_left(counts)
        print(f"{2 * N_HOSTS} hosts died: {counts}")

    def test_host_cut_off(self):
        counts = {}
        self.good(*self.work("make"))
        for host, end in zip(HOSTS, OUTER_ENDS):
            run = self.begin_work()
            ip("link", "set", end, "down")
            time.sleep(0.5)
            before = self.n_lines()
            time.sleep(1)
            self.assertEqual(self.n_lines(), before, f"requests were done without {host}")
            if self.chance.random() < 0.5:  # it comes back, and nothing has happened
                ip("link", "set", end, "up")
                self.wait_for_requests(run, 2)
                self.assertIsNone(run.process.poll())
                counts["came back"] = counts.get("came back", 0) + 1
            self.empty_hosts()
            run.bury()
            ip("link", "set", end, "up")
            self.check_left(counts)
        print(f"{N_HOSTS} hosts cut off: {counts}")

    # ---------------------------------------------------------------- bytes on the wire

    def count_wire(self):
        """Bytes that have gone out of all hosts."""
        shown = [json.loads(ip("-n", host, "-s", "-j", "link", "show", "eth0").stdout)[0]
                 for host in HOSTS]
        return sum(link["stats64"]["tx"]["bytes"] for link in shown)

    def test_counts(self):
        rows = self.write_rows("rows.csv", range(20000))
        fit = ("fit", rows, "--id", "id", "--owner", "person", "-k", "100", "--seed", "7")
        self.mpi(*fit, "-o", self.path("disk/first"))
        begin = self.count_wire()
        self.mpi("digest", self.path("disk/first"))
        between = self.count_wire()
        _, table = self.good(EFFACE_MPI, "--count", *fit, "-o", self.folder)
        end = self.count_wire()
        rounds, given = (sum(int(line.split()[column]) for line in table.splitlines()
                             if re.match(r"(sum|min|gat|bro|agr)\w+ +\d", line))
                         for column in (1, 4))
        wire, start = end - between, between - begin
        print(f"counted: {rounds} rounds, {given} bytes given; on the wire: {wire}, of which "
              f"{start} are those of a start; factor {(wire - start) / given:.2f}")
        self.assertGreater(wire - start, given / 2)


if __name__ == "__main__":
    if os.geteuid() != 0 or shutil.which("ip") is None or not can_make_network():
        print("no network namespaces are allowed here", file=sys.stderr)
        sys.exit(77)
    unittest.main()
