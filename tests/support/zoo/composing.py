"""Tasks about steps, verifiers, variables, artifacts and images."""

from support.zoo.case import Case, Failed

FRONTEND = frozenset({"frontend"})
_STEP_TEST = "#!/bin/bash\nif {condition}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"


def _steps(**steps: tuple[str, str]) -> dict[str, str]:
    """Files of steps by name: what solves each and what its test asks."""
    files = {}
    for name, (solve, condition) in steps.items():
        files[f"steps/{name}/instruction.md"] = f"{name}\n"
        files[f"steps/{name}/solution/solve.sh"] = f"#!/bin/bash\n{solve}\n"
        files[f"steps/{name}/tests/test.sh"] = _STEP_TEST.format(condition=condition)
    return files


CASES = (
    Case(
        "two-stages",
        "The second step finds what the first has made.",
        toml='[[steps]]\nname = "first"\n[[steps]]\nname = "second"\nmin_reward = 0.5\n',
        files=_steps(
            first=("echo 1 > one", "[ -e /app/one ]"),
            second=("cp one two", '[ "$(cat /app/two)" = 1 ]'),
        ),
    ),
    Case(
        "prepared-steps",
        "Steps with set-up scripts, healthchecks and working files.",
        toml='[[steps]]\nname = "first"\n[steps.healthcheck]\ncommand = "test -e /tmp/set-up"\ninterval_sec = 0.2\n'
        '[[steps]]\nname = "last"\nartifacts = ["/app/result"]\n',
        files={
            **_steps(
                first=("cat data.txt > copied", '[ "$(cat /app/copied)" = given ]'),
                last=("mkdir result && cp copied result/", "[ -e /app/result/copied ]"),
            ),
            "steps/first/workdir/setup.sh": "#!/bin/bash\ntouch /tmp/set-up\n",
            "steps/first/workdir/data.txt": "given\n",
        },
    ),
    Case(
        "own-verifier-image",
        "The verifier has an image of its own and sees artifacts only.",
        toml='artifacts = ["/app/answer"]\n[verifier]\nenvironment_mode = "separate"\n',
        files={
            "tests/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\nCOPY . /tests\nRUN echo 42 > /expected\n",
        },
        solve="echo 42 > answer; echo 42 > other",
        test='[ "$(cat answer)" = "$(cat /expected)" ]\n[ ! -e other ]',
    ),
    Case(
        "verifier-apart",
        "The verifier runs in a fresh copy of the task's image.",
        dockerfile="RUN echo original > given\n",
        toml='artifacts = ["/app/answer"]\n[verifier]\nenvironment_mode = "separate"\n',
        solve="echo changed > given; echo mine > answer; (sleep 300 &)",
        test='[ "$(cat given answer | paste -sd,)" = "original,mine" ]',
    ),
    Case(
        "verifier-without-network",
        "The verifier of its own has no network.",
        toml='artifacts = ["/app/answer"]\n[verifier.environment]\nnetwork_mode = "no-network"\n',
        solve="echo x > answer",
        test='[ "$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " ")" = lo ]\n[ -e answer ]',
    ),
    Case(
        "task-variables",
        "Variables of the environment, the solution and the verifier, with defaults.",
        toml="""[environment.env]
PLAIN = "plain"
GIVEN = "${ZOO_NOT_SET:-default}"
[solution.env]
SOLVING = "yes"
[verifier.env]
JUDGING = "${ZOO_NOT_SET:-judge}"
""",
        solve='echo "$PLAIN,$GIVEN,$SOLVING,${JUDGING-none}" > seen',
        test='[ "$(cat seen)" = "plain,default,yes,none" ]\n[ "$PLAIN,$GIVEN,$JUDGING" = "plain,default,judge" ]',
    ),
    Case(
        "variables-of-a-file",
        "A file of variables that scripts read.",
        dockerfile="COPY .env /app/.env\n",
        files={"environment/.env": "NAME='two words'\nNUMBER=7\n"},
        solve="set -a; . ./.env; set +a; bash -c 'echo \"$NAME $NUMBER\"' > read",
        test='[ "$(cat read)" = "two words 7" ]',
    ),
    Case(
        "many-variables",
        "Three hundred variables.",
        dockerfile="".join(f"ENV ZOO_{number}=value-{number}\n" for number in range(300)),
        solve="env | grep -c '^ZOO_' > count",
        test='[ "$(cat count),$ZOO_299" = 300,value-299 ]',
    ),
    Case(
        "artifacts",
        "Files and directories that are collected, with exceptions.",
        toml='artifacts = ["/app/report.txt", {source = "/app/out", exclude = ["*.tmp"]}]\n',
        solve="echo report > report.txt; mkdir -p out/deep; echo 1 > out/deep/kept; echo 2 > out/left.tmp",
        test="[ -e out/deep/kept ]",
    ),
    Case(
        "named-rewards",
        "Several rewards and a test report.",
        test="""cat > /logs/verifier/reward.json <<< '{"reward": 1, "speed": 0.5}'
cat > /logs/verifier/ctrf.json <<< '{"results": {"tool": {"name": "zoo"}, "summary": {"tests": 2, "passed": 2}}}'""",
    ),
    Case(
        "working-directory",
        "The working directory of task.toml goes before that of the image.",
        dockerfile="RUN mkdir -p /srv/here\n",
        toml='[environment]\nworkdir = "/srv/here"\n',
        solve="pwd > /app/where",
        test='[ "$(cat /app/where)" = /srv/here ]',
    ),
    Case(
        "missing-working-directory",
        "The working directory of task.toml is not in the image.",
        toml='[environment]\nworkdir = "/srv/nowhere"\n',
        solve="pwd > /app/where",
        test='[ "$(cat /app/where)" = /srv/nowhere ]',
        docker=Failed("chdir"),
        why="the local sandbox makes it, having no image that could have it; no command of an engine starts there",
    ),
    Case(
        "prebuilt",
        "An image without a Dockerfile; the files beside are put into its working directory.",
        dockerfile=None,
        toml='[environment]\ndocker_image = "debian:bookworm-slim"\nworkdir = "/app"\n',
        files={"environment/data/given.txt": "given\n"},
        solve="cp data/given.txt taken",
        test='[ "$(cat taken)" = given ]',
    ),
    Case(
        "linked-directory",
        "A working directory behind a link.",
        dockerfile="RUN mkdir -p /srv/real && ln -s /srv/real /linked\nWORKDIR /linked/inner\n",
        solve="touch here",
        test="[ -e /srv/real/inner/here ]",
    ),
    Case(
        "pip-install",
        "A package from an index, in a virtual environment.",
        dockerfile="RUN python3 -m venv /app/venv && /app/venv/bin/pip install --quiet six\n",
        test="/app/venv/bin/python -c 'import six'",
        needs=frozenset({"python", "registry"}),
    ),
    Case(
        "apt-install",
        "A package of the distribution.",
        dockerfile="RUN apt-get update -qq && apt-get install -qq -y --no-install-recommends tree >/dev/null\n",
        solve="tree --version > version",
        test="grep -q tree version",
        needs=frozenset({"root", "registry"}),
    ),
)
