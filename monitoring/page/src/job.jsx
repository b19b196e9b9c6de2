// One job: the verdict, its ranks, where the time goes, its rate.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { bytes, count, known, micros, percent, perSecond, span, times, workerName } from "./format.js";
import { demandOf } from "./history.js";

const kBounds = {
  none: "Nothing",
  source: "The source",
  step: "A step",
  workers: "The workers",
  link: "The link",
  client_stage: "Steps in the reader",
  consumer: "The trainer",
  dispatcher: "The dispatcher",
};

export const isOver = (job) => !["planning", "running"].includes(job.state);

export function Verdict({ job }) {
  const { verdict } = job;
  if (!verdict) {
    return (
      <section class={`card verdict ${job.state === "failed" ? "" : "bound-none"}`} aria-labelledby="verdict">
        <h2 id="verdict">State</h2>
        <p class="bound"><strong>The job is {job.state}</strong></p>
        {job.error && <p class="sentence">{job.error}</p>}
      </section>
    );
  }
  return (
    <section class={`card verdict bound-${verdict.bound_by}`} aria-labelledby="verdict">
      <h2 id="verdict">What bounds the rate</h2>
      <p class="bound">
        <strong>{kBounds[verdict.bound_by] ?? verdict.bound_by}</strong>
        {verdict.where && <code>{verdict.where}</code>}
        {verdict.gain > 1 && <span class="tag">{verdict.gain >= 100 ? "many times" : `at most ${times(verdict.gain)}`} faster without it</span>}
        {job.waits_for && <span class="tag warn">waits for {job.waits_for}</span>}
      </p>
      <p class="sentence">{verdict.sentence}</p>
      {verdict.evidence.length > 0 && (
        <details>
          <summary>Evidence</summary>
          <ul>{verdict.evidence.map((line) => <li key={line}>{line}</li>)}</ul>
        </details>
      )}
    </section>
  );
}

// Parts of a whole as a bar: [{name, value, kind}], values in percent.
export function Stack({ label, parts }) {
  const shown = parts.filter((part) => part.value > 0.5);
  const text = `${label}: ${parts.map((part) => `${part.name} ${percent(part.value)}`).join(", ")}`;
  return (
    <div class="stack" role="img" aria-label={text}>
      {shown.map((part) => (
        <div
          key={part.name}
          class={`part ${part.kind}`}
          style={{ flexGrow: part.value }}
          title={`${part.name}: ${percent(part.value)}`}
        />
      ))}
    </div>
  );
}

export function Legend({ parts }) {
  return (
    <ul class="legend">
      {parts.filter((part) => part.value >= 0.5 || parts.length <= 3).map((part) => (
        <li key={part.name}><i class={`key ${part.kind}`} />{part.name} <b>{percent(part.value)}</b></li>
      ))}
    </ul>
  );
}

// Parts of a reader's time.
function readerParts(of) {
  const waits = of.waits_percent ?? 0;
  const steps = Math.min(of.steps_percent ?? 0, 100 - waits);
  return [
    { name: "waits for data", value: waits, kind: "waits" },
    { name: "steps in the reader", value: steps, kind: "client" },
    { name: "trainer", value: Math.max(0, 100 - waits - steps), kind: "trainer" },
  ];
}

const kRanksShown = 12;

export function Ranks({ job }) {
  const [all, setAll] = useState(false);
  const measured = job.sessions.filter((session) => known(session.waits_percent));
  const ranks = [...measured].sort((a, b) => b.waits_percent - a.waits_percent);
  const shown = all ? ranks : ranks.slice(0, kRanksShown);
  return (
    <section class="card" aria-labelledby="ranks">
      <h2 id="ranks">Exposed wait per rank</h2>
      {ranks.length === 0 && <p class="quiet">No reader has told of two seconds of reading yet.</p>}
      <ul class="ranks">
        {shown.map((session) => (
          <li key={session.consumer}>
            <span class="name" title={session.consumer}>{session.consumer}{session.state === "parked" ? " (silent)" : ""}</span>
            {session.unreachable && <span class="tag warn cut">cannot reach {session.unreachable.map(workerName).join(", ")}</span>}
            <Stack label={`Reader ${session.consumer}`} parts={readerParts(session)} />
            <span class="figure">{percent(session.waits_percent)}</span>
            <span class="figure minor">{perSecond(session.elements_per_s)}</span>
          </li>
        ))}
      </ul>
      {ranks.length > 0 && <Legend parts={readerParts(job)} />}
      {ranks.length > kRanksShown && (
        <button type="button" onClick={() => setAll(!all)}>
          {all ? "Show the worst only" : `Show all ${ranks.length} ranks`}
        </button>
      )}
    </section>
  );
}

