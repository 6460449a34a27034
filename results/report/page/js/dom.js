// The record's data, and elements made from it.

const DATA = JSON.parse(document.getElementById("data").textContent);
const RUN = DATA.run;

function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null) element.setAttribute(name, value);
  }
  const present = (child) => child !== null && child !== undefined;
  element.append(...children.flat(Infinity).filter(present));
  return element;
}

// The value in the summary that a pointer such as "/oltp/0/tps" names.
function at(pointer) {
  let value = RUN;
  for (const key of pointer.split("/").slice(1)) value = value?.[key];
  return value;
}

// A figure of the summary: it carries the exact value and where that stands, so that what is read
// off the page can be checked against the record.
function figure(pointer, write) {
  const value = at(pointer);
  if (!known(value)) return document.createTextNode(MISSING);
  return el("data", {value: String(value), "data-pointer": pointer, title: String(value)},
            write(value));
}

function table(heads, rows, classes = []) {
  const head = el("tr", {}, heads.map((text, i) =>
    el("th", {class: rows[0]?.[i] instanceof HTMLTableCellElement ? "words" : null}, text)));
  const body = rows.map((cells, i) => el("tr", {class: classes[i]}, cells.map((cell) =>
    cell instanceof HTMLTableCellElement ? cell : el("td", {}, cell))));
  return el("div", {class: "scroll"}, el("table", {}, el("thead", {}, head),
                                         el("tbody", {}, body)));
}

const words = (text) => el("td", {class: "words"}, text);

function fold(title, ...children) {
  return el("details", {}, el("summary", {}, title), ...children);
}

// Adds a section and its line in the contents; returns the section.
function section(id, title, ...children) {
  document.getElementById("contents").append(el("a", {href: `#${id}`}, title));
  const made = el("section", {id}, el("h2", {}, title), ...children);
  document.getElementById("report").append(made);
  return made;
}

function csvCell(value) {
  if (value === null || value === undefined) return "";
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function download(name, heads, columns) {
  const lines = [heads.map(csvCell).join(",")];
  for (let row = 0; row < columns[0].length; ++row) {
    lines.push(columns.map((column) => csvCell(column[row])).join(","));
  }
  const file = new Blob([`${lines.join("\n")}\n`], {type: "text/csv"});
  const link = el("a", {href: URL.createObjectURL(file), download: `${name}.csv`});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Every part of the record with the place of its figures in the summary.
function partsWithPointers() {
  const seen = {};
  return DATA.parts.map((part, i) => {
    const nth = seen[part.kind] ?? 0;
    seen[part.kind] = nth + 1;
    let pointer = "";
    if (RUN.parts) pointer = `/parts/${i}`;
    else if (RUN.command === "qualify") {
      pointer = part.kind === "load" ? "/load" : `/${part.kind}/${nth}`;
    }
    return {...part, pointer, summary: at(pointer)};
  });
}
