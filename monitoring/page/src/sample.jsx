// A batch of a job, made again from the files: what the trainer gets. It shows data, so it is for operators.

import { useEffect, useRef, useState } from "preact/hooks";
import { percent } from "./format.js";
import { sampleBatch } from "./operator.jsx";

function Picture({ picture, label }) {
  const ref = useRef(null);
  useEffect(() => {
    const bytes = atob(picture.rgb);
    const image = new ImageData(picture.width, picture.height);
    for (let at = 0, to = 0; at < bytes.length; at += 3) {
      for (let k = 0; k < 3; ++k) image.data[to++] = bytes.charCodeAt(at + k);
      image.data[to++] = 255;
    }
    ref.current.getContext("2d").putImageData(image, 0, 0);
  }, [picture]);
  return <canvas ref={ref} width={picture.width} height={picture.height} role="img" aria-label={label} />;
}

function Component({ component }) {
  const name = component.name || "elements";
  return (
    <div class="component">
      <h3>{name} <code>{component.type}</code></h3>
      {component.pictures && (
        <div class="pictures">
          {component.pictures.map((picture, k) => <Picture key={k} picture={picture} label={`${name} ${k}`} />)}
        </div>
      )}
      {(component.texts ?? component.values) && (
        <ol class="items">{(component.texts ?? component.values).map((text, k) => <li key={k}>{text}</li>)}</ol>
      )}
    </div>
  );
}

function Provenance({ sample }) {
  return (
    <>
      {sample.inputs.length > 0 && (
        <table class="inputs">
          <caption>Where the {sample.record_count} records come from</caption>
          <thead><tr><th scope="col">Input</th><th scope="col">Records</th><th scope="col">Share</th><th scope="col">Weight</th></tr></thead>
          <tbody>
            {sample.inputs.map((input) => (
              <tr key={input.name}>
                <td>{input.name}</td><td>{input.records}</td><td>{percent(input.percent)}</td>
                <td>{input.weight_percent === undefined ? "–" : percent(input.weight_percent)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <details>
        <summary>{sample.record_count} records</summary>
        <ol class="items">
          {sample.records.map((record, k) => <li key={k}>record {record.record}{record.file && ` of ${record.file}`}</li>)}
          {sample.record_count > sample.records.length && <li>…</li>}
        </ol>
      </details>
    </>
  );
}

export function Sample({ job, operator }) {
  const [number, setNumber] = useState(0);
  const [sample, setSample] = useState(null);
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    setSample(null);
    setWhy("");
  }, [job.name]);
  if (!operator.possible || !operator.known) return null;
  const show = async (event) => {
    event.preventDefault();
    setBusy(true);
    setWhy("");
    try {
      setSample(await sampleBatch(job.name, number));
    } catch (error) {
      setSample(null);
      setWhy(error.message);
    }
    setBusy(false);
  };
  return (
    <section class="card wide sample" aria-labelledby="sample">
      <div class="title">
        <h2 id="sample">A batch</h2>
        <form onSubmit={show}>
          <label>number <input type="number" min="0" step="1" value={number} onInput={(event) => setNumber(Math.max(0, Math.floor(Number(event.currentTarget.value)) || 0))} /></label>
          <button type="submit" disabled={busy}>{busy ? "Making it…" : "Show"}</button>
        </form>
      </div>
      <p class="wrong" role="alert">{why}</p>
      {sample && (
        <>
          <p class="quiet">Batch {sample.batch} of epoch {sample.epoch}, seed {sample.seed}</p>
          {sample.components.map((component) => <Component key={component.name} component={component} />)}
          <Provenance sample={sample} />
        </>
      )}
    </section>
  );
}
