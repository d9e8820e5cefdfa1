"""The kill matrix: ``python -m harness mutants``."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from harness.device import choose_device
from harness.progress import bars
from suites.mutants.machinery import MACHINERY
from suites.mutants.match import matches
from suites.mutants.mutant import Mutant


def run(
    ids: Sequence[str],
    jobs: int,
    everything: bool,
    seeds: Sequence[int],
    without: str | None,
    correct: bool,
    alone: bool,
    out: Path,
) -> int:
    """Runs mutants through the suite and writes ``mutants.json``, ``mutants.html`` and ``mutants.md``.

    Args:
        ids: Of the mutants; none for all.
        jobs: Processes.
        everything: Run the whole suite on each, and on behind failures: the whole matrix, and slow.
        seeds: Of the searches; a mutant is killed if it is killed with each.
        without: A test function that is left out.
        correct: Run the implementations without a fault instead, through everything: what fails is a false alarm.
        alone: Look for each test function for a mutant that survives without it.
        out: Folder for the reports.

    Returns:
        0 if all were killed, or none of what is correct; 1 otherwise.

    Raises:
        ValueError: There is no such mutant.
    """
    device = choose_device()
    from suites.mutants.registry import CONTROLS, MUTANTS  # imports triton, which must come behind the choice

    known = CONTROLS if correct else MUTANTS | MACHINERY
    if unknown := [name for name in ids if name not in known]:
        raise ValueError(
            f"no {'control' if correct else 'mutant'} is called {unknown[0]!r}; expected ids out of suites/mutants"
        )
    if not seeds or jobs < 1:
        raise ValueError(f"{len(seeds)} searches in {jobs} processes, expected at least one of each")
    chosen = [known[name] for name in ids or known if not known[name].cuda or device.name == "cuda"]
    if not chosen:
        raise ValueError(f"{', '.join(ids)}: shows on a CUDA device alone, and there is none")
    common = {"everything": everything or correct, "without": without}
    asked = [{"id": one.id, "seed": seed, **common} for one in chosen for seed in seeds]
    with bars() as shown:
        bar = shown.add_task("mutants", total=len(asked))

        def tell(answer: dict[str, Any]) -> None:
            print(_line(answer), flush=True)
            shown.advance(bar)

        answers = matches(asked, jobs, tell)
    of = {one.id: [answer for answer in answers if answer["id"] == one.id] for one in chosen}
    rows = [_row(one, of[one.id]) for one in chosen]
    # Whatever is no verdict (a timeout, a referee that died, nothing that ran) speaks against both.
    wrong = [row["id"] for row in rows if (any(row["alarms"]) if correct else not all(row["killed"]))]
    examples = [answer["examples"] for answer in answers if answer["killed"] and answer["examples"] is not None]
    summary = {
        "mutants": len(rows),
        "survivors": [] if correct else wrong,
        "false_alarms": wrong if correct else [],
        "median_examples": statistics.median(examples) if examples else 0,
        "most_examples": max(examples, default=0),
        "seeds": list(seeds),
        **common,
        "device": device.name,
        "requirements": _requirements(rows),
        "alone": {},
    }
    _write(out, summary, rows)
    if alone:
        summary["alone"] = _alone(rows, jobs, seeds[0])
        _write(out, summary, rows)
    words = f"{len(rows) - len(wrong)} of {len(rows)} {'passed' if correct else 'killed'}"
    print(f"{words}, {summary['median_examples']} examples at the median, {summary['most_examples']} at most; "
          f"{'false alarms' if correct else 'survivors'}: {', '.join(wrong) or 'none'}")  # fmt: skip
    print(out / "mutants.html")
    return 1 if wrong else 0


def _row(mutant: Mutant, answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    by = {test: requirements for answer in answers for test, requirements in answer["by"].items()}
    return {
        **{name: getattr(mutant, name) for name in ("id", "kind", "fault", "sentence", "requirement", "source")},
        "killed": [answer["killed"] for answer in answers],
        "alarms": [bool(answer["killed"] or answer["message"] or not answer["ran"]) for answer in answers],
        "examples": [answer["examples"] for answer in answers],
        "seconds": [answer["seconds"] for answer in answers],
        "messages": [answer["message"] for answer in answers],
        "by": by,
        "functions": sorted({_function(test) for test in by}),
        "requirements": sorted({name for names in by.values() for name in names}),
    }


def _requirements(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Requirement -> how many mutants its tests kill, and the one that the fewest others kill, with their number."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        for name in row["requirements"]:
            others = len(row["requirements"]) - 1
            one = found.setdefault(name, {"mutants": 0, "mutant": row["id"], "others": others})
            one["mutants"] += 1
            if others < one["others"]:
                one.update(mutant=row["id"], others=others)
    return dict(sorted(found.items()))


def _alone(rows: Sequence[dict[str, Any]], jobs: int, seed: int) -> dict[str, str | None]:
    """Test function -> a mutant that it was the first to kill, and that survives without it; None where there is none."""
    todo: dict[str, list[str]] = {}
    for row in rows:
        if all(row["killed"]):
            todo.setdefault(_function(next(iter(row["by"]))), []).append(row["id"])
    found: dict[str, str | None] = dict.fromkeys(sorted(todo))
    while any(todo.values()):
        turn = [
            {"id": names.pop(0), "seed": seed, "without": function, "everything": False}
            for function, names in todo.items()
            if names
        ]
        for question, answer in zip(turn, matches(turn, jobs), strict=True):
            if not answer["killed"] and not answer["message"]:
                found[question["without"]] = answer["id"]
                todo[question["without"]] = []
                print(f"without {question['without']} the suite passes {answer['id']}", flush=True)
    return found


def _write(out: Path, summary: dict[str, Any], rows: Sequence[dict[str, Any]]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"summary": summary, "mutants": rows}, indent=1)
    (out / "mutants.json").write_text(text + "\n", encoding="utf-8")
    (out / "mutants.html").write_text(_template("mutants.html.jinja").render(summary=summary, rows=rows), encoding="utf-8")
    (out / "mutants.md").write_text(_template("mutants.md.jinja").render(rows=rows), encoding="utf-8")


def _function(node_id: str) -> str:
    return node_id.rsplit("::", 1)[-1].split("[", 1)[0]


def _line(answer: dict[str, Any]) -> str:
    first = next(iter(answer["by"]), None)
    drawn = "" if answer["examples"] is None else f" after {answer['examples']} examples"
    end = f"killed{drawn} by {first}" if answer["killed"] else f"passes {answer['message']}"
    return f"{answer['id']}: {end}"


def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        autoescape=".html." in name,
        trim_blocks=name.endswith(".md.jinja"),
    )
    environment.tests["all_true"] = all
    return environment.get_template(name)
