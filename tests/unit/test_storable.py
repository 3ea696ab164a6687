"""What PostgreSQL cannot store is replaced, everything else is kept."""

import json
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from oddish.storable import storable, storable_json

texts = st.text(st.characters() | st.sampled_from("\0\ud800\udfff"))
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=20,
)


def texts_of(document: object) -> Iterator[str]:
    match document:
        case str():
            yield document
        case list():
            for item in document:
                yield from texts_of(item)
        case dict():
            yield from document
            yield from texts_of([*document.values()])


@given(documents)
def test_the_result_can_be_stored_and_storing_it_twice_changes_nothing(document: object) -> None:
    stored = storable(document)
    for text in texts_of(stored):
        text.encode("utf-8")
        assert "\0" not in text
    assert storable(stored) == stored


@given(documents)
def test_a_document_is_written_as_it_can_be_stored(document: object) -> None:
    assert json.loads(storable_json(document)) == storable(document)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert storable({text: [text]}) == {text: [text]}


def test_replaced_characters_are_seen() -> None:
    assert storable({"a\0b": "c\ud800"}) == {"a\ufffdb": "c\ufffd"}
