"""Live scoring at full load for a minute; ten minutes with `python tests/live_soak.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from live_soak import soak


@pytest.mark.system
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_a_minute_at_full_load(tmp_path: Path) -> None:
    soak(60, tmp_path)
