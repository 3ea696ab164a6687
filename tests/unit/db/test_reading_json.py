"""JSON columns are read as the standard library would read them."""

import json

from hypothesis import given
from hypothesis import strategies as st

from oddish.db.engine import read_json

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda children: st.lists(children) | st.dictionaries(st.text(st.characters(codec="utf-8")), children),
)


@given(DOCUMENTS)
def test_every_document_is_read_as_it_was_written(document: object) -> None:
    text = json.dumps(document)
    assert read_json(text) == read_json(text.encode()) == document


def test_a_document_of_any_depth_is_read() -> None:
    depth = 700
    text = "[" * depth + "]" * depth
    assert read_json(text) == json.loads(text)
