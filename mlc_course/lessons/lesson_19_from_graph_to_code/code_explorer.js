// A list of lines, one of which is current: pointed at, or chosen by arrow keys.
const listing = (label, testid, choose) => {
  const list = element("div", {
    class: "mlc-listing", role: "listbox", tabindex: "0", "data-testid": testid, "aria-label": label,
  });
  let current = -1;
  const set = (place) => {
    const rows = list.children;
    if (!rows.length) return;
    current = Math.min(Math.max(place, 0), rows.length - 1);
    for (const [n, row] of [...rows].entries()) row.setAttribute("aria-selected", n === current);
    list.setAttribute("aria-activedescendant", rows[current].id);
    choose(current);
  };
  const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -16, PageDown: 16, Home: -Infinity, End: Infinity };
  list.addEventListener("pointermove", (event) => {
    const row = event.target.closest('[role="option"]');
    if (row && row.getAttribute("aria-selected") !== "true") set(Number(row.dataset.place));
  });
  list.addEventListener("keydown", (event) => {
    if (!(event.key in steps)) return;
    event.preventDefault();
    set(current + steps[event.key]);
    shown(list, list.children[current]);
  });
  list.addEventListener("focus", () => { if (current < 0) set(0); });
  const fill = (rows) => {
    const base = `${testid}-${Math.random().toString(36).slice(2)}`;
    list.replaceChildren(...rows.map((row, n) => element("div", {
      role: "option", id: `${base}-${n}`, "data-place": n, "aria-selected": "false",
    }, row.text || " ")));
    current = -1;
  };
  const again = () => { if (current >= 0) set(current); };
  const quiet = () => {
    for (const row of list.children) row.setAttribute("aria-selected", "false");
  };
  return { list, fill, again, quiet };
};

// Scroll a row into view, within its list only: the page must stay where it is.
const shown = (list, row) => {
  if (!row) return;
  const top = row.offsetTop - list.offsetTop, bottom = top + row.offsetHeight;
  if (top < list.scrollTop || bottom > list.scrollTop + list.clientHeight) {
    list.scrollTop = top - list.clientHeight / 3;
  }
};

function render({ model, el }) {
  begin(el);
  const options = (trait) => model.get(`${trait}s`).map((each) => [each, each]);
  const knob = radios(model, "knob", "one decision otherwise", options("knob"));
  const language = radios(model, "language", "written in", options("language"));
  const measure = worker(model, "Time it on this CPU", "measure");
  const status = statusLine(model);
  const counts = element("div", { "data-testid": "counts" });
  const chart = element("div", { class: "mlc-chart", "data-testid": "chart" });

  const code = () => model.get("code_rows")[model.get("knob")][model.get("language")];
  const light = (list, rows, names) => {
    let first = null;
    for (const [n, row] of rows.entries()) {
      const lit = row.of.some((each) => names.includes(each));
      list.children[n].classList.toggle("mlc-marked", lit);
      if (lit && !first) first = list.children[n];
    }
    return first;
  };
  const graph = listing("The graph, an equation a line; arrow keys choose one", "graph", (place) => {
    kernel.quiet();
    const names = model.get("graph_rows")[place].of;
    light(graph.list, model.get("graph_rows"), names);
    shown(kernel.list, light(kernel.list, code().rows, names));
    const said = names.map((each) => code().says[each] ?? `${each}: no line of the kernel.`);
    status.textContent = said.join(" ") || "This line defines nothing.";
  });
  const kernel = listing("The kernel, line by line; arrow keys choose one", "code", (place) => {
    graph.quiet();
    const row = code().rows[place];
    light(graph.list, model.get("graph_rows"), row.of);
    light(kernel.list, code().rows, []);
    kernel.list.children[place].classList.add("mlc-marked");
    status.textContent = `Line ${place + 1}. ${row.says}`;
  });

  el.append(element("div", { class: "mlc-controls" }, knob, language, measure), status,
    element("div", { class: "mlc-beside mlc-code" }, graph.list, kernel.list), counts, chart);
  graph.fill(model.get("graph_rows"));
  follow(model, ["knob", "language"], () => {
    kernel.fill(code().rows);
    for (const row of graph.list.children) row.classList.remove("mlc-marked");
    graph.again();
  });
  follow(model, ["knob"], () => { counts.innerHTML = model.get("counts")[model.get("knob")]; });
  follow(model, ["svg"], () => { chart.innerHTML = model.get("svg"); });
  follow(model, ["busy"], () => { measure.disabled = model.get("busy"); });
}

export default { render };
