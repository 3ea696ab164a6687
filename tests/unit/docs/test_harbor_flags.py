"""What docs/reference/harbor-flags.md says of each option of `harbor run` is so."""

import harbor_flags
import pytest
from harbor_flags import Flag, Handling, How, Not, Other, Same

FLAGS = harbor_flags.harbor()[1]


def test_every_option_of_harbor_is_spoken_of_and_no_other() -> None:
    assert harbor_flags.unhandled() == []
    assert len(FLAGS) > 100


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.key)
def test_an_option_is_here_what_the_table_says(flag: Flag) -> None:
    handling: Handling = harbor_flags.HANDLING[flag.key]
    shared = {name for mine in harbor_flags.own() for name in flag.all_names & mine.all_names}
    match handling:
        case Same(note):
            mine = harbor_flags.meaning_the_same(flag)
            assert mine is not None, f"oddish run does not take {sorted(flag.all_names - shared)}"
            assert mine.switch == flag.switch
            assert note or mine.repeated == flag.repeated
        case Other(option, _, collides):
            assert any(option in mine.names for mine in harbor_flags.own())
            assert bool(shared) == collides
        case How(_, collides):
            assert bool(shared) == collides
        case Not():
            assert not shared
