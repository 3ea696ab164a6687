"""Whatever is sent to a route, the answer is one that the interface description promises."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx2
import hypothesis
import pytest
import requests
import schemathesis
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi import checks

from oddish.api.sites import EXPORT
from support import results

from .furnishing import FILES, Furnished
from .serving import KEY, RESULT, Server

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("quiet_logs")]

PROMISES = (
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
)
EXAMPLES = 7
"""Of requests that fit the description, and as many that do not, for each route."""
POSSIBLE: Mapping[str, object] = {
    "n_trials": 1,
    "environment": "local",
    "env": {"LANG": "C"},
    "link": "https://example.com/1",
    "tags": {"a": "b"},
    "task_version": 1,
    "task_archive_url": "http://127.0.0.1:9/hosted.zip",
    "workspace_fixture_url": "http://127.0.0.1:9/fixture.zip",
    "url": "http://127.0.0.1:9/told",
    "harbor_extensions": {"agent_env": {"LANG": "C"}, "n_concurrent": 2},
    "pass_at_k": 2,
}
"""Members whose values are refused unless they mean something here."""
AGAIN = "/trials/{trial_id}/retry"
"""Of a trial that is of no gateway job: those are made up for by another job."""
TURNS = {"get": 0, "delete": 2}
"""What is read is read first and deleted last, a trial before the others, which take it with them."""
ALONE: Mapping[str, tuple[Sequence[str], Mapping[str, object]]] = {
    "/trials/retry": (("task_id", "experiment_id", "registry_auth"), {"trial_ids": [""]}),
    "/admin/concurrency": (("cap",), {"queue_key": "nop_oracle"}),
}
"""Members that are left out for others to be meant, and these."""
GOES_ON = 504
"""The answer to who waits for a job that takes longer: nothing has failed."""
SUCCESSES = (200, 202, GOES_ON)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE")
FIXED = hypothesis.settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    phases=[hypothesis.Phase.generate],
    suppress_health_check=list(hypothesis.HealthCheck),
)


@dataclass
class Tally:
    """What was sent to one route and what it answered."""

    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def errors(self) -> int:
        return sum(count for status, count in self.statuses.items() if status >= 500 and status != GOES_ON)

    @property
    def succeeded(self) -> bool:
        return any(self.statuses[status] for status in SUCCESSES)


@pytest.mark.timeout(600)
def test_every_route_keeps_what_the_description_promises(
    server: Server, client: httpx2.Client, furnished: Furnished
) -> None:
    description = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    found = [operation.ok() for operation in description.get_all_operations()]
    operations = sorted(found, key=lambda one: (TURNS.get(one.method, 1), "{trial_id}" not in one.path))
    tallies: dict[str, Tally] = {}
    ended = f"{furnished.names['task_id']}-4"
    server.sql("UPDATE jobs SET state = 'done', finished_at = now() WHERE subject_id = %s", ended)
    elsewhere = {AGAIN: Furnished({**furnished.names, "trial_id": ended})}
    with requests.Session() as session:
        for operation in operations:
            there = elsewhere.get(operation.path, furnished)
            tally = tallies[f"{operation.method.upper()} {operation.path}"] = Tally()
            for mode in GenerationMode:
                if mode is GenerationMode.NEGATIVE and not any((*operation.iter_parameters(), *operation.body)):
                    continue
                fuzz(operation.as_strategy(generation_mode=mode), tally, there, server.url, session)
    for route, tally in tallies.items():
        print(f"{route:<50} {tally.statuses.total():>4} cases {dict(sorted(tally.statuses.items()))}")  # noqa: T201
    errors = sum(tally.errors for tally in tallies.values())
    cases = sum(tally.statuses.total() for tally in tallies.values())
    print(f"{len(tallies)} routes, {cases} cases, {errors} server errors")  # noqa: T201
    assert errors == 0
    assert [route for route, tally in tallies.items() if not tally.succeeded] == []
    assert [failure for tally in tallies.values() for failure in tally.failures] == []


def fuzz(
    strategy: st.SearchStrategy[Case], tally: Tally, furnished: Furnished, url: str, session: requests.Session
) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    sent = {"base_url": url, "headers": headers, "session": session, "timeout": 20}

    @FIXED
    @hypothesis.given(strategy, st.sampled_from([True, True, False]))
    def check(case: Case, existing: bool) -> None:
        if existing:
            name_existing(case, furnished.names)
        answer = case.call(**sent)
        if "x-content-type-options" not in answer.headers:
            assert answer.status_code == 400, "what is no HTTP comes to no route"
            return
        first_success = answer.status_code in SUCCESSES and not tally.succeeded
        tally.statuses[answer.status_code] += 1
        promises = [check for check in PROMISES if check is not not_a_server_error or answer.status_code != GOES_ON]
        if first_success:
            promises.append(checks.ignored_auth)
        case.validate_response(answer, checks=promises, headers=headers, transport_kwargs=sent)

    try:
        check()
    except FailureGroup as failure:
        tally.failures.append(str(failure))


def name_existing(case: Case, names: Mapping[str, str]) -> None:
    """Make the request speak of what exists wherever it names something, and ask for what can be done."""
    without, meant = ALONE.get(case.path, ((), {}))
    if isinstance(case.body, dict):
        for member in without:
            case.body.pop(member, None)
        case.body.update({member: value for member, value in meant.items() if member not in case.body})
    if isinstance(case.body, dict) and isinstance(agents := case.body.get("agents"), list):
        del agents[1:]
    if case.path == EXPORT and case.method == "PUT":
        case.body = results.packed()
    if "/import/" in case.path:
        names = {**names, "trial_id": names["imported_trial_id"]}
    for name in case.path_parameters or {}:
        case.path_parameters[name] = names[name]
    for members in members_of(case.body):
        for name, value in members.items():
            if name in names or name in POSSIBLE:
                members[name] = POSSIBLE.get(name) or names[name]
            elif name.removesuffix("s") in names and name != "agents":
                members[name] = [names[name.removesuffix("s")]]
            elif isinstance(value, str):
                members[name] = value.replace("\0", "")


def members_of(body: object) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value."""
    if isinstance(body, dict):
        yield body
        body = list(body.values())
    for value in body if isinstance(body, list) else ():
        yield from members_of(value)


