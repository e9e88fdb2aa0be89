// The code editor of a slide: CodeMirror 6 with Python. THIRD_PARTY.md says how it is bundled.

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "bold" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  { tag: tags.number, color: "var(--code-number)" },
]);

// An editor inside `parent`; Shift+Enter and Ctrl+Enter call `run`, Escape leaves it.
window.codeEditor = (parent, text, run) => {
  const keys = [
    { key: "Shift-Enter", run: () => (run(), true) },
    { key: "Ctrl-Enter", run: () => (run(), true) },
    { key: "Escape", run: (view) => (view.contentDOM.blur(), true) },
  ];
  const extensions = [
    history(),
    indentUnit.of("    "),
    python(),
    syntaxHighlighting(colours),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": "code; Shift+Enter runs it, Escape leaves it" }),
    Prec.highest(keymap.of(keys)),
    keymap.of([...defaultKeymap, ...historyKeymap]),
  ];
  return new EditorView({ parent, state: EditorState.create({ doc: text, extensions }) });
};
