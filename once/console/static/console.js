// Keeps the page "now" up to date, and makes every page quick to use by keyboard.

const now = document.getElementById("now");
const live = document.getElementById("live");
const freeze = document.getElementById("freeze");
const form = document.querySelector("form[data-filter]");
const title = document.title;
let version = "";
let known; // rows that were shown: others are new
let timer;

const isFrozen = () => freeze.ariaPressed === "true";

// The server renders and escapes the part; the page's policy runs no script in it.
function show(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const focused = document.activeElement.closest("#now tr")?.id;
  const old = new Map([...now.querySelectorAll("tbody tr")].map((row) => [row.id, row]));
  const rows = [...template.content.querySelectorAll("tbody tr")];
  for (const row of rows) {
    const before = old.get(row.id);
    // An unchanged row stays in the page, and so does a selection in it.
    if (before?.innerHTML === row.innerHTML) row.replaceWith(before);
    else if (known && !known.has(row.id)) row.classList.add("fresh");
  }
  known = new Set([...(known ?? []), ...rows.map((row) => row.id)]);
  now.replaceChildren(template.content);
  if (focused) document.getElementById(focused)?.querySelector("a").focus({ preventScroll: true });
  const findings = Number(now.querySelector("[data-findings]")?.dataset.findings ?? 0);
  document.title = findings ? `(${findings}) ${title}` : title;
}

async function poll() {
  clearTimeout(timer);
  if (!document.hidden && !isFrozen()) {
    try {
      const address = new URL(location.href);
      address.searchParams.set("version", version);
      const answer = await fetch(address);
      if (!answer.ok) throw new Error(answer.status);
      const html = await answer.text();
      if (answer.status !== 204 && !isFrozen()) show(html);
      version = answer.headers.get("X-Version");
      document.body.classList.remove("old");
      live.textContent = isFrozen() ? "frozen" : "live";
    } catch {
      document.body.classList.add("old");
      live.textContent = "the console does not respond";
    }
  }
  timer = setTimeout(poll, 1000);
}

if (now) {
  freeze.addEventListener("click", () => {
    freeze.ariaPressed = String(!isFrozen());
    freeze.textContent = isFrozen() ? "Go on" : "Freeze";
    live.textContent = isFrozen() ? "frozen" : "live";
    poll();
  });
  form.querySelector("button").hidden = true;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    const wanted = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    history.replaceState(null, "", `?${wanted}`);
    known = undefined;
    if (isFrozen()) freeze.click();
    poll();
  });
  document.addEventListener("visibilitychange", poll);
  poll();
}

// On a narrow screen the drawing is wider than the page: show where the path begins.
const picture = document.querySelector(".picture");
const begin = picture?.querySelector(".lit")?.getBoundingClientRect();
if (begin) picture.scrollLeft = begin.right - picture.getBoundingClientRect().right + 40;

function move(step) {
  const links = [...document.querySelectorAll("td.what a")];
  const place = links.indexOf(document.activeElement.closest("tr")?.querySelector("td.what a"));
  links[Math.max(0, Math.min(links.length - 1, place + step))]?.focus();
}

const keys = {
  "/": () => document.getElementById("search").focus(),
  j: () => move(1),
  k: () => move(-1),
  f: () => freeze?.click(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  if (event.target.matches("input, select")) return;
  event.preventDefault();
  keys[event.key]();
});

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    await navigator.clipboard.writeText(copy.dataset.copy);
    copy.textContent = "Copied";
    return;
  }
  // A row opens wherever it is clicked, unless somebody selects its text.
  const row = event.target.closest(".rows tbody tr");
  if (!row || event.target.closest("a") || getSelection().type === "Range") return;
  const { ctrlKey, metaKey, shiftKey } = event;
  const click = new MouseEvent("click", { ctrlKey, metaKey, shiftKey, cancelable: true });
  row.querySelector("td.what a").dispatchEvent(click);
});