// Parts of the time of the workers' threads, in percent of all threads.
function threadParts(job, totals) {
  const threads = totals.threads || 0;
  if (threads === 0 || !job.steps) return [];
  const own = Math.min(threads, job.busy_threads ?? 0);
  const others = Math.max(0, Math.min(threads - own, totals.busy_threads - own));
  const parts = job.steps.map((step, k) => ({
    name: step.name,
    value: (step.share_percent * own) / threads,
    kind: step.source ? "source" : `step-${k % 6}`,
  }));
  if (others > 0.005 * threads) parts.push({ name: "other jobs", value: (100 * others) / threads, kind: "others" });
  parts.push({ name: "idle", value: Math.max(0, (100 * (threads - own - others)) / threads), kind: "idle" });
  return parts;
}

// Places from the source to the trainer, in the order in which elements pass
// them: [{key, name, value (percent or null), text, more}].
function placesOf(job, totals) {
  const threads = totals.threads || 0;
  const own = threads > 0 ? Math.min(1, (job.busy_threads ?? 0) / threads) : 0;
  const steps = job.steps ?? [];
  const part = (list) => (steps.length > 0 && threads > 0 ? own * list.reduce((sum, step) => sum + step.share_percent, 0) : null);
  const others = steps.filter((step) => !step.source);
  const most = others.reduce((a, b) => (a && a.share_percent >= b.share_percent ? a : b), undefined);
  const waiting = (streams) => (job.streams > 0 ? Math.min(100, (100 * streams) / job.streams) : null);
  const sum = (name) => job.sessions.reduce((all, session) => all + (session[name] ?? 0), 0);
  const reader = known(job.waits_percent) ? readerParts(job) : null;
  return [
    { key: "source", name: "Source", value: part(steps.filter((step) => step.source)), unit: "of the workers' threads" },
    { key: "steps", name: "Steps", value: part(others), unit: "of the workers' threads", more: most?.name },
    { key: "queue", name: "Queue", value: waiting(job.waiting_for_memory), unit: "of the streams wait for the workers' memory" },
    {
      key: "link", name: "Link", value: waiting(job.waiting_for_credit), unit: "of the streams wait to send",
      more: known(job.bytes_per_s) ? `${bytes(job.bytes_per_s)}/s` : undefined,
    },
    {
      key: "client", name: "Steps in the reader", value: reader?.[1].value ?? null, unit: "of its time",
      more: job.sessions.length > 0 ? `${bytes(sum("buffered_bytes"))} wait here` : undefined,
    },
    {
      key: "trainer", name: "Trainer", value: reader?.[2].value ?? null, unit: "of its time",
      more: reader ? `waits for data ${percent(reader[0].value)}` : undefined,
    },
  ];
}

// The place of `placesOf` that bounds the rate; null: none of them.
function boundPlace({ bound_by: by, where }) {
  if (by === "workers") return where === "memory" ? "queue" : "steps";
  return { source: "source", step: "steps", link: "link", client_stage: "client", consumer: "trainer" }[by] ?? null;
}

