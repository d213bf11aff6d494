#!/bin/sh
# Runs a command on nodes with little load now, as far as this machine's agent knows.
# Machines that run an agent but belong to no partition are named in AVOID, separated by commas.
# usage: [AVOID=head,login] least-loaded.sh NODES COMMAND [ARGUMENTS]
set -eu
count=$1
shift
nodes=$(tidings pick -n "$count" --avoid "${AVOID:-}" --format slurm)
exec srun --nodes="$count" --ntasks="$count" --nodelist="$nodes" "$@"
