#!/usr/bin/python3
"""How fast the service is on this machine: predictions and forgetting, by efface-load and by wrk.

usage: service_speed.py BUILD [--rows N] [--columns N] [--seconds S] [--clients N] [--folder FOLDER]

Makes a store with a k-means model in FOLDER, serves it on 127.0.0.1, and prints JSON. The rate at
which the disk of FOLDER syncs stands beside the numbers: a request to forget is answered when it is
on the disk. Everything is ended and removed afterwards.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
K = 8


def write_files(folder, n_rows, n_columns):
    """Rows around K centres, and points to ask for."""
    chance = random.Random(1)
    centres = [[chance.uniform(0, 100) for _ in range(n_columns)] for _ in range(K)]

    def values(number):
        return [round(chance.gauss(value, 5), 2) for value in centres[number % K]]

    with open(os.path.join(folder, "data.csv"), "w", encoding="ascii") as file:
        file.write("id," + ",".join(f"c{i}" for i in range(n_columns)) + "\n")
        for number in range(n_rows):
            file.write(f"{number}," + ",".join(map(str, values(number))) + "\n")
    with open(os.path.join(folder, "points"), "w", encoding="ascii") as points, \
            open(os.path.join(folder, "rows"), "w", encoding="ascii") as rows:
        for number in range(1000):
            points.write(json.dumps(values(number)) + "\n")
            rows.write('"values":' + json.dumps(values(number)) + "\n")


class Speed:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.service = self.port = self.token = None

    def program(self, name):
        return os.path.join(os.path.abspath(self.options.build), name)

    def run(self, *command, **more):
        return subprocess.run(command, cwd=self.folder, check=True, text=True,
                              stdout=subprocess.PIPE, **more).stdout

    def start(self):
        write_files(self.folder, self.options.rows, self.options.columns)
        self.run(self.program("efface"), "fit", "data.csv", "--id", "id", "-k", str(K),
                 "--seed", "1", "-o", "speed.store")
        made = json.loads(self.run(self.program("efface-serve"), "token", "new", "speed",
                                   "--role", "admin", "--tokens", "tokens", "--json"))
        self.token = made["token"]
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.service = subprocess.Popen(
                [self.program("efface-serve"), "serve", "speed.store", "--listen", "127.0.0.1:0",
                 "--tokens", "tokens", "--json"], cwd=self.folder, text=True,
                stdout=subprocess.PIPE, stderr=log)
        self.port = json.loads(self.service.stdout.readline())["port"]

    def end(self):
        if self.service:
            self.service.terminate()
            self.service.wait()

    def environment(self):
        return {**os.environ, "EFFACE_TOKEN": self.token}

    def load(self, mix, *more):
        return json.loads(self.run(
            self.program("efface-load"), str(self.port), "--store", "speed", "--mix", mix,
            "--clients", str(self.options.clients), "--seconds", str(self.options.seconds),
            "--points", "points", "--rows", "rows", "--sync", self.folder, *more,
            env=self.environment()))

    def wrk(self, script, path, argument):
        """What wrk says, as numbers; times in milliseconds."""
        if shutil.which("wrk") is None:
            return None
        text = self.run("wrk", "-t1", f"-c{self.options.clients}", f"-d{self.options.seconds:g}s",
                        "--latency", "-s", os.path.join(HERE, script),
                        f"http://127.0.0.1:{self.port}/v1/stores/speed{path}", "--", argument,
                        env=self.environment())
        scale = {"us": 1e-3, "ms": 1, "s": 1e3}
        found = {f"p{part}": float(number) * scale[unit] for part, number, unit in
                 re.findall(r"^\s+(50|90|99)%\s+([\d.]+)(us|ms|s)$", text, re.M)}
        found["per_second"] = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])
        refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
        found["refused"] = int(refused[1]) if refused else 0
        return found

    def measure(self):
        """Each kind of forgetting has a third of the rows; what it does not need stays. If there are
        too few, statuses other than 200 and `refused` tell: such numbers are of no use."""
        third = self.options.rows // 3
        result = {"rows": self.options.rows, "columns": self.options.columns, "k": K,
                  "clients": self.options.clients}
        result["predict"] = self.load("predict")
        result["predict_wrk"] = self.wrk("predict.lua", "/models/default/predict", "points")
        result["forget"] = self.load("forget", "--ids", f"0-{third - 1}")
        result["forget_wrk"] = self.wrk("forget.lua", "/forget", str(third))
        result["mixed"] = self.load("predict=6,forget=2,learn=2,update=1,read=1",
                                    "--ids", f"{2 * third}-{self.options.rows - 1}")
        self.end()
        verified = json.loads(self.run(self.program("efface"), "verify", "speed.store", "--json"))
        result["identical"] = verified["identical"]
        return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rows", type=int, default=480000)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--folder", help="where the store lies meanwhile; its disk counts")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="efface-speed-", dir=options.folder)
    speed = Speed(options, folder)
    try:
        speed.start()
        print(json.dumps(speed.measure(), indent=1))
    finally:
        speed.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
