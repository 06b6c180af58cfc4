"""What the pytest plugin costs a project that does not use it: CPU time, in processes of their own.

pytest looks up the entry point, lists the distribution's files (to rewrite their assertions) and loads the module.
Run it with a Python where the built wheel is installed; an editable install lists almost no files.
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
distribution = importlib.metadata.distribution("referee")
start = time.process_time()
entry = next(e for e in distribution.entry_points if e.group == "pytest11")
files = [str(file) for file in distribution.files or ()]
list(_iter_rewritable_modules(files))
listed = time.process_time()
entry.load()
print(len(files), (listed - start) * 1000, (time.process_time() - listed) * 1000)
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
    for name, place in (("listing files", 1), ("loading the module", 2)):
        values = [row[place] for row in measured]
        print(f"{name}: median {statistics.median(values):.2f} ms, least {min(values):.2f} ms")
    totals = [row[1] + row[2] for row in measured]
    print(
        f"together: median {statistics.median(totals):.2f} ms, least {min(totals):.2f} ms ({measured[0][0]:.0f} files)"
    )


if __name__ == "__main__":
    main()
