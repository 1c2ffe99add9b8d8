# What the scripts beside it share; bash. A script sources it first:
#
#   . "$(dirname "$0")/lib.sh"
#
# It prints TAP: ok, skip and the checks below number themselves, done_testing ends. The working
# folder $T is in memory and goes at the end, whatever happens; so do all mounts, since the script
# runs in a mount namespace of its own where it may have one.
# CKPTSIM names another binary than ./ckptsim.
# shellcheck shell=bash
set -u
export LC_ALL=C PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin
SCRIPT=$(readlink -f "$0")
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$ROOT" || exit 1

if [ "$(id -u)" = 0 ] && [ -z "${CKPTSIM_TEST_OWN_MOUNTS:-}" ]; then
    if unshare --mount --propagation private true 2>/dev/null; then
        CKPTSIM_TEST_OWN_MOUNTS=yes exec unshare --mount --propagation private bash "$SCRIPT" "$@"
    fi
fi
OWN_MOUNTS=${CKPTSIM_TEST_OWN_MOUNTS:-no}
unset CKPTSIM_TEST_OWN_MOUNTS

CKPTSIM=$(readlink -f "${CKPTSIM:-$ROOT/ckptsim}")
[ -x "$CKPTSIM" ] || { echo "Bail out! no program at $CKPTSIM"; exit 1; }
FAULTS_SO=$ROOT/build/release/tests/preload/faults.so
MEMORY=/dev/shm
[ -d $MEMORY ] && [ -w $MEMORY ] || MEMORY=${TMPDIR:-/tmp}
T=$(mktemp -d "$MEMORY/ckptsim-test-XXXXXX") || exit 1
DISK=$(mktemp -d "${TMPDIR:-/tmp}/ckptsim-test-XXXXXX") || exit 1
LOOPS="" # devices to detach
BACKGROUND="" # processes to end

tidy_up() {
    for process in $BACKGROUND; do kill -9 "$process" 2>/dev/null; done
    cd /
    awk -v a="$T/" -v b="$DISK/" 'index($2, a) == 1 || index($2, b) == 1 { print $2 }' /proc/mounts |
        sort -r | while read -r mounted; do umount "$mounted" 2>/dev/null || umount -l "$mounted"; done
    for device in $LOOPS; do losetup -d "$device" 2>/dev/null; done
    rm -rf "$T" "$DISK"
}
trap tidy_up EXIT
trap 'exit 130' INT TERM HUP

# TAP.

COUNT=0 FAILED=0

say() { echo "# $*"; }

ok() { # name, exit code of what was checked (default: of the last command)
    local good=${2:-$?}
    COUNT=$((COUNT + 1))
    if [ "$good" = 0 ]; then
        echo "ok $COUNT - $1"
    else
        FAILED=$((FAILED + 1))
        echo "not ok $COUNT - $1"
        [ -z "${LAST:-}" ] || tell_last
    fi
}

skip() { # name, why
    COUNT=$((COUNT + 1))
    echo "ok $COUNT - $1 # SKIP $2"
}

tell_last() {
    printf '#   after: %.400q\n' "$LAST"
    echo "#   exit code ${code:-}"
    sed 's/^/#   out: /' "$T/out" 2>/dev/null | tail -n 25 | cut -c 1-300
    sed 's/^/#   err: /' "$T/err" 2>/dev/null | tail -n 10 | cut -c 1-600
}

done_testing() {
    echo "1..$COUNT"
    [ "$FAILED" = 0 ]
    exit
}

# Running the program.

LAST="" code=0
CWD=$T/cwd # where it runs; not the file system of $DISK
mkdir "$CWD"

# Runs it with output in $T/out and $T/err and its exit code in $code; WITH holds words to put in
# front.
WITH=()
sim() {
    LAST="${WITH[*]:-} ckptsim $*"
    code=0
    (cd "$CWD" && exec timeout -k 5 "${LIMIT:-100}" "${WITH[@]}" "$CKPTSIM" "$@") \
        >"$T/out" 2>"$T/err" </dev/null || code=$?
}

# The same with rules for faults.so.
sim_faulty() { # rules, arguments...
    local rules=$1
    shift
    WITH=(env "LD_PRELOAD=$FAULTS_SO" "CKPTSIM_FAULTS=$rules")
    sim "$@"
    WITH=()
}

exits() { # code, name
    [ "$code" = "$1" ]
    ok "$2" $?
}

out_has() { # name, extended pattern
    grep -qE -- "$2" "$T/out"
    ok "$1" $?
}

err_has() {
    grep -qE -- "$2" "$T/err"
    ok "$1" $?
}

# Python's checks: check(condition, name), note(text), load(path); sys.argv[1:] are the words given.
tap() { # words... <<'EOF'
    local line
    while IFS= read -r line; do
        case $line in
        "ok "*) ok "${line#ok }" 0 ;;
        "not ok "*) ok "${line#not ok }" 1 ;;
        *) echo "# $line" ;;
        esac
    done < <(python3 -c '
import sys, os, json, csv, re, subprocess, glob, math
def check(condition, name, detail=None):
    print(("ok " if condition else "not ok ") + name)
    if not condition and detail is not None:
        print("  ", str(detail)[:600].replace("\n", "\n# "))
    sys.stdout.flush()
def note(text): print(text)
def load(path):
    with open(path) as file: return json.load(file)
def near(a, b, part=1e-9): return abs(a - b) <= part * max(abs(a), abs(b), 1e-300)
try:
    exec(compile(sys.stdin.read(), "checks", "exec"))
except Exception as error:
    import traceback
    check(False, "the checks in Python ran to their end", traceback.format_exc())
' "$@" 2>&1)
}

# Names, kinds and sizes of what folders hold: compared before and after.
listing() { find "$@" -printf '%p %y %s %l\n'; }

# What a folder holds under ckptsim/, if anything.
left_in() { [ -e "$1/ckptsim" ] && find "$1/ckptsim" | sort; return 0; }

# Waits until a command succeeds, at most so many seconds.
wait_for() { # seconds, command...
    local until=$(($(date +%s%N) + $1 * 1000000000))
    shift
    while ! "$@"; do
        [ "$(date +%s%N)" -lt $until ] || return 1
        sleep 0.02
    done
}

# Drives.

can_mount() { [ "$OWN_MOUNTS" = yes ]; }

memory_drive() { # path, size
    mkdir -p "$1" && mount -t tmpfs -o "size=$2" ckptsim-test "$1"
}

# A file system of its own on a loop device over a sparse file in memory; the device is $DEVICE.
loop_drive() { # path, size, ext4|xfs, mount options
    local image="$1.image"
    mkdir -p "$1" && truncate -s "$2" "$image" || return 1
    DEVICE=$(losetup -f --show "$image" 2>/dev/null) || return 1
    LOOPS="$LOOPS $DEVICE"
    "mkfs.$3" -q "$DEVICE" >/dev/null 2>&1 || return 1
    mount ${4:+-o "$4"} "$DEVICE" "$1"
}

# As if the power of an ext4 or xfs drive were cut: what was not synced is lost, the rest is there after
# the next mount.
cut_power() { # path
    python3 -c '
import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack("I", 2))' "$1"
}

random_seed() {
    SEED=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
    RANDOM=$((SEED % 32768))
    echo "# SEED=$SEED"
}
