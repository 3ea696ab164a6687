from oddish.cli.details import LINES, log_end

LOGS = """=== agent/setup/stdout.txt ===
installed

=== agent/run.txt ===
working
=== not a mark
done

=== agent.log ===
other

=== steps/one/agent/run.txt ===
again

=== verifier/empty.txt ===

=== 3 more files ===
"""


def test_the_files_of_one_writer_are_under_their_paths() -> None:
    assert log_end(LOGS, "agent") == [
        "agent/setup/stdout.txt:",
        "  installed",
        "agent/run.txt:",
        "  working",
        "  === not a mark",
        "  done",
        "steps/one/agent/run.txt:",
        "  again",
    ]


def test_nothing_to_show() -> None:
    assert log_end(LOGS, "verifier") == []
    assert log_end("", "agent") == []


def test_long_lines_are_cut() -> None:
    assert log_end("=== agent/a.txt ===\n" + "x" * 999, "agent")[1] == "  " + "x" * 299 + "…"


def test_the_end_is_kept_and_the_latest_file_first() -> None:
    logs = "".join(f"=== agent/{name}.txt ===\n" + f"{name}\n" * 50 + "\n" for name in "ab")
    assert log_end(logs, "agent") == ["agent/b.txt:", *["  b"] * LINES]
