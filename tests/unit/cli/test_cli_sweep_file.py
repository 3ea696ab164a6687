"""Files of ``oddish run -c``: what they come to, and how they are refused."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.cli.datasets import Dataset
from oddish.cli.run import run
from oddish.cli.sweep import keys
from oddish.cli.sweep.document import LARGEST
from oddish.cli.sweep.file import UnusableFile, read_file
from oddish.cli.sweep.shapes import Members
from oddish.cli.sweep.sweep import Agent, Source, Sweep
from oddish.schemas.submission import AgentConfig
from oddish.trials.passthrough import BEHIND_DOORS, SECTIONS, TRIAL

FULL = """
agents:
  - name: claude-code
    model_name: anthropic/claude-sonnet-4-5
    n_trials: 3
    env: {LEVEL: debug, TOKEN: "${MY_TOKEN}"}
    kwargs: {max_turns: 5, effort: high, rate: 1e-3, loud: yes}
    override_timeout_sec: 90
    extra_allowed_hosts: [docs.example]
    disable_web_tools: true
  - name: codex
    model_name: openai/gpt-5.3-codex
    environment: docker
    agent_config: {kwargs: {a: 1}, max_timeout_sec: 5.5}
  - import_path: my.agents:Mine
  - name: oracle
    n_trials:
n_trials: 2
environment: local
path: ~/tasks
task_names: [csv-*]
experiment: nightly
priority: high
max_trial_attempts: 3
baseline_gate: false
harbor:
  ref: main
  environment:
    kwargs: {region: us-east, none: null}
    override_cpus: 2
    force_build:
  verifier: {disable: true}
  artifacts: [/app/out, {source: /app/log, destination: log}]
  timeout_multiplier: 2
