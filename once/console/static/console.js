// Keeps the table and the strip up to date, and makes the page quick to use by keyboard.

const MOST = 500;
const table = document.querySelector("[data-stream]");

function element(html) {
  const template = document.createElement("template");
  template.innerHTML = html; // rendered and escaped by the server; the page's policy runs no script in it
  return template.content.firstElementChild;
}

function live() {
  const body = document.getElementById("rows");
  const strip = document.getElementById("strip");
  const said = document.getElementById("live");
  const pause = document.getElementById("pause");
  const waiting = [];
  const old = new Set(); // rows that a filter brings back are no news
  let source;

  function put([id, html, onTop]) {
    const row = element(html);
    const before = document.getElementById(`row-${id}`);
    if (before && !onTop) {
      before.replaceWith(row);
      return;
    }
    if (before?.innerHTML === row.innerHTML) return;
    const focused = before?.contains(document.activeElement);
    before?.remove();
    if (!old.delete(id)) row.classList.add("fresh");
    body.prepend(row);
    if (focused) row.querySelector("a")?.focus({ preventScroll: true });
  }

  // Some rows at a time, so that no task keeps the page from answering.
  function draw() {
    if (pause.ariaPressed === "true") {
      if (waiting.length) said.textContent = "paused, there is more";
      return;
    }
    const [rows, gone] = waiting.shift() ?? [[], []];
    for (const row of rows) put(row);
    for (const id of gone) document.getElementById(`row-${id}`)?.remove();
    while (body.rows.length > MOST) body.lastElementChild.remove();
    if (waiting.length) setTimeout(draw);
  }

  function later(rows, gone) {
    waiting.push([rows, gone]);
    if (waiting.length === 1) setTimeout(draw);
  }

  function open() {
    source = new EventSource(table.dataset.stream);
    source.onopen = () => (said.textContent = "live");
    source.onerror = () => (said.textContent = "not connected; trying again");
    source.addEventListener("rows", (event) => {
      const rows = JSON.parse(event.data);
      for (let at = 0; at < rows.length; at += 25) later(rows.slice(at, at + 25), []);
    });
    source.addEventListener("only", (event) => {
      const ids = JSON.parse(event.data);
      if (!body.rows.length) for (const id of ids) old.add(id);
      const here = new Set(ids.map((id) => `row-${id}`));
      later([], [...body.rows].map((row) => row.id).filter((id) => !here.has(id)).map((id) => id.slice(4)));
    });
    source.addEventListener("gone", (event) => later([], JSON.parse(event.data)));
    source.addEventListener("strip", (event) => {
      strip.innerHTML = JSON.parse(event.data);
      clocks();
    });
  }

  pause.addEventListener("click", () => {
    const paused = pause.ariaPressed !== "true";
    pause.ariaPressed = paused;
    pause.textContent = paused ? "Go on" : "Pause";
    said.textContent = paused ? "paused" : "live";
    draw();
  });
  // Other rows than before: the stream brings all that fit.
  table.addEventListener("filter", ({ detail: wanted }) => {
    source.close();
    if (pause.ariaPressed === "true") pause.click(); // who asks for other rows wants to see them
    waiting.length = 0;
    old.clear();
    body.replaceChildren();
    table.dataset.stream = `/stream?${wanted}`;
    document.querySelector("[data-older]").search = wanted;
    open();
  });
  // What is older begins where the table ends now.
  document.querySelector("[data-older]").addEventListener("click", ({ currentTarget: link }) => {
    const last = body.lastElementChild;
    const address = new URL(link.href);
    const at = last && Date.parse(last.querySelector("time").dateTime);
    address.searchParams.set("before", last ? `${at}-${last.id.slice(4)}` : `${Date.now()}-`);
    link.href = address;
  });
  // A page that nobody sees asks for nothing.
  document.addEventListener("visibilitychange", () => {
    source.close();
    if (!document.hidden) open();
  });
  open();
}

