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
  const functions = '[id^="function-"]';
  const { chart, draw } = chooser(model,
    "Functions of this stage. Arrow keys choose one; its text is shown below.", functions,
    () => model.get("names"));
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

  follow(model, ["svg"], () => draw(functions));
  follow(model, ["reason"], () => { reason.textContent = model.get("reason"); });
  follow(model, ["code"], () => { code.textContent = model.get("code"); });
  follow(model, ["digit"], () => {
    if (Number(digit.value) !== model.get("digit") || !digit.value) digit.value = model.get("digit");
  });
}

export default { render };
