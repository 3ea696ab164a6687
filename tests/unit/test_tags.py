import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.tags import LONGEST_NAME, LONGEST_VALUE, MOST_TAGS, NAME_PATTERN, InvalidTag, Tag, as_object, too_many

NAMES = st.from_regex(NAME_PATTERN, fullmatch=True).filter(lambda name: "\n" not in name)
VALUES = st.text(max_size=LONGEST_VALUE).filter(lambda value: "\0" not in value)


@given(NAMES, VALUES)
def test_a_tag_is_read_as_it_is_written(name: str, value: str) -> None:
    tag = Tag(name, value)
    assert Tag.of(str(tag)) == tag
    assert as_object([tag, tag]) == {name: value}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no name"),
        ("=x", "no name"),
        ("-wip", "the name '-wip'"),
        ("+a", "the name '\\+a'"),
        ("a b", "the name 'a b'"),
        ("a,b", "the name 'a,b'"),
        ("a\n", "the name"),
        ("\u202eabc", "the name"),
        ("x" * (LONGEST_NAME + 1), "longer than 64"),
        (f"a={'x' * (LONGEST_VALUE + 1)}", "longer than 255"),
        ("a=\0", "NUL"),
    ],
)
def test_what_no_task_can_carry_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(InvalidTag, match=why):
        Tag.of(text)


def test_a_task_has_one_value_of_each_name_and_so_many_names() -> None:
    assert as_object([Tag("a"), Tag("b", "1")]) == {"a": "", "b": "1"}
    with pytest.raises(InvalidTag, match="'1' and '2'"):
        as_object([Tag("a", "1"), Tag("a", "2")])
    assert too_many(MOST_TAGS) is None
    assert too_many(MOST_TAGS + 1)
