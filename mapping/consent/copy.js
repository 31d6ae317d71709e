"use strict";
// Shows the button that copies the verifier. Without this script people select the text.
{
  const button = document.getElementById("copy");
  const copied = document.getElementById("copied");
  const code = button.dataset.copy;

  // Browsers offer the clipboard to pages over HTTPS only. The older command works elsewhere.
  const copyByCommand = () => {
    const field = document.createElement("textarea");
    field.value = code;
    field.readOnly = true;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    button.focus();
    if (!done) {
      throw new Error("not copied");
    }
  };

  button.addEventListener("click", async () => {
    try {
      if (navigator.clipboard) {
        await navigator.clipboard.writeText(code);
      } else {
        copyByCommand();
      }
      copied.textContent = "Copied.";
    } catch {
      copied.textContent = "The browser does not allow it. Select the code above and copy it.";
    }
  });
  button.hidden = false;
}
