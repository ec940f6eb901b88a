"use strict";
(async () => {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (c) => c.charCodeAt(0));
  const data = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  const $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";

  // Text enters the page only as text nodes and attributes: nothing here parses markup.
  const fill = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
    }
    node.append(...children.flat().filter((child) => child !== null));
    return node;
  };
  const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  const count = data.queries.length;
  const queriesOf = (n) => (n === 1 ? "1 query" : `${n.toLocaleString("en")} queries`);
  const shown = (value) => {
    if (value === null) return "unknown";
    if (Number.isInteger(value) && Math.abs(value) >= 10) return value.toLocaleString("en");
    return Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(4);
  };
  const signed = (value) => (value > 0 ? "+" : value < 0 ? "\u2212" : "") + shown(Math.abs(value));
  const state = { measure: data.chart, a: data.pair[0], b: data.pair[1], query: -1 };

  const valuesOf = (system) => data.values[state.measure][system];
  const lower = () => data.measures[state.measure].lower;
  // By how much system a is better than b; null where either value is unknown.
  const gain = (q) => {
    const x = valuesOf(state.a)[q], y = valuesOf(state.b)[q];
    if (x === null || y === null) return null;
    return lower() ? y - x : x - y;
  };
  const kind = (system) => `s${system % data.kinds}`;
  const entries = new Map(data.entries.map((entry) => [entry.q, entry]));

  // -- charts ---------------------------------------------------------------------------------

  const ticks = (low, high, most) => {
    const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((m) => m >= raw * 0.999);
    const found = [];
    for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-6; t += step) {
      found.push(Math.abs(t) < step * 1e-6 ? 0 : Number(t.toPrecision(10)));
    }
    return found;
  };
  const tickName = (t) => (t > 0 ? "+" : t < 0 ? "\u2212" : "") + Math.abs(t).toLocaleString("en", { maximumFractionDigits: 4 });
  const text = (x, y, words, anchor) => s("text", { x, y, "text-anchor": anchor }, words);
  const chart = (id, width, height, words, ...parts) => {
    const title = `${id}-title`;
    return s("svg", { class: "drawn", viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-labelledby": title },
      s("title", { id: title }, words), ...parts);
  };
  const say = (id, words) => { $(id).textContent = words; };
  const wholeQuery = (q) => {
    const x = data.systems[state.a].name, y = data.systems[state.b].name;
    return `${data.queries[q]}: ${x} ${shown(valuesOf(state.a)[q])}, ${y} ${shown(valuesOf(state.b)[q])}`
      + (entries.has(q) ? "" : " (no texts in this page)");
  };
  // A line below the chart describes what is under the pointer; a click opens the query.
  const pointing = (svg, find, where, idle) => {
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      return find((event.clientX - box.left) * svg.viewBox.baseVal.width / box.width,
        (event.clientY - box.top) * svg.viewBox.baseVal.height / box.height);
    };
    svg.addEventListener("pointermove", (event) => { const found = at(event); say(where, found ? found.words : idle); });
    svg.addEventListener("pointerleave", () => say(where, idle));
    svg.addEventListener("click", (event) => {
      const found = at(event);
      if (found && entries.has(found.query)) open(found.query, true);
    });
  };

  const drawBars = () => {
    const place = $("bars");
    if (!place) return;
    const width = Math.max(260, Math.min(760, place.clientWidth)), height = 240, left = 52, right = 6, top = 8, bottom = 12;
    const order = [];
    for (let q = 0; q < count; q += 1) if (gain(q) !== null) order.push(q);
    order.sort((p, q) => gain(q) - gain(p) || p - q);
    const one = data.systems[state.a].name, two = data.systems[state.b].name, name = data.measures[state.measure].name;
    const wins = order.filter((q) => gain(q) > 0).length, losses = order.filter((q) => gain(q) < 0).length;
    const left_out = count - order.length;
    const words = `${name}: ${one} is better for ${queriesOf(wins)}, ${two} for ${queriesOf(losses)}, and they are equal for`
      + ` ${queriesOf(order.length - wins - losses)}.`
      + (left_out ? ` Left out for lack of a value: ${queriesOf(left_out)}.` : "");
    const high = order.length ? Math.max(gain(order[0]), 0) : 0;
    const low = order.length ? Math.min(gain(order[order.length - 1]), high > 0 ? 0 : -1e-9) : -1e-9;
    const wide = width - left - right, tall = height - top - bottom;
    const y = (v) => top + tall * (high - v) / (high - low);
    const parts = [];
    // Two systems that are equal for every query need no scale.
    for (const t of wins + losses ? ticks(low, high, 5) : [0]) {
      parts.push(s("path", { class: t === 0 ? "axis" : "rule", d: `M${left} ${y(t)}H${width - right}` }),
        text(left - 5, y(t) + 4, tickName(t), "end"));
    }
    const columns = Math.min(order.length, Math.floor(wide)), step = wide / Math.max(columns, 1);
    // A column of several queries shows the largest difference, so that no extreme is lost.
    const queryAt = (column) => {
      const from = Math.floor(column * order.length / columns), to = Math.max(from, Math.ceil((column + 1) * order.length / columns) - 1);
      return Math.abs(gain(order[from])) >= Math.abs(gain(order[to])) ? order[from] : order[to];
    };
    const paths = ["", ""];
    for (let c = 0; c < columns; c += 1) {
      const value = gain(queryAt(c)), x = (left + (c + 0.5) * step).toFixed(2);
      if (value) paths[value > 0 ? 0 : 1] += `M${x} ${y(0).toFixed(2)}V${y(value).toFixed(2)}`;
    }
    const thick = step > 3 ? step * 0.8 : step * 1.05;
    parts.push(s("path", { class: `bar ${kind(state.a)}`, d: paths[0], "stroke-width": thick }),
      s("path", { class: `bar ${kind(state.b)}`, d: paths[1], "stroke-width": thick }));
    const svg = chart("bars", width, height, words, ...parts);
    const idle = "Point at a bar to see its query. Click it to read the texts of the query below.";
    pointing(svg, (px) => {
      const c = Math.floor((px - left) / step);
      if (c < 0 || c >= columns) return null;
      const q = queryAt(c);
      return { query: q, words: `${wholeQuery(q)}, ${signed(gain(q))}` };
    }, "bars-said", idle);
    place.replaceChildren(svg);
    say("bars-said", idle);
    say("bars-words", words + (columns < order.length ? ` Each column shows the largest difference of about ${Math.round(order.length / columns)} queries.` : ""));
    $("bars-legend").replaceChildren(...[state.a, state.b].map((system, i) => h("li", {}, legend(system), ` ${data.systems[system].name} better ${i ? "(below the line)" : "(above the line)"}`)));
  };
  const legend = (system) => s("svg", { class: `swatch ${kind(system)}`, viewBox: "-8 -7 16 14", width: 16, height: 14, role: "img" },
    s("title", {}, data.systems[system].name), s("path", { class: "dot", d: "M-6 -6H6V6H-6Z" }));

  // Axes have no room for long names, which the line below the chart has in full.
  const short = (name) => (name.length > 30 ? `${name.slice(0, 28)}\u2026` : name);
  const drawScatter = () => {
    const place = $("scatter");
    if (!place) return;
    const width = Math.max(260, Math.min(460, place.clientWidth)), height = width, left = 52, right = 10, top = 8, bottom = 44;
    const xs = valuesOf(state.a), ys = valuesOf(state.b), rank = lower();
    const kept = [];
    let low = rank ? 1 : 0, high = rank ? 2 : 1e-9;
    for (let q = 0; q < count; q += 1) {
      if (xs[q] === null || ys[q] === null) continue;
      kept.push(q);
      low = Math.min(low, xs[q], ys[q]);
      high = Math.max(high, xs[q], ys[q]);
    }
    const wide = width - left - right, tall = height - top - bottom;
    const share = (v) => (rank ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low));
    // Leaves room for the largest spots beside the numbers of the axes.
    const x = (v) => left + 14 + (wide - 28) * share(v), y = (v) => top + 14 + (tall - 28) * (1 - share(v));
    const name = data.measures[state.measure].name, one = data.systems[state.a].name, two = data.systems[state.b].name;
    const parts = [];
    let marks = ticks(low, high, 4);
    if (rank) { marks = []; for (let t = 1; t <= high; t *= 10) marks.push(t); }
    for (const t of marks) {
      parts.push(s("path", { class: "rule", d: `M${x(t)} ${top}V${height - bottom}M${left} ${y(t)}H${width - right}` }),
        text(x(t), height - bottom + 15, t.toLocaleString("en"), "middle"), text(left - 5, y(t) + 4, t.toLocaleString("en"), "end"));
    }
    parts.push(s("path", { class: "axis", d: `M${x(low)} ${y(low)}L${x(high)} ${y(high)}`, "stroke-dasharray": "4 4" }));
    parts.push(text(left + wide / 2, height - 8, `${name}, ${short(one)}`, "middle"),
      s("text", { transform: `translate(13 ${top + tall / 2}) rotate(-90)`, "text-anchor": "middle" }, `${name}, ${short(two)}`));
    const spots = new Map();
    for (const q of kept) {
      const key = `${x(xs[q]).toFixed(1)} ${y(ys[q]).toFixed(1)}`;
      if (!spots.has(key)) spots.set(key, []);
      spots.get(key).push(q);
    }
    const bySize = new Map();
    for (const [key, queries] of spots) {
      const size = (5 + 2 * Math.min(12, Math.sqrt(queries.length - 1))).toFixed(1);
      bySize.set(size, `${bySize.get(size) || ""}M${key}h0`);
    }
    for (const [size, d] of bySize) parts.push(s("path", { class: "spot", d, "stroke-width": size }));
    const above = kept.filter((q) => gain(q) < 0).length, below = kept.filter((q) => gain(q) > 0).length;
    const words = `Each query's ${name} by ${one} (across) and by ${two} (up)${rank ? ", on logarithmic axes" : ""}: ${queriesOf(below)} on`
      + ` ${one}'s side of the dashed line of equality, ${queriesOf(above)} on ${two}'s. Larger spots stand for several queries.`;
    const svg = chart("scatter", width, height, words, ...parts);
    const idle = "Point at a spot to see its query.";
    pointing(svg, (px, py) => {
      let best = null, near = 14 * 14;
      for (const [key, queries] of spots) {
        const [sx, sy] = key.split(" ").map(Number), d = (sx - px) ** 2 + (sy - py) ** 2;
        if (d < near) { near = d; best = queries; }
      }
      if (!best) return null;
      const first = best.find((q) => entries.has(q)) ?? best[0];
      return { query: first, words: wholeQuery(first) + (best.length > 1 ? `, and ${queriesOf(best.length - 1)} more` : "") };
    }, "scatter-said", idle);
    svg.style.maxWidth = `${width}px`;
    place.replaceChildren(svg);
    say("scatter-said", idle);
    say("scatter-words", words);
  };

  // -- texts ----------------------------------------------------------------------------------

  const pieces = (list) => list.map((piece, i) => (i % 2 ? h("mark", {}, piece) : piece)).filter((piece) => piece !== "");
  const facts = (list) => list.map(([name, value]) => `${name}: ${value}`).join(" \u00b7 ");
  const CLAMPED = 330;

  const showDoc = (entry, id, rank, heading) => {
    const doc = entry.docs[id], grade = entry.grades[id];
    const relevant = grade !== undefined && grade >= data.rel;
    const item = h(heading ? "div" : "li", { class: `doc${relevant ? " gold" : ""}` });
    const top = h("div", { class: "top" }, rank ? h("span", { class: "rank" }, `${rank}`) : null, h("span", {}, id),
      relevant ? h("span", { class: "badge" }, data.graded ? `relevant, grade ${grade}` : "relevant")
        : grade !== undefined && data.graded ? h("span", { class: "grade" }, `grade ${grade}`) : null,
      doc && !doc.shares ? h("span", { class: "apart" }, "shares no word with the query") : null);
    item.append(top);
    if (!doc) {
      item.append(h("p", { class: "muted" }, "The collection has no text of this document."));
      return item;
    }
    if (doc.title) item.append(h("p", { class: "title", lang: data.docLang }, ...pieces(doc.title)));
    const { held, length } = doc, cut = length > held;
    const body = h("p", { lang: data.docLang }, ...pieces(doc.pieces), cut ? "\u2026" : null);
    item.append(body);
    if (cut) item.append(h("p", { class: "muted" }, `The first ${held.toLocaleString("en")} of ${length.toLocaleString("en")} characters.`));
    if (doc.facts.length && heading) item.append(h("p", { class: "muted" }, facts(doc.facts)));
    if (held > CLAMPED) {
      body.classList.add("clamp");
      const more = h("button", { type: "button", class: "more", "aria-expanded": "false" }, "Show all", h("span", { class: "vh" }, ` of ${id}`));
      more.addEventListener("click", () => {
        const closed = body.classList.toggle("clamp");
        more.setAttribute("aria-expanded", String(!closed));
        more.firstChild.textContent = closed ? "Show all" : "Show less";
      });
      item.append(more);
    }
    return item;
  };

  const showEntry = (entry) => {
    const detail = $("detail"), id = data.queries[entry.q];
    const parts = [h("h3", { id: "detail-name" }, `Query ${id}`)];
    if (entry.text) {
      if (entry.text.title) parts.push(h("p", { class: "title", lang: data.queryLang }, ...pieces(entry.text.title)));
      const { held, length } = entry.text, cut = length > held;
      parts.push(h("p", { class: "asked", lang: data.queryLang }, ...pieces(entry.text.pieces), cut ? "\u2026" : null));
      if (cut) parts.push(h("p", { class: "muted" }, `The first ${held.toLocaleString("en")} of ${length.toLocaleString("en")} characters.`));
      if (entry.text.facts.length) parts.push(h("p", { class: "muted" }, facts(entry.text.facts)));
    } else parts.push(h("p", { class: "muted" }, "The dataset has no text of this query."));
    const rows = data.systems.map((system, i) => h("tr", {}, h("th", { scope: "row" }, system.name),
      h("td", {}, shown(valuesOf(i)[entry.q])),
      h("td", {}, data.ranks[i][entry.q] === null ? (entry.relevant ? "not in the run" : "\u2013") : data.ranks[i][entry.q].toLocaleString("en"))));
    parts.push(h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures of the query" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "System"), h("th", { scope: "col" }, data.measures[state.measure].name),
        h("th", { scope: "col" }, "First relevant at rank"))), h("tbody", {}, ...rows))));
    parts.push(h("h3", {}, entry.relevant === 1 ? "Relevant document" : "Relevant documents"));
    if (!entry.relevant) parts.push(h("p", { class: "muted" }, `No document has grade ${data.rel} or more.`));
    if (entry.relevant > entry.gold.length) parts.push(h("p", { class: "muted" }, `${entry.gold.length} of ${entry.relevant}, the highest grades first.`));
    const golds = entry.gold.map((doc) => showDoc(entry, doc, null, true));
    if (golds.length > 2) parts.push(...golds.slice(0, 1), h("details", {}, h("summary", {}, `${golds.length - 1} more relevant documents`), ...golds.slice(1)));
    else parts.push(...golds);
    parts.push(h("h3", {}, "First documents of each system"));
    const columns = entry.tops.map((top, i) => h("section", { "aria-label": data.systems[i].name }, h("h4", {}, legend(i), data.systems[i].name),
      top.length ? h("ol", { class: "docs" }, ...top.map((doc, r) => showDoc(entry, doc, r + 1, false)))
        : h("p", { class: "muted" }, "The run lacks this query.")));
    parts.push(h("div", { class: "columns", tabindex: "0", role: "region", "aria-label": "Top documents of each system" }, ...columns));
    detail.replaceChildren(...parts);
    for (const body of detail.querySelectorAll(".clamp")) {
      if (body.clientHeight && body.scrollHeight <= body.clientHeight + 2) {
        body.classList.remove("clamp");
        body.parentNode.querySelector(".more").remove();
      }
    }
  };

  const open = (query, focus) => {
    state.query = query;
    showEntry(entries.get(query));
    for (const button of document.querySelectorAll(".queries button")) {
      button.setAttribute("aria-current", String(Number(button.dataset.query) === query));
    }
    if (focus) {
      history.replaceState(null, "", `#query=${encodeURIComponent(data.queries[query])}`);
      $("detail").focus({ preventScroll: true });
      const box = $("detail").getBoundingClientRect();
      if (box.top < 0 || box.top > window.innerHeight * 0.6) $("detail").scrollIntoView();
    }
  };

  const PAGE = 100;
  const orders = {
    gain: (p, q) => (gain(q.q) ?? 0) - (gain(p.q) ?? 0),
    loss: (p, q) => (gain(p.q) ?? 0) - (gain(q.q) ?? 0),
    hard: (p, q) => mean(p.q) - mean(q.q),
    easy: (p, q) => mean(q.q) - mean(p.q),
    id: (p, q) => p.q - q.q,
  };
  const mean = (q) => {
    let sum = 0;
    for (let i = 0; i < data.systems.length; i += 1) sum += valuesOf(i)[q] ?? (lower() ? 1e9 : 0);
    return lower() ? -sum : sum;
  };
  const plain = (entry) => (entry.text ? entry.text.pieces.join("") : "");
  let page = PAGE;
  const list = () => {
    const words = $("find").value.trim().toLowerCase();
    const found = data.entries.filter((entry) => !words || data.queries[entry.q].toLowerCase().includes(words)
      || plain(entry).toLowerCase().includes(words));
    found.sort((p, q) => orders[$("order").value](p, q) || p.q - q.q);
    const items = found.slice(0, page).map((entry) => {
      const button = h("button", { type: "button", "data-query": entry.q, "aria-current": String(entry.q === state.query) },
        h("span", { class: "id" }, data.queries[entry.q]),
        h("span", { class: "snippet", lang: data.queryLang }, plain(entry).slice(0, 160)),
        h("span", { class: "values" }, data.systems.map((system, i) => `${system.letter} ${shown(valuesOf(i)[entry.q])}`).join("  ")));
      button.addEventListener("click", () => open(entry.q, true));
      return h("li", {}, button);
    });
    if (found.length > page) {
      const more = h("button", { type: "button" }, `Show ${Math.min(PAGE, found.length - page)} more`);
      more.addEventListener("click", () => { page += PAGE; list(); });
      items.push(h("li", {}, more));
    }
    $("queries-list").replaceChildren(...items);
    say("found", found.length === data.entries.length ? queriesOf(found.length) : `${found.length} of ${queriesOf(data.entries.length)}`);
  };

  // -- the table of systems -------------------------------------------------------------------

  const table = $("figures"), rows = [...table.tBodies[0].rows];
  const valueIn = (row, at) => Number.parseFloat(row.cells[at].dataset.value);
  const compared = (at, down) => (p, q) => {
    const name = (row) => row.cells[0].dataset.value;
    if (at === 0) return (down ? -1 : 1) * name(p).localeCompare(name(q), "en", { numeric: true });
    const x = valueIn(p, at), y = valueIn(q, at);
    // Rows without a value are last, whichever way the others are.
    return Number.isNaN(x) - Number.isNaN(y) || (down ? y - x : x - y) || rows.indexOf(p) - rows.indexOf(q);
  };
  const sortBy = (head) => {
    const before = head.getAttribute("aria-sort") ?? "none";
    const down = before === "none" ? head.dataset.first === "descending" : before === "ascending";
    for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    table.tBodies[0].append(...[...rows].sort(compared(head.cellIndex, down)));
  };
  if (rows.length > 1) {
    for (const head of table.tHead.rows[0].cells) {
      const button = h("button", { type: "button", class: "sort" });
      // What a head adds in small print stays below the button.
      button.append(...[...head.childNodes].filter((node) => node.nodeName !== "SMALL"));
      button.addEventListener("click", () => sortBy(head));
      head.prepend(button);
    }
    $("filter").addEventListener("input", () => {
      const words = $("filter").value.toLowerCase().split(/\s+/);
      for (const row of rows) row.hidden = !words.every((word) => row.cells[0].textContent.toLowerCase().includes(word));
      const left = rows.filter((row) => !row.hidden).length;
      say("filtered", left < rows.length ? `${left} of ${rows.length} systems` : "");
    });
  }
  for (const button of table.querySelectorAll(".copy")) {
    const code = button.previousElementSibling, word = button.firstChild;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        word.textContent = "Copied";
      } catch {
        // Without access to the clipboard the command is selected, for the reader to copy.
        getSelection().selectAllChildren(code);
        word.textContent = "Selected";
      }
      setTimeout(() => { word.textContent = "Copy"; }, 2000);
    });
  }

  // -- choices --------------------------------------------------------------------------------

  const options = (select, names, chosen) => {
    select.replaceChildren(...names.map((name, i) => h("option", { value: i, selected: i === chosen ? "" : null }, name)));
  };
  const draw = () => { drawBars(); drawScatter(); };
  const refresh = () => {
    for (const part of document.querySelectorAll("[data-measure]")) part.hidden = Number(part.dataset.measure) !== state.measure;
    draw();
    if ($("queries-list")) {
      list();
      if (state.query >= 0) showEntry(entries.get(state.query));
    }
  };
  const choosers = (name) => document.querySelectorAll(`select[data-chooses="${name}"]`);
  for (const name of ["measure", "a", "b"]) {
    for (const select of choosers(name)) {
      options(select, name === "measure" ? data.measures.map((m) => m.name) : data.systems.map((m) => `${m.letter}  ${m.name}`), state[name]);
      select.addEventListener("change", () => {
        state[name] = Number(select.value);
        for (const other of choosers(name)) other.value = select.value;
        refresh();
      });
    }
  }
  for (const part of document.querySelectorAll(".controls")) part.hidden = false;
  if ($("queries-list")) {
    if (data.systems.length === 1) for (const name of ["gain", "loss"]) $("order").querySelector(`[value=${name}]`).remove();
    $("find").addEventListener("input", () => { page = PAGE; list(); });
    $("order").addEventListener("change", () => { page = PAGE; list(); });
  }
  refresh();
  const named = () => {
    const found = /^#query=(.*)$/.exec(location.hash);
    let id = null;
    try { id = found && decodeURIComponent(found[1]); } catch { id = null; }
    return id === null ? -1 : data.queries.indexOf(id);
  };
  if ($("queries-list")) {
    const asked = named();
    const first = Number(document.querySelector(".queries button").dataset.query);
    open(entries.has(asked) ? asked : first, false);
    if (entries.has(asked)) $("detail").scrollIntoView();
    window.addEventListener("hashchange", () => { const next = named(); if (entries.has(next)) open(next, true); });
  }
  let last = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== last) { last = window.innerWidth; requestAnimationFrame(draw); }
  });
  document.documentElement.dataset.ready = "";
})();
