"""The machine that a run is on, and the programs that lie on it."""

import platform
import re
import subprocess
from pathlib import Path


def first_match(pattern, path):
    try:
        found = re.search(pattern, Path(path).read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return None
    return found.group(1).strip() if found else None


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def processor():
    return first_match(r"^model name\s*:\s*(.*)$", "/proc/cpuinfo") or "unknown"


def machine():
    memory = first_match(r"^MemTotal:\s*(\d+) kB", "/proc/meminfo")
    return {
        "processor": processor(),
        "cores": len(re.findall(r"^processor\s*:", Path("/proc/cpuinfo").read_text(), re.M)),
        "memory_gb": round(int(memory) / 2**20, 1) if memory else None,
        "system": f"{first_match(r'^PRETTY_NAME=.(.*).$', '/etc/os-release')}, "
                  f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
