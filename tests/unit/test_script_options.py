"""What the scripts refuse before they start anything, and how."""

from collections.abc import Callable, Sequence

import pytest
import zoo
from bench import fleet

from chaos import run as chaos

Main = Callable[[Sequence[str]], int]


@pytest.mark.parametrize(
    ("main", "given", "reason"),
    [
        *((chaos.main, ["--minutes", minutes], "is not a number above 0") for minutes in ("0", "nan", "inf", "soon")),
        (chaos.main, ["--minutes=-1"], "'-1' is not a number above 0"),
        *(
            (fleet.main, [f"--{name}", count], "is not a whole number from 1 up")
            for name in ("workers", "servers", "slots", "trials", "undisturbed")
            for count in ("0", "1.5")
        ),
        (fleet.main, ["--workers=-3"], "'-3' is not a whole number from 1 up"),
        (fleet.main, ["--sleep=-1"], "'-1' is not a number from 0 up"),
        (fleet.main, ["--kill-every", "0"], "'0' is not a number above 0"),
        (zoo.main, ["elsewhere"], "invalid choice: 'elsewhere'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(
    main: Main, given: Sequence[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refusal:
        main(given)
    assert refusal.value.code == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("main", [chaos.main, fleet.main, zoo.main])
def test_help_is_given(main: Main, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    assert "usage: scripts/" in capsys.readouterr().out
