"""Secrets out of text and directories."""

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from harbor.utils.env import redact_sensitive_value
from hypothesis import given
from hypothesis import strategies as st

from oddish.engine import redaction
from oddish.engine.redaction import Redactor, line_by_line, secret_values
from oddish.secrecy import credential_values, is_secret_name

SECRET = "sk-0123456789"


def test_names_and_values() -> None:
    assert all(map(is_secret_name, ["OPENAI_API_KEY", "my_token", "DB_PASSWORD", "PASSWD", "AUTH"]))
    assert not any(map(is_secret_name, ["PATH", "OPENAI_BASE_URL", "REGION"]))
    values = secret_values(
        {"API_KEY": SECRET, "TOKEN": "short", "URL": "https://example.org"}, {"B_SECRET": "12345678"}
    )
    assert values == {SECRET, "12345678"}
    signed = "https://example.org/data.csv?X-Amz-Signature=0123456789"
    assert secret_values({"DATA": signed}) == {signed}


def test_text() -> None:
    redactor = Redactor([SECRET, SECRET + "-longer", "tiny"])
    assert redactor.text(f"a {SECRET} b {SECRET}-longer tiny") == "a [REDACTED] b [REDACTED] tiny"
    assert Redactor([]).text(SECRET) == SECRET


def test_nothing_is_left_of_a_secret_of_which_harbor_shows_the_ends() -> None:
    shown = json.dumps(
        {"env": {"MY_TOKEN": redact_sensitive_value("s3cr3tvalue"), "B": redact_sensitive_value('"ä3456789')}}
    )
    assert (
        Redactor(["s3cr3tvalue", '"ä3456789']).text(shown) == '{"env": {"MY_TOKEN": "[REDACTED]", "B": "[REDACTED]"}}'
    )


def test_a_secret_inside_a_json_string_is_found() -> None:
    assert Redactor(['quo"ted\\secret']).text('{"a": "quo\\"ted\\\\secret"}') == '{"a": "[REDACTED]"}'


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_secret_is_found_in_json_within_json(ascii_only: bool) -> None:
    secret = 'pä"ss\nword'
    once = json.dumps({"a": secret}, ensure_ascii=ascii_only)
    twice = json.dumps({"b": once}, ensure_ascii=ascii_only)
    assert Redactor([secret]).text(once) == '{"a": "[REDACTED]"}'
    assert Redactor([secret]).text(twice) == r'{"b": "{\"a\": \"[REDACTED]\"}"}'


def test_a_secret_is_found_without_the_space_around_it() -> None:
    assert Redactor([f"{SECRET}\n"]).text(f"a {SECRET} b") == "a [REDACTED] b"


def test_a_secret_of_several_lines_is_found_line_by_line() -> None:
    key = "-----BEGIN KEY-----\r\n  MIIEvQIBADANBgkq\n=\n-----END KEY-----\n"
    redactor = Redactor(line_by_line([key]))
    assert [redactor.text(line) for line in ("K=-----BEGIN KEY-----", "MIIEvQIBADANBgkq", "=")] == [
        "K=[REDACTED]",
        "[REDACTED]",
        "=",
    ]
    assert redactor.text(key) == "[REDACTED]"


def test_a_secret_is_found_in_an_address() -> None:
    for encoded in (quote("a+b/c=d e&f", safe=""), quote("a+b/c=d e&f"), quote_plus("a+b/c=d e&f")):
        assert Redactor(["a+b/c=d e&f"]).text(f"https://x/?key={encoded}&n=1") == "https://x/?key=[REDACTED]&n=1"


@given(
    secret=st.text(alphabet="abc+/=?>~", min_size=8, max_size=20),
    before=st.binary(max_size=5),
    behind=st.binary(max_size=5),
    encode=st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]),
)
def test_nothing_to_speak_of_is_left_of_a_secret_in_base64(
    secret: str, before: bytes, behind: bytes, encode: Callable[[bytes], bytes]
) -> None:
    encoded = encode(before + secret.encode() + behind).decode()
    start, end = Redactor([secret]).text(encoded).split("[REDACTED]", 1)
    assert len(start) <= len(before) * 8 // 6 + 1
    assert len(end) <= len(behind) * 8 // 6 + 4


