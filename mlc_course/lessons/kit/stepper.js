const STEPS = {
  ArrowUp: -1, ArrowDown: 1, ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity,
};

function render({ model, el }) {
  begin(el);
  const list = element("ol", {
    class: "mlc-stages", role: "listbox", tabindex: "0", "data-testid": "stages",
    "aria-label": tr(
      "Stages of the program. Arrow keys choose one; what it changes is shown beside."),
  });
  const reason = element("p", {
    class: "mlc-reason", "aria-live": "polite", "data-testid": "reason",
  });
  const chart = element("div", { class: "mlc-chart", "data-testid": "chart" });
  const program = element("div", {
    class: "mlc-program", tabindex: "0", role: "region", "data-testid": "program",
    "aria-label": tr("The program before and after this stage"),
  });
  const shown = element("div", { class: "mlc-stage" }, statusLine(model), reason, chart);
  el.append(
    element("div", { class: "mlc-stepper" }, list, shown),
    tickbox(model, "whole", tr("whole programs")), program,
  );

  const prefix = `stage-${Math.random().toString(36).slice(2)}`;
  const options = model.get("names").map((name, place) => {
    const option = element("li", { id: `${prefix}-${place}`, role: "option" }, name);
    option.dataset.testid = `stage-${place}`;
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
    // Of the list alone: scrollIntoView would move the page as well.
    const above = chosen.offsetTop - list.offsetTop;
    const below = above + chosen.offsetHeight - list.clientHeight;
    if (above < list.scrollTop) list.scrollTop = above;
    if (below > list.scrollTop) list.scrollTop = below;
  });
  follow(model, ["reason", "name"], () => {
    reason.replaceChildren(element("b", {}, model.get("name")), ` ${model.get("reason")}`);
  });
  follow(model, ["svg"], () => { chart.innerHTML = model.get("svg"); });
  follow(model, ["program"], () => { program.innerHTML = model.get("program"); });
}

export default { render };
