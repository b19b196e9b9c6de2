#!/usr/bin/env bash
# A rank that reads a pipeline, as a task of a step beside the service of
# service.bash. It continues from its own state if the job was requeued:
#
#   srun bash rank.bash PIPELINE [FLAGS OF feedmill read]
#
# Elements go to $FEEDMILL_STATE/elements-RANK, and the rank's place to token-RANK.
# A trainer of yours does the same with reader.state_dict() beside its checkpoint.
set -euo pipefail
token=$FEEDMILL_STATE/token-$SLURM_PROCID
from=()
if [[ -s $token ]]; then
  from=(--token "$token")
  echo "feedmill: life ${SLURM_RESTART_COUNT:-0} of rank $SLURM_PROCID continues from $token" >&2
fi
exec "$FEEDMILL" read "$@" --service "$SERVICE" --job train \
  --consumer "$SLURM_PROCID/$SLURM_NTASKS" --take-over --timeout 2m \
  "${from[@]}" --save-token "$token" >> "$FEEDMILL_STATE/elements-$SLURM_PROCID"
