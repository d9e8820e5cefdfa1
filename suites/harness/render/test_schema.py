"""The published schema of ``conformance.json``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given

from harness.render import conformance_schema, pictures, render
from harness.render.schema import NAME, schema_text
from harness.statuses import not_run
from harness.verdict import Conformance
from suites.harness.render.runs import failing_run, runs

PUBLISHED = Path(__file__).parents[3] / "docs" / "schema" / NAME


@pytest.fixture(scope="module")
def validate() -> Callable[[object], None]:
    """Holds a report against the schema; raises a ValueError where it does not fit."""
    try:
        import jsonschema
    except ImportError:
        not_run("needs jsonschema: pip install jsonschema")
    validator = jsonschema.Draft202012Validator(conformance_schema())

    def validate(report: object) -> None:
        if errors := [error.message for error in validator.iter_errors(report)]:
            raise ValueError(errors[0])

    return validate


def test_the_published_schema_is_that_of_the_code() -> None:
    command = "from harness.render.schema import schema_text; print(schema_text(), end='')"
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(), f'write it anew: python -c "{command}" > {PUBLISHED}'


def test_the_schema_is_one(validate: Callable[[object], None]) -> None:
    import jsonschema

    jsonschema.Draft202012Validator.check_schema(conformance_schema())


def test_every_field_says_what_it_is() -> None:
    silent = [
        f"{name}.{field}"
        for name, definition in conformance_schema()["$defs"].items()
        for field, schema in definition.get("properties", {}).items()
        if not schema.get("description")
    ]
    assert silent == []


def test_a_description_is_without_markup() -> None:
    assert "``" not in schema_text()
    assert "Attributes:" not in schema_text()


@given(conformance=runs())
def test_every_report_is_valid(validate: Callable[[object], None], conformance: Conformance) -> None:
    with mock.patch.object(pictures, "png", return_value=b""):
        validate(json.loads(render(conformance)["conformance.json"]))


@pytest.mark.parametrize("broken", [{"verdict": "fine"}, {"counts": {"passed": "many"}}, {"tests": [{"id": "a"}]}])
def test_what_is_no_report_is_refused(validate: Callable[[object], None], broken: dict[str, object]) -> None:
    report = json.loads(render(failing_run())["conformance.json"]) | broken
    with pytest.raises(ValueError, match=r"is not|required"):
        validate(report)
