(async () => {
  "use strict";
  const form = document.querySelector(".filters");
  const cases = [...document.querySelectorAll(".case")];
  const groups = [...document.querySelectorAll(".group")];
  const lists = ["resource", "role", "format"];
  const exact = ["clause", "case"];

  for (const one of cases) {
    one.dataset.status = one.classList[1];
    one.dataset.id = `${one.closest(".group").dataset.resource}/${one.querySelector(".name").firstChild.data}/${one.dataset.format}`;
  }

  // The bodies of the cases, which are added when a case is unfolded.
  const bodies = new Map();
  try {
    (await unpack(document.querySelector("#bodies").dataset.packed)).forEach(({ html, calls }, i) => {
      const body = document.createElement("template");
      body.innerHTML = html;
      body.content.calls = calls;
      bodies.set(cases[i], body.content);
    });
  } catch {
    for (const one of cases) bodies.set(one, element("p", "note", "This browser cannot unfold the details; the JSON report has them."));
  }

  for (const one of cases) {
    const { status, roles, format, took } = one.dataset;
    one.querySelector(".status").insertAdjacentHTML("afterbegin", `<svg class="icon" aria-hidden="true"><use href="#${status}"/></svg>`);
    const meta = element("span", "meta");
    meta.append(...[...roles.split(" "), format].filter(Boolean).map((text) => element("span", "tag", text)), element("span", "took", took));
    one.querySelector("summary").append(meta);
  }

  for (const others of document.querySelectorAll(".others")) {
    const list = element("ul", "same");
    for (const run of others.dataset.runs.trim().split(" ")) {
      const anchor = run.replace("!", "");
      const link = element("a", "", document.getElementById(anchor).dataset.id);
      link.href = "#" + anchor;
      const entry = element("li");
      entry.append(link, ...(run === anchor ? [] : [" ", element("span", "note", "and other differences")]));
      list.append(entry);
    }
    others.append(list);
  }

  // The values that the filters compare.
  const facts = new Map(cases.map((one) => {
    const clauses = [...bodies.get(one).querySelectorAll(".clause")].map((c) => c.textContent);
    const details = [...one.querySelectorAll(".headline"), ...bodies.get(one).querySelectorAll(".failure")].map((e) => e.textContent);
    return [one, {
      status: one.dataset.status,
      resource: one.closest(".group").dataset.resource,
      roles: one.dataset.roles.split(" "),
      format: one.dataset.format,
      clauses,
      text: [one.dataset.id, ...clauses, ...details].join("\n").toLowerCase(),
    }];
  }));

  function matches(one, want) {
    const is = facts.get(one);
    return (!want.status.length || want.status.includes(is.status)) &&
      (!want.resource || want.resource === is.resource) &&
      (!want.role || is.roles.includes(want.role)) &&
      (!want.format || want.format === is.format) &&
      (!want.clause || is.clauses.includes(want.clause)) &&
      (!want.case || want.case === one.dataset.id) &&
      want.words.every((word) => is.text.includes(word));
  }

  function wanted() {
    const data = new FormData(form);
    const want = { status: data.getAll("status"), q: data.get("q") };
    for (const name of [...lists, ...exact]) want[name] = data.get(name) || "";
    want.words = want.q.toLowerCase().split(/\s+/).filter(Boolean);
    return want;
  }

  // filter shows the cases that match the form, and stores the form in the URL's
  // fragment.
  function filter() {
    const want = wanted();
    const found = cases.filter((one) => {
      one.hidden = !matches(one, want);
      return !one.hidden;
    });
    for (const group of groups) {
      group.hidden = !group.querySelector(".case:not([hidden])");
    }
    if (found.length === 1) found[0].open = true;
    const state = new URLSearchParams();
    if (want.q) state.set("q", want.q);
    if (want.status.length) state.set("status", want.status.join(","));
    for (const name of [...lists, ...exact]) if (want[name]) state.set(name, want[name]);
    const filtered = state.size > 0;
    document.querySelector("#shown").textContent =
      filtered ? `${found.length} of ${cases.length} cases` : `${cases.length} cases`;
    document.querySelector("#nothing").hidden = found.length > 0 || !cases.length;
    form.querySelector("[type=reset]").hidden = !filtered;
    for (const name of lists) form.elements[name].classList.toggle("set", want[name] !== "");
    for (const chip of form.querySelectorAll(".chip")) {
      const value = want[chip.dataset.clears];
      chip.hidden = !value;
      chip.textContent = `${chip.dataset.clears}: ${value} ×`;
      chip.setAttribute("aria-label", `Clear the filter ${chip.dataset.clears}: ${value}`);
    }
    const hash = filtered ? "#" + state : "";
    if (location.hash !== hash) {
      history.replaceState(null, "", hash || location.pathname + location.search);
    }
  }

  // restore fills the form from the URL's fragment, which may also be the id of a case.
  // It returns false if the fragment is the id of another element.
  function restore() {
    const fragment = location.hash.slice(1);
    const one = cases.find((c) => c.id === fragment);
    if (fragment && !fragment.includes("=") && !one) return false;
    const state = new URLSearchParams(one ? { case: one.dataset.id } : fragment);
    form.elements.q.value = state.get("q") || "";
    const statuses = (state.get("status") || "").split(",");
    for (const box of form.elements.status) box.checked = statuses.includes(box.value);
    for (const name of lists) {
      const list = form.elements[name];
      list.value = state.get(name) || "";
      if (list.selectedIndex < 0) list.value = "";
    }
    for (const name of exact) form.elements[name].value = state.get(name) || "";
    return true;
  }

  function element(name, className, text) {
    const e = document.createElement(name);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  }

  async function unpack(packed) {
    const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return JSON.parse(await new Response(stream).text());
  }

  const firstLine = (text) => text.split("\n", 1)[0];

  function callView([as, request, reply]) {
    const view = element("details", "call");
    const summary = element("summary");
    const answer = firstLine(reply).match(/^(\d{3} .*)/);
    summary.append(element("span", "tag", as),
      element("code", "", firstLine(request).replace(/ HTTP\/\S+$/, "")),
      element("span", "answer", answer ? answer[1] : "no answer"));
    const wire = element("div", "wire");
    for (const [name, text] of [["Request", request], ["Reply", reply]]) {
      const half = element("div");
      const pre = element("pre", "", text);
      pre.tabIndex = 0;
      half.append(element("h5", "", name), pre);
      wire.append(half);
    }
    view.append(summary, wire);
    return view;
  }

  function addCopy(pre) {
    if (pre.querySelector(".copy") || !navigator.clipboard) return;
    const command = pre.textContent;
    const button = element("button", "copy", "Copy");
    button.type = "button";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(command);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(pre);
        button.textContent = "Selected";
      }
    });
    pre.prepend(button);
  }

  function unfolded(one) {
    const body = bodies.get(one);
    if (body.firstChild) { // nothing is left of a fragment that is part of the page
      body.querySelector(".calls")?.append(...body.calls.map(callView));
      one.querySelector(".body").append(body);
    }
    one.querySelectorAll(".curl").forEach(addCopy);
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", filter);
  form.addEventListener("reset", (event) => {
    event.preventDefault(); // the default action would not reset hidden fields
    history.replaceState(null, "", location.pathname + location.search);
    restore();
    filter();
    form.elements.q.focus();
  });
  form.addEventListener("click", (event) => {
    const chip = event.target.closest(".chip");
    if (!chip) return;
    form.elements[chip.dataset.clears].value = "";
    filter();
    form.elements.q.focus();
  });
  for (const [id, open] of [["#unfold", true], ["#fold", false]]) {
    document.querySelector(id).addEventListener("click", () => {
      for (const one of cases) if (!one.hidden) one.open = open;
    });
  }
  // The toggle event does not bubble, so listen in the capture phase.
  document.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.matches(".case")) unfolded(event.target);
  }, true);
  // Print has the failures, also those that were never unfolded.
  const print = () => cases.filter((one) => one.dataset.status === "failed").forEach(unfolded);
  addEventListener("beforeprint", print);
  matchMedia("print").addEventListener("change", print);
  addEventListener("hashchange", () => {
    if (!restore()) return;
    filter();
    const heading = document.querySelector("#cases");
    heading.focus({ preventScroll: true });
    heading.scrollIntoView();
  });

  form.hidden = false;
  restore();
  filter();
  document.querySelectorAll(".case[open]").forEach(unfolded);
})();
