-- The one write: checks every batch of a group and writes those that hold.
--
-- Batches are numbered from one; every other array says in *_batch to which of them its element belongs. The caller
-- sees to it that no batch of a group expects a key that an earlier one writes, so that all can be checked before the
-- first write. Whoever holds a partition's lock sees all earlier commits to it and nobody commits to it meanwhile:
-- each statement below has a snapshot of its own, taken after the locks. Locks end with the commit.
--
-- The caller knows which rows of entries each record had in the version that it expects, and names those to remove (x) and
-- to add (n). With `careful` a row to add may be there already, as it is after damage; without, that ends the call.
--
-- The answer tells the time, how many log entries and events were removed, the batches that the clock was too early or
-- too late for, and for each expectation that failed its batch, its place among the expectations and the record that is there.
--
-- The time is the server's, unless a test holds the clock and hands its time over.
--
-- Arrays are walked by number: inside a function an element is found at once, and one row source is cheaper than several.
--
-- Plans are made once, when tables may still be empty, so only those that stay good are allowed. The connection sets that
-- when it is made; behind a pooler that drops its settings it is set here.
CREATE FUNCTION commit(
  store int, partitions int[], held bigint, careful bool,
  b_partition int[], b_id uuid[], b_from bigint[], b_until bigint[], b_latest bigint, b_earliest bigint,
  e_batch int[], e_key text[], e_version uuid[],
  d_batch int[], d_key text[],
  i_batch int[], i_key text[], i_places text[], i_body bytea[],
  u_batch int[], u_key text[], u_places text[], u_body bytea[],
  x_batch int[], x_key text[], x_name text[], x_rank bigint[],
  n_batch int[], n_key text[], n_name text[], n_rank bigint[],
  a_batch int[], a_key text[], a_seq bigint[], a_body bytea[],
  f_batch int[], f_body bytea[], f_above bigint,
  t_batch int[], t_key text[], t_through bigint[], t_feed bigint,
  OUT o_now bigint, OUT o_removed bigint, OUT o_late int[],
  OUT o_batch int[], OUT o_at int[], OUT o_partition int[], OUT o_version uuid[], OUT o_places text[], OUT o_body bytea[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_partition int;
  v_locked bool;
  v_bad int[];
  v_count bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'commits need the isolation level read committed' USING ERRCODE = 'feature_not_supported';
  END IF;
  -- Settings can change under an open connection.
  IF current_setting('synchronous_commit') = 'off' OR current_setting('fsync') = 'off' THEN
    RAISE EXCEPTION 'it runs with synchronous_commit=off or fsync=off, so a crash loses commits: turn both on'
      USING ERRCODE = 'feature_not_supported';
  END IF;
  IF current_setting('enable_seqscan') = 'on' OR current_setting('plan_cache_mode') <> 'force_generic_plan' THEN
    PERFORM set_config(name, value, true) FROM (VALUES ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'),
      ('enable_bitmapscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'), ('jit', 'off')) s(name, value);
  END IF;
  FOREACH v_partition IN ARRAY partitions LOOP
    v_locked := pg_advisory_xact_lock(store, v_partition) IS NOT NULL;
  END LOOP;
  o_now := coalesce(held, floor(extract(epoch FROM clock_timestamp()) * 1000));
  o_removed := 0;

  IF o_now < b_latest OR o_now >= b_earliest THEN
    SELECT array_agg(at) INTO o_late FROM generate_series(1, cardinality(b_from)) at
    WHERE o_now < b_from[at] OR o_now >= b_until[at];
  END IF;
  SELECT array_agg(e_batch[at]), array_agg(at), array_agg(r.partition), array_agg(r.version), array_agg(r.places),
    array_agg(r.body)
  INTO o_batch, o_at, o_partition, o_version, o_places, o_body
  FROM generate_series(1, cardinality(e_key)) at LEFT JOIN @.records r ON r.key = e_key[at]
  WHERE (r.version IS DISTINCT FROM e_version[at] OR r.partition <> b_partition[e_batch[at]])
    AND (o_late IS NULL OR e_batch[at] <> ALL (o_late));
  v_bad := o_late || o_batch;

  IF cardinality(x_key) > 0 THEN
    DELETE FROM @.entries n USING generate_series(1, cardinality(x_key)) at
    WHERE n.name = x_name[at] AND n.rank = x_rank[at] AND n.key = x_key[at]
      AND (v_bad IS NULL OR x_batch[at] <> ALL (v_bad));
  END IF;

  IF cardinality(d_key) > 0 THEN
    WITH gone AS (
      DELETE FROM @.records r USING generate_series(1, cardinality(d_key)) at
      WHERE r.key = d_key[at] AND (v_bad IS NULL OR d_batch[at] <> ALL (v_bad))
      RETURNING r.key
    ), unlogged AS (
      DELETE FROM @.logs l USING gone g WHERE l.key = g.key RETURNING 1
    )
    SELECT count(*) INTO v_count FROM unlogged;
    o_removed := o_removed + v_count;
  END IF;

  IF cardinality(u_key) > 0 THEN
    UPDATE @.records r SET version = b_id[u_batch[at]], places = u_places[at], body = u_body[at]
    FROM generate_series(1, cardinality(u_key)) at
    WHERE r.key = u_key[at] AND (v_bad IS NULL OR u_batch[at] <> ALL (v_bad));
  END IF;

  IF cardinality(i_key) > 0 THEN
    INSERT INTO @.records(key, partition, version, places, body)
    SELECT i_key[at], b_partition[i_batch[at]], b_id[i_batch[at]], i_places[at], i_body[at]
    FROM generate_series(1, cardinality(i_key)) at
    WHERE v_bad IS NULL OR i_batch[at] <> ALL (v_bad);
  END IF;

  IF cardinality(n_key) > 0 THEN
    IF careful THEN
      INSERT INTO @.entries(name, rank, key, partition)
      SELECT n_name[at], n_rank[at], n_key[at], b_partition[n_batch[at]]
      FROM generate_series(1, cardinality(n_key)) at
      WHERE v_bad IS NULL OR n_batch[at] <> ALL (v_bad)
      ON CONFLICT (name, rank, key) DO UPDATE SET partition = excluded.partition;
    ELSE
      INSERT INTO @.entries(name, rank, key, partition)
      SELECT n_name[at], n_rank[at], n_key[at], b_partition[n_batch[at]]
      FROM generate_series(1, cardinality(n_key)) at
      WHERE v_bad IS NULL OR n_batch[at] <> ALL (v_bad);
    END IF;
  END IF;

  IF cardinality(a_key) > 0 THEN
    INSERT INTO @.logs(key, seq, body)
    SELECT a_key[at], a_seq[at], a_body[at] FROM generate_series(1, cardinality(a_key)) at
    WHERE v_bad IS NULL OR a_batch[at] <> ALL (v_bad)
    ON CONFLICT (key, seq) DO UPDATE SET body = excluded.body;
  END IF;

  -- A batch that raises or trims its feed is alone in its group. Readers from below a cut miss something.
  IF f_above > 0 AND v_bad IS NULL THEN
    v_locked := pg_advisory_xact_lock(store, -1) IS NOT NULL;
    IF nextval('@.positions') <= f_above THEN
      PERFORM setval('@.positions', f_above);
    END IF;
    IF coalesce((SELECT max(f.position) FROM @.feed f WHERE f.partition = b_partition[1]), 0) < f_above THEN
      INSERT INTO @.cuts AS c VALUES (b_partition[1], f_above)
      ON CONFLICT (partition) DO UPDATE SET through = greatest(c.through, excluded.through);
    END IF;
  END IF;
  -- Drawn under the partition's lock, so that they grow with its commits.
  IF cardinality(f_batch) > 0 THEN
    INSERT INTO @.feed(partition, position, body)
    SELECT b_partition[f_batch[at]], nextval('@.positions'), f_body[at] FROM generate_series(1, cardinality(f_batch)) at
    WHERE v_bad IS NULL OR f_batch[at] <> ALL (v_bad);
  END IF;

  IF cardinality(t_key) > 0 THEN
    DELETE FROM @.logs l USING generate_series(1, cardinality(t_key)) at
    WHERE l.key = t_key[at] AND l.seq <= t_through[at] AND (v_bad IS NULL OR t_batch[at] <> ALL (v_bad));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    o_removed := o_removed + v_count;
  END IF;

  -- The newest event stays, so that a reader always learns how far a feed goes.
  IF t_feed IS NOT NULL AND v_bad IS NULL THEN
    WITH gone AS (
      DELETE FROM @.feed f WHERE f.partition = b_partition[1] AND f.position <= t_feed
        AND f.position < (SELECT max(n.position) FROM @.feed n WHERE n.partition = b_partition[1])
      RETURNING f.position
    ), cut AS (
      INSERT INTO @.cuts AS c SELECT b_partition[1], max(position) FROM gone HAVING count(*) > 0
      ON CONFLICT (partition) DO UPDATE SET through = greatest(c.through, excluded.through)
    )
    SELECT count(*) INTO v_count FROM gone;
    o_removed := o_removed + v_count;
  END IF;
END $$;
