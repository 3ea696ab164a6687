"""``check_config`` and the engine's configuration model accept and refuse the same documents."""

import copy
import datetime
from typing import Any

import pytest
from harbor.models.task.config import (
    AgentConfig,
    EnvironmentConfig,
    PackageInfo,
    StepConfig,
    TaskConfig,
    VerifierConfig,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oddish.tasks.config import check_config
from oddish.tasks.fields import FieldError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ENVIRONMENT_KEYS = [*EnvironmentConfig.model_fields, "memory", "storage"]
AGENT_KEYS = list(AgentConfig.model_fields)
VERIFIER_KEYS = list(VerifierConfig.model_fields)
STEP_KEYS = list(StepConfig.model_fields)
PACKAGE_KEYS = list(PackageInfo.model_fields)
TOP_KEYS = [*TaskConfig.model_fields, "version"]

SCALARS: list[Any] = [
    *(True, False, 0, 1, -1, 2, 10**20, 0.0, 1.0, 1.5, float("inf"), float("nan")),
    *(
        "",
        "1",
        "2.0",
        " 3 ",
        "1_000",
        "1__0",
        "x",
        "true",
        "Yes",
        "off",
        "1.5",
        "inf",
        "nan",
        "1e3",
        "+4",
        "0x10",
        "4.",
    ),
    *("public", "no-network", "allowlist", "Public", "linux", "WINDOWS", "shared", "separate", "mean", "final", "4."),
    *("2G", "512m", "1.5g", "64K", "G", "2T", "-1G", "org/name", "org/na..me", "/name", "a/b/c", ".a/b", "2x4", "2x0"),
    *("http", "sse", "stdio", "streamable-http", "main", " db ", "a b", "/var/log", "../x", "a/../b", "C:\\x", "a\\b"),
    *("manifest.json", "manifest.json/", ".", "./", "CON", "nul.txt", "a.", "a ", "a:b", "é", "x" * 256, "step one"),
    *("${TOKEN}", "Bearer ${TOKEN}", "${TOKEN:-x}", "${", "Bearer abc", "\n", "a\r"),
    datetime.date(2024, 1, 1),
    datetime.time(1, 2),
]
HOSTS = [
    *("example.com", "*.example.com", "EXAMPLE.com.", "http://x", "a:1", "1.2.3.4", "10.0.0.0/8", "10.0.0.1/8"),
    *("::1", "2001:db8::/32", "fe80::1%eth0", "*", "*.", "a.*.b", "*.1.2.3.4", "", "-a", "a" * 64, "[::1]", "a_b"),
]
scalars = st.sampled_from(SCALARS)
hosts = st.lists(st.sampled_from(HOSTS), max_size=3)


def mostly(known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(known, known, known, scalars, st.lists(scalars, max_size=2))


def tables(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={**fields, "unknown": scalars})


texts = st.sampled_from([value for value in SCALARS if isinstance(value, str)])
env = mostly(st.dictionaries(st.sampled_from(["A", "TOKEN"]), mostly(texts), max_size=2))
network = {
    "network_mode": mostly(st.sampled_from(["public", "no-network", "allowlist"])),
    "allowed_hosts": mostly(hosts),
}
healthcheck = tables(command=mostly(texts), interval_sec=scalars, retries=scalars, start_period_sec=scalars)
mcp_server = tables(
    name=mostly(texts),
    transport=mostly(st.sampled_from(["http", "sse", "stdio"])),
    url=mostly(texts),
    command=mostly(texts),
    args=scalars,
    headers=mostly(
        st.dictionaries(st.sampled_from(["X-Trace", "Authorization", "a b", "Cookie"]), mostly(texts), max_size=2)
    ),
)
artifact = mostly(
    st.one_of(texts, tables(source=mostly(texts), destination=mostly(texts), service=mostly(texts), exclude=scalars))
)
environment = tables(
    **network,
    **{key: scalars for key in ENVIRONMENT_KEYS if key not in ("network_mode", "allowed_hosts")},
)
rich_environment = tables(
    **network,
    os=mostly(st.sampled_from(["linux", "Windows"])),
    env=env,
    mcp_servers=mostly(st.lists(mcp_server, max_size=2)),
    healthcheck=mostly(healthcheck),
    tpu=mostly(tables(type=mostly(texts), topology=mostly(texts))),
    gpu_types=mostly(st.lists(texts, max_size=2)),
    memory=mostly(st.sampled_from(["2G", "512M"])),
    memory_mb=mostly(st.sampled_from([2048, 512])),
    allow_internet=scalars,
)
environments = mostly(st.one_of(environment, rich_environment))
agent = mostly(tables(**network, timeout_sec=scalars, user=scalars))
collect = tables(command=mostly(texts), service=mostly(texts), timeout_sec=scalars, user=scalars)
verifier = mostly(
    tables(
        **network,
        timeout_sec=scalars,
        user=scalars,
        env=env,
        environment_mode=mostly(st.sampled_from(["shared", "separate"])),
        environment=environments,
        collect=mostly(st.lists(collect, max_size=2)),
    )
)
step = tables(
    name=mostly(st.sampled_from(["one", "two", "One", "e\u0301", "é"])),
    agent=agent,
    verifier=verifier,
    min_reward=mostly(st.dictionaries(st.sampled_from(["reward"]), scalars, max_size=1)),
    healthcheck=mostly(healthcheck),
    artifacts=mostly(st.lists(artifact, max_size=2)),
)
author = tables(name=mostly(texts), email=scalars)
package = tables(
    name=mostly(texts),
    version=scalars,
    description=scalars,
    authors=mostly(st.lists(author, max_size=2)),
    keywords=scalars,
)
documents = tables(
    schema_version=scalars,
    version=scalars,
    task=mostly(package),
    metadata=mostly(st.dictionaries(st.just("k"), scalars)),
    verifier=verifier,
    agent=agent,
    environment=environments,
    solution=mostly(tables(env=env)),
    source=scalars,
    multi_step_reward_strategy=mostly(st.sampled_from(["mean", "final"])),
    steps=mostly(st.lists(step, max_size=2)),
    artifacts=mostly(st.lists(artifact, max_size=2)),
)


def engine_accepts(document: dict[str, Any]) -> bool:
    try:
        TaskConfig.model_validate(copy.deepcopy(document))
    except (ValueError, OverflowError):
        return False
    return True


def accepts(document: dict[str, Any]) -> bool:
    try:
        check_config(copy.deepcopy(document))
    except FieldError:
        return False
    return True


def agree(document: dict[str, Any]) -> None:
    assert accepts(document) == engine_accepts(document), document


def nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """A document that is right but for ``value`` at ``path``; the elements of lists are ``*``."""
    for name in reversed(path):
        value = [value] if name == "*" else {name: value}
    assert isinstance(value, dict)
    return value


PLACES = [
    *((key,) for key in TOP_KEYS),
    *(("environment", key) for key in ENVIRONMENT_KEYS),
    *(("agent", key) for key in AGENT_KEYS),
    *(("verifier", key) for key in VERIFIER_KEYS),
    *(("verifier", "environment", key) for key in ENVIRONMENT_KEYS),
    *(("steps", "*", key) for key in STEP_KEYS),
    *(("task", key) for key in PACKAGE_KEYS),
    ("solution", "env"),
    ("solution", "env", "A"),
    ("environment", "env", "A"),
    ("environment", "gpu_types", "*"),
    ("environment", "allowed_hosts", "*"),
    ("artifacts", "*"),
    ("artifacts", "*", "source"),
]


@pytest.mark.parametrize("place", PLACES, ids=".".join)
def test_every_value_at_every_key(place: tuple[str, ...]) -> None:
    for value in SCALARS:
        agree(nested(place, value))
        agree(nested(place, [value]))
        agree(nested(place, {"a": value}))


@given(documents)
@settings(max_examples=600, deadline=None)
@example({"environment": {"memory": "2G", "memory_mb": 1}})
@example({"verifier": {"environment_mode": "shared", "environment": {}}})
@example({"environment": {"network_mode": "allowlist", "allowed_hosts": ["example.com"], "allow_internet": False}})
@example({"steps": [{"name": "one"}, {"name": "ONE"}]})
def test_whole_documents(document: dict[str, Any]) -> None:
    agree(document)


@pytest.mark.parametrize("host", HOSTS)
def test_hosts(host: str) -> None:
    agree({"environment": {"network_mode": "allowlist", "allowed_hosts": [host]}})


@given(rich_environment)
@settings(max_examples=300, deadline=None)
def test_accepted_environments_read_the_same(config: dict[str, Any]) -> None:
    document = {"environment": config}
    if not engine_accepts(document):
        return
    engine = TaskConfig.model_validate(copy.deepcopy(document)).environment
    ours = check_config(copy.deepcopy(document))["environment"]
    assert ours.get("network_mode", "public") == engine.network_mode.value
    assert ours.get("allowed_hosts") == engine.allowed_hosts
    assert ours.get("memory_mb") == engine.memory_mb
    assert ours.get("os", "linux") == engine.os.value
    assert ours.get("env", {}) == engine.env
