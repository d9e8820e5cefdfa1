"""The kill matrix: ``python -m harness mutants``."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from harness.device import choose_device
from suites.mutants.machinery import MACHINERY
from suites.mutants.match import matches


def run(ids: Sequence[str], jobs: int, everything: bool, seed: int, without: str | None, out: Path) -> int:
    """Runs mutants through the suite and writes ``mutants.json`` and ``mutants.html``.

    Args:
        ids: Of the mutants; none for all.
        jobs: Processes.
        everything: Run the whole suite on each, and on behind failures: the whole matrix, and slow.
        seed: Of the search.
        without: A test function that is left out.
        out: Folder for the reports.

    Returns:
        0 if all were killed, 1 otherwise.

    Raises:
        ValueError: There is no such mutant.
    """
    device = choose_device()
    from suites.mutants.registry import MUTANTS  # imports triton, which must come behind the choice

    known = MUTANTS | MACHINERY
    if unknown := [name for name in ids if name not in known]:
        raise ValueError(f"no mutant is called {unknown[0]!r}; expected ids out of suites/mutants")
    chosen = [known[name] for name in ids or known if not known[name].cuda or device.name == "cuda"]
    asked = [{"id": one.id, "everything": everything, "seed": seed, "without": without} for one in chosen]
    answers = matches(asked, jobs, lambda answer: print(_line(answer), flush=True))
    rows = [
        {
            **{name: getattr(one, name) for name in ("id", "kind", "fault", "sentence", "requirement", "source")},
            **{name: value for name, value in answer.items() if name != "by"},
            "by": answer["by"],
            "functions": sorted({_function(node_id) for node_id in answer["by"]}),
        }
        for one, answer in zip(chosen, answers, strict=True)
    ]
    survivors = [row["id"] for row in rows if not row["killed"]]
    examples = [row["examples"] for row in rows if row["killed"] and row["examples"] is not None]
    summary = {
        "mutants": len(rows),
        "killed": len(rows) - len(survivors),
        "survivors": survivors,
        "median_examples": statistics.median(examples) if examples else 0,
        "most_examples": max(examples, default=0),
        "everything": everything,
        "seed": seed,
        "without": without,
    }
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"summary": summary, "mutants": rows}, indent=1)
    (out / "mutants.json").write_text(text + "\n", encoding="utf-8")
    (out / "mutants.html").write_text(_PAGE.render(summary=summary, rows=rows), encoding="utf-8")
    print(f"{summary['killed']} of {len(rows)} killed, {summary['median_examples']} examples at the median, "
          f"{summary['most_examples']} at most; survivors: {', '.join(survivors) or 'none'}")  # fmt: skip
    print(out / "mutants.html")
    return 1 if survivors else 0


def _function(node_id: str) -> str:
    return node_id.rsplit("::", 1)[-1].split("[", 1)[0]


def _line(answer: dict[str, Any]) -> str:
    first = next(iter(answer["by"]), None)
    drawn = "" if answer["examples"] is None else f" after {answer['examples']} examples"
    end = f"killed{drawn} by {first}" if answer["killed"] else f"SURVIVES {answer['message']}"
    return f"{answer['id']}: {end}"


_PAGE = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string("""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Mutants</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { margin: 2rem auto; max-width: 75rem; padding: 0 1rem }
div { overflow-x: auto }
table { border-collapse: collapse }
th, td { border-bottom: 1px solid #8886; padding: .3rem .6rem; text-align: left; vertical-align: top }
.no { font-weight: bold }
</style>
<h1>Mutants</h1>
<p>{{ summary.killed }} of {{ summary.mutants }} killed; {{ summary.median_examples }} examples at the median,
{{ summary.most_examples }} at most; seed {{ summary.seed }}.</p>
<div><table>
<thead><tr><th>mutant<th>fault<th>what is wrong<th>requirement<th>examples<th>killed by</thead>
<tbody>
{% for row in rows %}<tr><td><code>{{ row.id }}</code><td>{{ row.fault }}
<td>{{ row.sentence }}{% if row.source %} ({{ row.source }}){% endif %}<td>{{ row.requirement }}
<td>{{ row.examples if row.examples is not none else "" }}
<td>{% if row.killed %}{{ row.functions | join(", ") }}{% else %}<span class="no">survives</span>{% endif %}
{% endfor %}</tbody></table></div>
</html>
""")