def test_only_files_with_a_secret_are_rewritten(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    found = tmp_path / "deep" / "er" / "log.txt"
    found.write_text(f"key={SECRET}\nö\n")
    found.chmod(0o640)
    clean = tmp_path / "clean.txt"
    clean.write_text("nothing")
    binary = tmp_path / "image.bin"
    binary.write_bytes(b"\0" + SECRET.encode() + b"\0end")
    inode = clean.stat().st_ino
    assert Redactor([SECRET]).directory(tmp_path) == 2
    assert found.read_text() == "key=[REDACTED]\nö\n"
    assert found.stat().st_mode & 0o777 == 0o640
    assert clean.stat().st_ino == inode
    assert binary.read_bytes() == b"\0" + b"*" * len(SECRET) + b"\0end"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["clean.txt", "deep", "er", "image.bin", "log.txt"]


def test_links_and_pipes_are_left_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text(SECRET)
    trial = tmp_path / "trial"
    trial.mkdir()
    (trial / "link").symlink_to(outside)
    (trial / "folder").symlink_to(tmp_path)
    os.link(outside, trial / "hard")
    os.mkfifo(trial / "pipe")
    assert Redactor([SECRET]).directory(trial) == 1
    assert outside.read_text() == SECRET
    assert (trial / "hard").read_text() == "[REDACTED]"


def test_a_file_that_nobody_may_keep_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "small").write_text(SECRET)
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.truncate(2**40)
    assert Redactor([SECRET]).directory(tmp_path, largest=2**20) == 1
    assert SECRET not in (tmp_path / "small").read_text()
    assert (tmp_path / "sparse").stat().st_size == 2**40


def test_no_secrets_no_work(tmp_path: Path) -> None:
    assert Redactor(["short"]).directory(tmp_path / "missing") == 0


@given(
    parts=st.lists(st.sampled_from([SECRET, SECRET + "X", SECRET[:-1], "ab", "\n", "sk-"]), max_size=12),
    chunk=st.integers(1, 40),
)
def test_streaming_equals_replacing_at_once(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], chunk: int
) -> None:
    directory = tmp_path_factory.mktemp("scrub")
    file = directory / "log"
    content = "".join(parts)
    file.write_text(content)
    redactor = Redactor([SECRET, SECRET + "X"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redaction, "CHUNK", chunk)
        redactor.directory(directory)
    assert file.read_text() == redactor.text(content)


def test_names_and_link_targets_lose_their_secrets_too(tmp_path: Path) -> None:
    secret = "correct-horse-battery"
    inner = tmp_path / f"dir-{secret}" / "deeper"
    inner.mkdir(parents=True)
    (inner / f"{secret}.json").write_text("{}")
    (inner / "[REDACTED].json").write_text("taken")
    (inner / "link").symlink_to(f"/elsewhere/{secret}")
    Redactor([secret]).directory(tmp_path)
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert found == [
        "dir-[REDACTED]",
        "dir-[REDACTED]/deeper",
        "dir-[REDACTED]/deeper/[REDACTED].json",
        "dir-[REDACTED]/deeper/[REDACTED].json.2",
        "dir-[REDACTED]/deeper/link",
    ]
    assert (tmp_path / "dir-[REDACTED]/deeper/link").readlink() == Path("/elsewhere/[REDACTED]")


def test_all_credentials_are_secrets_but_addresses_and_regions() -> None:
    env = {
        "OPENAI_API_KEY": SECRET,
        "DATABASE_DSN": "host=db pass",
        "OPENAI_BASE_URL": "https://models.example/v1",
        "AWS_REGION": "eu-central-1",
        "PROXY_BASE_URL": "https://user:word@models.example",
        "WEBHOOK_URL": "https://hooks.example/T0/B0/x",
        "SHORT": "short",
    }
    assert credential_values(env) == {
        SECRET,
        "host=db pass",
        "https://user:word@models.example",
        "https://hooks.example/T0/B0/x",
    }
