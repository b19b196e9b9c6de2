# A Slurm cluster of one's own: munged, slurmctld and four slurmd on this
# machine, with no privileges but the user's. For bats, after cluster.bash.

# start_slurm FOLDER: all of it, in $SLURM_CONF; nodes 127.0.0.2 to 127.0.0.5,
# whose names are addresses, so that what the resolver says can be reached.
# Their processes are in PIDS.
start_slurm() {
  local folder=$1 user host ports k
  user=$(id -un) host=$(hostname)
  for tool in munged slurmctld slurmd srun; do
    command -v "$tool" > /dev/null ||
      { echo "$tool is missing; run tools/setup --slurm"; return 1; }
  done
  mkdir -p "$folder/state"
  head -c 128 /dev/urandom > "$folder/munge.key"
  chmod 600 "$folder/munge.key"
  munged --foreground --force --num-threads=2 --key-file="$folder/munge.key" \
    --socket="$folder/munge.sock" --pid-file="$folder/munge.pid" \
    --log-file="$folder/munge.log" --seed-file="$folder/munge.seed" \
    > "$folder/munged.out" 2>&1 3>&- &
  PIDS+=("$!")
  wait_for 20 "munged" test -S "$folder/munge.sock"
  read -ra ports <<< "$(free_ports 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1)"
  cat > "$folder/slurm.conf" <<CONF
ClusterName=feedmill
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
AuthType=auth/munge
AuthInfo=socket=$folder/munge.sock
SlurmUser=$user
SlurmdUser=$user
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
KillWait=5
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=15
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10
CONF
  for k in 1 2 3 4; do
    echo "NodeName=127.0.0.$((k + 1)) NodeHostname=$host NodeAddr=127.0.0.$((k + 1))" \
      "Port=${ports[k]} CPUs=2 State=UNKNOWN" >> "$folder/slurm.conf"
  done
  export SLURM_CONF=$folder/slurm.conf
  slurmctld -D -f "$SLURM_CONF" > "$folder/slurmctld.out" 2>&1 3>&- &
  PIDS+=("$!")
  for k in 2 3 4 5; do
    slurmd -D -N "127.0.0.$k" -f "$SLURM_CONF" > "$folder/slurmd-$k.out" 2>&1 3>&- &
    PIDS+=("$!")
  done
  wait_for 60 "four idle nodes" slurm_is_idle
}

slurm_is_idle() { [[ $(sinfo -h -o '%t %D' 2> /dev/null) == "idle 4" ]]; }

# free_ports ADDRESS…: one free port at each, all different.
free_ports() {
  python3 - "$@" <<'PYTHON'
import socket, sys
sockets = [socket.socket() for _ in sys.argv[1:]]
for each, address in zip(sockets, sys.argv[1:]):
    each.bind((address, 0))
print(*[each.getsockname()[1] for each in sockets])
PYTHON
}
