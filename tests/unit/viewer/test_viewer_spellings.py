"""A message that has a text is never passed over, however its JSON is written and in whatever case its letters are."""

import json
import re
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oddish.viewer.spellings import Spellings, spellings

LETTERS = 'aZ 9éÉßẞσςΣµμΩ\u2126\u212aſıİïŉǅЖ日本\U0001f600\U00010400\u2028\ufffd"\\/\n'


def messages(text: str) -> list[bytes]:
    """As all who write JSON might write it, once or in a text of JSON."""
    written = []
    for is_ascii in (True, False):
        once = json.dumps({"content": text}, ensure_ascii=is_ascii)
        written += [
            once,
            json.dumps({"arguments": once}, ensure_ascii=True),
            json.dumps({"arguments": once}, ensure_ascii=False),
        ]
        written.append(re.sub(r"\\u[0-9a-f]{4}", lambda match: "\\u" + match[0][2:].upper(), once))
    return [one.encode() for one in written]


@given(
    st.text(LETTERS, min_size=1, max_size=6), st.text(LETTERS, max_size=6), st.sampled_from([str.lower, str.upper, str])
)
@example("é", "", str.upper)
@example("\U00010400", "", str.lower)
def test_a_text_that_matches_may_be_in_every_writing_of_it(wanted: str, around: str, change: type[str]) -> None:
    text = change(f"{around}{wanted}{around}")
    if re.search(re.escape(wanted), text, re.IGNORECASE):
        assert all(map(Spellings(wanted).may_be_in, messages(text)))


@pytest.mark.parametrize("wanted", ["é", "café", "élève", "ß", "日本語", "naïve ΣΑΣ"])
def test_a_message_without_the_text_is_told_apart(wanted: str) -> None:
    others = messages('A page of plain text, with quotes " and names like Jürgen in it, ve and caf.')
    assert not any(map(Spellings(wanted).may_be_in, others))


def test_every_other_case_of_a_letter_is_known() -> None:
    letters = [
        char for char in map(chr, range(0x80, sys.maxunicode + 1)) if char.lower() != char or char.upper() != char
    ]
    pairs = [(char, other) for char in letters for other in (char.lower(), char.upper()) if len(other) == 1]
    assert len(pairs) > 4000
    assert [
        pair for pair in pairs if pair[1].encode().lower() not in spellings(pair[0]) and pair[0] not in "\u0130\u0131"
    ] == []
