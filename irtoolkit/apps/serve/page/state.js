// The search in the address of the page, so that it can be kept, sent and opened again.

const USUAL = { length: 8, depth: 20 };

export function read() {
  const given = new URLSearchParams(location.search);
  const whole = (name, most) => Math.min(most, Math.max(1, Math.round(Number(given.get(name))) || USUAL[name]));
  return {
    query: (given.get("q") ?? "").slice(0, 4000), book: given.get("book"),
    systems: (given.get("by") ?? "").split(" ").filter((name) => ["words", "meaning", "both"].includes(name)),
    length: whole("length", 20), depth: whole("depth", 100),
  };
}

export function push(asked) {
  const shown = new URLSearchParams({ q: asked.query, book: asked.collection });
  if (asked.systems.join() !== asked.best) shown.set("by", asked.systems.join(" "));
  for (const [name, usual] of Object.entries(USUAL)) if (asked[name] !== usual) shown.set(name, asked[name]);
  const address = `${location.pathname}?${shown}`;
  if (address !== location.pathname + location.search) history.pushState(null, "", address);
}
