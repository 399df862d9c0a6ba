-- The one write: checks every batch of a group and writes those that hold.
--
-- Batches are numbered from one; every other array says in *_batch to which of them its element belongs. The caller
-- sees to it that no batch of a group expects a key that an earlier one writes, so that all can be checked before the
-- first write. Whoever holds a partition's lock sees all earlier commits to it and nobody commits to it meanwhile:
-- each statement below has a snapshot of its own, taken after the locks. Locks end with the commit.
--
-- The answer has a row for each batch that the clock was too early or too late for, a row for each expectation that
-- failed, with its place among the expectations and the record that is there, and a last row of batch 0 with the time
-- and with what index rows and trims cost.
--
-- The time is the server's, unless a test holds the clock and hands its time over.
--
-- Plans are made once, when tables may still be empty, so only those that stay good are allowed.
CREATE FUNCTION commit(
  store int, partitions int[], held bigint,
  b_partition int[], b_id uuid[], b_from bigint[], b_until bigint[],
  e_batch int[], e_key text[], e_version uuid[],
  d_batch int[], d_key text[],
  i_batch int[], i_key text[], i_places text[], i_body bytea[],
  u_batch int[], u_key text[], u_places text[], u_body bytea[],
  a_batch int[], a_key text[], a_seq bigint[], a_body bytea[],
  f_batch int[], f_body bytea[], f_above bigint,
  t_batch int[], t_key text[], t_through bigint[], t_feed bigint,
  m_batch int[], m_key text[], m_name text[], m_rank bigint[], m_listed bool[]
) RETURNS TABLE(
  o_batch int, o_at int, o_partition int, o_version uuid, o_places text, o_body bytea,
  o_now bigint, o_rows bigint, o_bytes bigint
) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  v_partition int;
  v_now bigint;
  v_bad int[];
  v_late int[];
  v_heads bigint[];
  v_count bigint;
  v_sum bigint;
  v_rows bigint := 0;
  v_bytes bigint := 0;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'commits need the isolation level read committed' USING ERRCODE = 'feature_not_supported';
  END IF;
  -- Settings can change under an open connection.
  IF current_setting('synchronous_commit') = 'off' OR current_setting('fsync') = 'off' THEN
    RAISE EXCEPTION 'it runs with synchronous_commit=off or fsync=off, so a crash loses commits: turn both on'
      USING ERRCODE = 'feature_not_supported';
  END IF;
  FOREACH v_partition IN ARRAY partitions LOOP
    PERFORM pg_advisory_xact_lock(store, v_partition);
  END LOOP;
  v_now := coalesce(held, floor(extract(epoch FROM clock_timestamp()) * 1000));

  SELECT array_agg(b.at) INTO v_bad FROM unnest(b_from, b_until) WITH ORDINALITY b(low, high, at)
  WHERE v_now < b.low OR v_now >= b.high;
  v_late := v_bad;
  RETURN QUERY SELECT late, NULL::int, NULL::int, NULL::uuid, NULL, NULL::bytea, NULL::bigint, NULL::bigint, NULL::bigint
  FROM unnest(v_late) late;

  RETURN QUERY
  SELECT e.batch, e.at::int, r.partition, r.version, r.places::text, r.body, NULL::bigint, NULL::bigint, NULL::bigint
  FROM unnest(e_batch, e_key, e_version) WITH ORDINALITY e(batch, key, version, at)
  LEFT JOIN @.records r ON r.key = e.key
  WHERE (v_late IS NULL OR e.batch <> ALL (v_late))
    AND (r.version IS DISTINCT FROM e.version OR r.partition <> b_partition[e.batch]);
  IF FOUND THEN
    SELECT v_bad || array_agg(DISTINCT e.batch) INTO v_bad
    FROM unnest(e_batch, e_key, e_version) e(batch, key, version)
    LEFT JOIN @.records r ON r.key = e.key
    WHERE r.version IS DISTINCT FROM e.version OR r.partition <> b_partition[e.batch];
  END IF;

  IF cardinality(d_key) > 0 THEN
    WITH gone AS (
      DELETE FROM @.records r USING unnest(d_batch, d_key) d(batch, key)
      WHERE r.key = d.key AND (v_bad IS NULL OR d.batch <> ALL (v_bad))
      RETURNING r.key, r.places
    ), lost AS (
      SELECT g.key, split_part(line, ' ', 1)::bigint AS rank, substr(line, strpos(line, ' ') + 1) AS name
      FROM gone g, string_to_table(g.places, E'\n') line
    ), unlisted AS (
      DELETE FROM @.entries n USING lost l WHERE n.name = l.name AND n.rank = l.rank AND n.key = l.key
    ), unlogged AS (
      DELETE FROM @.logs l USING gone g WHERE l.key = g.key RETURNING 1
    )
    SELECT count(*) + (SELECT count(*) FROM unlogged), coalesce(sum(octet_length(name) + 8 + octet_length(key)), 0)
    INTO v_count, v_sum FROM lost;
    v_rows := v_rows + v_count;
    v_bytes := v_bytes + v_sum;
  END IF;

  IF cardinality(u_key) > 0 THEN
    WITH old AS (
      SELECT r.key, r.partition, string_to_array(r.places, E'\n') AS was, string_to_array(u.places, E'\n') AS will
      FROM unnest(u_batch, u_key, u_places) u(batch, key, places) JOIN @.records r ON r.key = u.key
      WHERE r.places <> u.places AND (v_bad IS NULL OR u.batch <> ALL (v_bad))
    ), written AS (
      UPDATE @.records r SET version = b_id[u.batch], places = u.places, body = u.body
      FROM unnest(u_batch, u_key, u_places, u_body) u(batch, key, places, body)
      WHERE r.key = u.key AND (v_bad IS NULL OR u.batch <> ALL (v_bad))
    ), changed AS (
      SELECT o.key, o.partition, false AS listed,
        split_part(line, ' ', 1)::bigint AS rank, substr(line, strpos(line, ' ') + 1) AS name
      FROM old o, unnest(o.was) line WHERE line <> ALL (o.will)
      UNION ALL
      SELECT o.key, o.partition, true,
        split_part(line, ' ', 1)::bigint, substr(line, strpos(line, ' ') + 1)
      FROM old o, unnest(o.will) line WHERE line <> ALL (o.was)
    ), unlisted AS (
      DELETE FROM @.entries n USING changed c
      WHERE NOT c.listed AND n.name = c.name AND n.rank = c.rank AND n.key = c.key
    ), listed AS (
      INSERT INTO @.entries(name, rank, key, partition) SELECT name, rank, key, partition FROM changed WHERE listed
      ORDER BY name, rank, key
      ON CONFLICT (name, rank, key) DO UPDATE SET partition = excluded.partition
    )
    SELECT count(*), coalesce(sum(octet_length(name) + 8 + octet_length(key)), 0) INTO v_count, v_sum FROM changed;
    v_rows := v_rows + v_count;
    v_bytes := v_bytes + v_sum;
  END IF;

  IF cardinality(i_key) > 0 THEN
    WITH written AS (
      INSERT INTO @.records(key, partition, version, places, body)
      SELECT i.key, b_partition[i.batch], b_id[i.batch], i.places, i.body
      FROM unnest(i_batch, i_key, i_places, i_body) i(batch, key, places, body)
      WHERE v_bad IS NULL OR i.batch <> ALL (v_bad)
    ), added AS (
      SELECT i.key, b_partition[i.batch] AS partition,
        split_part(line, ' ', 1)::bigint AS rank, substr(line, strpos(line, ' ') + 1) AS name
      FROM unnest(i_batch, i_key, i_places) i(batch, key, places), string_to_table(i.places, E'\n') line
      WHERE v_bad IS NULL OR i.batch <> ALL (v_bad)
    ), listed AS (
      INSERT INTO @.entries(name, rank, key, partition) SELECT name, rank, key, partition FROM added
      ORDER BY name, rank, key
      ON CONFLICT (name, rank, key) DO UPDATE SET partition = excluded.partition
    )
    SELECT count(*), coalesce(sum(octet_length(name) + 8 + octet_length(key)), 0) INTO v_count, v_sum FROM added;
    v_rows := v_rows + v_count;
    v_bytes := v_bytes + v_sum;
  END IF;

  IF cardinality(a_key) > 0 THEN
    INSERT INTO @.logs(key, seq, body)
    SELECT a.key, a.seq, a.body FROM unnest(a_batch, a_key, a_seq, a_body) a(batch, key, seq, body)
    WHERE v_bad IS NULL OR a.batch <> ALL (v_bad)
    ON CONFLICT (key, seq) DO UPDATE SET body = excluded.body;
  END IF;

  IF cardinality(f_batch) > 0 THEN
    SELECT array_agg((SELECT max(f.position) FROM @.feed f WHERE f.partition = p.number) ORDER BY p.at) INTO v_heads
    FROM unnest(partitions) WITH ORDINALITY p(number, at);
    INSERT INTO @.feed(partition, position, body)
    SELECT e.partition,
      greatest(coalesce(v_heads[array_position(partitions, e.partition)], 0), f_above)
        + row_number() OVER (PARTITION BY e.partition ORDER BY e.at),
      e.body
    FROM (
      SELECT b_partition[f.batch] AS partition, f.at, f.body
      FROM unnest(f_batch, f_body) WITH ORDINALITY f(batch, body, at)
      WHERE v_bad IS NULL OR f.batch <> ALL (v_bad)
    ) e;
  END IF;

  IF cardinality(t_key) > 0 THEN
    DELETE FROM @.logs l USING unnest(t_batch, t_key, t_through) t(batch, key, through)
    WHERE l.key = t.key AND l.seq <= t.through AND (v_bad IS NULL OR t.batch <> ALL (v_bad));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_rows := v_rows + v_count;
  END IF;

  -- A batch that trims its feed is alone in its group. The newest event stays, so that positions never start again.
  IF t_feed IS NOT NULL AND v_bad IS NULL THEN
    DELETE FROM @.feed f WHERE f.partition = b_partition[1] AND f.position <= t_feed
      AND f.position < (SELECT max(n.position) FROM @.feed n WHERE n.partition = b_partition[1]);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_rows := v_rows + v_count;
  END IF;

  IF cardinality(m_key) > 0 THEN
    DELETE FROM @.entries n USING unnest(m_batch, m_key, m_name, m_rank) m(batch, key, name, rank)
    WHERE n.name = m.name AND n.rank = m.rank AND n.key = m.key AND (v_bad IS NULL OR m.batch <> ALL (v_bad));
    INSERT INTO @.entries(name, rank, key, partition)
    SELECT m.name, m.rank, m.key, b_partition[m.batch]
    FROM unnest(m_batch, m_key, m_name, m_rank, m_listed) m(batch, key, name, rank, listed)
    WHERE m.listed AND (v_bad IS NULL OR m.batch <> ALL (v_bad))
    ON CONFLICT (name, rank, key) DO NOTHING;
  END IF;

  RETURN QUERY SELECT 0, NULL::int, NULL::int, NULL::uuid, NULL, NULL::bytea, v_now, v_rows, v_bytes;
END $$;
