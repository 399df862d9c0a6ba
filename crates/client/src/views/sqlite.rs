//! The views in the dialect of SQLite, for the `sqlite3` shell.

/// Every view, name and query.
pub(crate) const VIEWS: &[(&str, &str)] =
    &[("executions", EXECUTIONS), ("attempts", ATTEMPTS), ("lanes", LANES), ("events", EVENTS)];

/// Milliseconds at a JSON path as readable UTC.
macro_rules! time {
    ($path:literal) => {
        concat!("strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(body, '", $path, "') / 1000.0, 'unixepoch')")
    };
}

const EXECUTIONS: &str = concat!(
    "SELECT key AS id, json_extract(body, '$.namespace') AS namespace, json_extract(body, '$.lane') AS lane,
  json_extract(body, '$.kind') AS kind,
  CASE
    WHEN json_type(body, '$.state.active') IS NOT NULL THEN 'active'
    WHEN json_extract(body, '$.state.finished.outcome') = 'success' THEN 'completed'
    WHEN json_type(body, '$.state.finished') IS NOT NULL THEN json_extract(body, '$.state.finished.outcome')
    WHEN json_type(body, '$.held') IS NOT NULL THEN 'suspended'
    WHEN json_type(body, '$.state.waiting.readiness.suspended') IS NOT NULL THEN 'suspended'
    WHEN json_type(body, '$.state.waiting.readiness.delayed') IS NOT NULL THEN 'delayed'
    WHEN json_type(body, '$.state.waiting') IS NOT NULL THEN 'waiting'
  END AS state,
  coalesce(json_extract(body, '$.priority'), 0) AS priority,
  coalesce(json_extract(body, '$.attempts'), 0) AS attempts,
  coalesce(json_extract(body, '$.retries'), 0) AS retries,
  coalesce(json_extract(body, '$.reclaims'), 0) AS reclaims, ",
    time!("$.created_at"),
    " AS created_at, ",
    time!("$.started_at"),
    " AS started_at, ",
    time!("$.state.finished.at"),
    " AS finished_at, ",
    time!("$.state.waiting.readiness.delayed.until"),
    " AS ready_at,
  coalesce(json_extract(body, '$.state.active.lease.worker'), json_extract(body, '$.last.worker')) AS worker, ",
    time!("$.state.active.lease.expires_at"),
    " AS lease_expires_at,
  coalesce(json_extract(body, '$.state.finished.failure.category'), json_extract(body, '$.last.end.failure.category')) AS failure,
  coalesce(json_extract(body, '$.state.finished.failure.message'), json_extract(body, '$.last.end.failure.message')) AS message,
  json_extract(body, '$.idempotency_key') AS idempotency_key, json_extract(body, '$.tags') AS tags,
  json_extract(body, '$.input.json') AS input, json_extract(body, '$.result.json') AS result
FROM records WHERE key >= 'x-' AND key < 'x.' AND instr(key, '/') = 0
  AND json_type(body, '$.state.finished.purging') IS NULL"
);

const ATTEMPTS: &str = concat!(
    "SELECT execution, json_extract(body, '$.number') AS attempt, json_extract(body, '$.kind') AS kind,
  json_extract(body, '$.end.type') AS end, ",
    time!("$.started_at"),
    " AS started_at, ",
    time!("$.ended_at"),
    " AS ended_at, json_extract(body, '$.worker') AS worker,
  json_extract(body, '$.end.failure.category') AS failure,
  json_extract(body, '$.end.failure.message') AS message
FROM (
  SELECT substr(key, 1, instr(key, '/') - 1) AS execution, body FROM records
  WHERE key >= 'x-' AND key < 'x.' AND key LIKE '%/a/%'
  UNION ALL
  SELECT key, json_extract(body, '$.last') FROM records
  WHERE key >= 'x-' AND key < 'x.' AND instr(key, '/') = 0 AND json_type(body, '$.last') IS NOT NULL
)"
);

const LANES: &str = concat!(
    "SELECT json_extract(body, '$.namespace') AS namespace, json_extract(body, '$.lane') AS lane,
  json_extract(body, '$.settings.state') AS state, json_extract(body, '$.revision') AS revision, ",
    time!("$.changed_at"),
    " AS changed_at
FROM records WHERE key >= 'lane/' AND key < 'lane0' AND json_type(body, '$.owed') IS NOT NULL"
);

const EVENTS: &str = concat!(
    "SELECT position, number, ",
    time!("$.at"),
    " AS at, json_extract(body, '$.namespace') AS namespace, json_extract(body, '$.lane') AS lane,
  json_extract(body, '$.execution') AS execution,
  json_extract(body, '$.type') AS what,
  nullif(json_remove(body, '$.v', '$.at', '$.namespace', '$.lane', '$.execution', '$.by', '$.type'), '{}') AS detail
FROM (SELECT position, key + 1 AS number, value AS body FROM feed,
  json_each(CASE json_type(body) WHEN 'array' THEN body ELSE json_array(json(body)) END)) AS found"
);
