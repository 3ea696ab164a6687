"""What the Compose file of a task asks of the machine, found without running or expanding anything of it."""

import time
from pathlib import Path

import pytest

from oddish.tasks import compose, plainyaml
from oddish.tasks.compose import FILE, look

INSIDE = """
x-common: &common
  restart: "no"
  environment: {LEVEL: debug}
services:
  main:
    <<: *common
    build: {context: ., dockerfile: Dockerfile, args: [A=1]}
    command: sh -c "sleep infinity"
    depends_on: {db: {condition: service_healthy}}
    volumes: [./data:/data:ro, cache:/cache, /anonymous, {type: tmpfs, target: /scratch}]
    network_mode: service:db
    cap_add: [CHOWN]
    cap_drop: [ALL]
    env_file: [./main.env]
    secrets: [token]
    tmpfs: /run
    privileged: false
  db:
    image: postgres:17
    ports: ["5432"]
    networks: [inner]
    logging: {driver: json-file}
    deploy: {resources: {limits: {memory: 1g}}}
volumes: {cache: {}, unnamed:}
networks: {inner: {internal: true}}
secrets: {token: {file: ./token.txt}}
"""


def found(tmp_path: Path, text: str) -> str:
    (tmp_path / "environment").mkdir(exist_ok=True)
    (tmp_path / "environment" / FILE).write_text(text)
    return "; ".join(look(tmp_path, ["environment"]).reaches)


def service(tmp_path: Path, lines: str) -> str:
    return found(tmp_path, f"services:\n  main:\n    image: x\n    {lines}\n")


def test_services_of_their_own_reach_nowhere(tmp_path: Path) -> None:
    assert found(tmp_path, INSIDE) == ""


def test_a_task_without_services_has_nothing_to_look_at(tmp_path: Path) -> None:
    assert look(tmp_path, ["environment", "tests"]) == compose.Services((), ())


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ("privileged: true", "services.main.privileged"),
        ("privileged: yes", "services.main.privileged"),
        ('privileged: "${SURE:-true}"', "services.main.privileged"),
        ("pid: host", "services.main.pid is 'host'"),
        ("ipc: host", "services.main.ipc is 'host'"),
        ("uts: host", "services.main.uts is 'host'"),
        ("network_mode: host", "services.main.network_mode is 'host'"),
        ("network_mode: container:other", "services.main.network_mode is 'container:other'"),
        ('network_mode: "${NET:-host}"', "services.main.network_mode"),
        ("userns_mode: host", "services.main.userns_mode is 'host'"),
        ("cgroup: host", "services.main.cgroup is 'host'"),
        ("cap_add: [SYS_ADMIN]", "services.main.cap_add has 'SYS_ADMIN'"),
        ("cap_add: [ALL]", "services.main.cap_add has 'ALL'"),
        ("devices: [/dev/kvm]", "services.main.devices"),
        ("security_opt: [seccomp=unconfined]", "services.main.security_opt"),
        ("runtime: sysbox", "services.main.runtime"),
        ("volumes_from: ['container:other']", "services.main.volumes_from"),
        ("use_api_socket: true", "services.main.use_api_socket"),
        ("post_start: [{command: id, privileged: true}]", "services.main.post_start"),
        ("provider: {type: anything}", "services.main.provider"),
        ("extends: {file: ../other.yaml, service: x}", "services.main.extends"),
        ("volumes: [/var/run/docker.sock:/var/run/docker.sock]", "binds '/var/run/docker.sock:/var/run/docker.sock'"),
        ("volumes: ['/:/host']", "binds '/:/host'"),
        ("volumes: ['../..:/host']", "binds '../..:/host'"),
        ("volumes: ['./data/../../..:/host']", "binds './data/../../..:/host'"),
        ("volumes: ['~/.ssh:/keys']", "binds '~/.ssh:/keys'"),
        ("volumes: ['${HOME}:/home']", "binds '${HOME}:/home'"),
        ("volumes: ['$EVERYTHING']", "binds '$EVERYTHING'"),
        ("volumes: [{type: bind, source: /etc, target: /etc}]", "binds '/etc'"),
        ("volumes: [{type: bind, source: ./a/../../b, target: /b}]", "binds './a/../../b'"),
        ("volumes: [{type: volume, source: /etc, target: /etc}]", "binds '/etc'"),
        ("volumes: [{type: '${KIND}', source: /etc, target: /etc}]", "a mount of the type '${KIND}'"),
        ("volumes: [{source: /etc, target: /etc}]", "a mount of the type ''"),
        ("build: ..", "services.main.build.context is '..'"),
        ("build: https://example.org/repo.git", "services.main.build.context"),
        ("build: git@example.org:repo.git", "services.main.build.context"),
        ("build: {context: ., additional_contexts: {root: /}}", "services.main.build.additional_contexts"),
        ("build: {context: ., network: host}", "services.main.build.network is 'host'"),
        ("build: {context: ., entitlements: [security.insecure]}", "services.main.build.entitlements"),
        ("build: {context: ., ssh: [default]}", "services.main.build.ssh"),
        ("build: {context: ., dockerfile: ../../Dockerfile}", "services.main.build.dockerfile"),
        ("env_file: /etc/environment", "services.main.env_file has '/etc/environment'"),
        ("env_file: [{path: ../.env}]", "services.main.env_file has '../.env'"),
        ("logging: {driver: syslog}", "services.main.logging.driver is 'syslog'"),
        ("sysctls: {vm.overcommit_memory: 1}", "services.main.sysctls has 'vm.overcommit_memory'"),
        ("tomorrows_key: 1", "services.main.tomorrows_key"),
    ],
)
def test_what_reaches_out_of_a_service_is_named(lines: str, named: str, tmp_path: Path) -> None:
    assert named in service(tmp_path, lines)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("include: [/etc/other.yaml]", "include"),
        ("volumes: {v: {driver_opts: {type: none, o: bind, device: /}}}", "volumes.v.driver_opts"),
        ("volumes: {v: {external: true}}", "volumes.v.external"),
        ("volumes: {v: {name: of-another-task}}", "volumes.v.name"),
        ("networks: {n: {driver: host}}", "networks.n.driver is 'host'"),
        ("networks: {n: {external: true}}", "networks.n.external"),
        ("networks: {default: {name: of-another-task}}", "networks.default.name"),
        ("secrets: {s: {file: /etc/shadow}}", "secrets.s.file is '/etc/shadow'"),
        ("secrets: {s: {environment: OPENAI_API_KEY}}", "secrets.s.environment"),
        ("configs: {c: {file: ~/.netrc}}", "configs.c.file is '~/.netrc'"),
        ("services: {main: {image: x}}\n---\nservices: {main: {privileged: true}}", "services.main.privileged"),
        ("x: &a {privileged: true}\nservices: {main: {<<: *a, image: x}}", "services.main.privileged"),
        ("x: &a {pid: host}\ny: &b {<<: *a}\nservices: {main: {<<: [*b], image: x}}", "services.main.pid"),
        ("[]", "no list of services"),
        ("services: {main: {image: x, image: y}}", "has the key 'image' twice"),
        ("services: {main: {volumes: [{type: bind, source: !!binary L2V0Yw==, target: /e}]}}", "has the tag"),
        ("services: !!python/object/apply:os.system [id]", "has the tag"),
        ("services: {main: [}", "is not valid YAML (line 1)"),
        ("{? [a]: b}", "has a key that is no text"),
        ("services: {main: {privileged: !override true}}", "services.main.privileged"),
    ],
)
def test_what_reaches_out_of_the_file_is_named(text: str, named: str, tmp_path: Path) -> None:
    assert named in found(tmp_path, text)


