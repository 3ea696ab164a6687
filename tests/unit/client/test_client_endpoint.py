import pytest

from oddish.client.endpoint import Endpoint, Endpoints, given_key, named_endpoints, remote_endpoint
from oddish.errors import InvalidInput, Unauthenticated

KEY = {"ODDISH_API_KEY": "ok_1"}
PREVIEW = {"ODDISH_PREVIEW_PR": "35", "ODDISH_PREVIEW_URL_TEMPLATE": "https://pr-{n}.example.com"}


def test_nothing_named_means_this_machine() -> None:
    assert remote_endpoint(None, KEY) is None


@pytest.mark.parametrize(
    ("api", "environ", "expected"),
    [
        ("http://a", {"ODDISH_API_URL": "http://b", **PREVIEW}, Endpoint("http://a", "ok_1", "--api")),
        (None, {"ODDISH_API_URL": "http://b", **PREVIEW}, Endpoint("http://b", "ok_1", "ODDISH_API_URL")),
        (None, PREVIEW, Endpoint("https://pr-35.example.com", "ok_1", "ODDISH_PREVIEW_PR")),
    ],
)
def test_precedence(api: str | None, environ: dict[str, str], expected: Endpoint) -> None:
    assert remote_endpoint(api, environ | KEY) == expected


def test_a_remote_server_needs_a_key() -> None:
    with pytest.raises(Unauthenticated, match=r"No key for http://a .*ODDISH_API_KEY"):
        remote_endpoint("http://a", {})


def test_a_key_of_blanks_is_none() -> None:
    assert [given_key(environ) for environ in ({}, {"ODDISH_API_KEY": " "}, {"ODDISH_API_KEY": " ok_1\n"})] == [
        None,
        None,
        "ok_1",
    ]


@pytest.mark.parametrize("number", ["x", "-1", "3.5", "٣"])
def test_a_preview_is_named_by_a_number(number: str) -> None:
    with pytest.raises(InvalidInput, match=number):
        remote_endpoint(None, PREVIEW | {"ODDISH_PREVIEW_PR": number})


@pytest.mark.parametrize("template", ["", "https://preview.example.com"])
def test_a_preview_needs_a_template_with_a_place_for_the_number(template: str) -> None:
    with pytest.raises(InvalidInput, match="ODDISH_PREVIEW_URL_TEMPLATE"):
        remote_endpoint(None, PREVIEW | {"ODDISH_PREVIEW_URL_TEMPLATE": template})


GATEWAY = {"SANDBOX_GATEWAY_URL": "http://g", "SANDBOX_API_KEY": "ok_g"}
OF_GATEWAY = Endpoint("http://g", "ok_g", "SANDBOX_GATEWAY_URL", "SANDBOX_API_KEY")
OF_SERVER = Endpoint("http://b", "ok_1", "ODDISH_API_URL")


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"ODDISH_API_URL": "http://b", **KEY}, Endpoints(OF_SERVER, OF_SERVER)),
        ({"ODDISH_API_URL": "http://b", **KEY, **GATEWAY}, Endpoints(OF_SERVER, OF_GATEWAY)),
        (GATEWAY, Endpoints(OF_GATEWAY, OF_GATEWAY)),
    ],
)
def test_a_gateway_may_be_another_server_with_a_key_of_its_own(environ: dict[str, str], named: Endpoints) -> None:
    assert named_endpoints(environ) == named


def test_no_server_is_sent_the_key_of_another() -> None:
    with pytest.raises(Unauthenticated, match="SANDBOX_API_KEY"):
        named_endpoints({**KEY, "ODDISH_API_URL": "http://b", "SANDBOX_GATEWAY_URL": "http://g"})
    with pytest.raises(InvalidInput, match="No server is named"):
        named_endpoints({**KEY, "SANDBOX_API_KEY": "ok_g"})
