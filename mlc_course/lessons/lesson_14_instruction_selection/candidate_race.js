function render({ model, el }) { begin(el); }
export default { render };
