// Requests of operators. The page asks for the token once, and keeps it in memory only.

import { useEffect, useRef, useState } from "preact/hooks";

let token = "";

async function post(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Feedmill": "1", Authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error((await answer.text()).trim() || `status ${answer.status}`);
  return answer.json();
}

export const drainWorker = (worker, drain) => post("/api/workers/drain", { worker, drain });
export const cancelJob = (job) => post("/api/jobs/cancel", { job });
export const sampleBatch = (job, batch) => post("/api/jobs/sample", { job, batch });

// {possible, known, begin, forget}: whether this server takes requests, whether
// the token was given, opens the question for it.
export function useOperator() {
  const [possible, setPossible] = useState(false);
  const [isKnown, setKnown] = useState(token !== "");
  const [asks, setAsks] = useState(false);
  useEffect(() => {
    fetch("/api/operator")
      .then((answer) => answer.json())
      .then((answer) => setPossible(answer.actions === true))
      .catch(() => setPossible(false));
  }, []);
  const forget = () => {
    token = "";
    setKnown(false);
  };
  const dialog = asks && (
    <TokenDialog
      onDone={(given) => {
        setAsks(false);
        if (given) setKnown(true);
      }}
    />
  );
  return { possible, known: isKnown, begin: () => setAsks(true), forget, dialog };
}

function TokenDialog({ onDone }) {
  const ref = useRef(null);
  const [why, setWhy] = useState("");
  useEffect(() => ref.current.showModal(), []);
  const submit = async (event) => {
    event.preventDefault();
    token = event.currentTarget.elements.token.value.trim();
    try {
      await post("/api/operator", {});
      onDone(true);
    } catch (error) {
      token = "";
      setWhy(error.message);
    }
  };
  return (
    <dialog ref={ref} aria-labelledby="token-title" onClose={() => onDone(false)}>
      <form onSubmit={submit}>
        <h2 id="token-title">Operator</h2>
        <p>
          The token is the line of the file that the dispatcher was given as <code>--http-token-file</code>. This page
          forgets it when it is closed.
        </p>
        <label for="token">Token</label>
        <input id="token" name="token" type="password" autocomplete="off" required />
        <p class="wrong" role="alert">{why}</p>
        <div class="buttons">
          <button type="button" onClick={() => ref.current.close()}>Cancel</button>
          <button type="submit" class="primary">Use the token</button>
        </div>
      </form>
    </dialog>
  );
}

// Asks before `act`, and says why it failed.
export function Confirm({ title, text, label, act, onDone }) {
  const ref = useRef(null);
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => ref.current.showModal(), []);
  const go = async () => {
    setBusy(true);
    try {
      await act();
      onDone();
    } catch (error) {
      setWhy(error.message);
      setBusy(false);
    }
  };
  return (
    <dialog ref={ref} aria-labelledby="confirm-title" onClose={onDone}>
      <h2 id="confirm-title">{title}</h2>
      <p>{text}</p>
      <p class="wrong" role="alert">{why}</p>
      <div class="buttons">
        <button type="button" onClick={() => ref.current.close()}>Back</button>
        <button type="button" class="primary" disabled={busy} onClick={go}>{label}</button>
      </div>
    </dialog>
  );
}
