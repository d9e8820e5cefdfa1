"""The command line: ``python -m harness machine | lint | render | mutants | matrix | replay | adopt``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from harness.exits import ExitCode
from harness.findings import HEALED
from harness.implementations import OPTIONS


def main(arguments: list[str] | None = None) -> int:
    """Runs one command.

    Returns:
        The exit status: 0 if all is well, 1 for findings or failures, 4 for what cannot be asked; of ``render`` that of
        the verdict.
    """
    parser = argparse.ArgumentParser(prog="python -m harness", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    machine = commands.add_parser("machine", help="this machine, as the conditions of lists see it")
    machine.add_argument("--test-lists", type=Path, action="append", default=[], metavar="DIR")
    machine.set_defaults(run=_machine)

    lint = commands.add_parser("lint", help="faults in lists and waivers")
    lint.add_argument("--root", type=Path, default=Path(), metavar="PATH", help="of the tree (default: here)")
    lint.add_argument(
        "--test-lists",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="folder of lists, repeatable (default: all below the root)",
    )
    lint.add_argument(
        "--waives-file",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="file of waivers, repeatable (default: waives*.txt)",
    )
    lint.add_argument(
        "--no-collect",
        action="store_true",
        help="do not ask pytest which tests there are (it is asked where a conftest.py stands beside the lists)",
    )
    lint.set_defaults(run=_lint)

    render = commands.add_parser("render", help="reports of one run, or of the shards of one")
    render.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folder of a run")
    render.add_argument("--out", type=Path, metavar="DIR", help="for the reports (default: the folder of the run)")
    render.set_defaults(run=_render)

    mutants = commands.add_parser("mutants", help="known-bad implementations through the suite: which of them it fails")
    mutants.add_argument("ids", nargs="*", metavar="ID", help="of mutants (default: all)")
    mutants.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes (default: one a core)")
    mutants.add_argument("--everything", action="store_true", help="every test on every mutant: the whole matrix; slow")
    mutants.add_argument("--seed", type=int, default=0, help="of the search (default: 0)")
    mutants.add_argument("--seeds", type=int, default=1, metavar="N", help="that many searches, from --seed on (default: 1)")
    mutants.add_argument("--without", metavar="TEST", help="leave out a test function, to see what hangs on it")
    mutants.add_argument("--correct", action="store_true", help="implementations without a fault instead: false alarms")
    mutants.add_argument("--alone", action="store_true", help="for each test function a mutant that only it kills; slow")
    mutants.add_argument("--out", type=Path, default=Path("runs/mutants"), metavar="DIR", help="default: runs/mutants")
    mutants.add_argument("--report", default="suites.mutants.report", metavar="MODULE", help=argparse.SUPPRESS)
    mutants.set_defaults(run=_mutants)

    matrix = commands.add_parser("matrix", help="several implementations side by side: requirement by implementation")
    matrix.add_argument(
        "candidates",
        nargs="+",
        metavar="[KIND/]NAME[@PROFILE,...]",
        help="a short name, or masks/, caches/ or stores/ with one or with MODULE:ATTRIBUTE; "
        "behind @ the profiles that masks are judged by, whatever they claim",
    )
    matrix.add_argument("--list", default="l0_b200", metavar="LIST", help="that each is judged by (default: l0_b200)")
    matrix.add_argument("--out", type=Path, default=Path("runs/matrix"), metavar="DIR", help="default: runs/matrix")
    matrix.set_defaults(run=_matrix)

    replay = commands.add_parser("replay", help="findings again: still failing, healed or error")
    replay.add_argument("findings", nargs="*", type=Path, metavar="FINDING", help="file of a finding")
    replay.add_argument("--all", type=Path, nargs="?", const=Path("findings"), metavar="DIR", help="all of a folder")
    for option in OPTIONS.values():
        replay.add_argument(option, metavar="NAME", help="on this one instead; then nothing is moved")
    replay.set_defaults(run=_replay)

    adopt = commands.add_parser("adopt", help="the code that makes a finding a permanent example of its test")
    adopt.add_argument("finding", type=Path, metavar="FINDING", help="file of a finding")
    adopt.set_defaults(run=_adopt)

    chosen = parser.parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = chosen.run
    return command(chosen)


def _machine(chosen: argparse.Namespace) -> int:
    from harness.entries import ListError
    from harness.lists import read_lists
    from harness.machine import machine_properties

    machine = machine_properties()
    print(json.dumps(machine, indent=2, sort_keys=True))
    try:
        lists = read_lists(chosen.test_lists or [Path("test_lists")])
    except ListError as error:
        return _refuse(error)
    for name, test_list in lists.items():
        unmet = test_list.unmet(machine)
        print(f"{name}: {'not for this machine: ' + '; '.join(unmet) if unmet else 'for this machine'}")
    return ExitCode.OK


def _lint(chosen: argparse.Namespace) -> int:
    from harness.collecting import CollectionError, collect
    from harness.lint import lint_tree

    try:
        collected = None
        if not chosen.no_collect and (chosen.root / "conftest.py").exists():
            collected = collect(chosen.root, chosen.test_lists, chosen.waives_file)
        findings = lint_tree(
            chosen.root,
            lists=chosen.test_lists,
            waives=chosen.waives_file,
            node_ids=None if collected is None else collected.node_ids,
            random=() if collected is None else collected.random,
            idle=() if collected is None else {(Path(path), line) for path, line in collected.idle},
        )
    except (FileNotFoundError, CollectionError) as error:
        return _refuse(error)
    for finding in findings:
        print(finding)
    tests = "no test was collected" if collected is None else f"{len(collected.node_ids)} tests collected"
    print(f"{len(findings)} findings; {tests}", file=sys.stderr)
    return ExitCode.FAILED if findings else ExitCode.OK


def _render(chosen: argparse.Namespace) -> int:
    from harness.merge import merge
    from harness.records import RecordError, read_events, read_manifest
    from harness.render import write_reports
    from harness.statuses import Status
    from harness.verdict import EXIT_CODES, in_a_line, judge

    if len(chosen.runs) > 1 and chosen.out is None:
        return _refuse("several runs: say where their common reports go, with --out DIR")
    try:
        whole = merge([judge(read_manifest(folder), read_events(folder)) for folder in chosen.runs])
    except RecordError as error:
        return _refuse(error)
    try:
        written = write_reports(whole, chosen.out or chosen.runs[0])
    except OSError as error:
        return _refuse(f"{chosen.out or chosen.runs[0]}: cannot be written to: {error.strerror or error}")
    for path in written:
        print(path)
    for test in whole.tests:
        if test.status is Status.UNFINISHED:
            print(f"{test.status.value}: {test.id}")
    print(in_a_line(whole))
    return EXIT_CODES[whole.verdict]


def _mutants(chosen: argparse.Namespace) -> int:
    # The suite's own: the harness knows it by name alone.
    report = importlib.import_module(chosen.report)
    try:
        ended = report.run(
            chosen.ids,
            jobs=chosen.jobs,
            everything=chosen.everything,
            seeds=range(chosen.seed, chosen.seed + chosen.seeds),
            without=chosen.without,
            correct=chosen.correct,
            alone=chosen.alone,
            out=chosen.out,
        )
    except ValueError as error:
        return _refuse(error)
    return int(ended)


def _matrix(chosen: argparse.Namespace) -> int:
    from harness.implementations import ImplementationError
    from harness.matrix import candidate, run

    root = Path()
    try:
        candidates = [candidate(text, root) for text in chosen.candidates]
        return run(candidates, chosen.list, chosen.out, root, lambda line: print(line, flush=True))
    except ImplementationError as error:
        return _refuse(error)


def _replay(chosen: argparse.Namespace) -> int:
    from harness.findings import FindingError, find, heal, read_finding
    from harness.replay import Outcome, replay

    paths = [*chosen.findings, *(find(chosen.all) if chosen.all else ())]
    if not paths and not chosen.all:
        return _refuse("no finding was named; name files, or all of a folder with --all [DIR]")
    instead = {option: value for option in OPTIONS.values() if (value := getattr(chosen, option[2:].replace("-", "_")))}
    found: list[Outcome] = []
    for path in paths:
        try:
            finding = read_finding(path)
            outcome, why = replay(finding, Path(), instead)
            if outcome is Outcome.HEALED and not instead and path.parent.name != HEALED:
                why = f"it is in {heal(path)} now"
        except FindingError as error:
            outcome, why = Outcome.ERROR, str(error)
        found.append(outcome)
        print(": ".join(filter(None, (outcome.value, str(path), why))), flush=True)
    print(f"{len(found)} findings: {', '.join(f'{found.count(one)} {one.value}' for one in Outcome)}")
    if Outcome.ERROR in found:
        return ExitCode.HARNESS_ERROR
    return ExitCode.FAILED if Outcome.STILL_FAILING in found else ExitCode.OK


def _adopt(chosen: argparse.Namespace) -> int:
    from harness.findings import FindingError, as_code, read_finding

    try:
        print(as_code(read_finding(chosen.finding)), end="")
    except FindingError as error:
        return _refuse(error)
    return ExitCode.OK


def _refuse(why: object) -> int:
    print(f"error: {why}", file=sys.stderr)
    return ExitCode.USAGE


if __name__ == "__main__":
    sys.exit(main())
