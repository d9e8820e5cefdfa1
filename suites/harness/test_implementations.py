"""What a user plugs in is found by module and attribute or by a short name, or refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.implementations import ImplementationError, NotAvailableError, load_implementation, short_names

NAMES = {"eager": "json:JSONEncoder.encode", "triton": "json:dumps"}


def _load(spec: str, root: Path) -> object:
    return load_implementation("--mask-impl", spec, NAMES, root)


def test_a_module_beside_the_caller_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", ["/nowhere"])
    (tmp_path / "engine_of_this_test.py").write_text("class masks:\n    build = 42\n", encoding="utf-8")
    assert _load("engine_of_this_test:masks.build", tmp_path) == 42


def test_short_names_are_followed(tmp_path: Path) -> None:
    import json

    assert _load("triton", tmp_path) is json.dumps
    assert _load("eager", tmp_path) is json.JSONEncoder.encode


def test_a_project_declares_short_names_installed_or_not(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\n[project.entry-points."mm_conformance.masks"]\nmine = "mine:build"\n'
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert short_names("masks", tmp_path)["mine"] == "mine:build"
    assert "mine" not in short_names("caches", tmp_path)


def test_what_needs_another_engine_is_not_available(tmp_path: Path) -> None:
    (tmp_path / "missing_engine_of_this_test.py").write_text("raise RecursionError('needs engine >= 3, found 2')\n")
    with pytest.raises(NotAvailableError, match=r"--mask-impl .*: not available: needs engine >= 3, found 2"):
        load_implementation("--mask-impl", "missing_engine_of_this_test:build", {}, tmp_path, RecursionError)


def test_a_module_that_raises_is_named_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "raising_engine_of_this_test.py").write_text("import json\njson.loads('{')\n", encoding="utf-8")
    (tmp_path / "own_fault_engine_of_this_test.py").write_text("\n\n1 / 0\n", encoding="utf-8")
    with pytest.raises(ImplementationError, match=r"JSONDecodeError: .* \(.*decoder\.py:\d+\)$"):
        _load("raising_engine_of_this_test:build", tmp_path)
    with pytest.raises(ImplementationError, match=r"ZeroDivisionError: .* \(.*own_fault_engine_of_this_test\.py:3\)$"):
        _load("own_fault_engine_of_this_test:build", tmp_path)
    with pytest.raises(ImplementationError, match=r"ModuleNotFoundError: No module named 'no_such_module'$"):
        _load("no_such_module:build", tmp_path)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no_such_module:build", "--mask-impl no_such_module:build: cannot import no_such_module: ModuleNotFoundError"),
        ("json:dump_all", "json has no attribute 'dump_all'"),
        ("json:dumpss", "did you mean 'dumps'"),
        ("json:", "expected MODULE:ATTRIBUTE"),
        (":dumps", "expected MODULE:ATTRIBUTE"),
        ("trition", "no such short name, expected MODULE:ATTRIBUTE or one of eager, triton; did you mean 'triton'"),
        ("broken_engine_of_this_test:build", "cannot import broken_engine_of_this_test: ZeroDivisionError"),
    ],
)
def test_what_cannot_be_had_is_refused_by_name(tmp_path: Path, spec: str, message: str) -> None:
    (tmp_path / "broken_engine_of_this_test.py").write_text("1 / 0\n", encoding="utf-8")
    with pytest.raises(ImplementationError) as caught:
        _load(spec, tmp_path)
    assert message in str(caught.value)
