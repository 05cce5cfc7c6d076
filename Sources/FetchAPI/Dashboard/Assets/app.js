// What the pages do beyond a browser without scripts: times in the viewer's zone, keys, and live values.
"use strict";

// MARK: Times

// The server writes ages ("3 min") and times of RFC 3339; both stay what they are.
const age = /^\d+ (s|min|h|d)$/;
const absolute = new Intl.DateTimeFormat("en-GB", {dateStyle: "medium", timeStyle: "long"});
const units = [[86400, "d"], [3600, "h"], [60, "min"], [0, "s"]];
const written = new WeakMap();

function ageOf(time, now) {
    const seconds = Math.floor(Math.abs(now - time) / 1000);
    const [size, unit] = units.find(([size]) => seconds >= size);
    return `${Math.floor(seconds / (size || 1))} ${unit}`;
}

function writeTime(place, now) {
    const time = Date.parse(place.dateTime);
    if (Number.isNaN(time)) return;
    if (written.get(place)?.text !== place.textContent) {
        written.set(place, {isAge: age.test(place.textContent), text: place.textContent});
        place.title = `${absolute.format(time)} · ${place.dateTime}`;
    }
    const relative = ageOf(time, now);
    const text = written.get(place).isAge
        ? relative : `${absolute.format(time)} (${time > now ? `in ${relative}` : `${relative} ago`})`;
    if (place.textContent !== text) place.textContent = text;
    written.get(place).text = text;
}

function writeTimes() {
    if (document.hidden) return;
    const now = Date.now();
    for (const place of document.querySelectorAll("time[datetime]")) writeTime(place, now);
}

// MARK: Keys

const isField = (node) =>
    node instanceof Element
    && node.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]") !== null;
const rows = () => [...document.querySelectorAll("main tbody tr, main article")];
const targetIn = (row) => row.querySelector("a, button, input");
let isGoing = false;

function step(by) {
    const all = rows();
    const current = all.findIndex((row) => row.contains(document.activeElement));
    const next = current < 0 ? (by > 0 ? 0 : all.length - 1) : current + by;
    const target = all[next] && targetIn(all[next]);
    target?.focus();
}

function help() {
    let dialog = document.querySelector("dialog.keys");
    if (!dialog) {
        dialog = document.body.appendChild(document.createElement("dialog"));
        dialog.className = "keys";
        dialog.setAttribute("aria-labelledby", "keys");
        const title = dialog.appendChild(document.createElement("h2"));
        title.id = "keys";
        title.textContent = "Keys";
        const list = dialog.appendChild(document.createElement("dl"));
        list.className = "facts";
        const links = [...document.querySelectorAll("nav a[data-key]")];
        const keys = [
            ["/", "to the filter"], ["j k", "next and previous row"], ["x", "choose the row"], ["?", "this help"],
            ...links.map((link) => [`g ${link.dataset.key}`, link.textContent]),
        ];
        for (const [key, effect] of keys) {
            const line = list.appendChild(document.createElement("div"));
            line.appendChild(document.createElement("dt")).textContent = key;
            line.appendChild(document.createElement("dd")).textContent = effect;
        }
        const form = dialog.appendChild(document.createElement("form"));
        form.method = "dialog";
        form.appendChild(document.createElement("button")).textContent = "Close";
    }
    if (!dialog.open) dialog.showModal();
}

