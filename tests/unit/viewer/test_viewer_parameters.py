"""A value of an address is read, or refused with what could stand there."""

import pytest

from oddish.errors import InvalidInput
from oddish.viewer.parameters import OFFERED, offered, one_of, whole


def test_a_whole_number_is_read_and_nothing_is_the_usual() -> None:
    assert [whole("page", text, 7) for text in (None, "", "1", "007", "999999999")] == [7, 7, 1, 7, 999_999_999]
    assert whole("size", "200", 50, most=200) == 200


@pytest.mark.parametrize("text", ["0", "-1", "1.0", "1e3", "²", "٣", " 1", "x" * 500, "9" * 5000])
def test_anything_else_is_refused_in_few_words(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        whole("page", text, 1)
    assert len(str(refused.value)) < 200


def test_what_there_is_is_named_as_far_as_a_sentence_holds_it() -> None:
    assert offered([]) == "There is none to choose."
    assert offered(["a"]) == "Choose a."
    assert offered(["a", "b"]) == "Choose one of a, b."
    many = offered(str(number) for number in range(1000))
    assert many == f"Choose one of {', '.join(map(str, range(OFFERED)))}, …."
    assert len(offered(["x" * 10_000] * OFFERED)) < 1000
    assert one_of("sort", "b", ("a", "b")) == "b"
