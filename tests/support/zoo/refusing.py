"""Tasks that an environment refuses or fails, by name."""

from support.zoo.case import Case, Failed, Refused

FRONTEND = frozenset({"frontend"})

CASES = (
    Case(
        "multi-stage",
        "A second stage takes what the first has built.",
        dockerfile="""FROM debian:bookworm-slim AS builder
RUN echo built > /made
FROM debian:bookworm-slim
WORKDIR /app
COPY --from=builder /made /app/made
""",
        test='[ "$(cat made)" = built ]',
        local=Refused("environment/Dockerfile line 3", "a second FROM"),
        why="the local sandbox has one system, this machine's, and cannot start from another",
    ),
    Case(
        "services",
        "Another container beside the task's.",
        files={"environment/docker-compose.yaml": "services:\n  main:\n    build:\n      context: ${CONTEXT_DIR}\n"},
        local=Refused("environment/docker-compose.yaml", "no services"),
        why="services are containers",
    ),
    Case(
        "gpu",
        "A GPU.",
        toml="[environment]\ngpus = 1\n",
        local=Refused("environment.gpus = 1", "no GPUs"),
        docker=Failed(),
        why="devices are not handed into the sandbox; Docker needs the runtime of their vendor",
    ),
    Case(
        "tpu",
        "A TPU.",
        toml='[environment.tpu]\ntype = "v5e"\ntopology = "2x4"\n',
        local=Refused("environment.tpu", "no TPUs"),
        docker=Refused("environment.tpu", "no TPUs"),
        why="only clouds have them",
    ),
    Case(
        "allowed-hosts",
        "A list of hosts that may be reached.",
        toml='[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["example.org"]\n',
        local=Refused('network_mode = "allowlist"', "no list of allowed hosts"),
        why="the network is the machine's own or none",
        needs=frozenset({"egress"}),
    ),
    Case(
        "network-for-a-phase",
        "The agent has no network, its set-up has.",
        toml='[agent]\nnetwork_mode = "no-network"\n',
        local=Refused("network_mode = no-network, public", "no network that changes between phases"),
        why="a sandbox keeps the network that it started with",
        needs=frozenset({"egress"}),
    ),
    Case(
        "other-image",
        "A file of another image.",
        dockerfile="COPY --from=debian:bookworm-slim /etc/debian_version /app/version\n",
        test="[ -s version ]",
        local=Refused("environment/Dockerfile line 3", "COPY --from=debian:bookworm-slim"),
        why="there are no other images",
    ),
    Case(
        "download",
        "A file from the web, by ADD.",
        dockerfile="ADD https://example.org/index.html /app/index.html\n",
        test="[ -s index.html ]",
        local=Refused("environment/Dockerfile line 3", "ADD from 'https://example.org/index.html'"),
        why="the worker fetches nothing for a task",
        needs=frozenset({"web"}),
    ),
    Case(
        "build-secret",
        "A build step with a secret.",
        dockerfile="RUN --mount=type=secret,id=token test ! -s /run/secrets/token\n",
        local=Refused("environment/Dockerfile line 3", "RUN --mount=type=secret,id=token"),
        why="nobody gives builds secrets; an engine goes on without",
        needs=FRONTEND,
    ),
    Case(
        "bound-at-build",
        "A build step that sees the context without copying it.",
        dockerfile="RUN --mount=type=bind,source=.,target=/context cp /context/given /app/\n",
        files={"environment/given": "given"},
        test='[ "$(cat given)" = given ]',
        local=Refused("environment/Dockerfile line 3", "RUN --mount=type=bind"),
        why="mounts of single steps take an engine",
        needs=FRONTEND,
    ),
    Case(
        "build-without-network",
        "A build step without a network.",
        dockerfile="RUN --network=none tail -n +3 /proc/net/dev | cut -d: -f1 > interfaces\n",
        test='[ "$(tr -d " " < interfaces)" = lo ]',
        local=Refused("environment/Dockerfile line 3", "RUN --network=none"),
        why="the network of single steps takes an engine",
        needs=FRONTEND,
    ),
    Case(
        "verifier-of-stages",
        "The image of the verifier has two stages.",
        toml='[verifier]\nenvironment_mode = "separate"\n',
        files={
            "tests/Dockerfile": "FROM debian:bookworm-slim AS one\nFROM debian:bookworm-slim\n"
            "COPY . /tests\nWORKDIR /app\n"
        },
        local=Refused("tests/Dockerfile line 2", "a second FROM"),
        why="the local sandbox has one system, this machine's, and cannot start from another",
    ),
    Case(
        "broken-step",
        "A build step that fails.",
        dockerfile="RUN echo almost && exit 3\n",
        local=Failed("line 3: RUN ended with code 3"),
        docker=Failed(),
        why="the Dockerfile is wrong",
    ),
    Case(
        "missing-source",
        "A source that is not there.",
        dockerfile="COPY nowhere /app/\n",
        local=Failed("line 3: COPY source 'nowhere' does not exist"),
        docker=Failed(),
        why="the Dockerfile is wrong",
    ),
    Case(
        "unhealthy",
        "A healthcheck that never succeeds.",
        toml='[environment.healthcheck]\ncommand = "false"\ninterval_sec = 0.1\nretries = 2\n',
        local=Failed("HealthcheckError"),
        docker=Failed("HealthcheckError"),
        why="the environment never becomes ready",
    ),
    Case(
        "disk-hog",
        "More on disk than the task may have.",
        toml="[environment]\nstorage_mb = 50\n",
        solve="for i in $(seq 300); do head -c 1000000 /dev/zero > big$i; done; sleep 2",
        test="ls big300",
        local=Failed("DiskLimitExceeded"),
        why="Docker has no limit of disk space for containers",
    ),
)
