# Functions for Slurm batch scripts: a feedmill service in a job, and trainers
# that continue after a requeue. Source this file; docs/slurm.md explains it.
#
#   FEEDMILL         the command (default: feedmill in $PATH); every node must have it
#   FEEDMILL_STATE   folder of this job on a file system that all nodes share
#                    (default: feedmill-$SLURM_JOB_ID in the submission's folder)
#   FEEDMILL_PORT    port of the dispatcher (default: from the job's id)
#   FEEDMILL_SECURITY   flags of servers and readers: "--keys DIR", or
#                    "--insecure-bind" (the default) on a network that you trust
FEEDMILL=${FEEDMILL:-feedmill}
FEEDMILL_STATE=${FEEDMILL_STATE:-$SLURM_SUBMIT_DIR/feedmill-$SLURM_JOB_ID}
FEEDMILL_PORT=${FEEDMILL_PORT:-$((20000 + SLURM_JOB_ID % 20000))}
read -ra FEEDMILL_SECURITY_FLAGS <<< "${FEEDMILL_SECURITY:---insecure-bind}"
mkdir -p "$FEEDMILL_STATE"

# start_service TASKS [SRUN FLAGS…]: one dispatcher and TASKS - 1 workers, as a
# step of the job. $SERVICE is the dispatcher's address. Returns when it answers.
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
    --work-dir "$FEEDMILL_STATE/dispatcher" "${FEEDMILL_SECURITY_FLAGS[@]}" &
  SERVICE_PID=$!
  export SERVICE SERVICE_PID
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
  # A signal to srun itself would kill its tasks.
  step=$(squeue --noheader --steps --jobs="$SLURM_JOB_ID" --format='%i %j' |
    awk '$2 == "feedmill" { print $1 }')
  if [[ -n $step ]]; then scancel --signal=TERM "$step"; fi
  wait "$SERVICE_PID" || true
}
