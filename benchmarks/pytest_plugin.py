"""What the pytest plugin costs a project that does not use it: CPU time, in processes of their own.

pytest looks up the entry point, lists the files of its distribution (to rewrite their assertions) and loads the module.
Run it with a Python where the wheels of both distributions are installed, as users have them. For the comparison it
lists the files of Referee itself, which is what it would cost if the entry point stood there.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

_MEASURE = """
import importlib.metadata, time
import pytest
from _pytest.config import _iter_rewritable_modules

def listed(name):
    start = time.process_time()
    distribution = importlib.metadata.distribution(name)
    entries = [entry for entry in distribution.entry_points if entry.group == "pytest11"]
    files = [str(file) for file in distribution.files or ()]
    list(_iter_rewritable_modules(files))
    return (time.process_time() - start) * 1000, entries, len(files)

whole, _, whole_files = listed("referee")
plugin, [entry], plugin_files = listed("pytest-referee")
start = time.process_time()
entry.load()
print(plugin, (time.process_time() - start) * 1000, whole, plugin_files, whole_files)
"""


def main() -> None:
    """Print the medians and the least values."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    measured = []
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", _MEASURE], capture_output=True, text=True, check=True)
        measured.append([float(word) for word in done.stdout.split()])
    few, many = (round(number) for number in measured[0][3:])
    costs = {
        f"listing {few} files of pytest-referee": [row[0] for row in measured],
        "loading the module": [row[1] for row in measured],
        "together": [row[0] + row[1] for row in measured],
        f"(listing {many} files of referee)": [row[2] for row in measured],
    }
    for name, values in costs.items():
        print(f"{name}: median {statistics.median(values):.2f} ms, least {min(values):.2f} ms")


if __name__ == "__main__":
    main()
