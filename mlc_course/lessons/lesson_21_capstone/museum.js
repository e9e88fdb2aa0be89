const STEPS = {
  ArrowUp: -1, ArrowDown: 1, ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity,
};

function render({ model, el }) {
  begin(el);
  const list = element("ol", {
    class: "mlc-stages", role: "listbox", tabindex: "0", "data-testid": "exhibits",
    "aria-label": "Found graphs. Arrow keys choose one; its label and its picture are beside.",
  });
  const label = element("p", { class: "mlc-reason", "aria-live": "polite", "data-testid": "label" });
  const chart = element("div", { class: "mlc-chart", role: "img", "data-testid": "chart" });
  const texts = element("div", {
    class: "mlc-program", tabindex: "0", role: "region", "data-testid": "texts",
    "aria-label": "The program beside the graph that was found",
  });
  const shown = element("div", { class: "mlc-stage" }, statusLine(model), label, chart);
  el.append(element("div", { class: "mlc-stepper" }, list, shown), texts);

  const prefix = `exhibit-${Math.random().toString(36).slice(2)}`;
  const options = model.get("titles").map((title, place) => {
    const option = element("li", { id: `${prefix}-${place}`, role: "option" }, title);
    option.dataset.testid = `exhibit-${place}`;
    option.addEventListener("click", () => select(place));
    return option;
  });
  list.append(...options);
  const select = (place) => {
    assign(model, "selected", Math.min(Math.max(place, 0), options.length - 1));
  };
  list.addEventListener("keydown", (event) => {
    if (!(event.key in STEPS)) return;
    event.preventDefault();
    select(model.get("selected") + STEPS[event.key]);
  });
  follow(model, ["selected"], () => {
    const chosen = options[model.get("selected")];
    for (const option of options) option.setAttribute("aria-selected", String(option === chosen));
    list.setAttribute("aria-activedescendant", chosen.id);
  });
  follow(model, ["label"], () => { label.textContent = model.get("label"); });
  follow(model, ["svg"], () => {
    chart.innerHTML = model.get("svg");
    chart.setAttribute("aria-label", model.get("said"));
  });
  follow(model, ["texts"], () => { texts.innerHTML = model.get("texts"); });
}

export default { render };
