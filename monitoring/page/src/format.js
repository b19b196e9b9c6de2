// Numbers as people read them.

const counts = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const shorts = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const known = (value) => value !== undefined && value !== null && Number.isFinite(value);

// 1234567 → "1.2M", 950 → "950".
export function count(value) {
  if (!known(value)) return "–";
  if (Math.abs(value) < 10 && !Number.isInteger(value)) return value.toFixed(1);
  return Math.abs(value) < 10000 ? counts.format(value) : shorts.format(value);
}

export function bytes(value) {
  if (!known(value)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (value >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export const perSecond = (value) => (known(value) ? `${count(value)}/s` : "–");

export const percent = (value) => (known(value) ? `${Math.round(value)} %` : "–");

// Microseconds.
export function micros(value) {
  if (!known(value)) return "–";
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)} s`;
  if (value >= 1e3) return `${(value / 1e3).toFixed(1)} ms`;
  return value >= 10 ? `${Math.round(value)} µs` : `${value.toFixed(value < 0.1 ? 3 : 1)} µs`;
}

export const millis = (value) => (known(value) ? micros(value * 1e3) : "–");

// Seconds: 75 → "1 min 15 s".
export function span(seconds) {
  if (!known(seconds)) return "–";
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

// 2.34 → "2.3×"; 0 is not known.
export function times(value) {
  if (!known(value) || value <= 0) return "–";
  if (value >= 100) return "> 100×";
  return `${value < 10 ? value.toFixed(1) : Math.round(value)}×`;
}

// The worker's address, without the protocol and the key that its name may hold.
export const workerName = (address) => address.replace(/^tcp:\/\//, "").replace(/#.*$/, "");
