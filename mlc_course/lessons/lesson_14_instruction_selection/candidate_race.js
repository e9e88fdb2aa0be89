function render({ model, el }) {
  begin(el);
  const specification = element("select", {
    "data-testid": "specification", "aria-label": "specification",
  });
  specification.append(...model.get("specifications").map(
    (name) => element("option", { value: name }, name)));
  specification.addEventListener("change",
    () => assign(model, "specification", specification.value));
  const line = element("code", { "data-testid": "line" });
  const curve = element("div", { class: "mlc-chart", "data-testid": "chart" });
  const slider = element("input", {
    type: "range", min: "0", step: "1", class: "mlc-on-axis", "data-testid": "slider",
    "aria-label": "random tests, then the proof; arrow keys go one stop back or on",
  });
  const candidates = element("div", {
    class: "mlc-chart", role: "application", tabindex: "0", "data-testid": "candidates",
    "aria-label": "Candidates. Arrow keys up and down choose one; its bits are shown beside.",
  });
  const bits = element("div", { class: "mlc-chart", "data-testid": "bits" });
  const said = element("p", {
    class: "mlc-hidden", "aria-live": "polite", "data-testid": "said",
  });
  const proof = button("Prove", "proof", () => go(model.get("stops").length - 1));
  proof.classList.add("mlc-main");
  el.append(
    element("div", { class: "mlc-controls" },
      element("label", {}, "specification ", specification), proof, line),
    statusLine(model),
    element("div", { class: "mlc-race" },
      element("div", {}, curve, slider, candidates), element("div", {}, bits, said)),
  );

  const go = (wanted) => {
    assign(model, "place", Math.min(Math.max(wanted, 0), model.get("stops").length - 1));
  };
  const choose = (wanted) => {
    assign(model, "chosen", Math.min(Math.max(wanted, 0), model.get("count") - 1));
  };
  slider.addEventListener("input", () => go(Number(slider.value)));
  // JupyterLab keeps the arrow keys from a slider, so they are acted on here.
  slider.addEventListener("keydown", (event) => {
    if (!(event.key in JUMPS)) return;
    event.preventDefault();
    go(model.get("place") + JUMPS[event.key]);
  });
  candidates.addEventListener("keydown", (event) => {
    if (!(event.key in JUMPS)) return;
    event.preventDefault();
    const down = event.key === "ArrowUp" || event.key === "ArrowDown" ? -1 : 1;
    choose(model.get("chosen") + down * JUMPS[event.key]);
  });
  candidates.addEventListener("click", (event) => {
    const row = event.target.closest('[id^="candidate-"]');
    if (row) choose(Number(row.id.split("-")[1]));
  });

  follow(model, ["specification"], () => { specification.value = model.get("specification"); });
  follow(model, ["line"], () => { line.textContent = model.get("line"); });
  follow(model, ["place"], () => {
    slider.max = model.get("stops").length - 1;
    slider.value = model.get("place");
    slider.setAttribute("aria-valuetext", model.get("stops")[model.get("place")]);
  });
  follow(model, ["curve"], () => { curve.innerHTML = model.get("curve"); });
  follow(model, ["candidates"], () => { candidates.innerHTML = model.get("candidates"); });
  follow(model, ["bits"], () => { bits.innerHTML = model.get("bits"); });
  follow(model, ["said"], () => { said.textContent = model.get("said"); });
}

export default { render };
