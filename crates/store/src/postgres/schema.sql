-- The tables of a store. Everything is ordered bytewise.
--
-- records.places holds one line for each place of a record, `rank name`; the line with an empty name is its due time.
-- A rank is stored minus 2^63, so that unsigned order is the order of bigint; rank_of() gives it back.
-- No column of records is indexed but the key, which never changes: an update stays on its page as long as there is room,
-- and pages are not filled up so that there mostly is, also when one call updates all records of a page.

CREATE TABLE meta(name text PRIMARY KEY, value text NOT NULL);

CREATE TABLE records(
  partition int NOT NULL,
  version uuid NOT NULL,
  key text COLLATE "C" NOT NULL,
  places text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (key)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- Rows with an empty name are the due times, since no index can have an empty name.
CREATE TABLE entries(
  rank bigint NOT NULL,
  partition int NOT NULL,
  name text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  PRIMARY KEY (name, rank, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE logs(
  seq bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (key, seq)
);

-- One sequence for all partitions. A commit draws from it while it holds its partition's lock, so that those of a
-- partition grow in the order of its commits; what was rolled back leaves holes.
CREATE SEQUENCE positions;

-- The events of a commit stay on their page as they are, as long as they fit it: to press them together costs more than it
-- saves.
CREATE TABLE feed(
  position bigint NOT NULL,
  partition int NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (partition, position)
) WITH (autovacuum_vacuum_scale_factor = 0.05, toast_tuple_target = 8160);

-- Up to where a partition's events were trimmed or its positions raised; a reader from below misses something.
CREATE TABLE cuts(partition int PRIMARY KEY, through bigint NOT NULL);

CREATE FUNCTION rank_of(stored bigint) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT stored + 9223372036854775808 $$;

-- A body as JSON for views; nothing for a body that is something else.
CREATE FUNCTION body_json(body bytea) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN convert_from(body, 'UTF8')::jsonb;
EXCEPTION WHEN data_exception OR character_not_in_repertoire OR untranslatable_character THEN
  RETURN NULL;
END $$;
