import "uplot/dist/uPlot.min.css";
import "./style.css";

import { render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { percent, perSecond, span } from "./format.js";
import { History } from "./history.js";
import { Flow, isOver, Rate, Ranks, Steps, Verdict } from "./job.jsx";
import { cancelJob, Confirm, useOperator } from "./operator.jsx";
import { Sample } from "./sample.jsx";
import { Dispatcher, Events, Workers } from "./service.jsx";
import { follow } from "./stream.js";
import { Table } from "./table.jsx";

const kThemes = ["auto", "light", "dark"];
const history = new History();

function useStatus() {
  const [state, setState] = useState({ status: null, trouble: "", at: 0 });
  useEffect(
    () =>
      follow(
        (status) => {
          history.add(status);
          setState({ status, trouble: "", at: Date.now() });
        },
        (trouble) => setState((was) => ({ ...was, trouble })),
      ),
    [],
  );
  return state;
}

function useTheme() {
  const [theme, setTheme] = useState(() => {
    const kept = localStorage.getItem("feedmill-theme");
    return kThemes.includes(kept) ? kept : "auto";
  });
  // Before the browser paints, so that no other colours are seen first.
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const choose = (chosen) => {
    localStorage.setItem("feedmill-theme", chosen);
    setTheme(chosen);
  };
  return [theme, choose];
}

// Seconds since the last status, while there is trouble.
function useAge(at, counts) {
  const [, setTick] = useState(0);
  useEffect(() => {
    if (!counts) return undefined;
    const timer = setInterval(() => setTick((tick) => tick + 1), 1000);
    return () => clearInterval(timer);
  }, [counts]);
  return (Date.now() - at) / 1000;
}

// The job that is shown until one is chosen: one that is read, best one that waits
// most. It stays the same until it is over.
function useFirstJob(jobs) {
  const kept = useRef(null);
  const rank = (job) => (isOver(job) ? 0 : 2) + (job.waits_percent ?? -1) / 100;
  const best = jobs.reduce((a, b) => (a && rank(a) >= rank(b) ? a : b), undefined);
  const now = jobs.find((job) => job.name === kept.current);
  const first = now && (!isOver(now) || !best || isOver(best)) ? now : best;
  kept.current = first?.name ?? null;
  return first;
}

function Jobs({ jobs, chosen, onChoose }) {
  const columns = [
    {
      key: "name",
      title: "Job",
      value: (job) => job.name,
      cell: (job) => (
        <button type="button" class="link" aria-current={job.name === chosen ? "true" : undefined} onClick={() => onChoose(job.name)}>
          {job.name}
        </button>
      ),
    },
    { key: "state", title: "State", value: (job) => (isOver(job) ? 1 : 0), cell: (job) => <span class={`tag ${job.state === "failed" ? "warn" : ""}`}>{job.state}</span> },
    { key: "bound", title: "Bound by", value: (job) => job.bound_by ?? "", cell: (job) => job.bound_by ?? "–" },
    { key: "waits", title: "Waits", numeric: true, value: (job) => job.waits_percent, cell: (job) => percent(job.waits_percent) },
    { key: "rate", title: "Rate", numeric: true, minor: true, value: (job) => job.elements_per_s, cell: (job) => perSecond(job.elements_per_s) },
    { key: "done", title: "Done", numeric: true, minor: true, value: (job) => job.taken_percent, cell: (job) => percent(job.taken_percent) },
  ];
  return (
    <section class="card wide" aria-labelledby="jobs">
      <h2 id="jobs">Jobs <span class="quiet">{jobs.length}</span></h2>
      <Table
        label="Table of jobs"
        rows={jobs}
        columns={columns}
        keyOf={(job) => job.name}
        sort={{ key: "state", down: false }}
        rowClass={(job) => (job.name === chosen ? "chosen" : "")}
        height={216}
      />
    </section>
  );
}

// Tells a screen reader of changes, not of each figure.
function Announcer({ job, trouble }) {
  const text = trouble || (job?.verdict ? `Job ${job.name} is bound by ${job.verdict.bound_by.replace("_", " ")} ${job.verdict.where}` : "");
  return <p class="unseen" role="status">{text}</p>;
}

function Page() {
  const { status, trouble, at } = useStatus();
  const [theme, setTheme] = useTheme();
  const [chosen, setChosen] = useState(null);
  const [cancels, setCancels] = useState(false);
  const operator = useOperator();
  const age = useAge(at, trouble !== "");
  const main = useRef(null);

  const jobs = status?.jobs ?? [];
  const first = useFirstJob(jobs);
  const job = jobs.find((each) => each.name === chosen) ?? first;

  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current.focus(); }}>To the verdict</a>
      <header>
        <h1>feedmill</h1>
        <span class={`live ${trouble ? "warn" : status ? "good" : ""}`}>
          {trouble ? (status ? `last seen ${span(age)} ago` : "no answer") : status ? "live" : "connecting"}
        </span>
        {job && <span class="of">{job.name} <span class="quiet">{job.state}</span></span>}
        <span class="space" />
        {operator.possible && (
          <button type="button" onClick={operator.known ? operator.forget : operator.begin}>
            {operator.known ? "End operator" : "Operator"}
          </button>
        )}
        <label class="theme">
          <span class="unseen">Colours</span>
          <select value={theme} onChange={(event) => setTheme(event.currentTarget.value)}>
            {kThemes.map((name) => <option key={name} value={name}>{name}</option>)}
          </select>
        </label>
      </header>
      {trouble && <p class="trouble" role="alert">{trouble}</p>}
      <Announcer job={job} trouble={trouble} />
      <main id="main" tabIndex={-1} ref={main} aria-busy={!status}>
        {status && !job && (
          <section class="card wide" aria-labelledby="empty">
            <h2 id="empty">No job yet</h2>
            <p>Start a reader: <code>feedmill read pipeline.yaml --service …</code></p>
          </section>
        )}
        {job && <Verdict job={job} />}
        {jobs.length > 1 && <Jobs jobs={jobs} chosen={job?.name} onChoose={setChosen} />}
        {job && !isOver(job) && <Flow job={job} totals={status.totals} />}
        {job && !isOver(job) && <Ranks job={job} />}
        {job && <Rate key={job.name} job={job} history={history} />}
        {job && !isOver(job) && <Steps job={job} totals={status.totals} />}
        {job && <Sample job={job} operator={operator} />}
        {status && <Workers workers={status.workers} operator={operator} />}
        {status && <Events events={status.events ?? []} />}
        {status && <Dispatcher status={status} />}
        {job && !isOver(job) && operator.possible && operator.known && (
          <section class="card" aria-labelledby="acts">
            <h2 id="acts">This job</h2>
            <p class="quiet">Its readers get the error "an operator cancelled the job".</p>
            <button type="button" class="danger" onClick={() => setCancels(true)}>Cancel job {job.name}</button>
          </section>
        )}
      </main>
      {operator.dialog}
      {cancels && job && (
        <Confirm
          title={`Cancel job ${job.name}?`}
          text="All of its readers stop with an error. What they have read stays read."
          label="Cancel the job"
          act={() => cancelJob(job.name)}
          onDone={() => setCancels(false)}
        />
      )}
    </>
  );
}

render(<Page />, document.getElementById("page"));
