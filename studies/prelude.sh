# shellcheck shell=bash
# What each study's run begins with. A run's first comment says the question, the minutes and the
# needs; it defines measure, which writes tables into $FRESH, and ends with: study "$@"
#
# A run whose study has parts lists them in PARTS and defines measure_PART for each (- becomes _).
#
# Tables are published from a commit only (docs/reference/manifest.md), so that a run with changed
# sources ends before it measures; --trial measures all the same, into target/trial.
#
# Exit codes: 0 done; 1 something could not be measured or drawn; 2 wrong arguments; 130 Ctrl-C.
# Tables come into the study's folder when all of a part are measured: until then, and whatever
# the exit code, the old ones are there, whole.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
NAME=$(basename "$(cd "$(dirname "$0")" && pwd)")
STUDY=studies/$NAME
FRESH=$STUDY/.fresh
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
CARGO=${CARGO:-cargo}
TIDINGS=$TARGET/release/tidings
PARTS=()
case $0 in /*) RUN=$0 ;; *) RUN=$PWD/$0 ;; esac
cd "$ROOT"

# The tools that are named are here, or are installed where that may be done.
require() { .ci/require "$@"; }

# The agent and the command, in $TARGET/release.
build() {
    require cargo cc
    "$CARGO" build --release --locked -p tidings-cli -p tidings-agent
}

# Gossip over MPI, the shim and the applications, in $TARGET/mpi.
build_mpi() { make mpi; }

# Python with the packages of the project.
python() {
    make --silent python >&2
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/python:$ROOT/studies \
        "$TARGET/python/bin/python" "$@"
}

# The Python package as it is installed, with an optimised native module, into a folder.
# usage: package FOLDER
package() {
    require cargo cc
    "$CARGO" build --profile extension --locked -p tidings-python
    rm -rf "$1/tidings"
    mkdir -p "$1/tidings"
    cp -r python/tidings "$1/tidings/"
    install -m 755 "$TARGET/extension/libtidings_tasks_native.so" \
        "$1/tidings/tidings/tasks/_native.abi3.so"
    # As pip does: each process would read the sources otherwise.
    python3 -m compileall -q "$1/tidings"
}

# A measuring program of studies/Cargo.toml, into $FRESH.  usage: bench NAME [ARGUMENT...]
bench() {
    TIDINGS_BIN_DIR=$TARGET/release "$CARGO" bench --locked ${PROFILE:+--profile "$PROFILE"} \
        -p tidings-studies --bench "$1" -- --output "$ROOT/$FRESH" "${@:2}"
}

# A campaign file of this study, on this machine; one that was stopped goes on.  usage: campaign NAME
campaign() {
    local kept=$TARGET/campaigns/$1
    "$TIDINGS" lab overhead "$STUDY/$1.toml" --output "$kept"
    cp "$kept/results.csv" "$FRESH/$1.csv"
    cp "$kept/results.manifest.json" "$FRESH/$1.manifest.json"
}

# Tables may be published: all sources are those of a commit. What studies write is no source.
committed() {
    local changed written=() ending
    for ending in csv json svg md; do
        written+=(":(exclude,glob)studies/**/*.$ending")
    done
    if ! changed=$(git diff --name-only HEAD -- . "${written[@]}") || [ -n "$changed" ]; then
        echo "$STUDY/run: tables are published from a commit only; these files differ from it:" >&2
        echo "${changed:-all: git finds no commit}" | head -5 >&2
        echo "commit first, or say --trial: that measures into target/trial/$NAME" >&2
        exit 1
    fi
}

draw() {
    if [ -e "$STUDY/draw.py" ]; then
        python "$STUDY/draw.py"
    else
        echo "$STUDY: nothing is drawn; the tables of its page are written by hand" >&2
    fi
}

# Measures a part, and brings its tables into the study's folder.
part() {
    rm -rf "$FRESH"
    mkdir -p "$FRESH"
    "$1"
    if compgen -G "$FRESH/*" >/dev/null; then
        mv "$FRESH"/* "$(dirname "$FRESH")/"
    fi
    rmdir "$FRESH"
}

usage() {
    sed -n '2,/^[^#]/ { s/^# \{0,1\}//p }' "$RUN"
    echo
    echo "usage: $STUDY/run [--draw | --help | [--trial]${PARTS:+ [PART...]}]"
    echo "  without an argument: measures, then draws figures and tables"
    echo "  --draw: draws only, from the tables that are there"
    echo "  --trial: measures into target/trial/$NAME and draws nothing; for sources that are not committed"
    if [ ${#PARTS[@]} -gt 0 ]; then
        echo "  PART: measures that part only, then draws: ${PARTS[*]}"
    fi
    echo "exit codes: 0 done, 1 failed, 2 wrong arguments, 130 stopped; old tables stay until new ones are whole"
}

study() {
    local chosen=() one is_trial=false
    for one in "$@"; do
        case $one in
            -h | --help) usage && exit 0 ;;
            --draw)
                [ $# -eq 1 ] || refuse "--draw stands alone"
                draw && exit 0
                exit 1
                ;;
            --trial) is_trial=true ;;
            *)
                [[ " ${PARTS[*]} " == *" $one "* ]] || refuse "no such part: $one"
                chosen+=("$one")
                ;;
        esac
    done
    if $is_trial; then
        FRESH=target/trial/$NAME/.fresh
    else
        committed
    fi
    trap 'rm -rf "$ROOT/$FRESH"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    [ ${#chosen[@]} -gt 0 ] || chosen=("${PARTS[@]}")
    if [ ${#chosen[@]} -eq 0 ]; then
        part measure
    fi
    for one in "${chosen[@]}"; do
        part "measure_${one//-/_}"
    done
    $is_trial || draw
}

refuse() {
    echo "$STUDY/run: $1; --help says more" >&2
    exit 2
}
