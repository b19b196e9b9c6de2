// The status of the service, live.

const kRetry = 2000; // milliseconds

// Calls `onStatus(status)` for each status and `onTrouble(text)` while there is
// none. Returns a function that ends it. Without a stream (there are as many as
// there may be), asks again and again. Rests while the page is hidden.
export function follow(onStatus, onTrouble) {
  let source = null;
  let timer = 0;
  let ended = false;

  const later = (work) => {
    clearTimeout(timer);
    timer = setTimeout(work, kRetry);
  };

  async function poll() {
    try {
      const answer = await fetch("/api/status");
      if (!answer.ok) throw new Error((await answer.text()).trim());
      onStatus(await answer.json());
    } catch (error) {
      onTrouble(`The dispatcher does not answer: ${error.message}`);
    }
    if (!ended && !document.hidden) later(open);
  }

  function open() {
    close();
    source = new EventSource("/api/stream");
    source.addEventListener("status", (event) => onStatus(JSON.parse(event.data)));
    source.addEventListener("trouble", (event) => onTrouble(event.data));
    source.onerror = () => {
      close();
      poll(); // says why, or shows the status without a stream
    };
  }

  function close() {
    clearTimeout(timer);
    source?.close();
    source = null;
  }

  const onVisible = () => (document.hidden ? close() : open());
  document.addEventListener("visibilitychange", onVisible);
  open();
  return () => {
    ended = true;
    close();
    document.removeEventListener("visibilitychange", onVisible);
  };
}