BOMBS = {
    "a": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{n}: &{n} [{','.join([f'*{p}'] * 9)}]\n" for p, n in zip("abcdefgh", "bcdefghi", strict=True)),
    "merge": "a: &a {k: v}\n"
    + "".join(f"{n}: &{n} {{<<: [{','.join([f'*{p}'] * 9)}]}}\n" for p, n in zip("abcdefgh", "bcdefghi", strict=True)),
    "itself": "a: &a [*a]",
    "deep": "[" * 5000,
    "deep by lines": "\n".join("  " * level + "a:" for level in range(300)),
    "long": "- x\n" * 30_000,
    "large": "#" * 200_000,
    "wide merge": "".join(f"k{n}: &k{n} {{a{n}: 1}}\n" for n in range(1500))
    + f"all: {{<<: [{','.join(f'*k{n}' for n in range(1500))}]}}",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_put_down_quickly(name: str, tmp_path: Path) -> None:
    begun = time.process_time()
    assert found(tmp_path, BOMBS[name])
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("content", [b"\xff\xfes\x00", b"services: \x00", b"\xc3\x28", b"a: \x1b[0m"])
def test_what_is_no_text_is_not_valid(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / FILE).write_bytes(content)
    (reach,) = look(tmp_path, ["environment", "tests"]).reaches
    assert reach.startswith(f"tests/{FILE} is not")


def test_variables_that_compose_would_look_up_are_noted(tmp_path: Path) -> None:
    found(tmp_path, "services: {main: {image: '${IMAGE:-x}', environment: [A=$PLAIN, 'B=${OTHER?}', C=$$NOT]}}")
    assert set(look(tmp_path, ["environment"]).variables) >= {"IMAGE", "PLAIN", "OTHER"}


def test_variables_are_noted_of_a_file_that_cannot_be_read_too(tmp_path: Path) -> None:
    found(tmp_path, "services: {main: [${TOKEN}")
    assert look(tmp_path, ["environment"]).variables == ("TOKEN",)


def test_a_file_of_variables_that_steers_compose_is_named(tmp_path: Path) -> None:
    found(tmp_path, INSIDE)
    (tmp_path / "environment" / ".env").write_text("LEVEL=1\nexport COMPOSE_FILE=/etc/other.yaml\n")
    assert look(tmp_path, ["environment"]).reaches == ("environment/.env: COMPOSE_FILE steers Compose itself",)


def test_a_directory_in_place_of_the_file_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "environment" / FILE).mkdir(parents=True)
    assert "cannot be read" in look(tmp_path, ["environment"]).reaches[0]


def test_findings_are_bounded(tmp_path: Path) -> None:
    text = "services:\n" + "".join(f"  s{n}: {{privileged: true}}\n" for n in range(200))
    assert found(tmp_path, text).count("privileged") == compose.MOST_FINDINGS


def test_the_limits_are_above_what_services_need() -> None:
    assert plainyaml.documents(INSIDE)
    assert 10 * len(INSIDE.split()) < plainyaml.MAX_NODES