def test_a_method_that_a_path_has_not_is_refused_with_those_it_has(client: httpx2.Client, furnished: Furnished) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    for page in ("/sign-in", EXPORT):
        paths[page]["get"] = {}  # of which a description for programs says nothing
    refused = 0
    for template, method in itertools.product(paths, METHODS):
        path = furnished.path(template)
        having = {known for other in paths if fits(other, path) for known in paths[other]}
        if method.lower() in having:
            continue
        answer = client.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed"), (method, template)
        allowed = having | ({"head"} if "get" in having else set())
        assert set(answer.headers["allow"].lower().split(", ")) == allowed
        refused += 1
    assert refused > 2 * len(paths)


def fits(template: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"{[^}]*}", "[^/]+", template), path) is not None


def test_a_record_is_shown_with_characters_that_cannot_be_stored(
    server: Server, client: httpx2.Client, furnished: Furnished
) -> None:
    record = {"half": "\ud800", "nothing": "\0"}
    server.leave_files(furnished.names["trial_id"], {RESULT: json.dumps(record).encode()}, epoch=2)
    assert json.loads(client.get(furnished.path("/trials/{trial_id}/result")).content) == record


@pytest.mark.parametrize(
    "record",
    [b'{"reward": NaN}', b"[" * 100_000, b"\xff", b"", b"1" * 5000, b'{"a": 1e999}'],
    ids=["NaN", "deep", "not UTF-8", "empty", "many digits", "infinite"],
)
def test_a_record_that_is_no_json_is_refused(
    server: Server, client: httpx2.Client, furnished: Furnished, record: bytes
) -> None:
    server.leave_files(furnished.names["trial_id"], {RESULT: record}, epoch=2)
    answer = client.get(furnished.path("/trials/{trial_id}/result"))
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


