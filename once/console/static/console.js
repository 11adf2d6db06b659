// Keeps the table and the strip up to date, and makes the page quick to use by keyboard.

const table = document.querySelector("[data-rows]");
const strip = document.querySelector("[data-poll]");
const said = document.getElementById("live");
const pause = document.getElementById("pause");
const title = document.title;

function element(html) {
  const template = document.createElement("template");
  template.innerHTML = html; // rendered and escaped by the server; the page's policy runs no script in it
  return template.content;
}

// Asks for a fragment again and again; the server answers 204 while it is as the page has it.
function poll(address, seconds, show, tell) {
  let version = "";
  let timer;
  async function ask() {
    clearTimeout(timer);
    if (!document.hidden) {
      try {
        const wanted = new URL(address(), location);
        wanted.searchParams.set("version", version);
        const answer = await fetch(wanted);
        if (!answer.ok) throw new Error(answer.status);
        if (answer.status !== 204) show(await answer.text());
        version = answer.headers.get("X-Version");
        const failed = answer.headers.has("X-Trouble");
        tell(failed ? "not live" : "live", failed);
      } catch {
        tell("the console does not respond", true);
      }
    }
    timer = setTimeout(ask, seconds * 1000);
  }
  document.addEventListener("visibilitychange", () => document.hidden || ask());
  ask();
  return {
    again() {
      version = "";
      ask();
    },
  };
}

let read; // when the stack was last read

function tell(text, failed) {
  if (!failed) read = new Date();
  const old = failed && read ? `${text}, as of ${read.toISOString().slice(11, 19)}` : text;
  if (said) said.textContent = pause?.ariaPressed === "true" ? "frozen" : old;
  document.body.classList.toggle("old", failed);
}

function live() {
  const body = document.getElementById("rows");
  let known; // rows that a filter brings back are no news
  let waiting;

  // Only what changed is drawn, so that focus and selection stay where they are.
  function show(html) {
    if (pause.ariaPressed === "true") {
      waiting = html;
      said.textContent = "frozen, there is more";
      return;
    }
    const rows = [...element(`<table><tbody>${html}</tbody></table>`).querySelectorAll("tr")];
    const old = new Map([...body.rows].map((row) => [row.id, row]));
    const focused = body.contains(document.activeElement) ? document.activeElement.closest("tr").id : "";
    const shown = rows.map((row) => {
      const before = old.get(row.id);
      if (before?.innerHTML === row.innerHTML) return before;
      if (known && !known.has(row.id)) row.classList.add("fresh");
      return row;
    });
    body.replaceChildren(...shown);
    known = new Set([...(known ?? []), ...shown.map((row) => row.id)]);
    if (focused) document.getElementById(focused)?.querySelector("a").focus({ preventScroll: true });
    const last = body.lastElementChild?.querySelector("time").dateTime;
    const older = document.querySelector("[data-older]");
    const address = new URL(older.href);
    address.searchParams.set("before", last ? Date.parse(last) : Date.now());
    older.href = address;
  }

  const polled = poll(() => `${table.dataset.rows}${location.search}`, Number(table.dataset.every), show, tell);

  pause.addEventListener("click", () => {
    const paused = pause.ariaPressed !== "true";
    pause.ariaPressed = paused;
    pause.textContent = paused ? "Go on" : "Freeze";
    said.textContent = paused ? "frozen" : "live";
    if (!paused && waiting) show(waiting);
    waiting = undefined;
  });
  table.addEventListener("filter", () => {
    if (pause.ariaPressed === "true") pause.click(); // who asks for other rows wants to see them
    known = undefined;
    document.querySelector("[data-older]").search = location.search;
    polled.again();
  });
}

function showStrip(html) {
  strip.replaceChildren(element(html));
  clocks();
  const findings = Number(strip.querySelector("[data-findings]")?.dataset.findings ?? 0);
  document.title = findings ? `(${findings}) ${title}` : title;
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
  const wanted = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  history.replaceState(null, "", `?${wanted}`);
  table.dispatchEvent(new CustomEvent("filter"));
}

for (const form of document.querySelectorAll("form[data-auto]")) {
  form.querySelector("button").hidden = true;
  for (const select of form.querySelectorAll("select")) {
    select.addEventListener("change", () => (table ? filtered(form) : form.requestSubmit()));
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

if (strip) poll(() => strip.dataset.poll, Number(strip.dataset.every), showStrip, () => {});
if (table) live();
clocks();
setInterval(clocks, 1000);
