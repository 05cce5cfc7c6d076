// The console of an operation's page: sends the request that its fields describe, and shows the answer as text.
// The key stays in its field: it is neither stored nor put into an address.
const box = document.getElementById("console");
const part = (name) => box.querySelector(`[data-part="${name}"]`);
const parts = (name) => [...box.querySelectorAll(`[data-part="${name}"]`)].filter((field) => field.value !== "");
const longest = 200000;
let running = null;

function target() {
    let path = box.dataset.path;
    for (const field of parts("path")) {
        // A browser would take these for a step in the path.
        if (field.value === "." || field.value === "..") throw new Error(`${field.dataset.name} cannot be ${field.value}`);
        path = path.replace(`{${field.dataset.name}}`, encodeURIComponent(field.value));
    }
    if (path.includes("{")) throw new Error("A part of the path has no value.");
    const query = new URLSearchParams(parts("query").map((field) => [field.dataset.name, field.value]));
    return query.size > 0 ? `${path}?${query}` : path;
}

function request() {
    const headers = new Headers(parts("header").map((field) => [field.dataset.name, field.value]));
    const key = part("key");
    if (key && key.value) headers.set("Authorization", `Bearer ${key.value.trim()}`);
    const body = part("body");
    if (body && box.dataset.type) headers.set("Content-Type", box.dataset.type);
    // Neither the cookie of the dashboard nor anything kept from before takes part.
    return {
        method: box.dataset.method, headers, body: body ? body.value : undefined, credentials: "omit",
        cache: "no-store", redirect: "manual", referrerPolicy: "no-referrer", signal: running.signal,
    };
}

async function show(response, start) {
    const time = Math.round(performance.now() - start);
    part("status").textContent = `${response.status} ${response.statusText} after ${time} ms`;
    const answer = part("answer");
    answer.textContent = [...response.headers].map(([name, value]) => `${name}: ${value}\n`).join("") + "\n";
    answer.hidden = false;
    if (!response.body) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
        answer.append(step.value);
        if (answer.textContent.length > longest) {
            await reader.cancel();
            answer.append("\n… the rest is not shown");
        }
    }
    const [head, body] = [answer.textContent.split("\n\n", 1)[0], answer.textContent.split("\n\n").slice(1).join("\n\n")];
    if (/json$/.test((response.headers.get("Content-Type") ?? "").split(";")[0])) {
        try {
            answer.textContent = `${head}\n\n${JSON.stringify(JSON.parse(body), null, 2)}`;
        } catch {
            // What is not JSON stays as it came.
        }
    }
}

async function send() {
    running?.abort();
    running = new AbortController();
    part("stop").hidden = false;
    part("status").textContent = "…";
    try {
        const start = performance.now();
        await show(await fetch(target(), request()), start);
    } catch (error) {
        part("status").textContent = error.name === "AbortError" ? "Stopped." : `Not sent: ${error.message}`;
    }
    part("stop").hidden = true;
}

if (box) {
    box.hidden = false;
    part("send").addEventListener("click", send);
    part("stop").addEventListener("click", () => running?.abort());
}
