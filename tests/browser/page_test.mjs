// The dispatcher's page in a real browser, on a real cluster.
//
//   node page_test.mjs CHECK BINARY [FOLDER]    CHECK: a function of `checks` below; BINARY has sleep_ms
//                                               (bench/sleepy_main.cc); screenshots are left in FOLDER
//
// tools/setup --browser installs what it needs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { Cluster, waitFor } from "./cluster.mjs";

const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "feedmill", "browser");
const require = createRequire(join(cache, "node_modules", "/"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const kSlow = "source: {range: {stop: 400000}}\nsteps:\n  - map: 'sleep_ms(x, 5)'\n  - map: 'x + 1'\n";
const kBuilt = join(dirname(fileURLToPath(import.meta.url)), "../../monitoring/page/built");

let folder;

async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(error.message));
  page.on("console", (message) => {
    if (/Content.Security.Policy/i.test(message.text())) page.faults.push(message.text());
  });
  await page.goto(url);
  return page;
}

const shot = async (page, name) => folder && page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
// The closed evidence of the verdict may have the same words.
const has = (page, text, options = {}) =>
  page.getByText(text).filter({ visible: true }).first().waitFor({ timeout: 20_000, ...options });

// axe-core finds nothing serious.
async function isAccessible(page, what) {
  await page.evaluate(axe); // through the protocol, which the page's policy does not bind
  const { violations } = await page.evaluate(() => axe.run());
  const serious = violations.filter((each) => ["serious", "critical"].includes(each.impact));
  assert.deepEqual(
    serious.map((each) => `${each.id}: ${each.nodes.map((node) => node.target).join(" ")}`),
    [],
    what,
  );
}

