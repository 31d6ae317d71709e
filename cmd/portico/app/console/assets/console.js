"use strict";
// The pages work without this script. It brings new figures, copies lines and sends forms whose
// choice changes what the rest of the page asks for.
for (const box of document.querySelectorAll("[data-events]")) {
  const open = () => {
    const source = new EventSource(box.dataset.events);
    source.onmessage = event => { box.innerHTML = event.data; };
    document.addEventListener("visibilitychange", () => {
      source.close();
      if (!document.hidden) open();
    }, {once: true});
  };
  if (!document.hidden) open();
  else document.addEventListener("visibilitychange", open, {once: true});
}
for (const lines of document.querySelectorAll("pre.copy")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain";
  button.textContent = "Copy";
  const status = document.createElement("span");
  status.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(lines.textContent);
      status.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(lines);
      status.textContent = "selected: press Ctrl+C";
    }
  });
  const row = document.createElement("p");
  row.className = "copy-row";
  row.append(button, " ", status);
  lines.after(row);
}
for (const select of document.querySelectorAll("select[data-submit]")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}