"""


def write(tmp_path: Path, content: str | bytes, name: str = "sweep.yaml") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(tmp_path: Path, content: str | bytes, name: str = "sweep.yaml") -> str:
    with pytest.raises(UnusableFile) as refused:
        read_file(write(tmp_path, content, name))
    return str(refused.value).replace(f"{tmp_path}/", "")


def test_a_sweep_says_all_that_a_submission_takes(tmp_path: Path) -> None:
    assert read_file(write(tmp_path, FULL)) == Sweep(
        agents=[
            Agent(
                "claude-code",
                "anthropic/claude-sonnet-4-5",
                3,
                config={
                    "env": {"LEVEL": "debug", "TOKEN": "${MY_TOKEN}"},
                    "kwargs": {"max_turns": 5, "effort": "high", "rate": 0.001, "loud": True},
                    "override_timeout_sec": 90,
                    "extra_allowed_hosts": ["docs.example"],
                    "disable_web_tools": True,
                },
            ),
            Agent(
                "codex",
                "openai/gpt-5.3-codex",
                environment="docker",
                config={"kwargs": {"a": 1}, "max_timeout_sec": 5.5},
            ),
            Agent("my.agents:Mine"),
            Agent("oracle"),
        ],
        n_trials=2,
        environment="local",
        sources=[Source(Path("~/tasks").expanduser())],
        harbor={
            "ref": "main",
            "environment": {"kwargs": {"region": "us-east", "none": None}, "override_cpus": 2},
            "verifier": {"disable": True},
            "artifacts": ["/app/out", {"source": "/app/log", "destination": "log"}],
            "timeout_multiplier": 2,
        },
        options={
            "experiment": "nightly",
            "priority": "high",
            "max_trial_attempts": 3,
            "baseline_gate": False,
            "include": ["csv-*"],
        },
    )


def test_a_sweep_names_a_dataset_and_its_registry(tmp_path: Path) -> None:
    sweep = read_file(write(tmp_path, "agents: [{name: nop}]\ndataset: mine@1\nregistry_path: ~/registry.json\n"))
    assert sweep.sources == [Source(Dataset("mine@1", Path("~/registry.json").expanduser()))]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("agents: [{name: a}]\npath: b\ndataset: c@1\n", "line 3: dataset names other tasks than path does."),
        ("agents: [{name: a}]\ndataset: ./c\n", "line 2: dataset cannot be looked for. './c' names no dataset:"),
        (
            "agents: [{name: a}]\nregistry_url: https://x\n",
            "registry_url says where to look for a dataset",
        ),
        ("agents: [{name: a}]\ntask: b\ndataset: c@1\n", "task is a task that the server has, and dataset names"),
        ("agents:\n- name: nop\n  n_trails: 3\n", "sweep.yaml, line 3: agents[0].n_trails is not known. Did you mean"),
        ("agents:\n- name: nop\n- model_name: x\n", "sweep.yaml, line 3: agents[1] has no name."),
        ("agents: [{name: nop, n_trials: many}]", "line 1: agents[0].n_trials is 'many', not a whole number from 1 to"),
        ("agents: [{name: nop, n_trials: true}]", "agents[0].n_trials is true, not a whole number"),
        ("agents: [{name: nop, n_trials: 0}]", "agents[0].n_trials is 0, not a whole number"),
        ("agents: [{name: 5}]", "agents[0].name is 5, not text of 1 to 255 characters. Put it in quotes."),
        ("agents: [{name: a, import_path: 'b:C'}]", "agents[0].import_path names the agent a second time."),
        ("agents: [{name: a, env: {A_KEY: 12345}}]", "agents[0].env.A_KEY is a number, not text. Put it in quotes."),
        ("agents: [{name: a, env: {1A: x}}]", "agents[0].env cannot be used: '1A' is no name of a variable"),
        ("agents: [{name: a, kwargs: [1]}]", "agents[0].kwargs is a list, not a mapping"),
        ("agents: [{name: a, kwargs: {b: 1}, agent_config: {kwargs: {c: 1}}}]", "agent_config.kwargs is there twice"),
        ("agents: [nop]", "agents[0] is 'nop', not a mapping. Known are "),
        ("agents: [null]", "agents[0] is empty"),
        ("agents:\n", "agents is empty, not a list"),
        ("agents: []", "agents has 0 entries, not at least 1"),
        ("agents: {name: nop}", "agents is a mapping, not a list"),
        ("agents: [" + "{name: nop}," * 101 + "]", "agents has 101 entries, not at most 100"),
        ("n_trials: 2\nverifier: {disable: true}", "line 2: verifier is not known. It belongs to harbor.verifier."),
        ("n_trials: 2\nkwargs: {a: 1}", "kwargs is not known. It belongs to agents[].kwargs or "),
        ("n_trials: 2\nagent: nop", "agent is not known. It belongs to agents[].name."),
        ("n_trials: 2\napi: https://evil.example", "api is not known. It belongs to the option --api."),
        ("n_trials: 2\nregistry_auth: []", "registry_auth is not known. It belongs to the option --registry-login."),
        ("n_trials: 2\nenvironment: {override_cpus: 1}", "environment is a mapping, not text"),
        ("harbor: {docker_image: x}", "harbor.docker_image is not known. Known are "),
        ("harbor: {verifier: yes}", "harbor.verifier is true, not a mapping"),
        ("harbor: {environment: {override_gpus: 1.5}}", "harbor.environment.override_gpus is 1.5, not a whole number"),
        ("harbor: {ref: a..b}", "harbor.ref names no Harbor: 'a..b' is no branch"),
        ("harbor: {ref: 0.25}", "harbor.ref is 0.25, not text of 1 to 255 characters. Put it in quotes."),
        ("priority: urgent", "priority is 'urgent', not one of low, high"),
        ("path: a\ntask: b-12345678", "line 2: task is a task that the server has, and path names tasks to send."),
        ("task: b-12345678\nn_tasks: 3", "line 2: n_tasks chooses among the tasks of a directory"),
        ('"\\e[31mred": 1\nn_trials: 1', r"'\x1b[31mred' is not known."),
        ("experiment: !!python/object/apply:os.system [id]", "has the tag"),
        ("experiment: a\nexperiment: b", "has the key 'experiment' twice (line 2)"),
        ("experiment: [", "sweep.yaml is not valid YAML (line 1)."),
        ("a: 1\n---\nb: 2", "holds 2 documents, not one"),
        ("# nothing\n", "sweep.yaml is empty."),
        ("- name: nop", "is a list, not a mapping of keys"),
        ("a: &a [*a]", "repeats its aliases"),
        ("a: " + "[" * 50, "is nested more than 40 deep"),
        ("experiment: " + "x" * LARGEST, "is larger than 1048576 bytes"),
        (b"experiment: \xff", "is not UTF-8 text (byte 12)"),
        ("agents: [{name: a, kwargs: {b: .inf}}]", "cannot be used: agents.0.kwargs.b is inf"),
    ],
)
def test_a_sweep_that_cannot_be_meant_is_refused_by_key_and_line(
    tmp_path: Path, content: str | bytes, named: str
) -> None:
    assert named in refusal(tmp_path, content)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ('{"agents": [{"name": "nop", "n_trails": 3}]}', "sweep.json: agents[0].n_trails is not known."),
        ('{"n_trials": 1,\n "n_trials": 2}', "has the key 'n_trials' twice"),
        ('{"n_trials": 1,}', "is not valid JSON (line 1: "),
        ('{"n_trials": NaN}', "holds NaN"),
        ('{"a": ' + "[" * 100_000, "is not valid JSON"),
        ("[" + "1," * 50_000 + "1]", "holds more than 50000 values"),
        ("", "is not valid JSON"),
        ("{}", "is empty"),
    ],
)
def test_the_same_holds_for_json(tmp_path: Path, content: str, named: str) -> None:
    assert named in refusal(tmp_path, content, "sweep.json")


def test_all_that_is_wrong_is_said_at_once_and_nothing_secret(tmp_path: Path) -> None:
    wrong = "".join(f"- name: nop\n  env: [SECRET_TOKEN=sk-{index}]\n" for index in range(12))
    told = refusal(tmp_path, f"agents:\n{wrong}").splitlines()
    assert (len(told), told[0], told[-1]) == (
        11,
        "sweep.yaml, line 3: agents[0].env is a list, not a mapping of variables.",
        "and 2 more",
    )
    assert "sk-" not in refusal(tmp_path, "agents: [{name: nop, env: {A_TOKEN: [sk-1]}, api_key: sk-2}]")


def is_word(name: str) -> bool:
    """No number, which PyYAML and YAML 1.2 may not agree on: 0E0."""
    try:
        float(name)
    except ValueError:
        return bool(name.strip())
    return False


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20).filter(is_word)
VALUES = st.recursive(st.none() | st.booleans() | st.integers(-5, 5) | NAMES, lambda inner: st.lists(inner, max_size=3))
AGENTS = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "model_name": NAMES,
        "n_trials": st.integers(1, 100),
        "kwargs": st.dictionaries(NAMES, VALUES, max_size=3),
        "env": st.dictionaries(st.sampled_from(["A", "B_KEY"]), NAMES, max_size=2),
    },
)
SWEEPS = st.fixed_dictionaries({"agents": st.lists(AGENTS, min_size=1, max_size=3)}, optional={"experiment": NAMES})


@given(values=SWEEPS)
@settings(max_examples=40)
def test_yaml_and_json_of_one_sweep_come_to_the_same(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any]
) -> None:
    place = tmp_path_factory.getbasetemp()
    found = read_file(write(place, json.dumps(values), "same.json"))
    assert read_file(write(place, yaml.safe_dump(values, allow_unicode=True), "same.yaml")) == found
    assert [(agent.name, agent.model, agent.n_trials or 1) for agent in found.agents] == [
        (agent["name"].strip(), agent.get("model_name"), agent.get("n_trials", 1)) for agent in values["agents"]
    ]


WORDS = st.sampled_from([*keys.SWEEP.of, *keys.AGENT, *keys.HARBOR, "verifier", "tasks", "datasets", "&a", "*a", "<<"])
LINES = st.lists(
    st.tuples(st.integers(0, 3), WORDS, st.sampled_from(["", "1", "x", "[]", "{}", "- name: nop", "!!float x", "'"])),
    max_size=12,
).map(lambda lines: "\n".join(f"{'  ' * depth}{word}: {value}" for depth, word, value in lines))


@given(content=st.binary(max_size=60) | LINES.map(str.encode), suffix=st.sampled_from(["yaml", "json"]))
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes, suffix: str) -> None:
    with suppress(UnusableFile):
        assert isinstance(read_file(write(tmp_path_factory.getbasetemp(), content, f"any.{suffix}")), Sweep)


def test_the_keys_are_those_of_a_submission() -> None:
    assert keys.AGENT_CONFIG.keys() == AgentConfig.model_fields.keys()
    by_section = {f"harbor.{name}": members for name, members in SECTIONS.items()}
    known = {"harbor": TRIAL | SECTIONS.keys(), **by_section}
    for place, members in known.items():
        shape = keys.SWEEP.of["harbor"]
        assert isinstance(shape, Members)
        inner = shape if place == "harbor" else shape.of[place.removeprefix("harbor.")]
        assert isinstance(inner, Members)
        assert inner.of.keys() == (members | BEHIND_DOORS.get(place, {}).keys()) - {"sha"}, place


def test_every_key_stands_for_an_option_that_there_is() -> None:
    parameters = {parameter.name for parameter in run.params}
    assert {parameter for parameter, _ in keys.OPTIONS.values()} <= parameters