function pressed(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || isField(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    if (isGoing) {
        isGoing = false;
        const link = [...document.querySelectorAll("nav a[data-key]")].find((link) => link.dataset.key === event.key);
        if (link) link.click();
        return;
    }
    const row = rows().find((row) => row.contains(document.activeElement));
    switch (event.key) {
        case "g": isGoing = true; setTimeout(() => { isGoing = false; }, 2000); break;
        case "j": step(1); break;
        case "k": step(-1); break;
        case "x": row?.querySelector("input[type=checkbox]")?.click(); break;
        case "?": help(); break;
        case "/": {
            const filter = document.querySelector("main input[type=search]");
            if (!filter) return;
            filter.focus();
            filter.select();
            break;
        }
        default: return;
    }
    event.preventDefault();
}

// MARK: Live values

// A place with data-live="NAME" takes over what the same place of a newer form of the page has.
// data-refresh="SECONDS" asks for that form again and again, and data-events="URL" whenever an event says so; the
// members of an event "job.progress" go to the places data-progress="MEMBER" at once.
const isPaused = () =>
    document.hidden || isField(document.activeElement) || document.querySelector("dialog[open]") !== null;

function patch(page) {
    for (const place of document.querySelectorAll("[data-live]")) {
        const newer = page.querySelector(`[data-live="${CSS.escape(place.dataset.live)}"]`);
        if (!newer || place.dataset.written === newer.innerHTML || place.contains(document.activeElement)) continue;
        place.dataset.written = newer.innerHTML;
        place.className = newer.className;
        place.replaceChildren(...newer.childNodes);
    }
    writeTimes();
}

let isRefreshing = false;

async function refresh() {
    if (isRefreshing || isPaused()) return false;
    isRefreshing = true;
    try {
        const answer = await fetch(location.href);
        if (!answer.ok || answer.redirected) return false;
        patch(new DOMParser().parseFromString(await answer.text(), "text/html"));
        return true;
    } catch {
        return false;
    } finally {
        isRefreshing = false;
    }
}

function show(progress) {
    for (const place of document.querySelectorAll("[data-progress]")) {
        const value = progress[place.dataset.progress];
        if (value === undefined) continue;
        if (place instanceof HTMLProgressElement) place.value = value; else place.textContent = amount(value) + (place.dataset.unit ?? "");
    }
}

function amount(bytes) {
    const names = ["B", "kB", "MB", "GB", "TB"];
    const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), names.length - 1);
    return `${(bytes / 1000 ** power).toFixed(power ? 1 : 0)} ${names[power]}`;
}

function follow(place) {
    let source = null;
    const changed = [
        "job.started", "job.canonicalized", "job.redirected", "job.challenged", "job.challengeCancelled",
        "job.response", "job.question", "job.finished",
    ];
    const stop = () => { source?.close(); source = null; };
    const start = () => {
        if (source || document.hidden) return;
        source = new EventSource(place.dataset.events);
        source.addEventListener("job.progress", (event) => { if (!isPaused()) show(JSON.parse(event.data)); });
        for (const name of changed) {
            source.addEventListener(name, () => {
                if (name === "job.finished") stop();
                refresh();
            });
        }
    };
    document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));
    start();
}

// MARK: Buttons

// Copies a text; where a browser lets nobody write to the clipboard, as over plain HTTP, the text is chosen instead.
function addCopyButton(text) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
        try {
            await navigator.clipboard.writeText(text.textContent);
            button.textContent = "Copied";
        } catch {
            getSelection().selectAllChildren(text);
            button.textContent = "Press Ctrl+C";
        }
    });
    text.before(button);
}

function addChooser(head) {
    const all = head.appendChild(document.createElement("input"));
    all.type = "checkbox";
    all.setAttribute("aria-label", "Choose all rows");
    all.addEventListener("change", () => {
        for (const box of head.closest("table").querySelectorAll("tbody input[type=checkbox]")) box.checked = all.checked;
    });
}

document.addEventListener("keydown", pressed);
document.addEventListener("visibilitychange", writeTimes);
setInterval(writeTimes, 1000);
writeTimes();
for (const text of document.querySelectorAll("pre[data-copy]")) addCopyButton(text);
for (const head of document.querySelectorAll("th[data-choose]")) addChooser(head);
for (const place of document.querySelectorAll("[data-events]")) follow(place);
for (const place of document.querySelectorAll("[data-refresh]")) setInterval(refresh, place.dataset.refresh * 1000);
document.documentElement.dataset.script = "on";
