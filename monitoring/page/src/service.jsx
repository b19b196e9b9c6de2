// Parts of the page that concern all jobs: workers, events, the dispatcher.

import { useMemo, useState } from "preact/hooks";
import { bytes, count, known, millis, percent, span, workerName } from "./format.js";
import { Confirm, drainWorker } from "./operator.jsx";
import { Table } from "./table.jsx";

const kStraggler = 25; // percent of the typical worker's speed, as in the verdict
const kSilent = 2; // seconds
const kEventsLive = 50; // of the status; the dispatcher keeps more

function stateOf(worker) {
  if (worker.connected === false) return { text: "gone", kind: "warn" };
  if (worker.last_heard_s > kSilent) return { text: `silent ${span(worker.last_heard_s)}`, kind: "warn" };
  if (worker.set_aside) return { text: "set aside", kind: "warn" };
  if (worker.draining) return { text: worker.leases > 0 ? "drains" : "drained", kind: "info" };
  if (worker.speed_percent < kStraggler) return { text: "straggler", kind: "warn" };
  return { text: worker.leases > 0 ? "works" : "idle", kind: "" };
}

// True if an operator can let the worker work again.
const resumes = (worker) => worker.drain_asked || worker.set_aside;

const memoryPart = (worker) => (worker.memory_max > 0 ? (100 * worker.memory_bytes) / worker.memory_max : null);

function Meter({ value, text }) {
  return (
    <span class="meter">
      <span class="track" aria-hidden="true"><span class="fill" style={{ width: `${Math.min(100, value ?? 0)}%` }} /></span>
      {text}
    </span>
  );
}

export function Workers({ workers, operator }) {
  const [filter, setFilter] = useState("");
  const [asks, setAsks] = useState(null);
  const found = useMemo(() => {
    const words = filter.trim().toLowerCase();
    if (words === "") return workers;
    return workers.filter((worker) => `${worker.address} ${stateOf(worker).text}`.toLowerCase().includes(words));
  }, [workers, filter]);
  const columns = [
    { key: "address", title: "Worker", value: (w) => workerName(w.address), cell: (w) => workerName(w.address) },
    {
      key: "state",
      title: "State",
      value: (w) => stateOf(w).text,
      cell: (w) => {
        const state = stateOf(w);
        return <span class={`tag ${state.kind}`} title={w.set_aside ? w.failure : undefined}>{state.text}</span>;
      },
    },
    {
      key: "busy",
      title: "Load",
      numeric: true,
      value: (w) => w.busy_percent,
      cell: (w) => <Meter value={w.busy_percent} text={percent(w.busy_percent)} />,
    },
    {
      key: "memory",
      title: "Memory",
      numeric: true,
      minor: true,
      value: (w) => memoryPart(w),
      cell: (w) => (known(memoryPart(w)) ? `${bytes(w.memory_bytes)} of ${bytes(w.memory_max)}` : "–"),
    },
    { key: "speed", title: "Speed", numeric: true, minor: true, value: (w) => w.speed_percent, cell: (w) => percent(w.speed_percent) },
    { key: "leases", title: "Splits", numeric: true, minor: true, value: (w) => w.leases, cell: (w) => `${w.leases} of ${w.slots}` },
    { key: "threads", title: "Threads", numeric: true, minor: true, value: (w) => w.threads, cell: (w) => count(w.threads) },
  ];
  if (operator.possible && operator.known) {
    columns.push({
      key: "act",
      title: "Action",
      unsorted: true,
      value: () => 0,
      cell: (w) => (w.draining && !resumes(w) ? "" : (
        <button type="button" class="small" aria-label={`${resumes(w) ? "Resume" : "Drain"} ${workerName(w.address)}`} onClick={() => setAsks(w)}>
          {resumes(w) ? "Resume" : "Drain"}
        </button>
      )),
    });
  }
  return (
    <section class="card wide" aria-labelledby="workers">
      <div class="title">
        <h2 id="workers">Workers <span class="quiet">{workers.length}</span></h2>
        <input
          type="search"
          placeholder="Address or state"
          aria-label="Find workers by address or state"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
      </div>
      {workers.length === 0 && <p class="quiet">No worker has registered. Start one: <code>feedmill worker --dispatcher …</code></p>}
      {workers.length > 0 && <Table label="Table of workers" rows={found} columns={columns} keyOf={(w) => w.address} />}
      {asks && (
        <Confirm
          title={resumes(asks) ? `Let ${workerName(asks.address)} work again?` : `Drain ${workerName(asks.address)}?`}
          text={
            resumes(asks)
              ? "The dispatcher gives it splits again."
              : "The dispatcher gives it no new splits. It finishes those that it has; once it is drained, its process may be stopped."
          }
          label={resumes(asks) ? "Resume" : "Drain"}
          act={() => drainWorker(asks.address, !resumes(asks))}
          onDone={() => setAsks(null)}
        />
      )}
    </section>
  );
}

