// Elements are made here, and texts only ever become text: nothing is parsed as markup.

export const find = (selector, inside = document) => inside.querySelector(selector);

export function make(tag, settings = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function shape(tag, settings = {}) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(settings)) made.setAttribute(name, value);
  return made;
}

export const number = (value) => value.toLocaleString("en-US");
export const count = (value, thing) => `${number(value)} ${thing}${value === 1 ? "" : "s"}`;
export const percent = (share) => `${Math.round(100 * share)}\u00a0%`;

export function say(text) { find("#status").textContent = text; }

export function warn(text) {
  const place = find("#alert");
  place.textContent = text;
  place.hidden = !text;
}
