"""What the README shows runs as it is shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_of_the_readme_is_the_file_and_conformant_where_it_claims_to_be() -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert shown == (ROOT / "examples" / "my_engine.py").read_text(encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-n0", "-q", "-m", "l0_b200", "--mask-impl", "examples.my_engine:MyMasks"]
    run = subprocess.run([*command, "suites/mask"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:]
    assert re.search(r"examples drawn; tests: \d+ not claimed, .*\d+ passed", run.stdout), run.stdout[-3000:]
