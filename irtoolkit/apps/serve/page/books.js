// The part of the API that is about books.

import { call } from "./api.js";

export async function add(file) {
  const path = `/collections?filename=${encodeURIComponent(file.name.slice(-200))}`;
  return (await call(path, { method: "POST", body: file, headers: { "Content-Type": "application/octet-stream" } })).json();
}

export const remove = (id) => call(`/collections/${id}`, { method: "DELETE" });

// Calls `tell` with each event of a stream of progress, until it ends.
export async function follow(id, tell) {
  const reader = (await call(`/collections/${id}/progress`)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) tell(JSON.parse(event.replace(/^data: /, "")));
  }
}
