"""Ending a command whose caller has gone, inside its container.

A command that ``docker exec`` started runs on when the docker program is killed. It is told from everything else by its
parent: none inside the container, and it is not the container's own first process. What such a command has put into
the background on purpose, a server for instance, has been adopted by the first process and lives on.
"""

SCRIPT = r"""
families() {
    roots=" "
    kin=" "
    for stat in /proc/[0-9]*/stat; do
        read -r line 2>/dev/null <"$stat" || continue
        pid=${line%% *}
        set -- ${line##*) }
        [ "$1" = Z ] && continue
        kin="$kin$pid:$2 "
        [ "$2" = 0 ] && [ "$pid" != 1 ] && [ "$pid" != $$ ] && roots="$roots$pid "
    done
    victims=$roots
    grown=yes
    while [ "$grown" = yes ]; do
        grown=no
        for pair in $kin; do
            case "$victims" in *" ${pair%%:*} "*) continue ;; esac
            case "$victims" in *" ${pair##*:} "*) victims="$victims${pair%%:*} " grown=yes ;; esac
        done
    done
}
stopped=
while families && [ "$victims" != "$stopped" ]; do
    stopped=$victims
    [ "$victims" = " " ] || kill -STOP $victims 2>/dev/null
done
[ "$victims" = " " ] || kill -KILL $victims 2>/dev/null
"""
"""For any POSIX shell with builtins alone, as root. Stops first, so that nothing is born between the look and the kill.
"""
