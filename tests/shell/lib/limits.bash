# Processes that are refused memory, threads or file space. With any limit, a
# command succeeds with the right output, or exits 1 and says why.

# random BELOW: a number that follows from RANDOM's seed.
random() { echo $(((RANDOM << 15 | RANDOM) % $1)); }

# ended_well WHAT: of $status, $output and $stderr after `run`; $expected is the
# right output.
ended_well() {
  case $status in
    0) [[ $expected == any || $output == "$expected" ]] && return 0 ;;
    1) error_says '^feedmill: ' "$said" && return 0 ;;
  esac
  echo "$1: exit $status"
  echo "stdout: ${output:0:300}"
  echo "stderr: ${stderr:0:2000}"
  return 1
}

# ---- memory (ulimit -v, in KiB)

starts_in() { (ulimit -v "$1" && "$FEEDMILL" --version) > /dev/null 2>&1; }

# least_memory: in which the command starts at all. Below, the loader says why.
least_memory() {
  local low=10240 high=1048576 middle
  while ((high - low > 512)); do
    middle=$(((low + high) / 2))
    if starts_in "$middle"; then high=$middle; else low=$middle; fi
  done
  echo $((high + 512))
}

# in_memory KIB COMMAND…
in_memory() {
  timeout -k 5 60 bash -c 'ulimit -v "$1" && shift && exec "$@"' - "$@"
}

# enough_memory LEAST COMMAND…: in which it succeeds, about.
enough_memory() {
  local least=$1 more
  shift
  for ((more = 4096; more < 4194304; more += more / 2)); do
    in_memory $((least + more)) "$@" > /dev/null 2>&1 && break
  done
  echo $((least + more))
}

# Number of amounts of memory that a command is tried with.
AMOUNTS=${FEEDMILL_AMOUNTS:-4}

# under_memory SEED COMMAND…: the least amount, and others up to what suffices.
# Where $expected is "any", output is not compared.
under_memory() {
  local seed=$1 least enough kib k failed=0
  shift
  [[ ${expected:-} == any ]] || expected=$("$@")
  said='out of memory|threads|memory'
  least=$(least_memory)
  enough=$(enough_memory "$least" "$@")
  RANDOM=$seed
  for ((k = 0; k < AMOUNTS; k++)); do
    kib=$((least + (k > 0 ? $(random $((enough - least + 4096))) : 0)))
    run --separate-stderr in_memory "$kib" "$@"
    ended_well "in $kib KiB: $*"
    ((status == 0)) || failed=$((failed + 1))
  done
  # At least one failed, or nothing was tried. A command that needs little more
  # than to start has no amount between.
  [[ $expected == any ]] || ((failed > 0))
}

# ---- threads (ulimit -u). The limit is of a user, and none for root.

if ((EUID == 0)); then
  LIMITED_USER=61234
  in_threads() {
    local count=$1
    shift
    timeout -k 5 60 setpriv --reuid="$LIMITED_USER" --regid="$LIMITED_USER" --clear-groups \
      prlimit --nproc="$count" "$@"
  }
else
  in_threads() {
    local count=$1
    shift
    timeout -k 5 60 prlimit --nproc=$((count + $(ps -L -o pid= -u "$EUID" | wc -l))) "$@"
  }
fi

# under_threads COUNT COMMAND…: one process may have that many threads.
under_threads() {
  local count=$1
  shift
  said='ulimit -u'
  run --separate-stderr in_threads "$count" "$@"
  ended_well "with $count threads: $*"
}
