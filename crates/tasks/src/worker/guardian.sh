# Kills what a worker that has died has left. Its standard input ends when the worker does.
# usage: sh guardian.sh [CGROUP]     lines: `+ GROUP` a process group has begun, `- GROUP` it is over
trap '' HUP INT TERM
groups=' '
while read -r sign group; do
    case $sign in
    +) groups="$groups$group " ;;
    -)
        case $groups in
        *" $group "*) groups="${groups%% "$group" *} ${groups#* "$group" }" ;;
        esac
        ;;
    esac
done
[ -z "$1" ] || echo 1 >"$1/cgroup.kill"
for group in $groups; do kill -s KILL -- "-$group"; done
[ -n "$1" ] || exit 0
# A control group can be removed once what was killed is gone.
tries=0
while [ -d "$1" ] && [ $tries -lt 100 ]; do
    rmdir "$1"/*/ "$1" || sleep 0.1
    tries=$((tries + 1))
done
