// Strips that show where in the books the passages lie, with the curve of similarity behind them.

import { count as counted, make, percent, shape } from "./dom.js";
import { nameOf } from "./hits.js";

function curve(values) {
  const low = Math.min(...values), high = Math.max(...values);
  const step = 100 / values.length;
  const points = values.map((value, place) => `${(place + 0.5) * step},${30 - 28 * (value - low) / (high - low || 1)}`);
  const drawn = shape("svg", { viewBox: "0 0 100 30", preserveAspectRatio: "none", "aria-hidden": "true" });
  drawn.append(shape("polygon", { class: "curve", points: `0,30 ${points.join(" ")} 100,30` }));
  return drawn;
}

function tick(hit, answer, row, rows) {
  const link = make("a", { href: `#${answer.system}-${hit.rank}`, tabindex: "-1", class: `${answer.system}${hit.rank === 1 ? " first" : ""}`, title: `${nameOf(answer.system)}, ${hit.rank}: ${hit.place.chapter || percent(hit.place.share)}` });
  link.style.left = `${100 * hit.place.share}%`;
  link.style.top = `${(100 * row) / rows + 8 / rows}%`;
  link.style.height = `${84 / rows}%`;
  return link;
}

export function strips(collection, answers) {
  const made = [];
  for (const [place, book] of collection.books.entries()) {
    const own = answers.map((answer) => answer.hits.filter((hit) => hit.book === book.name));
    const count = own.reduce((sum, hits) => sum + hits.length, 0);
    if (!count) continue;
    const strip = make("div", { class: "strip", "aria-hidden": "true" });
    const similar = answers.find((answer) => answer.curve.length)?.curve[place];
    if (similar && similar.length > 1) strip.append(curve(similar));
    for (const chapter of book.chapters) {
      if (!chapter.share) continue;
      const line = make("span", { class: "chapter", title: chapter.title });
      line.style.left = `${100 * chapter.share}%`;
      strip.append(line);
    }
    answers.forEach((answer, row) => own[row].forEach((hit) => strip.append(tick(hit, answer, row, answers.length))));
    const said = answers.map((answer, row) => `${nameOf(answer.system)}: ${own[row].map((hit) => percent(hit.place.share)).join(", ") || "none"}`).join(". ");
    const right = book.chapters.length ? counted(book.chapters.length, "chapter") : counted(book.sentences, "sentence");
    made.push(make("div", { class: "strip-of" },
      make("div", { class: "strip-title" }, make("span", { lang: book.lang }, book.title), make("span", {}, right)),
      strip, make("p", { class: "hidden-text" }, `Where the passages lie in the book, from its beginning. ${said}.`)));
  }
  if (made.length) {
    const keys = answers.map((answer) => make("span", { class: answer.system }, make("i", {}), nameOf(answer.system)));
    made.push(make("p", { class: "legend", "aria-hidden": "true" }, ...keys, answers.some((answer) => answer.curve.length) ? "left to right: the book from its beginning to its end; shaded: similarity in meaning" : "left to right: the book from its beginning to its end"));
  }
  return made;
}