export function Events({ events }) {
  const [warnings, setWarnings] = useState(false);
  const [kept, setKept] = useState(null); // all events; null: the last ones, live
  const [trouble, setTrouble] = useState("");
  const shown = [...(kept ?? events)].reverse().filter((event) => event.warning || !warnings);
  const showAll = async () => {
    try {
      const answer = await fetch("/api/events");
      if (!answer.ok) throw new Error((await answer.text()).trim());
      setKept(await answer.json());
      setTrouble("");
    } catch (error) {
      setTrouble(`The dispatcher does not answer: ${error.message}`);
    }
  };
  return (
    <section class="card" aria-labelledby="events">
      <div class="title">
        <h2 id="events">Events</h2>
        <label class="check">
          <input type="checkbox" checked={warnings} onChange={(event) => setWarnings(event.currentTarget.checked)} /> warnings only
        </label>
      </div>
      {trouble && <p class="warn" role="alert">{trouble}</p>}
      {shown.length === 0 && <p class="quiet">Nothing yet. The list begins with the dispatcher's start.</p>}
      <ol class="events" tabIndex={0} aria-label="Events, latest first">
        {shown.map((event) => (
          <li key={event.id} class={event.warning ? "warn" : ""}>
            <span class="age">{span(event.age_s)} ago</span>
            <span class="kind">{event.kind}{event.count > 1 ? ` ×${event.count}` : ""}</span>
            <span class="text">
              {event.text}
              {event.records && <ul class="records">{event.records.map((record, k) => <li key={k}>{record}</li>)}</ul>}
            </span>
          </li>
        ))}
      </ol>
      {(kept || events.length >= kEventsLive) && (
        <button type="button" class="small" onClick={kept ? () => setKept(null) : showAll}>
          {kept ? "Show the last ones, live" : "Show all events"}
        </button>
      )}
    </section>
  );
}

const kFaults = [
  ["jobs_failed", "jobs failed"],
  ["workers_died", "workers died"],
  ["workers_set_aside", "workers set aside"],
  ["leases_failed", "attempts failed"],
  ["second_attempts", "retries"],
  ["splits_failed", "splits given up"],
  ["sessions_released", "readers silent"],
  ["sessions_fenced", "fences"],
  ["sessions_refused", "readers refused"],
  ["messages_dropped", "messages dropped"],
];

export function Dispatcher({ status }) {
  const { dispatcher = {}, faults = {}, totals = {}, relay = {}, standbys = [] } = status;
  return (
    <section class="card" aria-labelledby="dispatcher">
      <h2 id="dispatcher">Dispatcher</h2>
      <dl class="figures">
        <div><dt>Busy</dt><dd>{percent(dispatcher.busy_percent)}</dd></div>
        <div><dt>Readers</dt><dd>{count(totals.sessions)}</dd></div>
        <div><dt>Splits</dt><dd>{count(totals.leases)} of {count(totals.splits)} leased</dd></div>
        {dispatcher.journal_syncs > 0 && (
          <div><dt>Journal sync</dt><dd>{millis(dispatcher.journal_last_ms)}, mean {millis(dispatcher.journal_mean_ms)}</dd></div>
        )}
        {dispatcher.leads && <div><dt>State</dt><dd>{dispatcher.leads.work_dir}, led since {dispatcher.leads.since}</dd></div>}
        {standbys.map((s) => (
          <div key={s.name}>
            <dt>Standby</dt>
            <dd>{s.name}{known(s.behind_events) && `, ${count(s.behind_events)} events behind`}</dd>
          </div>
        ))}
        {relay.bytes > 0 && <div><dt>Relayed</dt><dd>{bytes(relay.bytes)}, {bytes(relay.waiting_bytes)} wait</dd></div>}
      </dl>
      <h3>Faults since its start</h3>
      <ul class="faults">
        {kFaults.map(([key, name]) => (
          <li key={key} class={faults[key] > 0 ? "some" : ""}><b>{count(faults[key])}</b> {name}</li>
        ))}
      </ul>
    </section>
  );
}
