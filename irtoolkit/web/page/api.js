// The server's API. A token comes in the fragment of the address, which no server sees.

const fragment = new URLSearchParams(location.hash.slice(1));
if (fragment.has("token")) {
  sessionStorage.setItem("token", fragment.get("token"));
  history.replaceState(null, "", location.pathname);
}

export class Refused extends Error {
  constructor(status, detail) { super(detail); this.status = status; }
}

const wait = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

export async function call(path, settings = {}, tries = 6) {
  const headers = { ...settings.headers };
  const token = sessionStorage.getItem("token");
  if (token) headers.Authorization = `Bearer ${token}`;
  let answer;
  try {
    answer = await fetch(path, { ...settings, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server does not answer. Is it still running?");
  }
  if ((answer.status === 429 || (answer.status === 503 && answer.headers.has("Retry-After"))) && tries > 1) {
    await wait(Number(answer.headers.get("Retry-After") || 2));
    return call(path, settings, tries - 1);
  }
  if (!answer.ok) {
    let detail = answer.statusText;
    try { detail = (await answer.json()).detail; } catch { /* no JSON: the status says enough */ }
    throw new Refused(answer.status, detail || `The server answers ${answer.status}.`);
  }
  return answer;
}

export const get = async (path) => (await call(path)).json();

export const send = (path, body, signal) => call(path, {
  method: "POST", body: JSON.stringify(body), signal,
  headers: { "Content-Type": "application/json" },
});

export async function save(answer, name) {
  const url = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
