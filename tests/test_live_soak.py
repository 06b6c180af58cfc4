"""Live scoring at full load for a minute; ten minutes with `python tests/live_soak.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).with_name("live_soak.py")


@pytest.mark.system
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_a_minute_at_full_load() -> None:
    """In a process of its own: what other tests left behind is no part of its memory or its children."""
    done = subprocess.run([sys.executable, SOAK, "60"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the soak holds" in done.stdout
