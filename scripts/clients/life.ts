// One execution's life through the TypeScript types that are generated from the served description.

import createClient from "openapi-fetch";
import type { components, paths } from "./onward.js";

const [url, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });

function must<T>(answer: { data?: T; error?: unknown }): T {
    if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
    return answer.data;
}

function check(holds: boolean, found: unknown): void {
    if (!holds) throw new Error(`not expected: ${JSON.stringify(found)}`);
}

const body: components["schemas"]["NewExecution"] = {
    kind: "greet",
    input: { name: "Grace" },
    policy: { retry: { max_retries: 2, first_pause: "5s" } },
};
const submitted = must(await client.POST("/v1/executions", { body }));
const path = { id: submitted.id };
const moved = must(await client.POST("/v1/executions/{id}/prioritise", { params: { path }, body: { priority: 7 } }));
check(moved.outcome.type === "prioritised" && moved.outcome.before === 0, moved);

const claimed = must(await client.POST("/v1/work/claim", { body: { worker: "typescript", lease: "30s" } }));
const [work] = claimed.executions;
check(work?.id === submitted.id && work.attempt === 1, claimed);
const renewed = must(await client.POST("/v1/work/renew", { body: { leases: [work!.lease] } }));
check((renewed.results[0]?.ok?.expires_at ?? 0) >= work!.lease_expires_at, renewed);
const done = must(await client.POST("/v1/work/complete", { body: { lease: work!.lease, result: "Hello, Grace" } }));
check(done.ended, done);

const execution = must(await client.GET("/v1/executions/{id}", { params: { path } }));
check(execution.state === "completed" && execution.priority === 7, execution);
check(execution.policy?.retry?.first_pause === 5000, execution.policy);
const history = must(await client.GET("/v1/executions/{id}/history", { params: { path } })).transitions;
for (const step of history) {
    // The compiler knows the fields of each type of transition.
    if (step.type === "submitted") check(step.kind === "greet", step);
    if (step.type === "claimed") check(step.attempt === 1 && step.worker === "typescript", step);
}
check(history.at(-1)?.type === "completed", history);
console.log(`typescript: ${submitted.id} lived through ${history.length} transitions`);
