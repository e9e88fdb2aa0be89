function render({ model, el }) {
  begin(el);
  const forms = element("div", {});
  const measure = worker(model, "Measure here", "measure");
  const pane = (testid, label) => element("div", {
    class: "mlc-program", style: "max-height: 15em", tabindex: "0", role: "region",
    "data-testid": testid, "aria-label": label,
  });
  const program = pane("program", "The program");
  const code = pane("code", "The instructions of its hot loop");
  const title = (text) => element("b", {}, text);
  const chart = element("div", { class: "mlc-chart", "data-testid": "chart" });
  const reason = element("p", {
    class: "mlc-reason", "aria-live": "polite", "data-testid": "reason",
  });
  const names = model.get("problems").map((name) => [name, name]);
  el.append(
    element("div", { class: "mlc-controls" }, radios(model, "problem", "program", names), measure),
    forms, statusLine(model), reason,
    element("div", { class: "mlc-beside mlc-lens", "data-testid": "panes" },
      element("div", {}, title("the program: L load, A arithmetic, S store"), program),
      element("div", {}, title("its hot loop, as LLVM wrote it: P is a spill"), code)),
    chart,
  );

  follow(model, ["forms"], () => {
    const options = model.get("forms").map((name) => [name, name]);
    forms.replaceChildren(radios(model, "form", "form", options));
  });
  for (const [trait, part] of [["program", program], ["code", code], ["svg", chart]]) {
    follow(model, [trait], () => { part.innerHTML = model.get(trait); });
  }
  follow(model, ["reason", "said"], () => {
    reason.replaceChildren(
      element("b", {}, model.get("form")), ` ${model.get("reason")} (${model.get("said")}.)`,
    );
  });
  follow(model, ["busy"], () => { measure.disabled = model.get("busy"); });
}

export default { render };
