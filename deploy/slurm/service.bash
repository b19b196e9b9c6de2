# Functions for Slurm batch scripts: a feedmill service in a job, and trainers
# that continue after a requeue. Source this file; docs/slurm.md explains it.
#
#   FEEDMILL         the command (default: feedmill in $PATH); every node must have it
#   FEEDMILL_STATE   folder of this job on a file system that all nodes share
#                    (default: feedmill-$SLURM_JOB_ID in the submission's folder)
#   FEEDMILL_PORT    port of the dispatcher (default: from the job's id)
#   FEEDMILL_KEYS    folder of `feedmill keygen` that all nodes share. Without it, any
#                    process of the network can use the service.
export FEEDMILL=${FEEDMILL:-feedmill}
export FEEDMILL_STATE=${FEEDMILL_STATE:-$SLURM_SUBMIT_DIR/feedmill-$SLURM_JOB_ID}
export FEEDMILL_SLURM=${FEEDMILL_SLURM:-$SLURM_SUBMIT_DIR/deploy/slurm}
FEEDMILL_PORT=${FEEDMILL_PORT:-$((20000 + SLURM_JOB_ID % 20000))}
if [[ -n ${FEEDMILL_KEYS:-} ]]; then
  # The commands of all steps take their --keys from these variables.
  export FEEDMILL_KEYS FEEDMILL_SERVER_KEYS=$FEEDMILL_KEYS
  export FEEDMILL_READ_KEYS=$FEEDMILL_KEYS FEEDMILL_STATUS_KEYS=$FEEDMILL_KEYS
else
  export FEEDMILL_SERVER_INSECURE_BIND=true
fi
mkdir -p "$FEEDMILL_STATE"
# Slurm sends SIGTERM to the steps, which save their state. The script outlives them.
trap 'echo "feedmill: asked to stop" >&2' TERM

# start_service TASKS [SRUN FLAGS…]: one dispatcher and TASKS - 1 workers, as a
# step of the job. $SERVICE is the dispatcher's address, and $FEEDMILL_STATE/service
# holds it for other jobs. Returns when the dispatcher answers.
#
# The dispatcher keeps its state in $FEEDMILL_STATE: it survives a requeue.
start_service() {
  local tasks=$1 nodes end
  shift
  # Rank 0 of a step runs on its first node.
  nodes=${SLURM_JOB_NODELIST_HET_GROUP_0:-$SLURM_JOB_NODELIST}
  SERVICE=$(scontrol show hostnames "$nodes" | head -n 1):$FEEDMILL_PORT
  srun --overlap --ntasks="$tasks" --job-name=feedmill "$@" "$FEEDMILL" server \
    --cluster "slurm:?port=$FEEDMILL_PORT&jobs=dispatcher:1,worker" \
    --work-dir "$FEEDMILL_STATE/dispatcher" &
  SERVICE_PID=$!
  export SERVICE SERVICE_PID
  echo "$SERVICE" > "$FEEDMILL_STATE/service"
  end=$((SECONDS + 120))
  until "$FEEDMILL" status --service "$SERVICE" --timeout 2s > /dev/null 2>&1; do
    if ((SECONDS >= end)) || ! kill -0 "$SERVICE_PID" 2> /dev/null; then
      echo "feedmill: the service at $SERVICE does not answer" >&2
      return 1
    fi
    sleep 0.2
  done
}

# stop_service: workers drain, and the step ends.
stop_service() {
  local step
  # A signal to srun itself would kill its tasks. Slurm may have ended the step already.
  step=$(squeue --noheader --steps --jobs="$SLURM_JOB_ID" --format='%i %j' |
    awk '$2 == "feedmill" { print $1 }')
  if [[ -n $step ]]; then scancel --signal=TERM "$step" 2> /dev/null || true; fi
  wait_for_process "$SERVICE_PID" || true
}

# run_step COMMAND…: runs an srun to its end and returns its status, also if this
# script gets SIGTERM meanwhile.
run_step() {
  "$@" &
  wait_for_process "$!"
}

# wait_for_process PID: returns the status of a child. A signal does not end the wait.
wait_for_process() {
  local status again=0
  while status=0; wait "$1" || status=$?; kill -0 "$1" 2> /dev/null; do :; done
  # If a signal ended the last wait, the status was the signal's.
  wait "$1" 2> /dev/null || again=$?
  if ((again != 127)); then status=$again; fi
  return "$status"
}

# end_job STATUS: stops the service and ends the script. A preempted job waits until
# Slurm ends it: Slurm does not requeue a job that ends by itself in its grace time.
end_job() {
  stop_service
  if [[ $(scontrol show job "$SLURM_JOB_ID") == *PreemptTime=[0-9]* ]]; then
    echo "feedmill: waits to be requeued" >&2
    sleep 600 || true
  fi
  exit "$1"
}
