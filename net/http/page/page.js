
"use strict";
// Asks for status.json each second and shows it. What others have chosen, such as names, is shown as text, never as HTML.
const most_shown = 200, most_points = 180;
const place = id => document.getElementById(id);
const node = (kind, text, style) => {
    const made = document.createElement(kind);
    if (text !== undefined) made.textContent = text;
    if (style) made.className = style;
    return made;
};
const bytes = n => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    for (; n >= 1024 && unit + 1 < units.length; ++unit) n /= 1024;
    return (unit ? n.toFixed(1) : String(n)) + " " + units[unit];
};
const seconds = s => s < 120 ? s.toFixed(1) + " s" : s < 7200 ? Math.round(s / 60) + " min" : (s / 3600).toFixed(1) + " h";
const number = text => ({ text, style: "number" });

// columns: names, those of numbers with a # before; rows: lists of texts, or of {text, style}.
function table(id, columns, rows, nothing) {
    const to = place(id);
    if (!rows.length) return to.replaceChildren(node("p", nothing, "none"));
    const all = node("table"), head = all.createTHead().insertRow(), body = all.createTBody();
    for (const c of columns) head.append(node("th", c.replace("#", ""), c[0] === "#" ? "number" : ""));
    for (const r of rows.slice(0, most_shown)) {
        const row = body.insertRow();
        for (const cell of r)
            row.append(cell !== null && typeof cell === "object" ? node("td", cell.text, cell.style) : node("td", cell));
    }
    const parts = [all];
    if (rows.length > most_shown) parts.push(node("p", `and ${rows.length - most_shown} more`, "none"));
    to.replaceChildren(...parts);
}

// Steps a second of each task over the last minutes, of two answers each.
const counted = new Map();
function count(tasks) {
    const now = performance.now() / 1000;
    for (const t of tasks) {
        if (!t.reached) continue;
        const life = t.task + " " + t.incarnation;
        if (!counted.has(life)) counted.set(life, { task: t.task, what: "steps", last: null, points: [] });
        const c = counted.get(life), ended = t.steps_ended || t.parts_ended;
        c.what = t.steps_ended ? "steps" : "parts of others' steps";
        c.seen = now;
        if (c.last && now > c.last.now && t.seconds > c.last.seconds)
            c.points.push(Math.max(0, (ended - c.last.ended) / (t.seconds - c.last.seconds)));
        if (!c.last || t.seconds > c.last.seconds) c.last = { now, ended, seconds: t.seconds };
        if (c.points.length > most_points) c.points.shift();
    }
    for (const [life, c] of counted) if (now - c.seen > 300) counted.delete(life);
}
function draw() {
    const parts = [];
    for (const c of counted.values()) {
        if (!c.points.length) continue;
        const most = Math.max(...c.points, 1e-9), last = c.points[c.points.length - 1];
        parts.push(node("p", `${c.task}: ${last.toFixed(1)} ${c.what}/s, at most ${most.toFixed(1)}`, "rate"));
        const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        svg.setAttribute("viewBox", `0 0 ${most_points} 100`);
        svg.setAttribute("preserveAspectRatio", "none");
        svg.setAttribute("role", "img");
        svg.setAttribute("aria-label", `steps a second of ${c.task}`);
        const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
        line.setAttribute("points", c.points.map((v, i) => `${most_points - c.points.length + i},${96 - 92 * v / most}`).join(" "));
        svg.append(line);
        parts.push(svg);
    }
    place("rates").replaceChildren(...parts.length ? parts : [node("p", "none yet", "none")]);
}

function show(status) {
    const tasks = status.tasks, live = tasks.filter(t => t.reached);
    const each = (what, f) => live.flatMap(t => (t[what] || []).map(row => f(t, row)));
    document.title = (status.stalls.length ? "(!) " : "") + "Tenon " + (tasks.length ? tasks[0].task : "");
    place("title").textContent = "Tenon " + (tasks.length ? tasks[0].task + " at " + tasks[0].address : "");

    place("stalls").hidden = !status.stalls.length;
    place("stalls").replaceChildren(...status.stalls.slice(0, 20).map(s => node("p", s.words)));

    count(tasks);
    draw();
    table("tasks", ["task", "address", "state", "#up", "device", "#memory", "of"],
        tasks.flatMap(t => !t.reached
            ? [[t.task, t.address, { text: "does not answer: " + t.trouble, style: "lost" }, "", "", "", ""]]
            : t.devices.map((d, i) => [i ? "" : t.task, i ? "" : t.address,
                i ? "" : t.stopping ? { text: "stopping", style: "lost" } : { text: "serves", style: "good" },
                number(i ? "" : seconds(t.seconds)), d.device.replace(/^.*\/device:/, "") + ", " + d.description, number(bytes(d.memory_in_use)),
                d.memory_limit ? bytes(d.memory_limit) : ""])), "none");
    table("waits", ["on", "who waits", "for what", "#since"],
        each("steps", (t, s) => s.waits.map(w => [t.task, w.node + " (" + w.op + ")", w.what, number(seconds(w.seconds))]))
            .flat(), "nothing");
    table("sessions", ["on", "client", "#open", "#last used", "#nodes", "#steps"],
        each("sessions", (t, s) => [t.task, s.client + " (" + s.peer + ")", number(seconds(s.seconds)),
            number(seconds(s.idle_seconds) + " ago"), number(s.nodes), number(s.steps)]), "none");
    table("queues", ["on", "name", "#elements", "#capacity"],
        each("queues", (t, q) => [t.task, q.name, number(q.elements), number(q.capacity)]), "none");
    table("variables", ["on", "name", "type", "#bytes", "#updates"],
        each("variables", (t, v) => [t.task, v.name, v.type, number(bytes(v.bytes)), number(v.updates)]), "none");
}

async function ask() {
    const state = place("state");
    try {
        const answer = await fetch("status.json", { cache: "no-store", credentials: "same-origin" });
        if (!answer.ok) throw new Error(answer.status + " " + (await answer.text()).trim());
        show(await answer.json());
        state.textContent = "as of " + new Date().toLocaleTimeString();
        state.className = "";
    } catch (e) {
        state.textContent = "no answer: " + e.message;
        state.className = "lost";
    }
    setTimeout(ask, 1000);
}
ask();
