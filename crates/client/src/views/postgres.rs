//! The views in the dialect of Postgres, which reads a body with `body_json`.

/// Every view, name and query.
pub(crate) const VIEWS: &[(&str, &str)] =
    &[("executions", EXECUTIONS), ("attempts", ATTEMPTS), ("lanes", LANES), ("events", EVENTS)];

/// Milliseconds at a JSON path as a time.
macro_rules! time {
    ($path:literal) => {
        concat!("to_timestamp((body #>> '{", $path, "}')::double precision / 1000)")
    };
}

const EXECUTIONS: &str = concat!(
    "SELECT key AS id, body ->> 'namespace' AS namespace, body ->> 'lane' AS lane, body ->> 'kind' AS kind,
  CASE
    WHEN body #> '{state,active}' IS NOT NULL THEN 'active'
    WHEN body #>> '{state,finished,outcome}' = 'success' THEN 'completed'
    WHEN body #> '{state,finished}' IS NOT NULL THEN body #>> '{state,finished,outcome}'
    WHEN body #> '{held}' IS NOT NULL THEN 'suspended'
    WHEN body #> '{state,waiting,readiness,suspended}' IS NOT NULL THEN 'suspended'
    WHEN body #> '{state,waiting,readiness,delayed}' IS NOT NULL THEN 'delayed'
    WHEN body #> '{state,waiting}' IS NOT NULL THEN 'waiting'
  END AS state,
  coalesce((body ->> 'priority')::integer, 0) AS priority,
  coalesce((body ->> 'attempts')::bigint, 0) AS attempts,
  coalesce((body ->> 'retries')::bigint, 0) AS retries,
  coalesce((body ->> 'reclaims')::bigint, 0) AS reclaims, ",
    time!("created_at"),
    " AS created_at, ",
    time!("started_at"),
    " AS started_at, ",
    time!("state,finished,at"),
    " AS finished_at, ",
    time!("state,waiting,readiness,delayed,until"),
    " AS ready_at,
  coalesce(body #>> '{state,active,lease,worker}', body #>> '{last,worker}') AS worker, ",
    time!("state,active,lease,expires_at"),
    " AS lease_expires_at,
  coalesce(body #>> '{state,finished,failure,category}', body #>> '{last,end,failure,category}') AS failure,
  coalesce(body #>> '{state,finished,failure,message}', body #>> '{last,end,failure,message}') AS message,
  body ->> 'idempotency_key' AS idempotency_key, body -> 'tags' AS tags,
  body #> '{input,json}' AS input, body #> '{result,json}' AS result
FROM (SELECT key, body_json(body) AS body FROM records WHERE key >= 'x-' AND key < 'x.' AND strpos(key, '/') = 0) AS found
WHERE body #> '{state,finished,purging}' IS NULL"
);

const ATTEMPTS: &str = concat!(
    "SELECT execution, (body ->> 'number')::bigint AS attempt, body ->> 'kind' AS kind,
  body #>> '{end,type}' AS end, ",
    time!("started_at"),
    " AS started_at, ",
    time!("ended_at"),
    " AS ended_at, body ->> 'worker' AS worker,
  body #>> '{end,failure,category}' AS failure,
  body #>> '{end,failure,message}' AS message
FROM (
  SELECT split_part(key, '/', 1) AS execution, body_json(body) AS body FROM records
  WHERE key >= 'x-' AND key < 'x.' AND key LIKE '%/a/%'
  UNION ALL
  SELECT key, body_json(body) -> 'last' FROM records
  WHERE key >= 'x-' AND key < 'x.' AND strpos(key, '/') = 0 AND body_json(body) -> 'last' IS NOT NULL
) AS found"
);

const LANES: &str = concat!(
    "SELECT body ->> 'namespace' AS namespace, body ->> 'lane' AS lane,
  body #>> '{settings,state}' AS state, (body ->> 'revision')::bigint AS revision, ",
    time!("changed_at"),
    " AS changed_at
FROM (SELECT body_json(body) AS body FROM records WHERE key >= 'lane/' AND key < 'lane0') AS found
WHERE body -> 'owed' IS NOT NULL"
);

const EVENTS: &str = concat!(
    "SELECT partition, position, number, ",
    time!("at"),
    " AS at, body ->> 'namespace' AS namespace, body ->> 'lane' AS lane, body ->> 'execution' AS execution,
  body ->> 'type' AS what,
  nullif(body - '{v,at,namespace,lane,execution,by,type}'::text[], '{}'::jsonb) AS detail
FROM (SELECT partition, position, one.number, one.body FROM (SELECT partition, position, body_json(body) AS body FROM feed) AS told,
  jsonb_array_elements(CASE jsonb_typeof(told.body) WHEN 'array' THEN told.body
    ELSE jsonb_build_array(told.body) END) WITH ORDINALITY AS one(body, number)) AS found"
);
