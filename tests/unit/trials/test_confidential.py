from dataclasses import replace

import pytest

from oddish.registries import RegistryLogin
from oddish.trials.confidential import Confidential, PlainSecret, refuse_plain_secrets, split_env


def test_secret_named_variables_lose_their_values() -> None:
    env = {"OPENAI_API_KEY": "a", "github_token": "b", "PG_PASSWD": "c", "AUTH": "d", "MODE": "fast", "EMPTY": ""}
    shown, hidden = split_env(env)
    assert shown == {
        "OPENAI_API_KEY": None,
        "github_token": None,
        "PG_PASSWD": None,
        "AUTH": None,
        "MODE": "fast",
        "EMPTY": "",
    }
    assert hidden == {"OPENAI_API_KEY": "a", "github_token": "b", "PG_PASSWD": "c", "AUTH": "d"}


@pytest.mark.parametrize(
    "value",
    [
        {"api_key": "sk-12345678"},
        {"nested": [{"auth-token": "sk-12345678"}]},
        {"headers": {"X-Password": "sk-12345678"}},
        {"headers": {"Authorization": "Bearer 12345678"}},
        {"accessToken": "sk-12345678"},
        {"HTTPAuth": "sk-12345678"},
    ],
)
def test_credentials_elsewhere_are_refused_without_showing_them(value: object) -> None:
    with pytest.raises(PlainSecret) as refusal:
        refuse_plain_secrets("kwargs", value)
    assert "12345678" not in str(refusal.value)
    assert str(refusal.value).startswith("kwargs.")


@pytest.mark.parametrize(
    "value", [{"max_tokens": 8000}, {"tokenizer": "cl100k_base"}, {"author": "Somebody Else"}, {"key": "short"}, []]
)
def test_other_arguments_pass(value: object) -> None:
    refuse_plain_secrets("kwargs", value)


def test_what_is_stored_is_read_again_in_its_present_and_its_first_form() -> None:
    kept = Confidential(env={"SERVICE_TOKEN": "a"}, credentials={"OPENAI_API_KEY": "b"})
    with_logins = replace(kept, logins=(RegistryLogin.of("me", "dckr_pat_of-a-test"),))
    assert Confidential.from_plaintext(with_logins.plaintext()) == with_logins
    assert "dckr" not in repr(with_logins)
    assert Confidential(logins=with_logins.logins)
    assert Confidential.from_plaintext(kept.plaintext()) == kept
    assert Confidential.from_plaintext(b'{"SERVICE_TOKEN": "a"}') == Confidential(env={"SERVICE_TOKEN": "a"})
    assert Confidential.from_plaintext(b'{"env": "a"}') == Confidential(env={"env": "a"})
    assert "SERVICE" not in repr(kept)
    assert not Confidential()
