const STEPS = {
  ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity,
};

function render({ model, el }) {
  begin(el);
  const pairs = (trait) => model.get(trait).map((name) => [name, name]);
  const stage = radios(model, "stage", "stage", pairs("stages"));
  const form = radios(model, "form", "written and run as", pairs("forms"));
  const digit = element("input", {
    type: "number", min: "0", max: String(model.get("last_digit")), "data-testid": "digit",
  });
  digit.addEventListener("input", () => {
    if (digit.value && digit.reportValidity()) assign(model, "digit", Number(digit.value));
  });
  const chart = element("div", {
    class: "mlc-chart", role: "listbox", tabindex: "0", "data-testid": "chart",
    "aria-label": "Functions of this stage. Arrow keys choose one; its text is shown below.",
  });
  const reason = element("p", {
    class: "mlc-status", "aria-live": "polite", "data-testid": "reason",
  });
  const code = element("pre", {
    class: "mlc-program mlc-form", tabindex: "0", role: "region", "data-testid": "code",
    "aria-label": "The chosen function in the chosen form",
  });
  el.append(
    element("div", { class: "mlc-controls" }, stage,
      element("label", {}, "test image ", digit)),
    reason, chart,
    element("div", { class: "mlc-controls" }, form), statusLine(model), code,
  );

  const select = (place) => {
    const last = model.get("names").length - 1;
    assign(model, "selected", Math.min(Math.max(place, 0), last));
  };
  chart.addEventListener("click", (event) => {
    const part = event.target.closest('[id^="function-"]');
    if (part) select(Number(part.id.split("-")[1]));
  });
  chart.addEventListener("keydown", (event) => {
    if (!(event.key in STEPS)) return;
    event.preventDefault();
    select(model.get("selected") + STEPS[event.key]);
  });

  follow(model, ["svg"], () => {
    chart.innerHTML = model.get("svg");
    const names = model.get("names");
    for (const part of chart.querySelectorAll('[id^="function-"]')) {
      const place = Number(part.id.split("-")[1]);
      part.setAttribute("role", "option");
      part.setAttribute("aria-label", names[place]);
      part.setAttribute("aria-selected", String(place === model.get("selected")));
      part.dataset.testid = part.id;
    }
  });
  follow(model, ["reason"], () => { reason.textContent = model.get("reason"); });
  follow(model, ["code"], () => { code.textContent = model.get("code"); });
  follow(model, ["digit"], () => {
    if (Number(digit.value) !== model.get("digit") || !digit.value) digit.value = model.get("digit");
  });
}

export default { render };
