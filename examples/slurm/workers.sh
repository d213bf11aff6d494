#!/bin/sh
#SBATCH --job-name=tidings-workers
# A worker on each node of a batch job, with all that the job has there, until its time is over:
# then each gives back what it has in hand, and others go on with it.
# usage: sbatch [--nodes=N] [--time=LIMIT] workers.sh STORE [ARGUMENTS OF tidings worker]
set -eu
store=$1
shift
exec srun --ntasks-per-node=1 --whole --cpu-bind=none tidings worker --store "$store" "$@"
