// The rates of jobs since the page was opened.

const kSamples = 1200; // of a job: 5 minutes
const kJobs = 1000;
const kEtaWindow = 30; // seconds

export class History {
  constructor() {
    this.jobs = new Map(); // name → {run, times, rates, demands, taken}
  }

  add(status, now = Date.now() / 1000) {
    const names = new Set(status.jobs.map((job) => job.name));
    for (const name of this.jobs.keys()) {
      if (!names.has(name)) this.jobs.delete(name);
    }
    for (const job of status.jobs) {
      if (job.state !== "running") continue;
      let kept = this.jobs.get(job.name);
      if (!kept || kept.run !== job.run) {
        kept = { run: job.run, times: [], rates: [], demands: [], taken: [] };
        if (this.jobs.size >= kJobs && !this.jobs.has(job.name)) continue;
        this.jobs.set(job.name, kept);
      }
      kept.times.push(now);
      kept.rates.push(job.elements_per_s ?? null);
      kept.demands.push(demandOf(job));
      kept.taken.push(job.positions_taken);
      if (kept.times.length > kSamples) {
        for (const list of [kept.times, kept.rates, kept.demands, kept.taken]) list.shift();
      }
    }
  }

  // Seconds until all positions are taken, at the pace of the last seconds; null: not known.
  secondsLeft(job) {
    const kept = this.jobs.get(job.name);
    if (!kept || !job.positions || kept.times.length < 2) return null;
    const last = kept.times.length - 1;
    let first = last;
    while (first > 0 && kept.times[last] - kept.times[first - 1] <= kEtaWindow) first -= 1;
    const seconds = kept.times[last] - kept.times[first];
    const taken = kept.taken[last] - kept.taken[first];
    if (seconds < 2 || taken <= 0) return null;
    return ((job.positions * job.ranks - kept.taken[last]) * seconds) / taken;
  }
}

// Elements a second that the trainer would take if it never waited; null: not known.
export function demandOf(job) {
  if (job.elements_per_s === undefined || job.waits_percent === undefined) return null;
  if (job.waits_percent >= 99) return null;
  return job.elements_per_s / (1 - job.waits_percent / 100);
}
