"""Which schemas a release works with."""

import pytest

from oddish.db.compatibility import Fit, Schema, UnknownSchema, remark


@pytest.mark.parametrize(
    ("schema", "fit"),
    [
        (Schema(None), "absent"),
        (Schema("0004"), "behind"),
        (Schema("0005"), "same"),
        (Schema("0006", remark("0006", "0004")), "ahead"),
        (Schema("0006", remark("0006", "0005")), "ahead"),
        (Schema("0006", remark("0006", "0006")), "beyond"),
        (Schema("0006"), "beyond"),
        (Schema("0006", "written by hand"), "beyond"),
        (Schema("0006", '{"revision": "0006"}'), "beyond"),
    ],
)
def test_a_newer_schema_does_as_long_as_it_says_that_older_code_works(schema: Schema, fit: Fit) -> None:
    assert schema.fit("0005") == fit


def test_what_was_said_of_another_revision_counts_for_nothing() -> None:
    assert Schema("0007", remark("0006", "0004")).fit("0005") == "beyond"


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (Schema(None), "without a schema"),
        (Schema("0004"), "oddish.db upgrade"),
        (Schema("0006"), "'0006', of a newer release"),
    ],
)
def test_a_refusal_names_the_revisions_and_the_fix(schema: Schema, said: str) -> None:
    with pytest.raises(UnknownSchema) as refused:
        schema.check("0005")
    assert said in str(refused.value)
    assert "'0005'" in str(refused.value)
    assert refused.value.fix


def test_a_schema_that_fits_is_not_refused() -> None:
    Schema("0005").check("0005")
    Schema("0006", remark("0006", "0005")).check("0005")
