// A dispatcher with its page, workers and readers, in a folder of its own.

import { spawn } from "node:child_process";
import { chmodSync, closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const sleepMs = (ms) => new Promise((done) => setTimeout(done, ms));

// Returns the fact when it holds.
export async function waitFor(fact, what, seconds = 40) {
  const end = performance.now() + 1000 * seconds;
  for (;;) {
    const value = await fact();
    if (value) return value;
    if (performance.now() > end) throw new Error(`waited ${seconds} s for ${what}`);
    await sleepMs(20);
  }
}

export class Cluster {
  constructor(binary) {
    this.binary = binary;
    this.folder = mkdtempSync(join(tmpdir(), "browser-"));
    this.processes = [];
    this.token = "a-token-of-a-test-0123456789";
  }

  start(name, ...words) {
    const log = openSync(join(this.folder, `${name}.log`), "a");
    const child = spawn(this.binary, words, {
      stdio: ["ignore", "ignore", log],
      env: { ...process.env, HOME: this.folder, FEEDMILL_INDEXES: join(this.folder, "indexes") },
    });
    closeSync(log);
    child.ended = new Promise((done) => child.on("exit", (code, signal) => done(code ?? signal)));
    this.processes.push(child);
    return child;
  }

  log(name) {
    return readFileSync(join(this.folder, `${name}.log`), "utf8");
  }

  async file(name) {
    const path = join(this.folder, name);
    await waitFor(() => existsSync(path) && readFileSync(path, "utf8"), name);
    return readFileSync(path, "utf8").trim();
  }

  write(name, text) {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  async dispatcher(...flags) {
    const token = this.write("token", `${this.token}\n`);
    chmodSync(token, 0o600);
    this.start("dispatcher", "dispatcher", "--ready-file", join(this.folder, "address"), "--http", "127.0.0.1:0",
      "--http-ready-file", join(this.folder, "http"), "--http-token-file", token,
      "--work-dir", join(this.folder, "work"), ...flags);
    this.service = await this.file("address");
    this.http = await this.file("http");
  }

  async worker(name) {
    const child = this.start(name, "worker", "--dispatcher", this.service, "--ready-file",
      join(this.folder, `${name}.ready`), "--threads", "1");
    child.address = await this.file(`${name}.ready`);
    child.shown = child.address.replace("tcp://", "");
    return child;
  }

  read(text, job, ...flags) {
    return this.start(`read-${job}${flags.join("").replaceAll(/\W/g, "")}`, "read", this.write(`${job}.yaml`, text),
      "--service", this.service, "--job", job, "--format", "none", ...flags);
  }

  async status() {
    return (await fetch(`${this.http}/api/status`)).json();
  }

  async close() {
    for (const child of this.processes.reverse()) {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await child.ended;
      clearTimeout(timer);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
