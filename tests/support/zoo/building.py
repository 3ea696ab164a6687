"""Tasks whose Dockerfiles build something."""

import io
import tarfile

from support.zoo.case import Case, Link

ROOT = frozenset({"root"})
FRONTEND = frozenset({"frontend"})


def _tar(mode: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, size in (("made/inner", 5), ("made/deep/file", 3)):
            member = tarfile.TarInfo(name)
            member.size = size
            archive.addfile(member, io.BytesIO(b"x" * size))
    return buffer.getvalue()


CASES = (
    Case("plain", "A file is written.", solve="echo hello > greeting", test='[ "$(cat greeting)" = hello ]'),
    Case(
        "directories",
        "Working directories are made, one below the other.",
        dockerfile="WORKDIR /data\nWORKDIR one/two\nENV SUB=three\nWORKDIR $SUB\nRUN pwd > where\n",
        solve="pwd > /app/now",
        test='[ "$(cat /data/one/two/three/where /app/now)" = "$(printf "/data/one/two/three\\n%.0s" 1 2)" ]',
    ),
    Case(
        "arguments",
        "Arguments before FROM, their scope, defaults and variables in variables.",
        dockerfile="""ARG TAG=bookworm-slim
ARG SECOND=global
FROM debian:bookworm-slim
ARG FIRST=own
ARG SECOND
ARG LATER=${FIRST:-none}-${NOBODY:-default}
ENV KEPT="$LATER  two" PLAIN=a\\ b
ENV OLD style of value
WORKDIR /app
RUN echo "[$TAG|$FIRST|$SECOND|$LATER|$KEPT|$PLAIN|$OLD]" > built
""",
        test="""[ "$(cat built)" = "[|own|global|own-default|own-default  two|a b|style of value]" ]
[ "$KEPT|$PLAIN|$OLD|${LATER-gone}" = "own-default  two|a b|style of value|gone" ]""",
    ),
    Case(
        "commands",
        "Shell form, exec form, another shell, and a pipeline that fails.",
        dockerfile="""RUN echo "$0" > shell
RUN ["bash", "-c", "echo exec $HOME > exec"]
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN if false | true; then echo passed; else echo failed; fi > pipe
RUN words=(a b c) && echo "${#words[@]}" > count
""",
        test='[ "$(cat shell exec pipe count)" = "$(printf "/bin/sh\\nexec /root\\nfailed\\n3")" ]',
    ),
    Case(
        "long-lines",
        "Continued lines with comments and empty lines between.",
        dockerfile="""# a comment
RUN echo one > lines && \\
    # a comment inside
    echo two >> lines && \\

    echo "# three" >> lines \\
    && echo four >> lines
""",
        test='[ "$(paste -sd, lines)" = "one,two,# three,four" ]',
    ),
    Case(
        "escape-directive",
        "Another escape character for the whole file.",
        dockerfile="# escape=`\nFROM debian:bookworm-slim\nWORKDIR /app\nRUN echo a `\n  c > out\nENV PLACE=c:\\dir\n",
        test='[ "$PLACE,$(cat out)" = "c:\\dir,a c" ]',
    ),
    Case(
        "here-script",
        "A here-document as a script, one for another interpreter, one as input.",
        dockerfile="""RUN <<EOF
echo "first $HOME" > script
echo second >> script
EOF
RUN <<'AWK'
#!/usr/bin/env -S bash -eu
list=(x y); echo "${list[1]}" > bash
AWK
RUN cat <<-EOF > input
	without tabs
	EOF
""",
        test='[ "$(cat script bash input)" = "$(printf "first /root\\nsecond\\ny\\nwithout tabs")" ]',
        needs=FRONTEND,
    ),
    Case(
        "here-files",
        "Several here-documents become files, with variables and without.",
        dockerfile="""ENV WHO=world
COPY <<ONE <<'TWO' /app/
hello $WHO
ONE
hello $WHO
TWO
COPY <<-three.conf /etc/zoo.conf
	key = "$WHO"
	three.conf
""",
        test="""[ "$(cat ONE)" = "hello world" ]
[ "$(cat TWO)" = 'hello $WHO' ]
[ "$(cat /etc/zoo.conf)" = 'key = "world"' ]""",
        needs=ROOT | FRONTEND,
    ),
    Case(
        "globs",
        "Patterns, several sources, and one that matches nothing.",
        dockerfile="COPY *.txt data/[ab].csv none* ./in/\nCOPY data/?.csv /app/all/\n",
        files={f"environment/{name}": name for name in ("a.txt", "b.txt", "data/a.csv", "data/b.csv", "data/c.csv")},
        test='[ "$(ls in all | paste -sd,)" = "all:,a.csv,b.csv,c.csv,,in:,a.csv,a.txt,b.csv,b.txt" ]',
    ),
    Case(
        "big-tree",
        "Two thousand small files and a large one.",
        dockerfile="COPY tree /app/tree\nRUN find tree -type f | wc -l > count\n",
        files={
            **{f"environment/tree/d{number // 100}/f{number}": f"{number}\n" for number in range(2000)},
            "environment/tree/large": b"0123456789abcdef" * 500_000,
        },
        test='[ "$(cat count tree/d19/f1999 | paste -sd,)$(stat -c ,%s tree/large)" = "2001,1999,8000000" ]',
    ),
    Case(
        "owners",
        "Files copied for other users, by name and by number.",
        dockerfile="""RUN useradd -u 4321 -m worker
COPY --chown=worker:worker data /app/data
COPY --chown=1:2 data/one /app/numbers
COPY --chown=worker data/one /app/name
""",
        files={"environment/data/one": "1", "environment/data/two": "2"},
        test='[ "$(stat -c %U:%G data/one numbers name | paste -sd,)" = "worker:worker,daemon:bin,worker:worker" ]',
        needs=ROOT,
    ),
    Case(
        "modes",
        "Permissions given while copying and by commands.",
        dockerfile="""COPY --chmod=750 run.sh data /app/copied/
RUN touch odd && chmod 0604 odd && mkdir -m 1777 sticky && mkdir -m 2755 grouped
""",
        files={"environment/run.sh": "#!/bin/sh\necho ran\n", "environment/data": "data"},
        test="""[ "$(stat -c %a copied/run.sh copied/data odd sticky grouped | paste -sd,)" = "750,750,604,1777,2755" ]
[ "$(copied/run.sh)" = ran ]""",
        needs=FRONTEND,
    ),
    Case(
        "links",
        "Links that are named are followed, links in directories stay.",
        dockerfile="COPY link /app/file\nCOPY dir /app/dir\nCOPY linked-dir /app/real\n",
        files={
            "environment/dir/real": "content",
            "environment/dir/relative": Link("real"),
            "environment/link": Link("dir/real"),
            "environment/linked-dir": Link("dir"),
        },
        test="""[ "$(cat file real/relative)" = "contentcontent" ]
[ "$(readlink file dir/relative real)" = real ]""",
    ),
    Case(
        "ignored",
        "An ignore file with exceptions, comments and patterns at any depth.",
        dockerfile="COPY . /app/all/\nRUN cd all && find . -type f ! -name '*ocker*' | sort > ../seen\n",
        files={
            "environment/.dockerignore": "# comment\n**/*.log\n!**/keep.log\nsecrets\n!secrets/public.txt\n/top\n",
            "environment/a.log": "",
            "environment/deep/down/b.log": "",
            "environment/deep/down/keep.log": "",
            "environment/deep/top": "",
            "environment/top": "",
            "environment/secrets/key": "",
            "environment/secrets/public.txt": "",
        },
        test='[ "$(paste -sd, seen)" = "./deep/down/keep.log,./deep/top,./secrets/public.txt" ]',
    ),
    Case(
        "own-ignore-file",
        "The ignore file of the Dockerfile is used instead of the general one.",
        dockerfile="COPY . /app/all/\n",
        files={
            "environment/.dockerignore": "wanted\n",
            "environment/Dockerfile.dockerignore": "unwanted\n",
            "environment/wanted": "1",
            "environment/unwanted": "1",
        },
        test="[ -e all/wanted ]\n[ ! -e all/unwanted ]",
    ),
    Case(
        "archives",
        "ADD unpacks archives, whatever they are called; COPY does not.",
        dockerfile="ADD data.tar packed.bin plain.txt /app/added/\nCOPY packed.bin /app/copied/\n",
        files={
            "environment/data.tar": _tar("w"),
            "environment/packed.bin": _tar("w:gz"),
            "environment/plain.txt": "plain",
        },
        test="[ -s added/made/deep/file ]\n[ -e added/plain.txt ]\n[ ! -e added/packed.bin ]\n[ -s copied/packed.bin ]",
    ),
    Case(
        "unicode",
        "Names and contents beyond ASCII.",
        dockerfile="ENV LANG=C.UTF-8 GRÜSSE=später\nCOPY grüße /app/grüße\nRUN echo 'ünï → ✓' > ausgabe\n",
        files={"environment/grüße/名前 ✓.txt": "日本語\n"},
        solve='printf "%s\\n" "naïve ☕" > "ergebnis ✓"; printenv GRÜSSE >> "ergebnis ✓"',
        test="""[ "$(cat 'grüße/名前 ✓.txt')" = 日本語 ]
[ "$(cat ausgabe)" = 'ünï → ✓' ]
[ "$(paste -sd, 'ergebnis ✓')" = 'naïve ☕,später' ]""",
    ),
    Case(
        "odd-names",
        "Names with blanks, quotes, dollars, brackets and leading dashes.",
        dockerfile='COPY ["odd names", "/app/odd names"]\n',
        files={
            f"environment/odd names/{name}": name
            for name in (
                "two  blanks",
                "it's",
                'a "quote"',
                "$HOME",
                "[x]*?",
                "-rf",
                "semi;colon",
                "back`tick`",
                "#hash",
                "eq=uals",
            )
        },
        test="""cd "odd names"
count=0
for f in *; do [ "$(cat -- "$f")" = "$f" ]; count=$((count + 1)); done
[ $count = 10 ]""",
    ),
    Case(
        "long-names",
        "Names of 200 bytes and paths of a thousand.",
        dockerfile="COPY deep /app/deep\n",
        files={f"environment/deep/{'d' * 200}/{'e' * 200}/{'f' * 200}/{'g' * 200}/{'h' * 150}": "deep"},
        test='[ "$(find deep -type f -exec cat {} +)" = deep ]\n[ "$(find deep -type f | wc -c)" -gt 900 ]',
    ),
    Case(
        "cache-mount",
        "A cache mount of a build step.",
        dockerfile="RUN --mount=type=cache,target=/tmp/cache echo cached > /tmp/cache/x && cp /tmp/cache/x /app/\n",
        test='[ "$(cat x)" = cached ]',
        needs=FRONTEND,
    ),
    Case(
        "only-for-images",
        "Instructions that say nothing to whoever runs in the container.",
        dockerfile="""LABEL org.example.title="a b" other=c
EXPOSE 80/tcp 443
MAINTAINER somebody
STOPSIGNAL SIGINT
ONBUILD RUN exit 1
VOLUME /volume
CMD ["never", "run"]
""",
        test="[ -d /volume ]\ntouch /volume/x",
    ),
    Case(
        "background-at-build",
        "What a build step starts is gone afterwards, what it writes is there.",
        dockerfile="RUN (sleep 300 &) ; echo $$ > built\n",
        test="[ -s built ]\n[ -z \"$(grep -l '^sleep.300' /proc/[0-9]*/cmdline 2>/dev/null)\" ]",
    ),
    Case(
        "long-script",
        "A build script of sixty thousand characters.",
        dockerfile="RUN " + " && ".join(f"echo line {number:04} >> lines" for number in range(2000)) + "\n",
        test='[ "$(wc -l < lines),$(tail -1 lines)" = "2000,line 1999" ]',
    ),
)
