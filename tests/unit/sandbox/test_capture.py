"""Bounded output."""

from hypothesis import given
from hypothesis import strategies as st

from oddish.sandbox.capture import Capture, Lines


@given(st.lists(st.binary(max_size=50)), st.integers(min_value=2, max_value=100))
def test_short_output_is_kept_and_long_output_keeps_both_ends(pieces: list[bytes], limit: int) -> None:
    capture = Capture(limit)
    for piece in pieces:
        capture.feed(piece)
    whole, value, half = b"".join(pieces), capture.value(), limit // 2
    if len(whole) <= 2 * half:
        assert value == whole
    else:
        assert value == b"%b\n[... %d bytes left out ...]\n%b" % (whole[:half], len(whole) - 2 * half, whole[-half:])


@given(st.lists(st.binary(max_size=20)))
def test_lines_are_the_stream_cut_after_line_ends(pieces: list[bytes]) -> None:
    lines = Lines(limit=8)
    found = [line for piece in pieces for line in lines.feed(piece)] + list(lines.close())
    assert b"".join(found) == b"".join(pieces)
    assert all(b"\n" not in line[:-1] for line in found)
