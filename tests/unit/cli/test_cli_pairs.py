import click
import pytest

from oddish.cli.pairs import split_pairs, split_values, split_variables


def test_the_value_is_everything_after_the_first_equals_sign() -> None:
    assert split_pairs(["A=1", "B=x=y", "C="], "--ae") == {"A": "1", "B": "x=y", "C": ""}


def test_a_later_pair_wins() -> None:
    assert split_pairs(["A=1", "A=2"], "--ae") == {"A": "2"}


@pytest.mark.parametrize("pair", ["novalue", "=x", " =x", ""])
def test_a_malformed_pair_is_named(pair: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        split_pairs(["A=1", pair], "--ae")
    assert "number 2" in caught.value.message
    assert repr(pair) in caught.value.message


def test_what_may_be_a_secret_is_not_repeated() -> None:
    with pytest.raises(click.BadParameter) as caught:
        split_pairs(["sk-live-0123456789abcdef"], "--ae")
    assert "0123456789" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("true", True),
        ("False", False),
        ("None", None),
        ("null", None),
        ('["a"]', ["a"]),
        ('{"a": 1}', {"a": 1}),
        ("plain text", "plain text"),
        ("NaN", "NaN"),
        ("", ""),
    ],
)
def test_values_are_read_as_json_where_they_are(text: str, expected: object) -> None:
    assert split_values([f"key={text}"], "--ak") == {"key": expected}


@pytest.mark.parametrize("pair", ["1A=x", "A B=x", "A-B=x", "Ä=x", "A=\udcff", "A\0=x", "A=secret\0value"])
def test_what_is_no_variable_is_named_and_its_value_not_shown(pair: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        split_variables([pair], "--ae")
    assert repr(pair.partition("=")[0]) in caught.value.message
    assert "secret" not in caught.value.message


@pytest.mark.parametrize("pair", ["a=\udcff", 'a=["\\u0000"]', 'a={"b": "\\ud800"}', "a=1e999"])
def test_a_setting_that_cannot_be_sent_is_named(pair: str) -> None:
    with pytest.raises(click.BadParameter, match=r"^a"):
        split_values([pair], "--ak")