export function Flow({ job, totals }) {
  const bound = job.verdict ? boundPlace(job.verdict) : null;
  return (
    <section class="card wide" aria-labelledby="flow">
      <h2 id="flow">Where it goes</h2>
      <ol class="flow">
        {placesOf(job, totals).map((place) => (
          <li key={place.key} class={place.key === bound ? "bounds" : ""}>
            <span class="place">{place.name}{place.key === bound && <span class="tag warn">the bound</span>}</span>
            <span class="track" aria-hidden="true"><span class="fill" style={{ width: `${Math.min(100, place.value ?? 0)}%` }} /></span>
            <b>{percent(place.value)}</b> <span class="quiet">{place.unit}</span>
            {place.more && <span class="quiet more">{place.more}</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}

export function Steps({ job, totals }) {
  const parts = threadParts(job, totals);
  const threads = totals.threads || 0;
  return (
    <section class="card wide" aria-labelledby="steps">
      <h2 id="steps">Where the workers' time goes</h2>
      {!job.steps?.length && <p class="quiet">Nothing was measured in the last seconds.</p>}
      {job.steps?.length > 0 && (
        <>
          <Stack label={`Threads of the workers (${threads})`} parts={parts} />
          <Legend parts={parts} />
          <div class="table" tabIndex={0} role="region" aria-label="Table of steps">
            <table>
              <thead>
                <tr>
                  <th scope="col">Step</th>
                  <th scope="col" class="number">Of the time</th>
                  <th scope="col" class="number">On a core</th>
                  <th scope="col" class="number">Blocked</th>
                  <th scope="col" class="number">CPU per element</th>
                  <th scope="col" class="number minor">Elements/s</th>
                  <th scope="col" class="number minor">Headroom</th>
                </tr>
              </thead>
              <tbody>
                {job.steps.map((step) => {
                  const busy = ((job.busy_threads ?? 0) * step.share_percent) / 100;
                  const rate = step.us_per_element > 0 ? (busy * 1e6) / step.us_per_element : null;
                  return (
                    <tr key={step.name}>
                      <th scope="row">{step.name}</th>
                      <td class="number">{percent(step.share_percent)}</td>
                      <td class="number">{percent(step.cpu_percent)}</td>
                      <td class="number">{percent(step.share_percent - step.cpu_percent)}</td>
                      <td class="number">{micros(step.cpu_us_per_element)}</td>
                      <td class="number minor">{count(rate)}</td>
                      <td class="number minor">{busy > 0 ? times(threads / busy) : "–"}</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
          <p class="quiet">
            From samples of the last seconds. Headroom: how many times more elements the step could make if all{" "}
            {threads} threads did only that.
          </p>
        </>
      )}
      {known(job.streams) && (
        <p class="quiet">
          {count(job.streams)} streams to readers: {count(job.waiting_for_credit)} wait for credit (the reader or the
          link is behind), {count(job.waiting_for_memory)} for memory.
        </p>
      )}
    </section>
  );
}

function Chart({ kept, label }) {
  const host = useRef(null);
  const plot = useRef(null);
  useEffect(() => {
    const element = host.current;
    const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const make = () => {
      plot.current?.destroy();
      const clock = (at) => new Date(at * 1000).toTimeString().slice(0, 8);
      const axis = { stroke: color("--quiet"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line") } };
      plot.current = new uPlot(
        {
          width: element.clientWidth,
          height: 180,
          legend: { show: false },
          cursor: { drag: { x: false, y: false } },
          scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] } },
          // Marks of whole seconds only: the clock has no smaller ones.
          axes: [{ ...axis, space: 90, incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600], values: (_plot, times) => times.map(clock) }, { ...axis, size: 60, values: (_plot, values) => values.map(count) }],
          series: [
            {},
            { stroke: color("--demand"), width: 2, dash: [6, 4], spanGaps: false, points: { show: false } },
            { stroke: color("--rate"), width: 2, fill: color("--rate-fill"), spanGaps: true, points: { show: false } },
          ],
        },
        [[], [], []],
        element,
      );
    };
    make();
    const sized = new ResizeObserver(() => plot.current.setSize({ width: element.clientWidth, height: 180 }));
    sized.observe(element);
    const themed = new MutationObserver(make);
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", make);
    return () => {
      sized.disconnect();
      themed.disconnect();
      dark.removeEventListener("change", make);
      plot.current.destroy();
    };
  }, []);
  useEffect(() => {
    if (kept) plot.current.setData([kept.times, kept.demands, kept.rates]);
  });
  return <div class="chart" ref={host} role="img" aria-label={label} />;
}

export function Rate({ job, history }) {
  const demand = demandOf(job);
  const left = isOver(job) ? null : history.secondsLeft(job);
  const sum = (name) => job.sessions.reduce((all, session) => all + (session[name] ?? 0), 0);
  const rate = perSecond(job.elements_per_s);
  return (
    <section class="card" aria-labelledby="rate">
      <h2 id="rate">Rate and progress</h2>
      <dl class="figures">
        <div><dt><i class="key rate" />Rate</dt><dd>{rate}</dd></div>
        <div>
          <dt><i class="key demand" />Demand</dt>
          <dd>{demand !== null ? `${count(demand)}/s` : job.waits_percent >= 99 ? "more" : "–"}</dd>
        </div>
        <div><dt>Bytes</dt><dd>{known(job.bytes_per_s) ? `${bytes(job.bytes_per_s)}/s` : "–"}</dd></div>
        <div><dt>Elements</dt><dd>{count(job.elements)}</dd></div>
        <div><dt>Left out</dt><dd class={job.skipped > 0 ? "warn" : ""}>{count(job.skipped)}</dd></div>
        {job.sessions.length > 0 && (
          <div><dt>In readers</dt><dd>{bytes(sum("buffered_bytes"))} of {bytes(sum("window_bytes"))} credit</dd></div>
        )}
        <div><dt>Time left</dt><dd>{job.infinite ? "no end" : span(left)}</dd></div>
      </dl>
      {known(job.taken_percent) && (
        <div class="progress">
          <progress max={100} value={job.taken_percent} aria-label={`Progress of ${job.name}`} />
          <span>{job.taken_percent.toFixed(1)} % of iteration {job.iteration}</span>
        </div>
      )}
      <Chart kept={history.jobs.get(job.name)} label={`Elements a second since this page was opened; now ${rate}`} />
      <p class="quiet">Demand: what the trainer would take if it never waited.</p>
    </section>
  );
}
