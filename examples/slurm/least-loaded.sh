#!/bin/sh
# Runs a command on nodes that are little loaded now, by the news that this machine's agent has.
# Machines that run an agent but belong to no partition are named in AVOID, with commas between.
# usage: [AVOID=head,login] least-loaded.sh NODES COMMAND [ARGUMENTS]
set -eu
count=$1
shift
nodes=$(tidings pick -n "$count" --avoid "${AVOID:-}" --format slurm)
exec srun --nodes="$count" --ntasks="$count" --nodelist="$nodes" "$@"
