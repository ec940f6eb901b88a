// Texts of queries and documents, each in its own direction.

import { make } from "./dom.js";

function piece({ text, mark }) {
  if (mark === "gap") return make("span", { class: "gap" }, "text sought");
  return mark === "strong" ? make("strong", {}, text) : text;
}

export function texts(parts) {
  const bodies = parts.filter((part) => !part.heading && part.name !== "facet").length;
  return parts.flatMap((part) => {
    const words = part.pieces.map(piece);
    if (part.name === "facet") return [make("p", { class: "field" }, "Facet: ", make("b", {}, ...words))];
    if (part.heading) return [make("p", { class: "heading", dir: "auto" }, ...words)];
    const label = bodies > 1 ? make("p", { class: "field" }, part.name) : null;
    return [label, make("p", { dir: "auto" }, ...words)].filter(Boolean);
  });
}