words = st.text(max_size=30)
header_values = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40).map(str.strip)
ranges = st.one_of(
    st.builds("bytes={}-{}".format, st.integers(0, 400_000), st.one_of(st.just(""), st.integers(0, 400_000))),
    st.builds("bytes=-{}".format, st.integers(0, 400_000)),
    header_values,
)
conditions = st.fixed_dictionaries(
    {},
    optional={
        "Range": ranges,
        "If-Range": header_values,
        "If-None-Match": st.one_of(st.just("*"), header_values),
        "If-Match": st.one_of(st.just("*"), header_values),
        "If-Modified-Since": header_values,
        "Accept-Encoding": header_values,
    },
)


def test_downloads_answer_every_condition_with_the_bytes_they_announce(
    server: Server, client: httpx2.Client, furnished: Furnished
) -> None:
    prefix = furnished.names["key"].removesuffix(RESULT)
    trial = furnished.path("/trials/{trial_id}")

    @FIXED
    @hypothesis.given(st.sampled_from(sorted(FILES)), conditions, st.booleans())
    def check(path: str, headers: dict[str, str], signed: bool) -> None:
        content = FILES[path]
        url = server.services.signer.sign("GET", prefix + path, expires_in=60) if signed else f"{trial}/files/{path}"
        answer = client.get(url, headers=headers)
        assert answer.headers["x-content-type-options"] == "nosniff"
        if answer.status_code == 200:
            assert answer.content == content
        elif answer.status_code == 206:
            unit, _, rest = answer.headers["content-range"].partition(" ")
            span, _, size = rest.partition("/")
            first, last = (int(number) for number in span.split("-"))
            assert (unit, int(size), answer.content) == ("bytes", len(content), content[first : last + 1])
        else:
            assert answer.status_code in (304, 400, 412, 416), answer.text

    check()


def test_signed_urls_that_were_altered_grant_nothing(server: Server, furnished: Furnished) -> None:
    stranger = server.client(None)
    key = furnished.names["key"]
    original = httpx2.URL(server.services.signer.sign("GET", key, expires_in=60))
    parts = dict(original.params)

    @FIXED
    @hypothesis.given(
        st.sampled_from(["GET", "PUT"]),
        st.one_of(st.just(key), words, words.map(lambda word: f"{key}{word}")),
        st.dictionaries(st.sampled_from(["expires", "limit", "type", "signature"]), words, max_size=3),
        st.binary(max_size=64),
    )
    def check(method: str, named: str, altered: dict[str, str], body: bytes) -> None:
        hypothesis.assume(method == "PUT" or named != key or parts | altered != parts)
        url = httpx2.URL(f"/store/{quote(named, safe='/', errors='replace')}", params=parts | altered)
        answer = stranger.request(method, url, content=body if method == "PUT" else None)
        assert answer.status_code in (403, 404, 405), (method, url, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        assert FILES[RESULT] not in answer.content

    check()
    assert stranger.get(original).content == FILES[RESULT]


def test_signed_uploads_store_what_was_granted_or_nothing(server: Server) -> None:
    stranger = server.client(None)
    kind = {"Content-Type": "application/gzip"}
    numbers = iter(range(10_000))

    @FIXED
    @hypothesis.given(st.binary(max_size=300), st.one_of(st.just(kind), conditions), st.booleans())
    def check(body: bytes, headers: dict[str, str], chunked: bool) -> None:
        key = f"uploads/{next(numbers)}.tar.gz"
        url = server.services.signer.sign("PUT", key, expires_in=60, size_limit=200, content_type="application/gzip")
        answer = stranger.put(url, content=iter([body]) if chunked else body, headers=headers)
        granted = headers == kind and len(body) <= 200
        assert answer.status_code in ((200,) if granted else (400, 413)), answer.text

    check()