const checks = {
  // Jobs appear, a dead worker shows within two seconds, an operator drains, resumes and cancels.
  async cluster(browser, cluster) {
    await cluster.dispatcher();
    const page = await openPage(browser, `${cluster.http}/`);
    await has(page, "No job yet");
    await has(page, "No worker has registered");
    const workers = [];
    for (const name of ["w0", "w1", "w2"]) workers.push(await cluster.worker(name));
    const row = (worker) => page.getByRole("row").filter({ has: page.getByRole("rowheader", { name: worker.shown }) });
    for (const worker of workers) await row(worker).waitFor();

    const reader = cluster.read(kSlow, "train");
    await has(page, "A step");
    await has(page, "steps[0] map");
    await page.getByRole("img", { name: /Reader solo: waits for data/ }).waitFor();
    await page.getByRole("img", { name: /Elements a second/ }).waitFor();
    await shot(page, "wide");

    const victim = workers[0];
    const killed = performance.now();
    victim.kill("SIGKILL");
    // On a busy machine the loss itself may be the first change that the page shows.
    await Promise.any([
      row(victim).getByText("gone").waitFor(),
      row(victim).waitFor({ state: "detached" }),
    ]);
    console.log(`a killed worker shows after ${Math.round(performance.now() - killed)} ms`);
    await has(page, `lost worker tcp://${victim.shown}`);
    await row(victim).waitFor({ state: "detached" });
    console.log(`it is lost after ${Math.round(performance.now() - killed)} ms`);

    assert.equal(await page.getByRole("button", { name: /^Drain/ }).count(), 0, "without a token nothing is offered");
    await page.getByRole("button", { name: "Operator" }).click();
    await page.getByLabel("Token").fill("wrong-token-0123456789");
    await page.getByRole("button", { name: "Use the token" }).click();
    await has(page, "the token is missing or wrong");
    await isAccessible(page, "the dialog");
    await page.getByLabel("Token").fill(cluster.token);
    await page.getByRole("button", { name: "Use the token" }).click();

    await page.getByRole("button", { name: `Drain ${workers[1].shown}` }).click();
    await shot(page, "dialog");
    await page.getByRole("dialog").getByRole("button", { name: "Drain" }).click();
    await row(workers[1]).getByText("drained").waitFor({ timeout: 20_000 });
    const drained = (await cluster.status()).workers.find((worker) => worker.address.endsWith(workers[1].shown));
    assert.ok(drained.draining && drained.leases === 0, JSON.stringify(drained));
    await has(page, `an operator drains worker tcp://${workers[1].shown}`);
    await page.getByRole("button", { name: `Resume ${workers[1].shown}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
    await row(workers[1]).getByText("works").waitFor({ timeout: 20_000 });

    await page.getByRole("button", { name: "Cancel job train" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel the job" }).click();
    await has(page, "The job is cancelled");
    assert.equal(await reader.ended, 1);
    assert.match(cluster.log("read-train"), /an operator cancelled job 'train'/);

    // The page shows that the dispatcher is away, and continues when it is back.
    assert.deepEqual(page.faults, []);
    cluster.processes[0].kill("SIGKILL");
    await has(page, "The dispatcher does not answer");
  },

  // Screenshots of all sizes and colours; nothing serious for axe-core, keyboard works.
  async looks(browser, cluster) {
    await cluster.dispatcher();
    for (const name of ["w0", "w1", "w2"]) await cluster.worker(name);
    for (const rank of ["0/4", "1/4", "2/4", "3/4"]) cluster.read(kSlow, "train", "--consumer", rank);
    cluster.read("source: {range: {stop: 100}}\n", "small");
    const sizes = { wide: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };
    for (const [size, viewport] of Object.entries(sizes)) {
      for (const colorScheme of ["light", "dark"]) {
        const page = await openPage(browser, `${cluster.http}/`, { viewport, colorScheme, hasTouch: size === "phone" });
        await page.getByRole("button", { name: "train", exact: true }).click();
        await page.getByRole("img", { name: /Reader 3\/4/ }).waitFor();
        await has(page, "steps[0] map");
        await page.waitForTimeout(3_000); // for a chart with a line
        const sideways = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        assert.ok(!sideways, `${size}: the page is wider than the screen`);
        await isAccessible(page, `${size}, ${colorScheme}`);
        await shot(page, `${size}-${colorScheme}`);
        assert.deepEqual(page.faults, []);
        await page.context().close();
      }
    }
    const page = await openPage(browser, `${cluster.http}/`);
    await page.getByRole("button", { name: "train", exact: true }).waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "To the verdict");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    const reached = new Set();
    for (let k = 0; k < 60; ++k) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.ariaLabel || ''));
    }
    for (const name of ["Operator", "train", "Evidence", "Load"]) {
      assert.ok([...reached].some((text) => text.startsWith(name)), `Tab never comes to ${name}: ${[...reached]}`);
    }
    await page.getByLabel("Colours").selectOption("dark");
    await page.reload();
    await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  },

  // An operator looks at a batch: pictures, texts, records and the shares of a mixture. Others see no data. Elements that were
  // left out are named.
  async batch(browser, cluster) {
    await cluster.dispatcher();
    await cluster.worker("w0");
    const bad = cluster.write("bad.txt", "1\nnone\n3\n");
    cluster.read(`source: {text: {files: '${bad}'}}\nsteps:\n  - map: {n: "to_number(x, int64)"}\n  - on_error: skip\n`, "skips");
    const inputs = ["cats", "dogs"].map((kind) => {
      const lines = Array.from({ length: 4000 }, (_, k) => `${100 + (k % 50)} ${kind}`);
      return `{source: {text: {files: '${cluster.write(`${kind}.txt`, lines.join("\n"))}'}}}`;
    });
    cluster.read(`source: {mixture: {inputs: [${inputs}], weights: [3, 1]}}
steps:
  - map: {line: x, shade: "to_number(substr(x, 0, 3), int64)"}
  - map: {line: line, image: "full([40, 60, 3], cast(shade, uint8))"}
  - batch: {size: 8}
options: {seed: 7}
`, "train");
    const page = await openPage(browser, `${cluster.http}/`);
    await has(page, "record 1 of");
    await page.getByRole("button", { name: "train", exact: true }).click();
    assert.equal(await page.getByRole("heading", { name: "A batch" }).count(), 0, "without a token no data is shown");
    await page.getByRole("button", { name: "Operator" }).click();
    await page.getByLabel("Token").fill(cluster.token);
    await page.getByRole("button", { name: "Use the token" }).click();
    const card = page.getByRole("region", { name: "A batch" });
    await card.getByLabel("number").fill("2");
    await card.getByRole("button", { name: "Show" }).click();
    await card.getByText("Batch 2 of epoch 0, seed 7").waitFor();
    await card.getByText("uint8[8, 40, 60, 3]").waitFor();
    assert.equal(await card.locator("canvas").count(), 8);
    const shade = await card.locator("canvas").first().evaluate((canvas) => canvas.getContext("2d").getImageData(5, 5, 1, 1).data.join());
    const line = await card.getByText(/^\d+ (cats|dogs)$/).first().textContent();
    assert.equal(shade, `${[0, 0, 0].map(() => Number(line.slice(0, 3))).join()},255`);
    await card.getByRole("cell", { name: "inputs[0] text" }).waitFor();
    await card.getByRole("cell", { name: "75 %" }).first().waitFor();
    await card.getByText("8 records", { exact: true }).click();
    await card.getByText(/record \d+ of .*cats\.txt/).first().waitFor();
    await isAccessible(page, "a batch");
    await shot(page, "batch");
    await card.getByLabel("number").fill("4000000");
    await card.getByRole("button", { name: "Show" }).click();
    await card.getByRole("alert").getByText(/batch|element/).waitFor();
    assert.deepEqual(page.faults.filter((fault) => !fault.includes("422")), []);
  },

  // The row from the source to the trainer names the bound; all events, and a worker that a reader cannot reach, are shown.
  async places(browser, cluster) {
    await cluster.dispatcher();
    await cluster.worker("w0");
    for (let k = 0; k < 30; ++k) await cluster.read("source: {range: {stop: 10}}\n", `small-${k}`).ended;
    cluster.read(kSlow, "train");
    const page = await openPage(browser, `${cluster.http}/`);
    const row = page.getByRole("region", { name: "Where it goes" });
    const places = row.getByRole("listitem");
    await places.filter({ hasText: "the bound" }).filter({ hasText: "steps[0] map" }).waitFor({ timeout: 20_000 });
    const names = await places.locator(".place").allTextContents();
    assert.deepEqual(names.map((name) => name.replace("the bound", "")), ["Source", "Steps", "Queue", "Link", "Steps in the reader", "Trainer"]);
    await places.filter({ hasText: /waits for data \d+ %/ }).waitFor();
    const events = page.getByRole("list", { name: "Events, latest first" });
    assert.equal(await events.locator("> li").count(), 50);
    await page.getByRole("button", { name: "Show all events" }).click();
    await events.getByText("began iteration 0").filter({ hasText: "job 'small-0'" }).waitFor();
    assert.ok((await events.locator("> li").count()) > 60);
    await isAccessible(page, "the places");
    await shot(page, "places");
    await page.getByRole("button", { name: "Show the last ones, live" }).click();
    assert.equal(await events.locator("> li").count(), 50);
    cluster.start("cut-off", "worker", "--dispatcher", cluster.service, "--threads", "8", "--advertise", "127.0.0.1:9");
    await page.getByText("cannot reach 127.0.0.1:9").waitFor({ timeout: 20_000 });
    await page.setViewportSize({ width: 390, height: 844 });
    const sideways = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.ok(!sideways, "the page is wider than the screen");
    await shot(page, "places-phone");
    assert.deepEqual(page.faults, []);
  },

  // A page of a stranger reads nothing and changes nothing, also with the right token.
  async stranger(browser, cluster) {
    await cluster.dispatcher();
    const worker = await cluster.worker("w0");
    const evil = createServer((_request, answer) => {
      answer.setHeader("Content-Type", "text/html");
      answer.end("<title>a stranger</title><body></body>");
    }).listen(0, "127.0.0.1");
    await waitFor(() => evil.address(), "the stranger's server");
    const page = await openPage(browser, `http://127.0.0.1:${evil.address().port}/`);
    const tried = await page.evaluate(
      async ({ http, address, token }) => {
        const of = async (work) => {
          try {
            return await work();
          } catch (error) {
            return `threw ${error.name}`;
          }
        };
        const body = JSON.stringify({ worker: address, drain: true });
        const headers = { "Content-Type": "application/json", "X-Feedmill": "1", Authorization: `Bearer ${token}` };
        const frame = document.createElement("iframe");
        frame.src = http;
        document.body.append(frame);
        const form = document.createElement("form");
        form.method = "POST";
        form.action = `${http}/api/workers/drain`;
        form.enctype = "text/plain";
        form.target = "other";
        const field = document.createElement("input");
        field.name = body;
        form.append(field);
        document.body.append(form);
        form.submit();
        return {
          read: await of(async () => (await fetch(`${http}/api/status`)).text()),
          act: await of(async () => (await fetch(`${http}/api/workers/drain`, { method: "POST", headers, body })).status),
          blind: await of(async () => (await fetch(`${http}/api/workers/drain`, { method: "POST", mode: "no-cors", body })).type),
          stream: await new Promise((done) => {
            const source = new EventSource(`${http}/api/stream`);
            source.addEventListener("status", (event) => done(event.data));
            source.onerror = () => done("error");
          }),
        };
      },
      { http: cluster.http, address: worker.address, token: cluster.token },
    );
    evil.close();
    assert.match(tried.read, /^threw/);
    assert.match(String(tried.act), /^threw/);
    assert.match(tried.blind, /^(opaque|threw)/);
    assert.equal(tried.stream, "error");
    await waitFor(async () => (await cluster.status()).workers.length === 1, "the worker");
    assert.equal((await cluster.status()).workers[0].draining, false);
    assert.equal((await cluster.status()).events.some((event) => event.kind === "operator"), false);
    // The same request, without a page's origin, is heard.
    const heard = await fetch(`${cluster.http}/api/workers/drain`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Feedmill": "1", Authorization: `Bearer ${cluster.token}` },
      body: JSON.stringify({ worker: worker.address, drain: true }),
    });
    assert.equal(heard.status, 200, await heard.text());
  },

  // A made-up status of 1,000 workers and 200 jobs stays smooth, and costs the page hardly more than one of 100 workers.
  async many(browser) {
    let count = 100;
    let turn = 0;
    const server = createServer((request, answer) => {
      if (request.url === "/api/stream") {
        answer.writeHead(200, { "Content-Type": "text/event-stream" });
        const timer = setInterval(() => answer.write(`event: status\ndata: ${JSON.stringify(madeUp(++turn, count))}\n\n`), 500);
        request.on("close", () => clearInterval(timer));
      } else if (request.url === "/") {
        answer.writeHead(200, {
          "Content-Type": "text/html; charset=utf-8",
          "Content-Encoding": "gzip",
          "Content-Security-Policy": readFileSync(join(kBuilt, "page.csp"), "utf8"),
        });
        answer.end(readFileSync(join(kBuilt, "page.html.gz")));
      } else {
        answer.writeHead(404).end();
      }
    }).listen(0, "127.0.0.1");
    await waitFor(() => server.address(), "the server");
    const open = () => openPage(browser, `http://127.0.0.1:${server.address().port}/`);
    const small = await open();
    const few = await scroll(small, count);
    await small.close();
    count = 1000;
    const page = await open();
    const many = await scroll(page, count);
    assert.ok(many.rows < 60, "only rows in sight are drawn");
    assert.ok(many.cpu < 1.5 * few.cpu, `${many.cpu / few.cpu} of the page's CPU time with ${few.count} workers`);
    assert.ok(many.median < 100, "it stays smooth, also on a busy machine");
    const table = page.getByRole("region", { name: "Table of workers" });
    await table.evaluate((element) => element.scrollTo(0, 0));
    await page.getByLabel("Find workers by address or state").fill("straggler");
    await waitFor(async () => (await table.locator("table").getAttribute("aria-rowcount")) === "11", "ten stragglers");
    await shot(page, "many");
    assert.deepEqual(page.faults, []);
    server.closeAllConnections();
    server.close();
  },
};

// Scrolls the table of workers for six seconds. Returns what that cost the page.
async function scroll(page, count) {
  const table = page.getByRole("region", { name: "Table of workers" });
  await table.waitFor();
  await page.evaluate(() => {
    window.tasks = [];
    new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask" });
  });
  // CPU time of the page's thread, which other load on the machine does not change.
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const cpu = async () => (await cdp.send("Performance.getMetrics")).metrics.find((each) => each.name === "TaskDuration").value;
  const before = await cpu();
  const measured = await table.evaluate(async (element) => {
    const gaps = [];
    let last = performance.now();
    const end = last + 6_000;
    while (performance.now() < end) {
      element.scrollTop = (element.scrollTop + 180) % (element.scrollHeight - element.clientHeight);
      await new Promise((done) => requestAnimationFrame(done));
      gaps.push(performance.now() - last);
      last = performance.now();
    }
    gaps.sort((a, b) => a - b);
    return {
      frames: gaps.length,
      median: gaps[gaps.length >> 1],
      p99: gaps[Math.floor(gaps.length * 0.99)],
      rows: element.querySelectorAll("tbody tr:not(.gap)").length,
      long: Math.max(0, ...window.tasks),
    };
  });
  measured.cpu = ((await cpu()) - before) / 6;
  console.log(
    `${count} workers while scrolling: ${measured.frames} frames in 6 s, median ${measured.median.toFixed(1)} ms, ` +
      `99 % below ${measured.p99.toFixed(1)} ms, longest task ${measured.long.toFixed(0)} ms, ` +
      `${(100 * measured.cpu).toFixed(0)} % of a core, ${measured.rows} rows drawn`,
  );
  return { ...measured, count };
}

function madeUp(turn, count) {
  const workers = [];
  for (let k = 0; k < count; ++k) {
    workers.push({
      address: `tcp://10.0.${k >> 8}.${k & 255}:5051`, incarnation: 1, slots: 16, leases: (k + turn) % 17, draining: k % 97 === 0,
      drain_asked: false, busy_percent: (k * 7 + turn * 3) % 101, threads: 8, memory_bytes: ((k + turn) % 256) << 20, memory_max: 256 << 20,
      streams: 4, waiting_for_credit: 1, waiting_for_memory: 0, last_heard_s: 0.1, speed_percent: k % 97 !== 0 && k % 100 === 1 ? 10 : 90 + (k % 20),
    });
  }
  const jobs = [];
  for (let k = 0; k < 200; ++k) {
    const sessions = [];
    for (let rank = 0; rank < (k === 0 ? 64 : 1); ++rank) {
      sessions.push({
        consumer: `${rank}/${k === 0 ? 64 : 1}`, incarnation: 1, state: "live", last_heard_s: 0.1, splits: 8, splits_waiting: 4, links: [],
        elements: 1000 * turn, skipped: 0, buffered_bytes: 1 << 20, window_bytes: 4 << 20, waits_percent: (rank * 3) % 100, steps_percent: 1,
        elements_per_s: 1000 + rank, bytes_per_s: 1 << 20,
      });
    }
    jobs.push({
      name: k === 0 ? "train" : `job-${k}`, anonymous: false, state: k % 3 === 2 ? "finished" : "running", order: "deterministic", run: 1,
      iteration: 0, positions: 1e7, infinite: false, ranks: sessions.length, positions_bound: 1e5, positions_taken: 1000 * turn,
      taken_percent: (turn / 100) % 100, bound_by: "step", waits_percent: k === 0 ? 90 : 50, steps_percent: 1, elements_per_s: 64000, bytes_per_s: 1e8,
      elements: 64000 * turn, bytes: 1e9, skipped: 3, busy_threads: 4000, streams: 4000, waiting_for_credit: 100, waiting_for_memory: 0,
      verdict: { bound_by: "step", where: "steps[0] decode_image", gain: 3, sentence: "the reader waits for data 90 % of its time", evidence: ["made up"] },
      steps: [
        { name: "tfrecord", source: true, share_percent: 10, cpu_percent: 4, measured_s: 1, cpu_us_per_element: 12, us_per_element: 30 },
        { name: "steps[0] decode_image", source: false, share_percent: 90, cpu_percent: 89, measured_s: 9, cpu_us_per_element: 400, us_per_element: 404 },
      ],
      sessions,
    });
  }
  const events = [];
  for (let k = 0; k < 50; ++k) {
    events.push({ id: k + 1, age_s: 50 - k, kind: k % 5 ? "job" : "worker lost", warning: k % 5 === 0, text: `event ${k}`, count: 1 });
  }
  return {
    jobs, workers, events,
    totals: { jobs: 200, sessions: 263, workers: count, slots: 16000, threads: 8000, busy_threads: 5000, splits: 4000, leases: 3000 },
    faults: { workers_died: 2, leases_failed: 1 }, relay: { bytes: 0 },
    dispatcher: { busy_percent: 22, journal_syncs: 100, journal_last_ms: 1.2, journal_mean_ms: 2.1, leads: { work_dir: "s3://bucket/state", term: 2, since: "2026-11-30T12:00:00Z" } },
    standbys: [{ name: "process 17 on pod-1", heard_s: 3, behind_events: 4 }],
  };
}

const [check, binary, left] = process.argv.slice(2);
folder = left;
assert.ok(check in checks, `no check '${check}'; there are ${Object.keys(checks)}`);
const cluster = new Cluster(binary);
const browser = await chromium.launch({ executablePath: process.env.FEEDMILL_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  await checks[check](browser, cluster);
} finally {
  await browser.close();
  await cluster.close();
}
