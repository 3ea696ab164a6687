"""Tasks about what runs: users, processes, services, networks, limits."""

from support.zoo.case import Case

ROOT = frozenset({"root"})
PYTHON = frozenset({"python"})

CASES = (
    Case(
        "agent-user",
        "The agent is somebody else, with a home.",
        dockerfile="RUN useradd -m solver && chown solver /app\n",
        toml='[agent]\nuser = "solver"\n',
        solve='id -un > who; echo "$HOME" >> who; touch ~/mine',
        test="""[ "$(paste -sd, who)" = "solver,/home/solver" ]
[ "$(stat -c %U who /home/solver/mine | sort -u)" = solver ]""",
        needs=ROOT,
    ),
    Case(
        "verifier-user",
        "The verifier may read what the agent may not.",
        dockerfile="RUN useradd -m solver && useradd -m judge && install -m 400 -o judge /etc/hostname /app/answer\n",
        toml='[agent]\nuser = "solver"\n[verifier]\nuser = "judge"\n',
        solve="if cat answer 2>/dev/null; then exit 1; fi; touch /tmp/tried",
        test='[ "$(id -un)" = judge ]\ncat answer > /dev/null\n[ -e /tmp/tried ]',
        needs=ROOT,
    ),
    Case(
        "user-of-the-image",
        "Commands run as the user of the last USER, builds as that of their line.",
        dockerfile="""RUN useradd -m -G games worker && chown worker /app
USER worker
RUN id -un > built && echo "$HOME" >> built
""",
        solve="id -un > ran; id -Gn >> ran",
        test='[ "$(paste -sd, built ran)" = "$(printf "worker,/home/worker\\nworker,worker games")" ]',
        needs=ROOT,
    ),
    Case(
        "user-by-number",
        "A user without a name.",
        dockerfile="RUN chmod 777 /app\nUSER 1234:5678\n",
        solve="id -u > ran; id -g >> ran",
        test='[ "$(paste -sd, ran)" = "1234,5678" ]',
        needs=ROOT,
    ),
    Case(
        "setuid",
        "A program that runs as its owner, whoever starts it.",
        dockerfile="RUN useradd -m solver && cp /usr/bin/id /app/asroot && chmod 4755 /app/asroot && chmod 777 /app\n",
        toml='[agent]\nuser = "solver"\n',
        solve="./asroot -u > effective; id -u >> effective",
        test='[ "$(head -1 effective)" = 0 ]\n[ "$(tail -1 effective)" != 0 ]',
        needs=ROOT,
    ),
    Case(
        "another-user",
        "Root becomes somebody else and comes back.",
        dockerfile="RUN useradd -m -s /bin/bash worker\n",
        solve='su worker -c "id -un > /tmp/who"; su - worker -c "pwd >> /tmp/who"',
        test='[ "$(paste -sd, /tmp/who)" = "worker,/home/worker" ]',
        needs=ROOT,
    ),
    Case(
        "service",
        "What the agent leaves running answers the verifier.",
        solve="""mkfifo /tmp/ask /tmp/answer
(while read -r line; do echo "got $line" > /tmp/answer; done <> /tmp/ask) >/dev/null 2>&1 &""",
        test='echo ping > /tmp/ask; read -r reply < /tmp/answer; [ "$reply" = "got ping" ]',
    ),
    Case(
        "web-service",
        "A server on loopback, in a network of its own.",
        toml='[environment]\nnetwork_mode = "no-network"\n',
        solve="""echo page > index.html
nohup python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 &
for _ in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null && exit 0; sleep 0.1; done; exit 1""",
        test="python3 -c \"import urllib.request as u; assert u.urlopen('http://localhost:8000').status == 200\"",
        needs=PYTHON,
    ),
    Case(
        "entry-script",
        "An entry script prepares what the agent finds.",
        dockerfile='COPY entry.sh /app/entry.sh\nENV NAME=value\nENTRYPOINT ["/app/entry.sh"]\nCMD ["ignored"]\n',
        files={"environment/entry.sh": '#!/bin/sh\necho "$NAME $# $1" > /app/prepared\nexec "$@"\n'},
        test='[ "$(cat prepared)" = "value 3 sh" ]',
    ),
    Case(
        "entry-service",
        "An entry script starts a service, and its healthcheck waits for it.",
        dockerfile="""COPY entry.sh /app/entry.sh
HEALTHCHECK --interval=1s --retries=20 CMD test -e /tmp/ready
ENTRYPOINT ["/app/entry.sh"]
""",
        files={
            "environment/entry.sh": "#!/bin/sh\n"
            '(sleep 1; mkfifo /tmp/ask; touch /tmp/ready; cat /tmp/ask > /tmp/heard) &\nexec "$@"\n'
        },
        solve="echo hello > /tmp/ask",
        test='for _ in $(seq 50); do [ -s /tmp/heard ] && break; sleep 0.1; done; [ "$(cat /tmp/heard)" = hello ]',
    ),
    Case(
        "healthcheck",
        "The healthcheck of task.toml is waited for.",
        dockerfile="ENTRYPOINT (sleep 1; touch /tmp/ready) & exec sleep infinity\n",
        toml='[environment.healthcheck]\ncommand = "test -e /tmp/ready"\ninterval_sec = 0.3\nretries = 30\n',
        solve="test -e /tmp/ready && touch healthy",
        test="[ -e healthy ]",
    ),
    Case(
        "no-network",
        "Nothing but loopback, and loopback works.",
        toml='[environment]\nnetwork_mode = "no-network"\n',
        solve="tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' > interfaces",
        test='[ "$(cat interfaces)" = lo ]\nif (exec 3<>/dev/tcp/192.0.2.1/80) 2>/dev/null; then exit 1; fi',
    ),
    Case(
        "kernel-interfaces",
        "Devices, pseudo-terminals, shared memory, /proc and temporary files.",
        solve="""echo x > /dev/null; head -c 4 /dev/urandom | wc -c > count
echo shared > /dev/shm/zoo; ls /proc/self/fd > /dev/null
script -qec "tty" /dev/null > tty || true""",
        test="""[ "$(cat count /dev/shm/zoo | paste -sd,)" = 4,shared ]
[ "$(stat -c %a /tmp /var/tmp | sort -u)" = 1777 ]""",
    ),
    Case(
        "memory-limit",
        "What takes more memory than there is ends; the rest goes on.",
        toml="[environment]\nmemory_mb = 128\n",
        solve="head -c 400000000 /dev/zero | tail -c 400000000 | wc -c > counted || true; echo alive > after",
        test='[ "$(cat after)" = alive ]\n[ "$(cat counted)" != 400000000 ]',
        needs=ROOT,
    ),
    Case(
        "cpus-and-storage",
        "A task that says what it needs.",
        toml="[environment]\ncpus = 1\nmemory_mb = 512\nstorage_mb = 200\n",
        solve="head -c 50000000 /dev/zero > large",
        test='[ "$(stat -c %s large)" = 50000000 ]',
    ),
    Case(
        "many-processes",
        "Two hundred processes at once.",
        solve="for i in $(seq 200); do (sleep 2; echo $i > p$i) & done; wait",
        test='[ "$(ls p* | wc -l)" = 200 ]',
    ),
    Case(
        "long-arguments",
        "Arguments of a hundred thousand characters.",
        solve='long=$(head -c 100000 /dev/zero | tr "\\0" x); bash -c \'echo "${#1}" > length\' _ "$long"',
        test='[ "$(cat length)" = 100000 ]',
    ),
    Case(
        "output",
        "Much output on both streams, with odd bytes.",
        solve='(yes "a line of output" || true) | head -n 20000; head -c 1000 /dev/urandom >&2; echo done > end',
        test='[ "$(cat end)" = done ]',
    ),
    Case(
        "signals",
        "Traps, process groups and a child that is killed.",
        solve="""(trap 'echo term > trapped; exit 0' TERM; sleep 30 & wait) & child=$!
sleep 0.5; kill -TERM $child; wait $child || true
bash -c 'kill -9 $$' || echo $? > killed""",
        test='[ "$(cat trapped killed | paste -sd,)" = term,137 ]',
    ),
)
