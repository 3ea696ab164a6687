"""The page of a trace: a conversation piece by piece, whatever its file holds."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from oddish.web.viewer.links import Links
from support.hostile_text import HOSTILE
from support.pages import Markup, visitor
from support.results import DATASET, KEY, TASK, TRACE, TRACE_DOCUMENT, cell, dataset, example, write

PAGE = Links().trace("data-agent", "eval-v1", TRACE)
LINKS = ("/", "?", "#", "http://", "https://", "mailto:")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return example(tmp_path)


@pytest.fixture
def view(root: Path) -> TestClient:
    return visitor(root)


def say(root: Path, *messages: Any, **members: Any) -> None:
    write(root, f"{DATASET}/{TRACE}", TRACE_DOCUMENT | {"messages": list(messages)} | members)


def numbered(count: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"word{number}"} for number in range(1, count + 1)]


def ids(page: str) -> list[str]:
    return [attributes["id"] or "" for _, attributes in Markup(page).elements if "id" in attributes]


def harmless(found: Markup) -> None:
    assert not found.tags & {"img", "svg", "iframe", "object", "embed", "style", "base", "math", "animate", "!--"}
    assert not {name for name in found.attributes if name.startswith("on")}
    assert not found.attributes & {"style", "srcdoc", "formaction"}
    assert all(link.startswith(LINKS) for name in ("href", "action") for link in found.values(name))
    assert all(source.startswith("/assets/") for source in found.values("src"))
    assert "49" not in found.text.split()


def test_a_trace_shows_what_was_said_done_and_given(view: TestClient) -> None:
    page = view.get(PAGE).text
    text = " ".join(Markup(page).text.split())
    for words in ("What is the median?", "Let me look.", "bash ls", "data.csv", "0.4056", "0.41", "another text"):
        assert words in text
    assert "by a language model as judge llm" in text
    assert "0 failed" in text
    assert [name for name in ids(page) if name.startswith("m") and name[1:].isdigit()] == ["m1", "m2", "m3"]


def test_a_reward_of_null_is_no_zero(view: TestClient, root: Path) -> None:
    write(
        root, f"{DATASET}/summary.json", dataset({KEY: cell([None]) | {"attempts": [{"reward": None, "trace": TRACE}]}})
    )
    say(root, reward=None)
    text = " ".join(Markup(view.get(PAGE).text).text.split())
    assert "none: the verifier never ran" in text
    assert "not measured" in text


def test_an_attempt_of_an_agent_without_a_model_is_called_by_the_agent(view: TestClient, root: Path) -> None:
    say(root, model="none", harness="oracle")
    assert "oracle, attempt 1" in view.get(PAGE).text
    assert "none in oracle" not in view.get(PAGE).text


def test_what_an_export_adds_is_shown(view: TestClient, root: Path) -> None:
    raised = [{"type": "AgentTimeoutError", "message": "after <b>600</b> s"}, {"message": "of no type"}, "text"]
    rewards = {"reward": 0.75, "present": 1, "bad": "high"}
    say(root, job="keen-otter-x7f2", trial="my-task-1a2b3c4d-0", rewards=rewards, exceptions=raised)
    text = " ".join(Markup(view.get(PAGE).text).text.split())
    assert "my-task-1a2b3c4d-0 of keen-otter-x7f2" in text
    assert "reward 0.75, present 1" in text
    assert "Raised: AgentTimeoutError after <b>600</b> s" in text
    assert "of no type" not in text


def test_attempts_of_a_cell_lead_to_one_another(view: TestClient, root: Path) -> None:
    traces = [f"traces/{number}.json" for number in (1, 2, 3)]
    attempts = [{"attempt": number, "reward": 0.0, "trace": trace} for number, trace in enumerate(traces, start=1)]
    other = {"passed_at": None, "attempts": [{"attempt": 1, "reward": 0.0, "trace": "traces/other.json"}]}
    tasks = dataset({KEY: {"passed_at": None, "attempts": attempts}, "m|h": other})
    write(root, f"{DATASET}/summary.json", tasks)
    for trace in traces:
        write(root, f"{DATASET}/{trace}", TRACE_DOCUMENT)
    twin = view.get(Links().trace("data-agent", "eval-v1", traces[1], format="json")).json()
    assert [twin["previous"], twin["next"]] == [
        Links().trace("data-agent", "eval-v1", traces[place]) for place in (0, 2)
    ]
    assert [entry["is_this"] for entry in twin["attempts"]] == [False, True, False]
    assert "traces/other.json" in [entry["trace"] for entry in twin["others"]]
    page = Markup(view.get(Links().trace("data-agent", "eval-v1", traces[0])).text)
    assert [link["href"] for link in page.all("a") if link.get("rel") == "next"] == [twin["attempts"][1]["address"]]
    assert not [link for link in page.all("a") if link.get("rel") == "prev"]


def test_a_trace_leads_to_the_same_cell_of_the_tasks_before_and_after(view: TestClient, root: Path) -> None:
    def attempts(*traces: str | None) -> dict[str, Any]:
        named = [{"attempt": number, "reward": 0.0, "trace": trace} for number, trace in enumerate(traces, start=1)]
        return {"passed_at": None, "attempts": named}

    first, unrecorded, between = attempts("traces/first.json"), attempts(None), attempts("traces/other.json")
    here, last = attempts("traces/a.json", "traces/b.json"), attempts("traces/c.json", "traces/d.json")
    tasks = ({KEY: first}, {KEY: unrecorded, "m|h": between}, {KEY: here}, {KEY: last})
    write(root, f"{DATASET}/summary.json", dataset(*tasks))
    for trace in ("first", "other", "a", "b", "c", "d"):
        write(root, f"{DATASET}/traces/{trace}.json", TRACE_DOCUMENT)
    steps = {"first": (None, "a"), "a": ("first", "c"), "b": ("first", "d"), "d": ("b", None), "other": (None, None)}
    for trace, beside in steps.items():
        twin = view.get(Links().trace("data-agent", "eval-v1", f"traces/{trace}.json", format="json")).json()
        addresses = [name and Links().trace("data-agent", "eval-v1", f"traces/{name}.json") for name in beside]
        assert [twin["previous_task"], twin["next_task"]] == addresses


def test_long_traces_come_in_pieces_that_lead_to_one_another(view: TestClient, root: Path) -> None:
    say(root, *numbered(120))
    seen_numbers: list[int] = []
    address: str | None = f"{PAGE}?format=json"
    while address:
        twin = view.get(address).json()
        seen_numbers += [entry["number"] for entry in twin["messages"]]
        address = twin["later"] and f"{twin['later']}&format=json"
    assert seen_numbers == list(range(1, 121))
    page = view.get(f"{PAGE}?from=51&limit=10").text
    assert "word50" not in page
    assert "word51" in page
    assert "word61" not in page
    assert {f"{PAGE}?from=41&limit=10", f"{PAGE}?from=61&limit=10"} <= set(Markup(page).addresses)


def test_a_link_to_a_message_leads_to_a_page_that_has_it(view: TestClient, root: Path) -> None:
    say(root, *numbered(120))
    page = Markup(view.get(f"{PAGE}?from=80&limit=5").text)
    (link,) = [link["href"] for link in page.all("a") if link.get("title") == "Link to message 83"]
    assert link is not None
    address, _, fragment = link.partition("#")
    assert fragment == "m83"
    assert fragment in ids(view.get(address).text)


def test_what_is_found_leads_to_where_it_is(view: TestClient, root: Path) -> None:
    say(root, *numbered(120))
    twin = view.get(f"{PAGE}?find=WORD11&format=json").json()
    assert [hit["number"] for hit in twin["hits"]] == [11, *range(110, 120)]
    page = view.get(twin["hits"][-1]["address"].partition("#")[0]).text
    assert "m119" in ids(page)
    assert "word119" in page
    assert "11 messages with" in Markup(page).text
    assert "0 messages with" in Markup(view.get(f"{PAGE}?find=absent").text).text


def test_what_is_found_comes_first_and_leads_on_within_the_page(view: TestClient, root: Path) -> None:
    say(root, *numbered(120))
    page = Markup(view.get(f"{PAGE}?find=word4&limit=45").text)
    (form,) = [form for form in page.all("form") if form.get("role") == "search"]
    assert form["action"] == "#found"
    assert "found" in ids(view.get(f"{PAGE}?find=word4").text)
    assert {"#m4", "#m45", f"{PAGE}?from=44&find=word4#m46"} <= set(page.addresses)


def test_of_a_trace_without_messages_the_page_says_whose_it_may_be(view: TestClient, root: Path) -> None:
    say(root)
    text = Markup(view.get(PAGE).text).text
    assert "such as oracle and nop" in text
    assert "Find in all" not in text


def test_long_texts_are_cut_and_can_be_asked_for_alone(view: TestClient, root: Path) -> None:
    say(
        root,
        *numbered(2),
        {"role": "user", "content": "x " * 20_000 + "end-of-it"},
        {"role": "tool", "content": "y\n" * 99},
    )
    page = view.get(PAGE).text
    assert "end-of-it" not in page
    assert "59 more lines" in page
    (alone,) = [link for link in Markup(page).addresses if "whole" in link]
    whole = view.get(alone).text
    assert "end-of-it" in whole
    assert "word1<" not in whole


def test_images_and_data_are_named(view: TestClient, root: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100}}
    say(root, {"role": "user", "content": [image, {"some": "data"}]}, {"role": "tool", "content": "\0\1\2\3"})
    page = view.get(PAGE).text
    assert "image, image/png, 122 characters" in page
    assert "binary, 4 characters" in page
    assert "AAAA" not in page


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_harmless_wherever_it_stands(view: TestClient, root: Path, text: str) -> None:
    call = {"id": text, "function": {"name": text, "arguments": {"command": f"{text}\n{text}", text: text}}}
    edit = {"name": text, "arguments": {"path": text, "old_str": text, "new_str": f"{text}{text}"}}
    say(
        root,
        {"role": "user", "content": text},
        {"role": text, "content": [text, {"type": text, "image": text}, {text: text}], "reasoning_content": text},
        {"role": "assistant", "content": text, "tool_calls": [call, edit]},
        {"role": "tool", "tool_call_id": text, "content": text, "name": text},
        **dict.fromkeys(("task_id", "model", "harness", "reward_method", "gold", "predicted", text), text),
    )
    for query in ({}, {"find": text[:50]}, {"whole": "yes"}):
        answer = view.get(PAGE, params=query)
        assert answer.status_code == 200
        harmless(Markup(answer.text))
        json.loads(view.get(PAGE, params={**query, "format": "json"}).text)


@pytest.mark.parametrize(
    ("content", "said", "shown"),
    [
        ('{"messages": [{"role": "user", "content": "whole"}, {"role": "us', "ends in the middle", "whole"),
        ('{"messages": [{"role": "user", "content": "whole"}, tru, 7]}', "is no JSON and is left out", "whole"),
        ('{"messages": {"a": 1}}', "not a list", "no messages"),
        ('{"reward": NaN, "messages": []}', "not a finite number", "no messages"),
        ("[1, 2]", "is no JSON object", "no messages"),
        ("", "is no JSON object", "no messages"),
        ('{"messages": [' + "[" * 5000, "ends in the middle", "no messages"),
        ('{"task_id": "another task", "messages": []}', "has the task_id", "no messages"),
        (None, "is missing", "no messages"),
    ],
)
def test_what_is_wrong_with_a_trace_is_said_and_the_rest_is_shown(
    view: TestClient, root: Path, content: str | None, said: str, shown: str
) -> None:
    file = write(root, f"{DATASET}/{TRACE}", content or "")
    if content is None:
        file.unlink()
    answer = view.get(PAGE)
    assert answer.status_code == 200
    assert said in Markup(answer.text).text
    assert shown in Markup(answer.text).text
    assert view.get(f"{PAGE}?format=json").status_code == 200


def test_bytes_that_are_no_text_do_no_harm(view: TestClient, root: Path) -> None:
    (root / DATASET / TRACE).write_bytes(b'{"messages": [{"role": "user", "content": "a\xff\xfe\x00b\\ud800"}]}')
    answer = view.get(PAGE)
    assert answer.status_code == 200
    assert "is not UTF-8" in answer.text
    assert view.get(f"{PAGE}?format=json").json()["messages"][0]["number"] == 1


@pytest.mark.parametrize("query", ["from=x", "from=0", "from=-1", "limit=ten", "after=1e3", "from=" + "9" * 50])
def test_what_is_no_number_is_refused(view: TestClient, query: str) -> None:
    assert view.get(f"{PAGE}?{query}").status_code == 400


def test_a_piece_beyond_the_end_is_the_last_one(view: TestClient) -> None:
    assert [entry["number"] for entry in view.get(f"{PAGE}?from=999&format=json").json()["messages"]] == [3]


@pytest.mark.parametrize(
    "trace", ["traces/absent.json", "../../project.json", "..%2F..%2Fproject.json", "%2Fetc%2Fpasswd"]
)
def test_what_is_no_trace_is_not_found(view: TestClient, trace: str) -> None:
    assert view.get(f"/projects/data-agent/datasets/eval-v1/trace/{trace}").status_code == 404


def test_the_task_of_the_trace_is_named(view: TestClient) -> None:
    assert TASK in Markup(view.get(PAGE).text).text