function length(seconds) {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} d`;
}

const day = new Date().getUTCDate();

function clocks() {
  const now = Date.now();
  if (table && new Date().getUTCDate() !== day) return location.reload(); // rows of yesterday get their date
  for (const one of document.querySelectorAll("[data-ago]"))
    one.textContent = `${length(Math.max(0, Math.round((now - one.dataset.ago) / 1000)))} ago`;
  for (const one of document.querySelectorAll("[data-until]"))
    one.textContent = one.dataset.until > now ? `in ${length(Math.ceil((one.dataset.until - now) / 1000))}` : "now";
}

function rows(step) {
  const links = [...document.querySelectorAll("td.what a")];
  const at = links.indexOf(document.activeElement);
  links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, textarea, select")) return;
  const keys = {
    "/": () => document.getElementById("search").focus(),
    j: () => rows(1),
    k: () => rows(-1),
    p: () => document.getElementById("pause")?.click(),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});

// A row opens wherever it is clicked, unless somebody selects its text.
document.addEventListener("click", (event) => {
  const row = event.target.closest(".rows tbody tr");
  if (!row || event.target.closest("a") || getSelection().type === "Range") return;
  const { ctrlKey, metaKey, shiftKey } = event;
  row.querySelector("td.what a").dispatchEvent(new MouseEvent("click", { ctrlKey, metaKey, shiftKey, cancelable: true }));
});

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    await navigator.clipboard.writeText(copy.dataset.copy);
    copy.textContent = "Copied";
    return;
  }
  const into = event.target.closest("[data-into]");
  if (!into || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const line = into.closest("li");
  const shown = line.querySelector(".content");
  if (shown) return shown.remove();
  const page = await (await fetch(into.href)).text();
  const content = new DOMParser().parseFromString(page, "text/html").getElementById("content");
  if (!content) return location.assign(into.href);
  content.removeAttribute("id");
  content.classList.add("content");
  line.append(content);
});

function filtered(form) {
  const wanted = new URLSearchParams(new FormData(form));
  history.replaceState(null, "", `?${wanted}`);
  table.dispatchEvent(new CustomEvent("filter", { detail: wanted }));
}

for (const form of document.querySelectorAll("form[data-auto]")) {
  form.querySelector("button").hidden = true;
  for (const select of form.querySelectorAll("select")) {
    select.addEventListener("change", () => form.requestSubmit());
  }
  let soon;
  form.querySelector("input")?.addEventListener("input", () => {
    clearTimeout(soon);
    if (table) soon = setTimeout(() => filtered(form), 200);
  });
}

// What others do, or what comes later, is seen without asking.
const again = document.querySelector("[data-again]");
if (again) {
  let shown = again.innerHTML;
  setInterval(async () => {
    const at = again.contains(document.activeElement) ? document.activeElement : null;
    if (document.hidden || at?.matches("button")) return;
    const answer = await fetch(again.dataset.again).catch(() => null);
    const html = answer?.ok ? await answer.text() : shown;
    if (html === shown) return;
    const open = [...again.querySelectorAll("details[open]")].map((one) => one.id);
    const focused = at?.closest("details")?.id;
    again.innerHTML = shown = html;
    if (focused) document.getElementById(focused)?.querySelector("summary").focus();
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  }, 1000);
}

const text = document.querySelector("[data-look]");
if (text) {
  // After sending, the text is still there to be sent once more, or changed.
  text.form.addEventListener("submit", () => sessionStorage.setItem("sent", text.value));
  if (new URLSearchParams(location.search).has("sent")) text.value = sessionStorage.getItem("sent") ?? "";
  let soon;
  const look = async () => {
    const body = new URLSearchParams({ text: text.value });
    const answer = await fetch(text.dataset.look, { method: "POST", body });
    document.getElementById("looked").innerHTML = await answer.text();
  };
  text.addEventListener("input", () => {
    clearTimeout(soon);
    soon = setTimeout(look, 150);
  });
  if (text.value !== text.defaultValue) look(); // typed before this ran
}

if (table) live();
clocks();
setInterval(clocks, 1000);
