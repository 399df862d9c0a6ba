// Describes the token behind the `#` and sends the signal that a person chooses.
"use strict";

const token = location.hash.slice(1);
const at = (id) => document.getElementById(id);

function say(title, message) {
  at("title").textContent = title;
  at("message").textContent = message;
}

async function post(path, body) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    referrerPolicy: "no-referrer",
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${answer.detail}. ${answer.hint}.`);
  return answer;
}

function about(entries) {
  for (const [term, text] of entries) {
    at("about").append(Object.assign(document.createElement("dt"), { textContent: term }));
    at("about").append(Object.assign(document.createElement("dd"), { textContent: text }));
  }
}

function done(name) {
  at("answer").hidden = true;
  say("Thank you", name ? `Your answer is ${name}.` : "Your answer was received.");
}

async function send(name) {
  const buttons = document.querySelectorAll("button");
  buttons.forEach((button) => { button.disabled = true; });
  const comment = at("comment").value.trim();
  try {
    const answer = await post("/v1/signals", { token, name, payload: comment ? { comment } : null });
    done(answer.name);
  } catch (error) {
    at("message").textContent = error.message;
    buttons.forEach((button) => { button.disabled = false; });
  }
}

function button(text, name) {
  const made = Object.assign(document.createElement("button"), { type: "submit", textContent: text });
  made.addEventListener("click", (event) => {
    event.preventDefault();
    send(name());
  });
  at("choices").append(made);
}

function show(asked) {
  about([["For", asked.actor], ["Work", asked.kind], ["Execution", asked.execution], ["Wait", asked.wait],
    ["Good until", new Date(asked.expires_at).toLocaleString()]]);
  if (asked.sent) return done(asked.sent.name);
  if (asked.state === "over") return say("Too late", "This was decided already, or its time is over.");
  say(asked.title || `Your answer for ${asked.kind}`, "");
  at("answer").hidden = false;
  if (asked.choices.length > 0) {
    asked.choices.forEach((choice) => button(choice, () => choice));
  } else {
    at("name-label").hidden = false;
    button("Send", () => at("name").value.trim() || null);
  }
}

async function start() {
  if (!token) return say("Nothing is asked", "The link is incomplete: copy all of it.");
  try {
    show(await post("/v1/signals/describe", { token }));
  } catch (error) {
    say("This link is not good", error.message);
  }
}

// A link that is opened in the same tab changes the fragment alone: what is shown must be what is answered.
addEventListener("hashchange", () => location.reload());
start();
