"""The command line: ``python -m harness machine | lint | render``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from harness.exits import ExitCode


def main(arguments: list[str] | None = None) -> int:
    """Runs one command.

    Returns:
        The exit status: 0 if all is well, 1 for findings or failures, 4 for what cannot be asked; of ``render`` that of
        the verdict.
    """
    parser = argparse.ArgumentParser(prog="python -m harness", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    machine = commands.add_parser("machine", help="this machine, as the conditions of lists see it")
    machine.add_argument("--test-lists", type=Path, default=Path("test_lists"), metavar="DIR")
    machine.set_defaults(run=_machine)

    lint = commands.add_parser("lint", help="faults in lists and waivers")
    lint.add_argument("--root", type=Path, default=Path(), metavar="PATH", help="of the tree (default: here)")
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
        lists = read_lists(chosen.test_lists)
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
            collected = collect(chosen.root)
        findings = lint_tree(
            chosen.root,
            node_ids=None if collected is None else collected.node_ids,
            random=() if collected is None else collected.random,
        )
    except (FileNotFoundError, CollectionError) as error:
        return _refuse(error)
    for finding in findings:
        print(finding)
    tests = "no test was collected" if collected is None else f"{len(collected.node_ids)} tests collected"
    print(f"{len(findings)} findings; {tests}", file=sys.stderr)
    return ExitCode.FAILED if findings else ExitCode.OK


def _render(chosen: argparse.Namespace) -> int:
    from harness.records import RecordError, read_events, read_manifest
    from harness.render import write_reports
    from harness.statuses import Status
    from harness.verdict import EXIT_CODES, in_a_line, judge, merge

    if len(chosen.runs) > 1 and chosen.out is None:
        return _refuse("several runs: say where their common reports go, with --out DIR")
    try:
        whole = merge([judge(read_manifest(folder), read_events(folder)) for folder in chosen.runs])
    except RecordError as error:
        return _refuse(error)
    for path in write_reports(whole, chosen.out or chosen.runs[0]):
        print(path)
    for test in whole.tests:
        if test.status is Status.UNFINISHED:
            print(f"{test.status.value}: {test.id}")
    print(in_a_line(whole))
    return EXIT_CODES[whole.verdict]


def _refuse(why: object) -> int:
    print(f"error: {why}", file=sys.stderr)
    return ExitCode.USAGE


if __name__ == "__main__":
    sys.exit(main())
